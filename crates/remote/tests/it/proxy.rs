//! Through a proxy.

use crate::own_server::{Own, ada};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use trestle_api::{DatabaseExt, ListTables};
use trestle_remote::{Proxy, Remote, Settings};

const HOST: &str = "dynamodb.eu-west-1.amazonaws.com";

/// A proxy that connects every client with one server, whatever host the client names.
struct Misleading {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
    _task: JoinSet<()>,
}

impl Misleading {
    async fn start(server: String, refusal: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let notes = Arc::clone(&heads);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(pass(stream, server.clone(), refusal, Arc::clone(&notes)));
            }
        });
        Misleading {
            port,
            heads,
            _task: task,
        }
    }
}

async fn pass(stream: TcpStream, server: String, refusal: Option<&str>, notes: Arc<Mutex<Vec<String>>>) {
    let mut stream = BufStream::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        stream.read_line(&mut head).await.unwrap();
    }
    notes.lock().unwrap().push(head);
    let answer = refusal.unwrap_or("HTTP/1.1 200 Connection established\r\n\r\n");
    stream.write_all(answer.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    if refusal.is_none() {
        let mut server = TcpStream::connect(server).await.unwrap();
        let _ = copy_bidirectional(&mut stream, &mut server).await;
    }
}

fn settings(proxy: &str, folder: &std::path::Path) -> Settings {
    Settings {
        credentials: ada().into(),
        ca_file: Some(folder.join("cert.pem")),
        proxy: Some(Proxy::new(proxy, "example.com")),
        ..Settings::new(format!("https://{HOST}"))
    }
}

#[tokio::test]
async fn an_https_endpoint_is_reached_through_the_proxy_and_proves_its_own_name() {
    let folder = tempfile::tempdir().unwrap();
    let own = Own::secured_as(HOST, folder.path()).await;
    let address = own.endpoint.trim_start_matches("https://").to_owned();
    let proxy = Misleading::start(address, None).await;
    let url = format!("http://ann:secret@127.0.0.1:{}", proxy.port);
    let remote = Remote::new(settings(&url, folder.path())).unwrap();
    for _ in 0..2 {
        remote.list_tables(ListTables::default()).await.unwrap();
    }
    let heads = proxy.heads.lock().unwrap().clone();
    assert_eq!(heads.len(), 1, "the connection is kept");
    assert!(
        heads[0].starts_with(&format!("CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n")),
        "{heads:?}"
    );
    assert!(
        heads[0].contains("Proxy-Authorization: Basic YW5uOnNlY3JldA==\r\n"),
        "{heads:?}"
    );

    // The proxy is not trusted: a server with another name's certificate is refused.
    let other = tempfile::tempdir().unwrap();
    let impostor = Own::secured(other.path()).await;
    let address = impostor.endpoint.trim_start_matches("https://").to_owned();
    let proxy = Misleading::start(address, None).await;
    let url = format!("http://127.0.0.1:{}", proxy.port);
    let remote = Remote::new(settings(&url, other.path())).unwrap();
    let error = remote.list_tables(ListTables::default()).await.unwrap_err();
    assert!(error.message().contains("is not trusted"), "{error}");
}

#[tokio::test]
async fn a_proxy_that_refuses_or_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let _own = Own::secured_as(HOST, folder.path()).await;
    let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
    let proxy = Misleading::start(String::new(), Some(refusal)).await;
    let url = format!("http://ann:secret@127.0.0.1:{}", proxy.port);
    let remote = Remote::new(settings(&url, folder.path())).unwrap();
    let error = remote.list_tables(ListTables::default()).await.unwrap_err();
    let named = format!(
        "the proxy 127.0.0.1:{} answered 407 Proxy Authentication Required",
        proxy.port
    );
    assert!(error.message().contains(&named), "{error}");
    assert!(!error.message().contains("secret"), "{error}");

    let remote = Remote::new(settings("http://127.0.0.1:1", folder.path())).unwrap();
    let error = remote.list_tables(ListTables::default()).await.unwrap_err();
    assert!(
        error.message().contains("the proxy 127.0.0.1:1 cannot be used: "),
        "{error}"
    );

    let error = Remote::new(settings("socks5://127.0.0.1:1", folder.path())).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("HTTPS_PROXY must be a URL that begins with http://"),
        "{error}"
    );
}
