//! Mail to a real SMTP server and webhooks to a real HTTP server, both in this process.

use std::io::{BufRead as _, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use axum::Json;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use mailin::{Action, Handler, Response, SessionBuilder, response};
use manhunt::channel::{Channels, Email, Webhook};
use manhunt::model::SearchAttemptOutcome;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::support::{DOMAIN, World, draft};

/// Passes each mail on when it is complete.
#[derive(Clone)]
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
        match to.contains("nobody") {
            true => response::NO_MAILBOX,
            false => response::OK,
        }
    }
}

/// An SMTP server, which lives as long as the test's process.
fn smtp() -> (String, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (to, mails) = unbounded_channel();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let to = to.clone();
            std::thread::spawn(move || converse(client.unwrap(), Mailbox { mail: Vec::new(), to }));
        }
    });
    (address, mails)
}

/// One client, until it has said all.
fn converse(client: TcpStream, mailbox: Mailbox) {
    let mut session = SessionBuilder::new("localhost").build(client.peer_addr().unwrap().ip(), mailbox);
    session.greeting().write_to(&mut &client).unwrap();
    let mut lines = BufReader::new(&client);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).unwrap_or_default() > 0 {
        let response = session.process(&line);
        line.clear();
        if response.action != Action::NoReply {
            response.write_to(&mut &client).unwrap();
        }
        if response.action == Action::Close {
            return;
        }
    }
}

fn mail(server: &str, from: &str) -> Email {
    Email::new(&server.parse().unwrap(), from.parse().unwrap())
}

/// What the log says, kept by the test.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl Write for Said {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(text)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn calls_and_texts_go_to_the_log_and_so_does_mail_without_a_server() {
    let said = Said::default();
    let writer = said.clone();
    let log = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone());
    let _log = tracing::subscriber::set_default(log.finish());
    let world = world(None).await;
    let contact = world.contact(&[]).await;
    for (order, kind) in (0..).zip(["call", "text", "email"]) {
        let method = draft(kind, &format!("{kind} of Zavier"), 0, order);
        world.method(&contact, method).await;
    }
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let said = String::from_utf8(said.0.lock().unwrap().clone()).unwrap();
    for (number, kind) in ["call", "text", "email"].into_iter().enumerate() {
        let notices = said
            .lines()
            .filter(|line| line.contains(&format!("{kind} of Zavier")));
        let notices: Vec<&str> = notices.collect();
        assert_eq!(notices.len(), 1, "{said}");
        assert!(notices[0].contains(&format!("{search}-{number}")), "{said}");
        assert!(
            notices[0].contains("Zavier Curtis, please answer: http://hunt/"),
            "{said}"
        );
    }
}

async fn world(email: Option<Email>) -> World {
    let webhook = Webhook::new().unwrap();
    World::with(Arc::default(), Arc::new(Channels::new(email, webhook))).await
}

#[tokio::test]
async fn a_mail_arrives_at_an_smtp_server_with_subject_text_and_link() {
    let (server, mut mails) = smtp();
    let world = world(Some(mail(&server, "Manhunt <hunt@example.org>"))).await;
    let contact = world.contact(&[]).await;
    world
        .method(&contact, draft("email", "zavier@example.org", 60, 0))
        .await;
    let words = [
        ("incident", "INC-7"),
        ("subject", "{name}: {incident}"),
        ("text", "See {link} about {incident}"),
    ];
    let words = words.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let search = world
        .service()
        .begin(DOMAIN, &contact, words.into())
        .await
        .unwrap();
    let id = &search.search_id;
    world.settle(1).await;
    let mail = mails.recv().await.unwrap();
    for line in [
        "From: Manhunt <hunt@example.org>",
        "To: zavier@example.org",
        "Subject: Zavier Curtis: INC-7",
        &format!("Message-ID: <{id}-0@manhunt>"),
    ] {
        assert!(mail.contains(line), "{line} is not in:\n{mail}");
    }
    // Long lines are folded on their way.
    let text = mail.replace("=\r\n", "");
    assert!(
        text.contains(&format!("See http://hunt/#/{DOMAIN}/{id}/{id}-0 about INC-7")),
        "{mail}"
    );
    let (_, attempts) = world.look(id).await;
    assert_eq!(attempts[0].outcome, Some(SearchAttemptOutcome::Sent));
}

