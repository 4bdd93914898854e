//! A separate block device for a data directory, whose power can be cut: a file system on a loop device.
//!
//! Unlike [`disk`](crate::disk), which computes what a disk may have kept, this is the kernel's own file
//! system with its own recovery. It needs root.

use crate::native;
use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

const BYTES: u64 = 1024 * 1024 * 1024;

/// A mounted file system; unmounted when dropped.
pub struct Device {
    dir: TempDir,
    cut_power: PathBuf,
}

impl Device {
    /// Makes a file system and mounts it.
    pub fn new() -> Self {
        let dir = TempDir::new_in("/var/tmp").unwrap();
        File::create(dir.path().join("image"))
            .unwrap()
            .set_len(BYTES)
            .unwrap();
        std::fs::create_dir(dir.path().join("mounted")).unwrap();
        let cut_power = native::cut_power(dir.path());
        let device = Device { dir, cut_power };
        run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(device.image()));
        device.mount();
        device
    }

    /// The root of the file system.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("mounted")
    }

    /// Loses whatever was not forced to the device.
    pub fn cut(&self) {
        run(Command::new(&self.cut_power).arg(self.path()));
    }

    /// Mounts it again, after everything that used it has ended. The file system recovers automatically.
    pub fn restart(&self) {
        run(Command::new("umount").arg(self.path()));
        self.mount();
    }

    fn image(&self) -> PathBuf {
        self.dir.path().join("image")
    }

    fn mount(&self) {
        run(Command::new("mount")
            .args(["-o", "loop"])
            .args([self.image(), self.path()]));
    }
}

impl Default for Device {
    fn default() -> Self {
        Device::new()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // A test that failed may have left it unmounted, or a server that still uses it.
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

fn run(command: &mut Command) {
    let done = command.output();
    let done = done.unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success(),
        "{command:?} failed (it needs root): {errors}"
    );
}
