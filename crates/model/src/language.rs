//! The set of texts that a key can have, as a small automaton: whether two keys can ever be equal, and for
//! which text.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::chars::CharSet;

/// The most repetitions that are counted individually. Longer lengths are not used in proofs, so that at
/// worst a sound model is refused.
const COUNTED_MAX: usize = 64;

/// The most states of a language. A larger language is replaced by all texts with its beginning, which at
/// worst refuses a sound model, too.
const STATES_MAX: usize = 1000;

/// A part of a text.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Exactly this.
    Literal(String),
    /// A number of characters of a set.
    Repeat {
        set: CharSet,
        min: usize,
        max: Option<usize>,
    },
    /// One of these.
    OneOf(Vec<String>),
}

impl Piece {
    /// Any text, also the empty one.
    pub(crate) fn anything() -> Self {
        Piece::Repeat {
            set: CharSet::any(),
            min: 0,
            max: None,
        }
    }
}

#[derive(Debug)]
enum Edge {
    Nothing(usize),
    Char(char, usize),
    Set(Arc<CharSet>, usize),
}

/// Every text that consists of the given pieces in order.
#[derive(Debug)]
pub(crate) struct Language {
    /// What every text begins with.
    beginning: String,
    /// The edges that leave each state. The first state is the start, the last one accepts.
    states: Vec<Vec<Edge>>,
}

impl Language {
    pub(crate) fn of(pieces: &[Piece]) -> Self {
        let mut language = Self::empty(pieces);
        for piece in pieces {
            language.append(piece);
            if language.states.len() > STATES_MAX {
                return Self::beginning_of(pieces);
            }
        }
        language
    }

    fn empty(pieces: &[Piece]) -> Self {
        let beginning = match pieces.first() {
            Some(Piece::Literal(text)) => text.clone(),
            _ => String::new(),
        };
        Language {
            beginning,
            states: vec![Vec::new()],
        }
    }

    fn beginning_of(pieces: &[Piece]) -> Self {
        let mut language = Self::empty(pieces);
        if let Some(Piece::Literal(text)) = pieces.first() {
            language.append_text(&text.chars().take(STATES_MAX / 2).collect::<String>());
        }
        language.append(&Piece::anything());
        language
    }

    fn last(&self) -> usize {
        self.states.len() - 1
    }

    fn add(&mut self, from: usize, edge: Edge) {
        if let Some(edges) = self.states.get_mut(from) {
            edges.push(edge);
        }
    }

    fn append(&mut self, piece: &Piece) {
        match piece {
            Piece::Literal(text) => self.append_text(text),
            Piece::Repeat { set, min, max } => self.append_repeat(set, *min, *max),
            Piece::OneOf(texts) => self.append_choice(texts),
        }
    }

    fn append_text(&mut self, text: &str) {
        for character in text.chars() {
            let from = self.last();
            self.states.push(Vec::new());
            self.add(from, Edge::Char(character, from + 1));
        }
    }

    fn append_repeat(&mut self, set: &CharSet, min: usize, max: Option<usize>) {
        let set = Arc::new(set.clone());
        let min = min.min(COUNTED_MAX);
        let max = max.filter(|max| *max <= COUNTED_MAX);
        for _ in 0..min {
            let from = self.last();
            self.states.push(Vec::new());
            self.add(from, Edge::Set(set.clone(), from + 1));
        }
        match max {
            None => {
                // A separate state, so that the loop does not lead back to earlier states.
                let from = self.last();
                self.states.push(Vec::new());
                self.add(from, Edge::Nothing(from + 1));
                self.add(from + 1, Edge::Set(set, from + 1));
            }
            Some(max) => {
                let first = self.last();
                let end = first + max.saturating_sub(min);
                for from in first..end {
                    self.states.push(Vec::new());
                    self.add(from, Edge::Set(set.clone(), from + 1));
                    self.add(from, Edge::Nothing(end));
                }
            }
        }
    }

    fn append_choice(&mut self, texts: &[String]) {
        let start = self.last();
        let mut ends = Vec::with_capacity(texts.len());
        for text in texts {
            let first = self.states.len();
            self.states.push(Vec::new());
            self.add(start, Edge::Nothing(first));
            self.append_text(text);
            ends.push(self.last());
        }
        let end = self.states.len();
        self.states.push(Vec::new());
        for from in ends {
            self.add(from, Edge::Nothing(end));
        }
    }

    /// Whether the two differ in their beginnings, so that no search is needed.
    pub(crate) fn begins_apart_from(&self, other: &Self) -> bool {
        self.begins_apart(&other.beginning)
    }

    /// Like [`Language::begins_apart_from`], for a language of which only the beginning is known.
    pub(crate) fn begins_apart(&self, other: &str) -> bool {
        !self.beginning.starts_with(other) && !other.starts_with(self.beginning.as_str())
    }

    /// A shortest text that both languages have.
    pub(crate) fn common(&self, other: &Self) -> Option<String> {
        if self.begins_apart_from(other) {
            return None;
        }
        let width = other.states.len();
        let goal = self.states.len() * width - 1;
        let mut ways = vec![Reached::Unseen; goal + 1];
        let mut open = VecDeque::from([0]);
        if let Some(start) = ways.first_mut() {
            *start = Reached::Start;
        }
        while let Some(pair) = open.pop_front() {
            if pair == goal {
                return Some(spelled(&ways, goal));
            }
            for (next, character) in self.steps(other, pair / width, pair % width) {
                if let Some(unseen @ Reached::Unseen) = ways.get_mut(next) {
                    *unseen = Reached::From(pair as u32, character);
                    open.push_back(next);
                }
            }
        }
        None
    }

