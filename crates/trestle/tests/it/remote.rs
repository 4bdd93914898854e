//! The typed client with a server over HTTP, from a thread without a runtime and from tasks.

use crate::manhunt::{self, ARIAN};
use crate::models::manhunt::*;
use crate::support::{embedded, plain};
use std::sync::Arc;
use tokio::sync::oneshot;
use trestle::remote::Settings;
use trestle::{Embedded, Remote, Wait};
use trestle_server::{Hooks, Server};

/// Runs a test with a server of this database.
pub(crate) fn beside_a_server(embedded: Embedded, test: impl FnOnce(Remote)) {
    beside_an_endpoint(embedded, |url| test(Remote::new(Settings::new(url)).unwrap()));
}

/// The same for a test that needs the server's address.
pub(crate) fn beside_an_endpoint(embedded: Embedded, test: impl FnOnce(String)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let settings = trestle_server::Settings {
        port: 0,
        ..trestle_server::Settings::default()
    };
    let bound = Server::bind(&settings, Arc::new(embedded), Hooks::default());
    let server = runtime.block_on(bound).unwrap();
    let url = server.endpoint();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = std::thread::spawn(move || {
        runtime.block_on(server.run(async {
            let _ = stopped.await;
        }))
    });
    test(url);
    drop(stop);
    serving.join().unwrap();
}

#[test]
fn a_server_that_has_the_model_is_used_as_the_engine_is() {
    let embedded = embedded();
    Manhunt::apply_to(&embedded).unwrap();
    beside_a_server(embedded, |remote| {
        manhunt::story(&Manhunt::on(remote).model_applied());
    });
}

#[test]
fn a_server_that_does_not_know_the_model_gets_keys_from_the_client() {
    beside_a_server(plain::<ManhuntModel>(), |remote| {
        let db = Manhunt::on(remote);
        db.put(&manhunt::contact(ARIAN, "6f7ad1b", "Arian Mellor"))
            .wait()
            .unwrap();
        let found = db.contacts_of_domain("6f7ad1b").collect();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let found = runtime.block_on(found).unwrap();
        assert_eq!(found[0].name, "Arian Mellor");
    });
}
