//! A mail server in the test's own process: plain, with STARTTLS, or with TLS from the beginning.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use mailin::{Action, AuthMechanism, Handler, Response, SessionBuilder, response};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// When the server speaks TLS.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Tls {
    Never,
    Upgraded,
    Always,
}

/// A server, which lives as long as the test's process.
pub(crate) struct Smtp {
    pub(crate) port: u16,
    pub(crate) mails: UnboundedReceiver<String>,
    /// Its certificate, for `localhost`.
    pub(crate) certificate: String,
}

/// Passes each mail on when it is complete.
struct Mailbox {
    mail: Vec<u8>,
    to: UnboundedSender<String>,
}

impl Handler for Mailbox {
    fn data(&mut self, line: &[u8]) -> std::io::Result<()> {
        self.mail.extend_from_slice(line);
        Ok(())
    }

    fn data_end(&mut self) -> Response {
        let mail = String::from_utf8(std::mem::take(&mut self.mail)).unwrap();
        self.to.send(mail).unwrap();
        response::OK
    }

    fn rcpt(&mut self, to: &str) -> Response {
        match to {
            to if to.contains("nobody") => response::NO_MAILBOX,
            to if to.contains("later") => response::INTERNAL_ERROR,
            _ => response::OK,
        }
    }

    fn auth_plain(&mut self, _: &str, user: &str, password: &str) -> Response {
        match (user, password) {
            ("ada", "s3cret/") => response::AUTH_OK,
            _ => response::INVALID_CREDENTIALS,
        }
    }
}

impl Smtp {
    pub(crate) fn start(tls: Tls) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key);
        let config = Arc::new(config.unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (to, mails) = unbounded_channel();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (to, config) = (to.clone(), Arc::clone(&config));
                let mailbox = Mailbox { mail: Vec::new(), to };
                std::thread::spawn(move || converse(client.unwrap(), mailbox, tls, config));
            }
        });
        let certificate = made.cert.pem();
        Self {
            port,
            mails,
            certificate,
        }
    }
}

trait Talk: Read + Write {}
impl<T: Read + Write> Talk for T {}

/// One client, until it has said all.
fn converse(client: TcpStream, mailbox: Mailbox, tls: Tls, config: Arc<ServerConfig>) {
    let plain = || client.try_clone().unwrap();
    let secured = || -> Box<dyn Talk> {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        Box::new(StreamOwned::new(connection, plain()))
    };
    let mut builder = SessionBuilder::new("localhost");
    if tls != Tls::Never {
        builder.enable_start_tls().enable_auth(AuthMechanism::Plain);
    }
    let mut session = builder.build(client.peer_addr().unwrap().ip(), mailbox);
    let mut stream: Box<dyn Talk> = Box::new(plain());
    if tls == Tls::Always {
        stream = secured();
        session.tls_active();
    }
    if session.greeting().write_to(&mut stream).is_err() {
        return;
    }
    while let Some(line) = line(&mut stream) {
        let response = session.process(&line);
        if response.action != Action::NoReply && response.write_to(&mut stream).is_err() {
            return;
        }
        match response.action {
            Action::Close => return,
            Action::UpgradeTls => {
                stream = secured();
                session.tls_active();
            }
            Action::NoReply | Action::Reply => {}
        }
    }
}

/// The next line, byte by byte: what follows STARTTLS is not read too early.
fn line(stream: &mut impl Read) -> Option<Vec<u8>> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while !line.ends_with(b"\n") {
        stream.read_exact(&mut byte).ok()?;
        line.extend(byte);
    }
    Some(line)
}