    fn steps(&self, other: &Self, left: usize, right: usize) -> Vec<(usize, Option<char>)> {
        let width = other.states.len();
        let (Some(lefts), Some(rights)) = (self.states.get(left), other.states.get(right)) else {
            return Vec::new();
        };
        let mut steps = Vec::new();
        for edge in lefts {
            if let Edge::Nothing(target) = edge {
                steps.push((target * width + right, None));
            }
        }
        for edge in rights {
            if let Edge::Nothing(target) = edge {
                steps.push((left * width + target, None));
            }
        }
        for one in lefts {
            for two in rights {
                if let Some((target_one, target_two, character)) = together(one, two) {
                    steps.push((target_one * width + target_two, Some(character)));
                }
            }
        }
        steps
    }
}

/// Texts that two lists of languages have in common, position by position.
pub(crate) fn common_texts(one: &[Language], two: &[Language]) -> Option<Vec<String>> {
    if one.len() != two.len() {
        return None;
    }
    if one.iter().zip(two).any(|(one, two)| one.begins_apart_from(two)) {
        return None;
    }
    one.iter().zip(two).map(|(one, two)| one.common(two)).collect()
}

/// The ends of two edges that allow a common character.
fn together(one: &Edge, two: &Edge) -> Option<(usize, usize, char)> {
    match (one, two) {
        (Edge::Char(left, to_left), Edge::Char(right, to_right)) => {
            (left == right).then_some((*to_left, *to_right, *left))
        }
        (Edge::Char(left, to_left), Edge::Set(set, to_right)) => {
            set.contains(*left).then_some((*to_left, *to_right, *left))
        }
        (Edge::Set(set, to_left), Edge::Char(right, to_right)) => {
            set.contains(*right).then_some((*to_left, *to_right, *right))
        }
        (Edge::Set(left, to_left), Edge::Set(right, to_right)) => {
            Some((*to_left, *to_right, left.common(right)?))
        }
        _ => None,
    }
}

/// How a pair of states was reached. Small, because every pair has one.
#[derive(Clone, Copy)]
enum Reached {
    Unseen,
    Start,
    /// From another pair, with a character or without. [`STATES_MAX`] keeps the number of pairs far below `u32::MAX`.
    From(u32, Option<char>),
}

fn spelled(ways: &[Reached], goal: usize) -> String {
    let mut characters = Vec::new();
    let mut at = goal;
    while let Some(Reached::From(before, character)) = ways.get(at) {
        characters.extend(*character);
        at = *before as usize;
    }
    characters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Piece {
        Piece::Literal(text.to_owned())
    }

    fn some(chars: &str, min: usize, max: Option<usize>) -> Piece {
        Piece::Repeat {
            set: CharSet::parse(chars).unwrap(),
            min,
            max,
        }
    }

    fn common(one: &[Piece], two: &[Piece]) -> Option<String> {
        Language::of(one).common(&Language::of(two))
    }

    #[test]
    fn literals_meet_only_if_equal() {
        assert_eq!(common(&[literal("ab")], &[literal("ab")]).as_deref(), Some("ab"));
        assert_eq!(common(&[literal("ab")], &[literal("abc")]), None);
        assert_eq!(common(&[], &[]).as_deref(), Some(""));
    }

    #[test]
    fn a_prefix_keeps_two_free_texts_apart() {
        let free = Piece::anything();
        assert_eq!(
            common(&[literal("a#"), free.clone()], &[literal("b#"), free.clone()]),
            None
        );
        assert_eq!(
            common(&[literal("a#"), free.clone()], &[literal("a#x#"), free]).as_deref(),
            Some("a#x#")
        );
    }

    #[test]
    fn lengths_and_sets_are_evidence() {
        assert_eq!(
            common(&[some("0-9", 8, Some(8))], &[some("0-9", 1, Some(7))]),
            None
        );
        assert!(common(&[some("0-9", 8, Some(8))], &[some("0-9", 1, Some(8))]).is_some());
        assert_eq!(common(&[some("0-9a-f", 1, None)], &[literal("contact")]), None);
        let choice = Piece::OneOf(vec!["latest".to_owned(), "facade".to_owned()]);
        assert_eq!(
            common(&[some("a-f", 1, None)], &[choice]).as_deref(),
            Some("facade")
        );
    }

    #[test]
    fn what_is_too_large_to_follow_is_told_apart_by_its_beginning_alone() {
        let many: Vec<String> = (0..2000).map(|number| number.to_string()).collect();
        let large = |start: &str| [literal(start), Piece::OneOf(many.clone())];
        assert_eq!(common(&large("a#"), &large("b#")), None);
        assert!(common(&large("a#"), &[literal("a#x")]).is_some());
    }

    #[test]
    fn a_loop_does_not_lead_back_into_the_piece_before() {
        let one = [some("a", 1, Some(1)), some("b", 0, None), literal("c")];
        assert_eq!(common(&one, &[literal("abbac")]), None);
        assert_eq!(common(&one, &[literal("ac")]).as_deref(), Some("ac"));
    }
}
