//! Which requests may be sent again if the outcome of the first attempt is not known.

use trestle_api::{Access, DeleteItem, PutItem, Request, ReturnValue};
use trestle_env::ids::uuid;
use trestle_http_client::Repeat;

/// Gives transactions a token by which the endpoint recognises a repetition.
pub(crate) fn recognisable(mut request: Request) -> Request {
    let token = match &mut request {
        Request::TransactWriteItems(request) => &mut request.client_request_token,
        Request::ExecuteTransaction(request) => &mut request.client_request_token,
        _ => return request,
    };
    token.get_or_insert_with(uuid);
    request
}

/// Whether a request that can be recognised may be repeated.
pub(crate) fn repeat(request: &Request) -> Repeat {
    let is_safe = match request {
        // Recognised by their token.
        Request::TransactWriteItems(_) | Request::ExecuteTransaction(_) => true,
        // The result is the same, however often it is sent.
        Request::BatchWriteItem(_) | Request::TagResource(_) | Request::UntagResource(_) => true,
        Request::PutItem(put) => is_plain_put(put),
        Request::DeleteItem(delete) => is_plain_delete(delete),
        request => match request.access() {
            Access::Read => true,
            // It may count, and creating or deleting a table twice is an error.
            Access::Write => false,
            Access::Statements(texts) => texts.into_iter().all(is_select),
        },
    };
    if is_safe { Repeat::Allowed } else { Repeat::Never }
}

/// Without a condition, which its own first attempt might break, and without returning the previous item.
fn is_plain_put(put: &PutItem) -> bool {
    put.condition_expression.is_none() && put.expected.is_none() && shows_nothing(put.return_values)
}

fn is_plain_delete(delete: &DeleteItem) -> bool {
    delete.condition_expression.is_none() && delete.expected.is_none() && shows_nothing(delete.return_values)
}

fn shows_nothing(values: Option<ReturnValue>) -> bool {
    values.is_none_or(|values| values == ReturnValue::None)
}

fn is_select(statement: &str) -> bool {
    let word = statement.trim_start().get(..6);
    word.is_some_and(|word| word.eq_ignore_ascii_case("select"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_api::{ExecuteStatement, TransactWriteItems, UpdateItem};

    #[test]
    fn a_write_is_repeated_only_if_twice_is_the_same_as_once() {
        let plain = PutItem::default();
        assert_eq!(repeat(&Request::PutItem(plain.clone())), Repeat::Allowed);
        let conditional = PutItem {
            condition_expression: Some("attribute_not_exists(pk)".into()),
            ..plain.clone()
        };
        assert_eq!(repeat(&Request::PutItem(conditional)), Repeat::Never);
        let curious = PutItem {
            return_values: Some(ReturnValue::AllOld),
            ..plain
        };
        assert_eq!(repeat(&Request::PutItem(curious)), Repeat::Never);
        assert_eq!(repeat(&Request::UpdateItem(UpdateItem::default())), Repeat::Never);
        let statement = |text: &str| {
            Request::ExecuteStatement(ExecuteStatement {
                statement: text.into(),
                ..ExecuteStatement::default()
            })
        };
        assert_eq!(repeat(&statement(" select * from t")), Repeat::Allowed);
        assert_eq!(repeat(&statement("UPDATE t SET n = n + 1")), Repeat::Never);
    }

    #[test]
    fn a_transaction_is_given_a_token_and_keeps_its_own() {
        let token = |request: Request| match recognisable(request) {
            Request::TransactWriteItems(request) => request.client_request_token,
            _ => None,
        };
        let anonymous = || Request::TransactWriteItems(TransactWriteItems::default());
        let first = token(anonymous());
        assert!(first.is_some());
        assert_ne!(first, token(anonymous()));
        let named = TransactWriteItems {
            client_request_token: Some("mine".into()),
            ..TransactWriteItems::default()
        };
        assert_eq!(token(Request::TransactWriteItems(named)).as_deref(), Some("mine"));
    }
}
