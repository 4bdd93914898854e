//! Calls about routes and dead letters.

use crate::AdminError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trestle_events::{GoneRoute, RouteStatus, Selection};

/// The status of the routes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListRoutes {}

/// The answer to [`ListRoutes`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteList {
    /// The routes, by name.
    pub routes: Vec<RouteStatus>,
    /// Routes that were removed or renamed and have dead letters, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<GoneRoute>,
}

/// Reads the route file that was applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadRoutes {}

/// The answer to [`ReadRoutes`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteFileText {
    /// The route file; empty if none was applied.
    pub text: String,
}

/// Replaces the applied route file. Routes in models stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyRoutes {
    /// The route file.
    pub text: String,
    /// Only check it.
    #[serde(default)]
    pub dry_run: bool,
}

/// Delivers every row that a route takes to its target, then continues with the changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackfillRoute {
    /// The route.
    pub route: String,
    /// The maximum number of rows per second; no limit by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
}

/// Cancels a backfill.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelBackfill {
    /// The route.
    pub route: String,
}

/// Lists dead letters, one page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListDeadLetters {
    /// Only those of this route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// Begin after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The maximum number; 100 by default, at most 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The answer to [`ListDeadLetters`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeadLetterList {
    /// The letters, by route and in the order of their changes.
    pub dead_letters: Vec<Value>,
    /// The id after which the next page begins, if there are more.
    pub next: Option<String>,
}

/// Reads one whole dead letter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadDeadLetter {
    /// Its id.
    pub id: String,
}

/// Delivers dead letters again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReplayDeadLetters(pub LetterSelection);

/// Moves dead letters to another route.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveDeadLetters {
    /// This one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Those of this route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// All of them.
    #[serde(default)]
    pub all: bool,
    /// The route that gets them.
    pub to: String,
}

impl MoveDeadLetters {
    /// Moves this selection to that route.
    #[must_use]
    pub fn new(which: Selection, to: String) -> Self {
        let LetterSelection { id, route, all } = which.into();
        Self { id, route, all, to }
    }

    /// The selection, and the route that gets it.
    pub fn split(self) -> Result<(Selection, String), AdminError> {
        let Self { id, route, all, to } = self;
        Ok((LetterSelection { id, route, all }.try_into()?, to))
    }
}

/// The answer to [`MoveDeadLetters`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLettersMoved {
    /// How many.
    pub moved: u64,
}

/// Deletes dead letters permanently.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DropDeadLetters(pub LetterSelection);

/// A selection of dead letters: exactly one of the members is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LetterSelection {
    /// This one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Those of this route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// All of them.
    #[serde(default)]
    pub all: bool,
}

/// The answer to [`DropDeadLetters`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLettersDropped {
    /// How many.
    pub dropped: u64,
}

impl TryFrom<LetterSelection> for Selection {
    type Error = AdminError;

    /// All dead letters are selected only by `all`.
    fn try_from(letters: LetterSelection) -> Result<Self, AdminError> {
        match (letters.id, letters.route, letters.all) {
            (Some(id), None, false) => Ok(Selection::One(id)),
            (None, Some(route), false) => Ok(Selection::Route(route)),
            (None, None, true) => Ok(Selection::All),
            _ => Err(AdminError::invalid(
                "say which dead letters: exactly one of `id`, `route` and `all`",
            )),
        }
    }
}

impl From<Selection> for LetterSelection {
    fn from(selection: Selection) -> Self {
        let mut letters = LetterSelection::default();
        match selection {
            Selection::One(id) => letters.id = Some(id),
            Selection::Route(route) => letters.route = Some(route),
            Selection::All => letters.all = true,
        }
        letters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_of_three_says_which_dead_letters() {
        for one in [
            Selection::All,
            Selection::Route("r".to_owned()),
            Selection::One("r#1".to_owned()),
        ] {
            let letters = LetterSelection::from(one.clone());
            assert_eq!(Selection::try_from(letters).unwrap(), one);
        }
        assert!(Selection::try_from(LetterSelection::default()).is_err());
        let two = LetterSelection {
            route: Some("r".to_owned()),
            all: true,
            id: None,
        };
        assert!(Selection::try_from(two).is_err());
        let call: DropDeadLetters = serde_json::from_str(r#"{"all": true}"#).unwrap();
        assert!(call.0.all);
    }
}
