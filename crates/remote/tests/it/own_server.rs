//! A Trestle server in this process.

use std::path::Path;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, KeySchemaElement, KeyType, StreamSpecification,
    StreamViewType,
};
use trestle_engine::{Engine, Options};
use trestle_env::{Clock, SystemClock};
use trestle_item::ScalarType;
use trestle_remote::{AccessKey, Remote, Settings};
use trestle_server::{Hooks, KeyGrant, Server, TlsFiles};
use trestle_store::MemoryStore;

/// The server ends when it is dropped.
pub(crate) struct Own {
    pub(crate) engine: Engine,
    /// `http://127.0.0.1:…`, or `https://localhost:…`.
    pub(crate) endpoint: String,
    _stop: oneshot::Sender<()>,
    _serving: JoinHandle<()>,
}

pub(crate) fn in_memory() -> Engine {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    Engine::on(Arc::new(MemoryStore::new()), clock, Options::default()).unwrap()
}

pub(crate) fn ada() -> AccessKey {
    AccessKey {
        id: "ada".to_owned(),
        secret: "hush".to_owned(),
    }
}

impl Own {
    pub(crate) async fn start() -> Self {
        Own::with(trestle_server::Settings::default()).await
    }

    /// With TLS for `localhost`, whose certificate is then in `cert.pem` there, and signatures by ada.
    pub(crate) async fn secured(folder: &Path) -> Self {
        Own::secured_as("localhost", folder).await
    }

    /// The same with another name.
    pub(crate) async fn secured_as(name: &str, folder: &Path) -> Self {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let files = TlsFiles {
            certificate: folder.join("cert.pem"),
            key: folder.join("key.pem"),
        };
        std::fs::write(&files.certificate, made.cert.pem()).unwrap();
        std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
        Own::with(trestle_server::Settings {
            access_keys: vec![KeyGrant::everything(ada())],
            tls: Some(files),
            allowed_hosts: vec![name.to_owned()],
            ..trestle_server::Settings::default()
        })
        .await
    }

    async fn with(settings: trestle_server::Settings) -> Self {
        let settings = trestle_server::Settings { port: 0, ..settings };
        let engine = in_memory();
        let server = Server::bind(&settings, Arc::new(engine.clone()), Hooks::default())
            .await
            .unwrap();
        let endpoint = server
            .endpoint()
            .replace("https://127.0.0.1", "https://localhost");
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            server
                .run(async {
                    let _ = stopped.await;
                })
                .await;
        });
        Own {
            engine,
            endpoint,
            _stop: stop,
            _serving: serving,
        }
    }

    pub(crate) fn remote(&self) -> Remote {
        Remote::new(Settings::new(&self.endpoint)).unwrap()
    }
}

/// A table with a partition key, a sort key and a stream.
pub(crate) fn table(name: &str) -> CreateTable {
    let key = |name: &str, key_type| KeySchemaElement {
        attribute_name: name.to_owned(),
        key_type,
    };
    let text = |name: &str| AttributeDefinition {
        attribute_name: name.to_owned(),
        attribute_type: ScalarType::S,
    };
    CreateTable {
        table_name: name.to_owned(),
        key_schema: vec![key("pk", KeyType::Hash), key("sk", KeyType::Range)],
        attribute_definitions: vec![text("pk"), text("sk")],
        billing_mode: Some(BillingMode::PayPerRequest),
        stream_specification: Some(StreamSpecification {
            stream_enabled: true,
            stream_view_type: Some(StreamViewType::NewAndOldImages),
        }),
        ..CreateTable::default()
    }
}
