//! Answers of people without a key: by a signed link, by text and by telephone. Keys, and what they give
//! access to.

use std::sync::{Arc, Mutex};

use axum::extract::Path;
use axum::http::HeaderMap;
use axum::http::StatusCode;
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use manhunt::channel::{Channels, Twilio, Webhook};
use manhunt::model::{SearchAttemptOutcome, SearchStatus};
use manhunt::{Error, SearchDraft, Settings, Words};
use ring::hmac;
use serde_json::{Value, json};

use crate::http::Door;
use crate::support::{DOMAIN, World, draft, searching, settings, text};

/// The token in the link of the only notice.
fn token(world: &World) -> String {
    let sent = world.recorder.sent();
    let link = &sent.last().unwrap().link;
    link.strip_prefix("http://hunt/#answer/").unwrap().to_owned()
}

#[tokio::test]
async fn a_link_lets_its_owner_answer_and_shows_no_number() {
    let world = World::new().await;
    let contact = world.contact(&[60, 60]).await;
    let words = [("incident", "INC-7"), ("subject", "{name}: {incident} {link}")];
    let words: Words = words
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let draft = SearchDraft {
        metadata: words,
        ..searching(&contact)
    };
    let search = world.service().begin(DOMAIN, draft).await.unwrap().search_id;
    world.settle(1).await;
    let door = Door::of(world).await;
    let path = format!("/answers/{}", token(&door.world));
    let (status, asked) = door.json("get", &path, json!({})).await;
    let expected = json!({ "name": "Zavier Curtis", "subject": "Zavier Curtis: INC-7 ", "status": "active", "responded": false });
    assert_eq!((status, asked), (200, expected), "and nothing else");
    let (status, answered) = door.json("post", &path, json!({ "response": "coming" })).await;
    assert_eq!((status, &answered["responded"]), (200, &json!(true)));
    let (found, attempts) = door.world.look(&search).await;
    assert_eq!(found.status, SearchStatus::Successful);
    assert_eq!(attempts[0].response.as_deref(), Some("coming"));
    // A repetition is harmless; a changed link is invalid.
    assert_eq!(
        door.json("post", &path, json!({ "response": "again" })).await.0,
        200
    );
    for forged in [
        format!("{path}x"),
        path.replace("-0.", "-1."),
        "/answers/x".to_owned(),
    ] {
        let (status, refused) = door.json("get", &forged, json!({})).await;
        assert_eq!(status, 404, "{forged}");
        assert!(
            refused["error"].as_str().unwrap().contains("not valid"),
            "{refused}"
        );
        assert_eq!(
            door.json("post", &forged, json!({ "response": "1" })).await.0,
            404
        );
    }
}

#[tokio::test]
async fn a_link_expires_and_survives_a_restart_until_then() {
    let world = World::new().await;
    let contact = world.contact(&[]).await;
    world.method(&contact, text("+4930101", 172_800, 0)).await;
    world.begin(&contact).await;
    world.settle(1).await;
    let token = token(&world);
    let world = world.restart().await;
    world.advance(24 * 3600 - 1).await;
    assert!(world.service().asked(&token).await.is_ok());
    world.advance(1).await;
    let late = world.service().asked(&token).await.unwrap_err();
    assert_eq!(late.to_string(), "this link has expired");
    let late = world.service().answer(&token, "1").await.unwrap_err();
    assert_eq!(late.to_string(), "this link has expired");
}

/// The provider's requests: the resource, the sender, and the form.
type Asked = (String, String, Vec<(String, String)>);

/// A provider on loopback with Twilio's API. It refuses numbers that end in 9, and is too busy for those that
/// end in 8.
async fn provider() -> (String, Arc<Mutex<Vec<Asked>>>) {
    let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
    let kept = Arc::clone(&asked);
    let take = move |Path((sid, resource)): Path<(String, String)>, headers: HeaderMap, body: String| async move {
        assert_eq!(sid, "AC1");
        let form: Vec<_> = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
        let who = headers["authorization"].to_str().unwrap().to_owned();
        let to = form[0].1.clone();
        kept.lock().unwrap().push((resource, who, form));
        match to.chars().last() {
            Some('9') => (
                StatusCode::BAD_REQUEST,
                json!({ "code": 21211, "message": "Invalid 'To' Phone Number", "status": 400 }).to_string(),
            ),
            Some('8') => (
                StatusCode::TOO_MANY_REQUESTS,
                json!({ "message": "Too Many Requests" }).to_string(),
            ),
            _ => (
                StatusCode::CREATED,
                json!({ "sid": "SM1", "status": "queued" }).to_string(),
            ),
        }
    };
    let app = axum::Router::new().route("/2010-04-01/Accounts/{sid}/{resource}", post(take));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (url, asked)
}

