//! Files that the program writes are private to its user.

use crate::running::{run, start};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Every file and folder with permissions for group or others.
fn open_to_others(path: &Path) -> Vec<String> {
    let metadata = fs::symlink_metadata(path).unwrap();
    let mode = metadata.permissions().mode() & 0o777;
    let mut found = Vec::new();
    if mode & 0o077 != 0 {
        found.push(format!("{} {mode:o}", path.display()));
    }
    if metadata.is_dir() {
        let entries = fs::read_dir(path).unwrap();
        found.extend(entries.flat_map(|entry| open_to_others(&entry.unwrap().path())));
    }
    found
}

#[test]
fn data_and_backups_are_private_and_a_directory_that_is_not_is_told() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let server = start(home, &["serve", "--port", "0", "--data", "data"]);
    let endpoint = format!("http://{}", server.address);
    assert!(
        run(home, &["backup", "--endpoint", &endpoint, "--to", "my.backup"])
            .status
            .success()
    );
    let (_, said) = server.stop();
    assert!(!said.contains("chmod"), "{said}");
    assert!(
        run(home, &["restore", "--from", "my.backup", "--data", "copy"])
            .status
            .success()
    );
    for written in ["data", "copy", "my.backup"] {
        assert_eq!(open_to_others(&home.join(written)), Vec::<String>::new());
    }

    for folder in ["data", "data/db"] {
        fs::set_permissions(home.join(folder), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let (_, said) = start(home, &["serve", "--port", "0", "--data", "data"]).stop();
    assert!(said.contains("chmod -R go-rwx data"), "{said}");
}
