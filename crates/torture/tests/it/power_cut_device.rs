//! The power of the server's own device fails: see `trestle_torture::device`.

use crate::crash::{endure, in_several_directories};
use crate::rounds;
use trestle_torture::device::Device;

#[test]
#[ignore = "mounts a file system, which needs root and a loop device; ./test attack runs it"]
fn what_was_acknowledged_survives_a_power_cut_of_its_device() {
    in_several_directories(rounds("DEVICE_ROUNDS", 5), |rounds, seed| {
        let device = Device::new();
        endure(
            &device.path().join("data"),
            rounds,
            seed,
            &|server, last_moment| {
                // While the file system is being shut down, Linux 6.18 confirms data that it then loses: a
                // program that only writes and calls fdatasync observes the same. A device without power
                // would confirm nothing.
                last_moment.is_over();
                device.cut();
                server.kill();
                device.restart();
            },
        );
    });
}
