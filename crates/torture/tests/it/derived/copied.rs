//! A table with every effect is copied to another server while it is written: derived data there is exact,
//! and stays so under writers that continue there.

use super::check;
use super::version::Version;
use super::writer::Writer;
use crate::{Sets, seed};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use trestle_torture::audit::verify;
use trestle_torture::copier::{Copier, url};
use trestle_torture::server::Server;

const WRITERS: usize = 4;

#[test]
fn everything_derived_is_exact_where_rows_were_copied_to() {
    let mut random = fastrand::Rng::with_seed(seed());
    let (source_dir, target_dir, scratch) = (
        TempDir::new().unwrap(),
        TempDir::new().unwrap(),
        TempDir::new().unwrap(),
    );
    let (source, target) = (Server::on(source_dir.path()), Server::on(target_dir.path()));
    let version = Version::whole("m");
    version.apply(scratch.path(), &source.address);
    let mut writers: Vec<Writer> = (0..WRITERS)
        .map(|_| Writer::new(&version, random.fork()))
        .collect();
    live(&mut writers, &source, || {
        std::thread::sleep(Duration::from_secs(2))
    });
    let state = scratch.path().join("state.json");
    let paused_ms = live(&mut writers, &source, || {
        let mut copier = Copier::start(&url(&source), &url(&target), &state);
        copier.wait_until(|copier| copier.phase() == "following");
        copier.kill();
        let mut copier = Copier::start(&url(&source), &url(&target), &state);
        std::thread::sleep(Duration::from_millis(500));
        copier.wait_until(|copier| copier.phase() == "following");
        copier.cut_over()
    });
    println!("writing was paused for {paused_ms} ms");
    assert!(
        version
            .in_force(&target.address)
            .is_some_and(|there| there.effects == version.effects)
    );
    live(&mut writers, &target, || {
        std::thread::sleep(Duration::from_secs(1))
    });
    check(&mut target.connect(), &version);
    drop((source, target));
    verify(source_dir.path()).unwrap();
    verify(target_dir.path()).unwrap();
}

/// Lets the writers write at a server meanwhile.
fn live<T>(writers: &mut [Writer], server: &Server, meanwhile: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Sets(&is_over);
        for writer in writers {
            let (address, is_over) = (&server.address, &is_over);
            scope.spawn(move || writer.write(address, &|| is_over.load(Ordering::SeqCst)));
        }
        meanwhile()
    })
}