#[tokio::test]
async fn words_of_any_language_can_be_read_in_a_mail_and_are_not_taken_for_a_template() {
    let (server, mut mails) = smtp();
    let world = world(Some(mail(&server, "hunt@example.org"))).await;
    let contact = world.service().add_contact(DOMAIN, "Zoë {incident}").await;
    let contact = contact.unwrap().contact_id;
    world
        .method(&contact, draft("email", "zoe@example.org", 60, 0))
        .await;
    let words = [
        ("incident", "{link}"),
        ("text", "{name} {{incident}} {unknown} {"),
    ];
    let words = words.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let begun = world.service().begin(DOMAIN, &contact, words.into()).await;
    begun.unwrap();
    world.settle(1).await;
    let mail = mails.recv().await.unwrap();
    assert!(mail.contains("MIME-Version: 1.0"), "{mail}");
    assert!(mail.contains("Content-Type: text/plain; charset=utf-8"), "{mail}");
    assert!(
        mail.contains("Zo=C3=AB {incident} {{link}} {unknown} {"),
        "{mail}"
    );
}

#[tokio::test]
async fn mail_that_is_refused_is_noted_and_the_next_method_is_tried_at_once() {
    let (server, mut mails) = smtp();
    let world = world(Some(mail(&server, "hunt@example.org"))).await;
    let contact = world.contact(&[]).await;
    world
        .method(&contact, draft("email", "nobody@example.org", 3600, 0))
        .await;
    world
        .method(&contact, draft("email", "no address", 3600, 1))
        .await;
    world
        .method(&contact, draft("email", "zavier@example.org", 3600, 2))
        .await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    assert!(mails.recv().await.unwrap().contains("To: zavier@example.org"));
    let (_, attempts) = world.look(&search).await;
    let outcomes: Vec<_> = attempts.iter().map(|attempt| attempt.outcome.unwrap()).collect();
    use SearchAttemptOutcome::{Failed, Sent};
    assert_eq!(outcomes, [Failed, Failed, Sent]);
    assert!(
        attempts[0].error.as_ref().unwrap().contains("550"),
        "{:?}",
        attempts[0].error
    );
    assert!(attempts[1].error.as_ref().unwrap().contains("no mail address"));
}

#[tokio::test]
async fn a_webhook_gets_json_with_the_attempt_as_idempotency_key_and_its_refusal_is_noted() {
    let (to, mut posts) = unbounded_channel();
    let take = move |headers: HeaderMap, Json(body): Json<Value>| async move {
        let key = headers["idempotency-key"].to_str().unwrap().to_owned();
        to.send((key, body)).unwrap();
        StatusCode::NO_CONTENT
    };
    let refuse = async || StatusCode::IM_A_TEAPOT;
    let moved = async || (StatusCode::FOUND, [(LOCATION, "/hook")]);
    let app = axum::Router::new()
        .route("/hook", post(take).get(StatusCode::NO_CONTENT))
        .route("/moved", post(moved))
        .route("/refuse", post(refuse));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });

    let world = world(None).await;
    let contact = world.contact(&[]).await;
    world
        .method(&contact, draft("webhook", &format!("{base}/refuse"), 60, 0))
        .await;
    world
        .method(&contact, draft("webhook", &format!("{base}/moved"), 60, 1))
        .await;
    world
        .method(&contact, draft("webhook", &format!("{base}/hook"), 60, 2))
        .await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let (key, body) = posts.recv().await.unwrap();
    assert_eq!(key, format!("{search}-2"));
    assert_eq!(body["attemptId"], Value::from(key));
    assert!(
        body["text"]
            .as_str()
            .unwrap()
            .starts_with("Zavier Curtis, please answer: http://hunt/")
    );
    let (_, attempts) = world.look(&search).await;
    assert!(attempts[0].error.as_ref().unwrap().contains("418"));
    let moved = attempts[1].error.as_ref().unwrap();
    assert!(moved.contains("do not follow redirects"), "{moved}");
    server.abort();
}
