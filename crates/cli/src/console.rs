//! `trestle console`: the console of any endpoint, served on this machine.
//!
//! The page calls a server in this process, which sends the requests to the endpoint, signed with the
//! credentials of this process. The page authenticates with a key that is created for this run: the server
//! signs requests of no other client.

use crate::administration::RunningServer;
use crate::exit::Failure;
use crate::model::line;
use crate::runtime;
use crate::server_flags::ServerFlags;
use clap::Args;
use ring::rand::{SecureRandom, SystemRandom};
use std::sync::Arc;
use trestle_admin::{AdminAnswer, AdminCall, AdminError, Administration};
use trestle_env::SystemClock;
use trestle_server::{
    AccessKey, ConsoleMode, CorsOrigins, Hooks, KeyGrant, Server, Settings, Stopped, termination,
};

/// Flags of `trestle console`.
#[derive(Debug, Args)]
pub(crate) struct ConsoleFlags {
    #[command(flatten)]
    server: ServerFlags,
    /// Port of this machine to serve the console on; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Show everything and change nothing
    #[arg(long)]
    read_only: bool,
}

/// Serves the console until it is stopped.
pub(crate) fn console(flags: &ConsoleFlags) -> Result<(), Failure> {
    let remote = flags.server.remote()?;
    let endpoint = remote.endpoint().to_owned();
    let key = own_key()?;
    let settings = Settings {
        port: flags.port,
        access_keys: vec![KeyGrant::everything(key.clone())],
        cors: CorsOrigins::Only(Vec::new()),
        console: if flags.read_only {
            ConsoleMode::ReadOnly
        } else {
            ConsoleMode::Full
        },
        ..Settings::default()
    };
    let administration = Arc::new(EndpointAdministration(RunningServer::at(
        flags.server.settings(),
    )?));
    let hooks = Hooks {
        clock: Arc::new(SystemClock::new()),
        administration: Some(Arc::clone(&administration) as Arc<dyn Administration>),
        is_forwarded: true,
        ..Hooks::default()
    };
    let served = runtime::on_this_thread()?.block_on(async {
        let server = Server::bind(&settings, Arc::new(remote), hooks).await;
        let server = server.map_err(Failure::failed)?;
        line(&format!(
            "The console of {endpoint} is ready. Open this link; it is good until this command ends:"
        ));
        line(&format!(
            "{}/console/#ticket={}:{}",
            server.endpoint(),
            key.id,
            key.secret
        ));
        match server.run(termination()).await {
            Stopped::Clean => Ok(()),
            Stopped::Cut => Err(Failure::failed(
                "some requests had not finished in time and were cut",
            )),
        }
    });
    // It contains a runtime, which must not be dropped inside another.
    drop(administration);
    served
}

/// A key that only this process knows.
fn own_key() -> Result<AccessKey, Failure> {
    let mut secret = [0; 32];
    let filled = SystemRandom::new().fill(&mut secret);
    filled.map_err(|_| Failure::failed("the system gives no random bytes"))?;
    Ok(AccessKey {
        id: "console".to_owned(),
        secret: secret.iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}

/// The administration of the endpoint, if it has one.
struct EndpointAdministration(RunningServer);

impl Administration for EndpointAdministration {
    fn answer(&self, call: AdminCall) -> Result<AdminAnswer, AdminError> {
        // A separate thread: the caller may be inside a runtime, which cannot block on another one.
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| self.0.answer(call)).join();
            asked.unwrap_or_else(|_| Err(AdminError::failed("the call failed")))
        })
    }
}
