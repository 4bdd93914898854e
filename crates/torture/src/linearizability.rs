//! Whether a history of one item can be explained by some order of its operations, each at one moment between
//! its call and its return.
//!
//! The search is that of Wing and Gong with Lowe's memory: try every operation that nothing else had to
//! precede, continue with the rest, and never visit the same set of finished operations in the same state
//! twice.

use std::collections::HashSet;

/// A client's operation on the item, and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Puts a value, whatever is there.
    Put(u64),
    /// Removes the item, whatever is there.
    Delete,
    /// Reads: what was seen.
    Get(Option<u64>),
    /// Replaces one value by another if it is the expected one: whether it was replaced.
    Swap {
        /// The expected value.
        expected: u64,
        /// The new value.
        new: u64,
        /// Whether it was carried out.
        done: bool,
    },
}

/// One operation of a history.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// When it was sent.
    pub called: u64,
    /// When it was answered; `None` if it never was: it may have happened at any time since, or not at all.
    pub returned: Option<u64>,
    /// What it was.
    pub action: Action,
}

/// Whether one order explains what all clients saw, beginning without the item.
pub fn is_linearizable(history: &[Operation]) -> bool {
    let mut search = Search {
        history,
        seen: HashSet::new(),
        done: vec![0; history.len().div_ceil(64)],
    };
    search.run()
}

struct Search<'a> {
    history: &'a [Operation],
    /// Sets of operations that are done, each with the state they lead to.
    seen: HashSet<(Vec<u64>, Option<u64>)>,
    done: Vec<u64>,
}

/// An operation on the way to a solution: the state to return to if it leads nowhere.
struct Step {
    operation: usize,
    before: Option<u64>,
}

impl Search<'_> {
    /// Depth first, with an explicit stack, because histories are longer than the system's stack is deep.
    fn run(&mut self) -> bool {
        let mut steps: Vec<Step> = Vec::new();
        let mut state = None;
        let mut from = 0;
        loop {
            if self.is_complete() {
                return true;
            }
            match self.next(from, state) {
                Some((operation, after)) => {
                    steps.push(Step {
                        operation,
                        before: state,
                    });
                    self.flip(operation);
                    (state, from) = (after, 0);
                }
                None => {
                    let Some(step) = steps.pop() else {
                        return false;
                    };
                    self.flip(step.operation);
                    (state, from) = (step.before, step.operation + 1);
                }
            }
        }
    }

    /// The first operation from `from` on that may come next and leads to a new state.
    fn next(&mut self, from: usize, state: Option<u64>) -> Option<(usize, Option<u64>)> {
        let open = (0..self.history.len()).filter(|operation| !self.is_done(*operation));
        let first_return = open
            .filter_map(|operation| self.history[operation].returned)
            .min();
        for operation in from..self.history.len() {
            let candidate = self.history[operation];
            let is_preceded = first_return.is_some_and(|returned| returned < candidate.called);
            if self.is_done(operation) || is_preceded {
                continue;
            }
            let Some(after) = apply(candidate, state) else {
                continue;
            };
            self.flip(operation);
            let is_new = self.seen.insert((self.done.clone(), after));
            self.flip(operation);
            if is_new {
                return Some((operation, after));
            }
        }
        None
    }

    /// Operations without an answer need not have happened.
    fn is_complete(&self) -> bool {
        (0..self.history.len())
            .all(|operation| self.is_done(operation) || self.history[operation].returned.is_none())
    }

    fn is_done(&self, operation: usize) -> bool {
        self.done[operation / 64] & (1 << (operation % 64)) != 0
    }

    fn flip(&mut self, operation: usize) {
        self.done[operation / 64] ^= 1 << (operation % 64);
    }
}

/// The state after the operation, or `None` if its answer contradicts the state before.
fn apply(operation: Operation, state: Option<u64>) -> Option<Option<u64>> {
    let is_answered = operation.returned.is_some();
    match operation.action {
        Action::Put(value) => Some(Some(value)),
        Action::Delete => Some(None),
        Action::Get(seen) => (!is_answered || seen == state).then_some(state),
        Action::Swap { expected, new, done } => {
            let matches = state == Some(expected);
            let after = if matches { Some(new) } else { state };
            (!is_answered || done == matches).then_some(after)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(called: u64, returned: u64, action: Action) -> Operation {
        Operation {
            called,
            returned: Some(returned),
            action,
        }
    }

    fn swap(expected: u64, new: u64, done: bool) -> Action {
        Action::Swap { expected, new, done }
    }

    #[test]
    fn one_after_the_other_is_linearizable() {
        let history = [
            at(0, 1, Action::Get(None)),
            at(2, 3, Action::Put(1)),
            at(4, 5, Action::Get(Some(1))),
            at(6, 7, swap(1, 2, true)),
            at(8, 9, swap(1, 3, false)),
            at(10, 11, Action::Delete),
            at(12, 13, Action::Get(None)),
        ];
        assert!(is_linearizable(&history));
    }

    #[test]
    fn a_stale_read_is_not() {
        let history = [
            at(0, 1, Action::Put(1)),
            at(2, 3, Action::Put(2)),
            at(4, 5, Action::Get(Some(1))),
        ];
        assert!(!is_linearizable(&history));
    }

    #[test]
    fn reads_that_go_back_in_time_are_not() {
        let history = [
            at(0, 1, Action::Put(1)),
            at(2, 10, Action::Put(2)),
            at(3, 4, Action::Get(Some(2))),
            at(5, 6, Action::Get(Some(1))),
        ];
        assert!(!is_linearizable(&history));
    }

    #[test]
    fn two_swaps_of_the_same_value_are_a_lost_update() {
        let history = [
            at(0, 1, Action::Put(1)),
            at(2, 5, swap(1, 2, true)),
            at(3, 6, swap(1, 3, true)),
        ];
        assert!(!is_linearizable(&history));
    }

    #[test]
    fn a_lost_write_is_not() {
        let history = [at(0, 1, Action::Put(1)), at(2, 3, Action::Get(None))];
        assert!(!is_linearizable(&history));
    }

    #[test]
    fn operations_at_the_same_time_may_have_happened_in_either_order() {
        for seen in [1, 2] {
            let history = [
                at(0, 10, Action::Put(1)),
                at(0, 10, Action::Put(2)),
                at(11, 12, Action::Get(Some(seen))),
            ];
            assert!(is_linearizable(&history));
        }
    }

    #[test]
    fn an_unanswered_operation_may_have_happened_or_not_but_not_both() {
        let unanswered = Operation {
            called: 2,
            returned: None,
            action: Action::Put(2),
        };
        let read = |at_time, seen| at(at_time, at_time + 1, Action::Get(Some(seen)));
        let put = at(0, 1, Action::Put(1));
        assert!(is_linearizable(&[put, unanswered, read(3, 1), read(5, 1)]));
        assert!(is_linearizable(&[put, unanswered, read(3, 1), read(5, 2)]));
        assert!(!is_linearizable(&[put, unanswered, read(3, 2), read(5, 1)]));
    }

    #[test]
    fn a_long_history_with_many_at_once_is_decided() {
        let mut history = Vec::new();
        for round in 0..200 {
            for client in 0..8 {
                history.push(at(round * 10, round * 10 + 9, Action::Put(round * 8 + client)));
            }
            history.push(at(
                round * 10 + 9,
                round * 10 + 9,
                Action::Get(Some(round * 8 + 3)),
            ));
        }
        assert!(is_linearizable(&history));
        history.push(at(5000, 5001, Action::Get(Some(0))));
        assert!(!is_linearizable(&history[1400..]));
    }
}
