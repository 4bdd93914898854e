//! Ids of attempts: the search and which of its attempts, so that a repeated message makes only one attempt.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::SearchAttemptKey;
use crate::{Error, Result};

/// The id of an attempt. Its text contains the search. As a message in the queue it requests this attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptId {
    /// The search.
    pub search: String,
    /// Which of its attempts; the first is 0.
    pub number: u32,
}

impl AttemptId {
    pub(crate) fn key(&self) -> SearchAttemptKey {
        SearchAttemptKey {
            search_id: self.search.clone(),
            attempt_id: self.to_string(),
        }
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.search, self.number)
    }
}

impl FromStr for AttemptId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.rsplit_once('-');
        let id = parts.and_then(|(search, number)| Some((search.to_owned(), number.parse().ok()?)));
        let (search, number) = id.ok_or_else(|| Error::not_found("such attempt"))?;
        Ok(Self { search, number })
    }
}
