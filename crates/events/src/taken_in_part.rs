//! A batch of which a target took some: what became of each change.

use std::collections::{HashMap, HashSet};

/// What a target did with one change of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    Taken,
    /// It was refused, for this reason.
    Refused(String),
    /// It is to come again; it is not to blame.
    Later,
}

/// All changes of a batch were taken but for those that were refused, and for those that are to come again.
pub(crate) struct TakenInPart {
    refused: HashMap<String, String>,
    later: HashSet<String>,
}

impl TakenInPart {
    /// By delivery id: what was refused, each with the reason, and what is to come again.
    pub(crate) fn new(refused: Vec<(String, String)>, later: Vec<String>) -> Self {
        Self {
            refused: refused.into_iter().collect(),
            later: later.into_iter().collect(),
        }
    }

    /// What became of the change with this delivery id. A change that was refused is not to come again by itself.
    pub(crate) fn answered(&mut self, id: &str) -> Answered {
        match self.refused.remove(id) {
            Some(error) => Answered::Refused(error),
            None if self.later.contains(id) => Answered::Later,
            None => Answered::Taken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_neither_refused_nor_put_off_was_taken() {
        let refused = vec![("a".to_owned(), "no".to_owned())];
        let mut batch = TakenInPart::new(refused, vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(batch.answered("a"), Answered::Refused("no".to_owned()));
        assert_eq!(batch.answered("b"), Answered::Later);
        assert_eq!(batch.answered("c"), Answered::Taken);
    }
}
