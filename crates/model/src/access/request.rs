//! A bound access pattern as a request of the API.

use trestle_api::{GetItem, Query, Request, Scan};
use trestle_expr::RequestExpressions;

use super::Bound;

impl Bound {
    /// The request for the first page. Its page size is that of the model, if it has one.
    #[must_use]
    pub fn into_request(self) -> Request {
        let mut expressions = RequestExpressions::default();
        match self {
            Bound::Get {
                table_name,
                key,
                consistent,
            } => Request::GetItem(GetItem {
                table_name,
                key,
                consistent_read: Some(consistent),
                ..GetItem::default()
            }),
            Bound::Query {
                table_name,
                index,
                key_condition,
                filter,
                forward,
                limit,
                consistent,
            } => {
                let key_condition = expressions.take(key_condition.print(), 'k');
                let filter = filter.map(|filter| expressions.take(filter.print(), 'f'));
                let (expression_attribute_names, expression_attribute_values) = expressions.split();
                Request::Query(Query {
                    table_name,
                    index_name: index,
                    key_condition_expression: Some(key_condition),
                    filter_expression: filter,
                    scan_index_forward: Some(forward),
                    limit,
                    consistent_read: Some(consistent),
                    expression_attribute_names,
                    expression_attribute_values,
                    ..Query::default()
                })
            }
            Bound::Scan {
                table_name,
                index,
                filter,
                limit,
                consistent,
            } => {
                let filter = filter.map(|filter| expressions.take(filter.print(), 'f'));
                let (expression_attribute_names, expression_attribute_values) = expressions.split();
                Request::Scan(Scan {
                    table_name,
                    index_name: index,
                    filter_expression: filter,
                    limit,
                    consistent_read: Some(consistent),
                    expression_attribute_names,
                    expression_attribute_values,
                    ..Scan::default()
                })
            }
        }
    }
}
