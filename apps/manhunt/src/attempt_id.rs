//! Ids of attempts: the search and which of its attempts, so that a message that comes twice makes one attempt.

use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::model::{SearchAttemptKey, SearchKey};

/// The id of an attempt. Its text leads back to the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptId {
    /// The search.
    pub search: String,
    /// Which of its attempts; the first is 0.
    pub number: u32,
}

impl AttemptId {
    /// The attempt's key.
    pub(crate) fn key(&self) -> SearchAttemptKey {
        SearchAttemptKey {
            search_id: self.search.clone(),
            attempt_id: self.to_string(),
        }
    }

    /// The key of its search.
    pub(crate) fn search_key(&self) -> SearchKey {
        SearchKey::new(self.search.as_str())
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.search, self.number)
    }
}

impl FromStr for AttemptId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (search, number) = text.rsplit_once('-').ok_or(Error::NotFound("attempt"))?;
        let number = number.parse().map_err(|_| Error::NotFound("attempt"))?;
        Ok(Self {
            search: search.to_owned(),
            number,
        })
    }
}
