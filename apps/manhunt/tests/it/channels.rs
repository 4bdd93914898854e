//! Mail to a real SMTP server and webhooks to a real HTTP server, both in this process.

use std::sync::Arc;

use axum::Json;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use manhunt::channel::{Email, Webhook};
use manhunt::model::{ContactMethodType, NewContactMethod, SearchAttemptOutcome};
use manhunt::{SearchDraft, Words};
use serde_json::Value;
use tokio::sync::mpsc::unbounded_channel;

use crate::smtp::{Smtp, Tls};
use crate::support::{DOMAIN, Said, World, channels, draft, searching};

/// A search with these words.
fn about(contact: &str, metadata: Words) -> SearchDraft {
    SearchDraft {
        metadata,
        ..searching(contact)
    }
}

fn mail(server: &Smtp, from: &str) -> Email {
    let url = format!("127.0.0.1:{}", server.port);
    Email::new(&url, from.parse().unwrap()).unwrap()
}

#[tokio::test]
async fn calls_and_texts_go_to_the_log_and_so_does_mail_without_a_server() {
    let (said, _log) = Said::listen();
    let world = world(None).await;
    let contact = world.contact(&[]).await;
    let methods = [
        ("call", "+4930101"),
        ("text", "+4930102"),
        ("email", "zavier@example.org"),
    ];
    for (order, (kind, destination)) in (0..).zip(methods) {
        world.method(&contact, draft(kind, destination, 0, order)).await;
    }
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let said = said.text();
    for (number, (_, destination)) in methods.into_iter().enumerate() {
        let notices = said.lines().filter(|line| line.contains(destination));
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
    World::with(Arc::default(), channels(email, webhook)).await
}

#[tokio::test]
async fn a_mail_arrives_at_an_smtp_server_with_subject_text_and_link() {
    let mut server = Smtp::start(Tls::Never);
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
        .begin(DOMAIN, about(&contact, words.into()))
        .await
        .unwrap();
    let id = &search.search_id;
    world.settle(1).await;
    let mail = server.mails.recv().await.unwrap();
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
        text.contains(&format!("See http://hunt/#answer/{id}-0.")),
        "{mail}"
    );
    assert!(text.contains(" about INC-7"), "{mail}");
    let (_, attempts) = world.look(id).await;
    assert_eq!(attempts[0].outcome, Some(SearchAttemptOutcome::Sent));
}

#[tokio::test]
async fn words_of_any_language_can_be_read_in_a_mail_and_are_not_taken_for_a_template() {
    let mut server = Smtp::start(Tls::Never);
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
    let begun = world.service().begin(DOMAIN, about(&contact, words.into())).await;
    begun.unwrap();
    world.settle(1).await;
    let mail = server.mails.recv().await.unwrap();
    assert!(mail.contains("MIME-Version: 1.0"), "{mail}");
    assert!(mail.contains("Content-Type: text/plain; charset=utf-8"), "{mail}");
    assert!(
        mail.contains("Zo=C3=AB {incident} {{link}} {unknown} {"),
        "{mail}"
    );
}

#[tokio::test]
async fn mail_that_is_refused_is_noted_and_the_next_method_is_tried_at_once() {
    let mut server = Smtp::start(Tls::Never);
    let world = world(Some(mail(&server, "hunt@example.org"))).await;
    let contact = world.contact(&[]).await;
    world
        .method(&contact, draft("email", "nobody@example.org", 3600, 0))
        .await;
    // In the form stored before addresses were checked.
    let mut unchecked = manhunt::model::ContactMethod::from(NewContactMethod {
        contact_id: contact.clone(),
        method_id: "ff".into(),
        domain_id: DOMAIN.into(),
        r#type: ContactMethodType::Email,
        destination: "no address".into(),
    });
    unchecked.order = Some(1);
    world.service().db.put(&unchecked).await.unwrap();
    world
        .method(&contact, draft("email", "zavier@example.org", 3600, 2))
        .await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    assert!(
        server
            .mails
            .recv()
            .await
            .unwrap()
            .contains("To: zavier@example.org")
    );
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

#[tokio::test]
async fn a_server_that_cannot_encrypt_gets_no_mail_that_must_be() {
    let mut server = Smtp::start(Tls::Never);
    let url = format!("smtp://localhost:{}?tls=required", server.port);
    let email = Email::new(&url, "hunt@example.org".parse().unwrap()).unwrap();
    let (outcome, error) = sent_by(email, "zavier@example.org").await;
    assert_ne!(outcome, Some(SearchAttemptOutcome::Sent));
    assert!(error.is_some() && server.mails.try_recv().is_err());
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_gets_no_mail() {
    for (tls, scheme, options) in [
        (Tls::Always, "smtps", ""),
        (Tls::Upgraded, "smtp", "?tls=required"),
    ] {
        let mut server = Smtp::start(tls);
        let url = format!("{scheme}://localhost:{}{options}", server.port);
        let email = Email::new(&url, "hunt@example.org".parse().unwrap()).unwrap();
        let (outcome, error) = sent_by(email, "zavier@example.org").await;
        assert_eq!(outcome, None, "it may be mended soon");
        let error = error.unwrap();
        assert!(error.contains("ertificate"), "{error}");
        assert!(server.mails.try_recv().is_err());
    }
}

/// The outcome of a mail: status and error of its attempt.
async fn sent_by(email: Email, to: &str) -> (Option<SearchAttemptOutcome>, Option<String>) {
    let world = world(Some(email)).await;
    let contact = world.contact(&[]).await;
    world.method(&contact, draft("email", to, 3600, 0)).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let (_, attempts) = world.look(&search).await;
    (attempts[0].outcome, attempts[0].error.clone())
}

#[tokio::test]
async fn mail_that_the_server_cannot_take_now_and_servers_that_fail_are_tried_again() {
    let server = Smtp::start(Tls::Never);
    let (outcome, error) = sent_by(mail(&server, "hunt@example.org"), "later@example.org").await;
    assert_eq!(outcome, None);
    let error = error.unwrap();
    assert_eq!(error.matches("451").count(), 1, "it is said once: {error}");
    let gone = Email::new("127.0.0.1:9", "hunt@example.org".parse().unwrap()).unwrap();
    let (outcome, error) = sent_by(gone, "zavier@example.org").await;
    assert_eq!(outcome, None);
    assert!(error.unwrap().contains("onnection"));
    let world = world(None).await;
    let contact = world.contact(&[]).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let busy = axum::Router::new().route("/hook", post(async || StatusCode::BAD_GATEWAY));
    tokio::spawn(async move { axum::serve(listener, busy).await.unwrap() });
    world.method(&contact, draft("webhook", &url, 60, 0)).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let attempt = &world.look(&search).await.1[0];
    assert_eq!(attempt.outcome, None);
    assert!(attempt.error.as_ref().unwrap().contains("502"));
}

#[test]
fn a_mail_server_that_makes_no_sense_is_refused_at_the_start() {
    for wrong in ["http://localhost", "smtp://localhost?tls=perhaps", "smtps://"] {
        let opened = Email::new(wrong, "hunt@example.org".parse().unwrap());
        assert!(opened.is_err(), "{wrong}");
    }
}
