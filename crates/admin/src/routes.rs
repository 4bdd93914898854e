//! Calls about routes and what they gave up.

use crate::AdminError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trestle_events::{GoneRoute, RouteStatus, Selection};

/// How the routes are doing.
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

/// The route file that was applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadRoutes {}

/// The answer to [`ReadRoutes`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteFileText {
    /// The route file; empty if none was applied.
    pub text: String,
}

/// Lets a route file take the place of the one that was applied before. Routes in models stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyRoutes {
    /// The route file.
    pub text: String,
    /// Only check it.
    #[serde(default)]
    pub dry_run: bool,
}

/// Gives every row that a route takes to its target, then goes on with the changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackfillRoute {
    /// The route.
    pub route: String,
    /// The most rows in a second; no limit unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
}

/// Ends a backfill before it is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelBackfill {
    /// The route.
    pub route: String,
}

/// A page of dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListDeadLetters {
    /// Those of one route only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// Go on after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// How many at most; 100 unless said, 1,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The answer to [`ListDeadLetters`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeadLetterList {
    /// The letters, by route and in the order of their changes.
    pub dead_letters: Vec<Value>,
    /// The id to go on after, if there are more.
    pub next: Option<String>,
}

/// One dead letter, whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadDeadLetter {
    /// Its id.
    pub id: String,
}

/// Tries dead letters again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReplayDeadLetters(pub LetterSelection);

/// Gives dead letters to another route.
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
    /// Which ones, and the route that gets them.
    #[must_use]
    pub fn new(which: Selection, to: String) -> Self {
        let LetterSelection { id, route, all } = which.into();
        Self { id, route, all, to }
    }

    /// Which ones, and the route that gets them.
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

/// Forgets dead letters for good.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DropDeadLetters(pub LetterSelection);

/// Which dead letters: exactly one of the three says it.
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

    /// Everything only by that word.
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
