//! The claims of a request about its signature, from the header or from the query string.

use super::invalid;
use hyper::header::{AUTHORIZATION, DATE, HeaderMap};
use hyper::http::request::Parts;
use trestle_api::Error;
use trestle_sigv4::{ALGORITHM, Moment, Scope, query_parameters};

/// A presigned request is valid for at most a week.
const EXPIRES_S_MAX: u64 = 7 * 24 * 60 * 60;

/// A signature and what it claims to cover.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) key_id: String,
    pub(super) scope: Scope,
    pub(super) signed_at: Moment,
    /// Lower-case names, in the order of the request.
    pub(super) signed_headers: Vec<String>,
    pub(super) signature: String,
    /// How long a presigned request is valid.
    pub(super) expires_s: Option<u64>,
}

impl Claim {
    pub(super) fn read(head: &Parts) -> Result<Claim, Error> {
        let parameters = query_parameters(head.uri.query().unwrap_or_default());
        let presigned = parameters.iter().any(|(name, _)| name == "X-Amz-Algorithm");
        let Some(header) = head.headers.get(AUTHORIZATION) else {
            return if presigned {
                from_query(&parameters)
            } else {
                Err(Error::missing_authentication_token())
            };
        };
        if presigned {
            return Err(invalid(
                "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
                    .to_owned(),
            ));
        }
        from_header(&String::from_utf8_lossy(header.as_bytes()), &head.headers)
    }

    pub(super) fn signs(&self, header: &str) -> bool {
        self.signed_headers.iter().any(|signed| signed == header)
    }
}

fn from_header(authorization: &str, headers: &HeaderMap) -> Result<Claim, Error> {
    let (algorithm, rest) = split_word(authorization.trim());
    if !algorithm.starts_with("AWS4-") {
        return Err(Error::missing_authentication_token());
    }
    if algorithm != ALGORITHM {
        return Err(Error::incomplete_signature(format!(
            "Unsupported AWS 'algorithm': '{algorithm}'."
        )));
    }
    let fields = HeaderFields::read(rest);
    let date = headers
        .get("x-amz-date")
        .or_else(|| headers.get(DATE))
        .and_then(|value| value.to_str().ok());
    let (Some(credential), Some(signature), Some(signed_headers), Some(date)) =
        (fields.credential, fields.signature, fields.signed_headers, date)
    else {
        return Err(incomplete_header(&fields, date.is_some(), authorization));
    };
    let (key_id, scope) = credential_parts(credential)?;
    Ok(Claim {
        key_id,
        scope,
        signed_at: signing_time(date)?,
        signed_headers: header_names(signed_headers),
        signature: signature.to_owned(),
        expires_s: None,
    })
}

/// The three named fields of an `Authorization` header.
#[derive(Default)]
struct HeaderFields<'a> {
    credential: Option<&'a str>,
    signature: Option<&'a str>,
    signed_headers: Option<&'a str>,
}

impl<'a> HeaderFields<'a> {
    fn read(text: &'a str) -> Self {
        let mut fields = HeaderFields::default();
        for field in text.split([',', ' ']) {
            match field.split_once('=') {
                Some(("Credential", value)) => fields.credential = Some(value),
                Some(("Signature", value)) => fields.signature = Some(value),
                Some(("SignedHeaders", value)) => fields.signed_headers = Some(value),
                _ => {}
            }
        }
        fields
    }
}

fn incomplete_header(fields: &HeaderFields<'_>, has_date: bool, authorization: &str) -> Error {
    let mut message = String::new();
    for (name, value) in [
        ("Credential", fields.credential),
        ("Signature", fields.signature),
        ("SignedHeaders", fields.signed_headers),
    ] {
        if value.is_none() {
            message += &format!("Authorization header requires '{name}' parameter. ");
        }
    }
    if !has_date {
        message += "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ";
    }
    Error::incomplete_signature(format!("{message}Authorization={authorization}"))
}

fn from_query(parameters: &[(String, String)]) -> Result<Claim, Error> {
    let find = |wanted: &str| {
        let found = parameters.iter().find(|(name, _)| name == wanted);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    };
    let (Some(algorithm), Some(credential), Some(signature), Some(signed_headers), Some(date)) = (
        find("X-Amz-Algorithm"),
        find("X-Amz-Credential"),
        find("X-Amz-Signature"),
        find("X-Amz-SignedHeaders"),
        find("X-Amz-Date"),
    ) else {
        return Err(incomplete_query(find));
    };
    if algorithm != ALGORITHM {
        return Err(Error::incomplete_signature(format!(
            "Unsupported AWS 'algorithm': '{algorithm}'."
        )));
    }
    let (key_id, scope) = credential_parts(credential)?;
    Ok(Claim {
        key_id,
        scope,
        signed_at: signing_time(date)?,
        signed_headers: header_names(signed_headers),
        signature: signature.to_owned(),
        expires_s: find("X-Amz-Expires").map(lifetime).transpose()?,
    })
}

fn incomplete_query<'a>(find: impl Fn(&str) -> Option<&'a str>) -> Error {
    let mut message = String::new();
    for name in [
        "X-Amz-Algorithm",
        "X-Amz-Credential",
        "X-Amz-Signature",
        "X-Amz-SignedHeaders",
        "X-Amz-Date",
    ] {
        if find(name).is_none() {
            message += &format!("AWS query-string parameters must include '{name}'. ");
        }
    }
    Error::incomplete_signature(message + "Re-examine the query-string parameters.")
}

fn lifetime(text: &str) -> Result<u64, Error> {
    match text.parse::<u64>() {
        Ok(seconds) if (1..=EXPIRES_S_MAX).contains(&seconds) => Ok(seconds),
        _ => Err(Error::incomplete_signature(format!(
            "X-Amz-Expires must be a number of seconds between 1 and {EXPIRES_S_MAX}, got '{text}'"
        ))),
    }
}

fn credential_parts(credential: &str) -> Result<(String, Scope), Error> {
    let parts: Vec<&str> = credential.split('/').collect();
    let [key_id, date, region, service, terminator] = parts[..] else {
        return Err(Error::incomplete_signature(format!(
            "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '{credential}'"
        )));
    };
    let scope = Scope {
        date: date.to_owned(),
        region: region.to_owned(),
        service: service.to_owned(),
        terminator: terminator.to_owned(),
    };
    Ok((key_id.to_owned(), scope))
}

/// `X-Amz-Date` is always in basic format; a plain `Date` may also be an ordinary HTTP date.
fn signing_time(text: &str) -> Result<Moment, Error> {
    Moment::parse(text).or_else(|| http_date(text)).ok_or_else(|| {
        Error::incomplete_signature(format!(
            "Date must be in ISO-8601 'basic format'. Got '{text}'. See http://en.wikipedia.org/wiki/ISO_8601"
        ))
    })
}

fn http_date(text: &str) -> Option<Moment> {
    let time = httpdate::parse_http_date(text).ok()?;
    let since_epoch = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Moment::from_epoch_s(since_epoch.as_secs()))
}

fn header_names(list: &str) -> Vec<String> {
    list.split(';').map(str::to_ascii_lowercase).collect()
}

fn split_word(text: &str) -> (&str, &str) {
    text.split_once(' ').unwrap_or((text, ""))
}
