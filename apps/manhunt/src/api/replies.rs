//! Replies that the provider of texts and calls sends.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};

use crate::{Error, Result, Service};

type App = State<Arc<Service>>;
/// The form of the provider.
type Form = Vec<(String, String)>;

/// A text from a number answers the last text that was sent to it.
pub(super) async fn text(State(app): App, headers: HeaderMap, body: String) -> Result<Response> {
    let form = signed(&app, "/replies/texts", &headers, &body)?;
    let answered = app.answer_text(field(&form, "From"), field(&form, "Body")).await;
    spoken("Message", answered.map(drop))
}

/// A key that was pressed during a call answers it.
pub(super) async fn call(
    State(app): App,
    Path(token): Path<String>,
    headers: HeaderMap,
    body: String,
) -> Result<Response> {
    let form = signed(&app, &format!("/replies/calls/{token}"), &headers, &body)?;
    let answered = app.answer(&token, field(&form, "Digits")).await;
    spoken("Say", answered.map(drop))
}

/// The form of a request, if the provider signed it.
fn signed(app: &Service, path: &str, headers: &HeaderMap, body: &str) -> Result<Form> {
    let form: Form = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let url = format!("{}{path}", app.settings.base_url);
    let signature = headers.get("x-twilio-signature");
    let signature = signature.and_then(|signature| signature.to_str().ok());
    match (&app.settings.telephone, signature) {
        (Some(telephone), Some(signature)) if telephone.is_signed(&url, &form, signature) => Ok(form),
        _ => Err(Error::Forbidden("the provider did not sign this".to_owned())),
    }
}

fn field<'f>(form: &'f Form, name: &str) -> &'f str {
    let found = form.iter().find(|(field, _)| field == name);
    found.map_or("", |(_, value)| value)
}

/// The provider's answer to the contact.
fn spoken(element: &str, answered: Result<()>) -> Result<Response> {
    let said = match answered {
        Ok(()) => "Thank you. Your answer was noted.",
        Err(Error::NotFound(_)) => "No one is looking for you.",
        Err(Error::Conflict(_)) => "Thank you. The search has ended already.",
        Err(error) => return Err(error),
    };
    let body = format!("<Response><{element}>{said}</{element}></Response>");
    Ok(([(CONTENT_TYPE, "text/xml")], body).into_response())
}
