//! A list over HTTP, a page at a time.

use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trestle_typed::{AccessRows, FromRow, Page};

use super::{OrNothing as _, Result, shown};

/// How many rows a page has by default.
const ROWS: u32 = 100;
/// The most rows of a page.
const ROWS_MAX: u32 = 1_000;

/// Which part of a list a client wants: `?limit=20&after=…` of a request. By default the first hundred rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListPart {
    /// At most so many rows; between 1 and 1,000.
    pub limit: Option<u32>,
    /// `next` of the previous part.
    pub after: Option<String>,
}

impl ListPart {
    /// The part that a request asks for, among other parameters.
    #[must_use]
    pub fn new(limit: Option<u32>, after: Option<String>) -> Self {
        Self { limit, after }
    }

    /// Answers with that part of these rows, as [`listed`] does. A bookmark of another list is a 400; the
    /// list for an impossible key is empty ([`OrNothing`](super::OrNothing)).
    pub async fn of<T, How>(self, rows: AccessRows<'_, T, How>) -> Result<Response>
    where
        T: FromRow + Serialize,
    {
        let rows = rows.page_size(self.limit.unwrap_or(ROWS).clamp(1, ROWS_MAX));
        listed(rows.continued(self.after).page().await.or_nothing()?)
    }
}

/// Answers 200 with a page of rows: `{"items": […], "next": …}`; `next` is null after the last row.
pub fn listed(page: Page<impl Serialize>) -> Result<Response> {
    shown(json!({ "items": page.rows, "next": page.next }))
}
