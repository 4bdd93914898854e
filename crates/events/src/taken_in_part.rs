//! The results of a batch of which a target took only a part.

use std::collections::{HashMap, HashSet};

/// The result for one change of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    Taken,
    /// It was refused, for this reason.
    Refused(String),
    /// It must be sent again; it is not at fault.
    Later,
}

/// All changes of a batch were taken except those that were refused and those that must be sent again.
pub(crate) struct TakenInPart {
    refused: HashMap<String, String>,
    later: HashSet<String>,
}

impl TakenInPart {
    /// By delivery id: the refused changes, each with the reason, and those that must be sent again.
    pub(crate) fn new(refused: Vec<(String, String)>, later: Vec<String>) -> Self {
        Self {
            refused: refused.into_iter().collect(),
            later: later.into_iter().collect(),
        }
    }

    /// Takes out the result of the change with this delivery id. For a change in both lists, the refusal
    /// counts.
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