/// The application with an account at the provider.
async fn with_provider(url: &str) -> World {
    let account = url.replace("http://", "http://AC1:secret@");
    let twilio = Twilio::new(&format!("{account}?from=15550100"));
    let telephone = Some(Arc::new(twilio.unwrap()));
    let channels = Channels {
        email: None,
        telephone: telephone.clone(),
        webhook: Webhook::new().unwrap(),
    };
    let settings = Settings {
        telephone,
        ..settings()
    };
    World::set_up(Arc::default(), Arc::new(channels), settings).await
}

/// Posts a form as the provider does, signed with this token; returns status and text.
async fn reply(door: &Door, path: &str, form: &[(&str, &str)], auth_token: &str) -> (u16, String) {
    let mut sorted = form.to_vec();
    sorted.sort_unstable();
    let signed: String = sorted.iter().flat_map(|(name, value)| [*name, *value]).collect();
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, auth_token.as_bytes());
    let signature = hmac::sign(&key, format!("http://hunt{path}{signed}").as_bytes());
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish();
    let post = door.client.post(format!("{}{path}", door.base)).body(body);
    let post = post.header("x-twilio-signature", STANDARD.encode(signature));
    let post = post.header("content-type", "application/x-www-form-urlencoded");
    let answer = post.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn a_text_goes_to_the_provider_and_its_reply_ends_the_search() {
    let (url, asked) = provider().await;
    let world = with_provider(&url).await;
    let contact = world.contact(&[60]).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let sent = asked.lock().unwrap().clone();
    let (resource, who, form) = &sent[0];
    assert_eq!((sent.len(), resource.as_str()), (1, "Messages.json"));
    assert_eq!(who, &format!("Basic {}", STANDARD.encode("AC1:secret")));
    assert_eq!(form[0], ("To".to_owned(), "+4930100".to_owned()));
    assert_eq!(form[1], ("From".to_owned(), "+15550100".to_owned()));
    assert_eq!(form[2].0, "Body");
    assert!(
        form[2]
            .1
            .starts_with("Zavier Curtis, please answer: http://hunt/#answer/")
    );

    let door = Door::of(world).await;
    let form = [
        ("From", "+4930100"),
        ("To", "+15550100"),
        ("Body", "On my way & soon"),
    ];
    let (status, _) = reply(&door, "/replies/texts", &form, "guessed").await;
    assert_eq!(status, 403, "anyone can post; only the provider can sign");
    assert_eq!(door.world.status(&search).await, SearchStatus::Active);
    let stranger = [("From", "+4930199"), ("Body", "me")];
    let (status, said) = reply(&door, "/replies/texts", &stranger, "secret").await;
    assert!(
        status == 200 && said.contains("No one is looking for you"),
        "{said}"
    );
    let (status, said) = reply(&door, "/replies/texts", &form, "secret").await;
    assert_eq!(status, 200);
    assert_eq!(
        said,
        "<Response><Message>Thank you. Your answer was noted.</Message></Response>"
    );
    let (found, attempts) = door.world.look(&search).await;
    assert_eq!(found.status, SearchStatus::Successful);
    assert_eq!(attempts[0].response.as_deref(), Some("On my way & soon"));
}

#[tokio::test]
async fn a_call_asks_for_a_key_and_the_key_ends_the_search() {
    let (url, asked) = provider().await;
    let world = with_provider(&url).await;
    let contact = world
        .service()
        .add_contact(DOMAIN, "Zoë <& Co>")
        .await
        .unwrap()
        .contact_id;
    world.method(&contact, draft("call", "+4930101", 60, 0)).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let (resource, _, form) = asked.lock().unwrap()[0].clone();
    assert_eq!((resource.as_str(), form[2].0.as_str()), ("Calls.json", "Twiml"));
    let twiml = &form[2].1;
    assert!(
        twiml.contains("<Say>Zoë &lt;&amp; Co&gt;, you are needed."),
        "{twiml}"
    );
    let action = twiml
        .split("action=\"http://hunt")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    assert!(action.starts_with("/replies/calls/"), "{twiml}");
    let door = Door::of(world).await;
    assert_eq!(reply(&door, action, &[("Digits", "5")], "guessed").await.0, 403);
    let (status, said) = reply(&door, action, &[("Digits", "5")], "secret").await;
    assert!(status == 200 && said.contains("<Say>Thank you."), "{said}");
    let (found, attempts) = door.world.look(&search).await;
    assert_eq!(found.status, SearchStatus::Successful);
    assert_eq!(attempts[0].response.as_deref(), Some("5"));
    // It was answered in another way meanwhile.
    let (_, said) = reply(&door, "/replies/calls/x.1.y", &[("Digits", "5")], "secret").await;
    assert!(said.contains("No one is looking for you"), "{said}");
}

