//! A transaction with a token is executed once: a row with the token is part of it.

use std::time::Duration;

use serde::Serialize;
use trestle_api::{Database, DatabaseExt, Error, ErrorKind, GetItem, Put, TransactWriteItem};
use trestle_env::Timestamp;
use trestle_item::{AttributeValue, Item, Map, Number, key};

use crate::own_table::OwnTable;

/// The tokens of the transactions of the last minutes.
const TOKENS: OwnTable = OwnTable {
    name: "_trestle.tokens",
    key: NAME,
    range: None,
    ttl: Some(EXPIRES),
};
const NAME: &str = "token";
const REQUEST: &str = "request";
const EXPIRES: &str = "expires";
/// As long as in DynamoDB.
const REMEMBERED: Duration = Duration::from_secs(600);

/// The token of a transaction, and a fingerprint of its items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    name: String,
    request: String,
}

impl Token {
    /// The token of a request with these items, if it has one.
    pub(crate) fn of<I: Serialize>(name: Option<&String>, items: &I) -> Result<Option<Self>, Error> {
        let Some(name) = name else { return Ok(None) };
        let items = serde_json::to_vec(items);
        let items = items.map_err(|error| Error::internal(error.to_string()))?;
        Ok(Some(Token {
            name: name.clone(),
            request: format!("{:016x}-{:x}", key::hash(&items), items.len()),
        }))
    }

    /// Whether the same request was executed. A different request with the same token is refused.
    pub(crate) async fn is_done(&self, database: &dyn Database, now: Timestamp) -> Result<bool, Error> {
        let asked = GetItem {
            table_name: TOKENS.name.to_owned(),
            key: Item::from([(NAME, self.name.as_str())]),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        let found = match database.get_item(asked).await {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => {
                TOKENS.create(database).await?;
                return Ok(false);
            }
            answer => answer?.item,
        };
        let Some(found) = found else { return Ok(false) };
        let expires = found.get(EXPIRES).and_then(AttributeValue::as_n);
        let expires = expires.and_then(|expires| expires.to_string().parse().ok());
        if expires.is_none_or(|expires: u64| expires <= now.as_secs()) {
            return Ok(false);
        }
        match found.get(REQUEST).and_then(AttributeValue::as_s) {
            Some(request) if request == self.request => Ok(true),
            _ => Err(Error::idempotent_mismatch()),
        }
    }

    /// The item of the transaction that stores the token.
    pub(crate) fn part(&self, now: Timestamp) -> TransactWriteItem {
        let number = |seconds: u64| AttributeValue::N(Number::from(seconds));
        let mut item = Item::from([(NAME, self.name.as_str()), (REQUEST, self.request.as_str())]);
        item.insert(EXPIRES, number(now.plus(REMEMBERED).as_secs()));
        TransactWriteItem {
            put: Some(Box::new(Put {
                table_name: TOKENS.name.to_owned(),
                item,
                condition_expression: Some("attribute_not_exists(#t) OR #e <= :now".to_owned()),
                expression_attribute_names: Some(
                    [("#t", NAME), ("#e", EXPIRES)]
                        .map(|(a, b)| (a.to_owned(), b.to_owned()))
                        .into(),
                ),
                expression_attribute_values: Some(Map::from_iter([(
                    ":now".to_owned(),
                    number(now.as_secs()),
                )])),
                ..Put::default()
            })),
            ..TransactWriteItem::default()
        }
    }
}