#[tokio::test]
async fn what_the_provider_refuses_is_noted_and_what_it_is_too_busy_for_is_tried_again() {
    let (url, asked) = provider().await;
    let world = with_provider(&url).await;
    let contact = world.contact(&[]).await;
    world.method(&contact, draft("text", "+4930109", 60, 0)).await;
    world.method(&contact, draft("text", "+4930108", 60, 1)).await;
    let search = world.begin(&contact).await;
    world.settle(1).await;
    let (_, attempts) = world.look(&search).await;
    let error = attempts[0].error.as_deref().unwrap();
    assert_eq!(
        error,
        "the provider answered 400 Bad Request: Invalid 'To' Phone Number"
    );
    assert_eq!(attempts[0].outcome, Some(SearchAttemptOutcome::Failed));
    assert_eq!(attempts[1].outcome, None);
    assert_eq!(asked.lock().unwrap().len(), 2);
    world.advance(10).await;
    assert_eq!(asked.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn replies_are_refused_where_no_provider_is_set_up() {
    let door = Door::of(World::new().await).await;
    let (status, _) = reply(&door, "/replies/texts", &[("From", "+4930100")], "").await;
    assert_eq!(status, 403);
}

/// A request with a key; gives status and JSON.
async fn with_key(door: &Door, method: &str, path: &str, key: &str, body: Value) -> (u16, Value) {
    let method = method.parse().unwrap();
    let request = door.client.request(method, format!("{}{path}", door.base));
    let request = request.header("authorization", format!("Bearer {key}"));
    let answer = request.json(&body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

#[tokio::test]
async fn a_key_opens_its_domain_and_no_other_and_only_the_administrator_makes_keys() {
    let recorder = Arc::new(crate::support::Recorder::default());
    let settings = Settings {
        admin_key: Some("root".to_owned()),
        ..settings()
    };
    let world = World::set_up(recorder.clone(), recorder, settings).await;
    let door = Door::of(world).await;
    let contacts = |domain: &str| format!("/domains/{domain}/contacts");
    let (status, refused) = door.json("get", &contacts("Acme%20Ltd"), json!({})).await;
    assert_eq!(status, 401);
    assert!(
        refused["error"]
            .as_str()
            .unwrap()
            .contains("authorization: Bearer")
    );
    let keys = "/domains/Acme%20Ltd/keys";
    let (status, made) = with_key(&door, "POST", keys, "root", json!({})).await;
    assert_eq!(status, 201);
    let key = made["key"].as_str().unwrap();
    let ada = json!({ "name": "Ada" });
    assert_eq!(
        with_key(&door, "POST", &contacts("Acme%20Ltd"), key, ada.clone())
            .await
            .0,
        201
    );
    assert_eq!(
        with_key(&door, "POST", &contacts("Other"), key, ada.clone())
            .await
            .0,
        401
    );
    assert_eq!(
        with_key(&door, "POST", &contacts("Acme%20Ltd"), "mh_guess", ada.clone())
            .await
            .0,
        401
    );
    assert_eq!(
        with_key(&door, "POST", &contacts("Acme%20Ltd"), "", ada.clone())
            .await
            .0,
        401
    );
    assert_eq!(with_key(&door, "GET", keys, key, json!({})).await.0, 403);
    let (_, listed) = with_key(&door, "GET", keys, "root", json!({})).await;
    let listed = listed["items"].as_array().unwrap();
    assert_eq!((listed.len(), &listed[0]["keyId"]), (1, &made["keyId"]));
    assert!(!listed[0].to_string().contains(key), "the key itself is not kept");
    // Paths of other domains do not show it, and a removed key is invalid.
    let own = format!("{keys}/{}", made["keyId"].as_str().unwrap());
    let foreign = own.replace("Acme%20Ltd", "Other");
    assert_eq!(
        with_key(&door, "DELETE", &foreign, "root", json!({})).await.0,
        404
    );
    assert_eq!(with_key(&door, "DELETE", &own, "root", json!({})).await.0, 204);
    assert_eq!(
        with_key(&door, "POST", &contacts("Acme%20Ltd"), key, ada).await.0,
        401
    );
    // People with a link need no key, nor does a health check.
    assert_eq!(door.json("get", "/answers/x", json!({})).await.0, 404);
    assert_eq!(door.json("get", "/health", json!({})).await.0, 200);
}

#[tokio::test]
async fn an_answer_that_no_row_can_hold_is_refused_and_the_search_goes_on() {
    let world = World::new().await;
    let contact = world.contact(&[60]).await;
    let attempt = world.attempted(&contact).await;
    let endless = "x".repeat(500_000);
    let answered = world.service().respond(DOMAIN, &attempt, &endless).await;
    assert!(matches!(answered, Err(Error::Invalid(_))), "{answered:?}");
    assert_eq!(world.status(&attempt.search).await, SearchStatus::Active);
}
