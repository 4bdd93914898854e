//! Parts of a table or index with former rows of several entities, as ranges that do not overlap.

use trestle_expr::KeySelection;
use trestle_hook::FormerRange;

use super::known::{beginning, beginning_with, common_beginning};

/// A part with former rows of one entity, or of several.
pub(super) struct Part {
    pub(super) selection: KeySelection,
    pub(super) order: Order,
}

/// How the order of former sort keys relates to that of present ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The sort keys are the same.
    Same,
    /// They differ in their beginnings: the former one, and the present one.
    Begins { before: String, now: String },
    /// Not known.
    Other,
}

impl Part {
    /// Both parts as one.
    fn join(self, other: Part) -> Self {
        let order = if self.order == other.order {
            self.order
        } else {
            Order::Other
        };
        let selection = if self.selection == other.selection {
            self.selection
        } else {
            let begins = common_beginning(&beginning(&self.selection), &beginning(&other.selection));
            beginning_with(self.selection.hash, begins)
        };
        Part { selection, order }
    }

    /// Whether a row could be in both.
    fn meets(&self, other: &Part) -> bool {
        let (one, two) = (beginning(&self.selection), beginning(&other.selection));
        self.selection.hash == other.selection.hash && (one.starts_with(&two) || two.starts_with(&one))
    }
}

/// Ranges with all rows of the parts; no row is in two of them.
pub(super) fn ranges(parts: Vec<Part>) -> Vec<FormerRange> {
    let mut apart: Vec<Part> = Vec::with_capacity(parts.len());
    for mut part in parts {
        while let Some(at) = apart.iter().position(|known| known.meets(&part)) {
            part = apart.swap_remove(at).join(part);
        }
        apart.push(part);
    }
    let ranges = apart.into_iter().map(|part| FormerRange {
        ordered: part.order != Order::Other,
        selection: part.selection,
    });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_expr::KeyOp;
    use trestle_item::AttributeValue;

    fn part(hash: &str, begins: &str, order: Order) -> Part {
        Part {
            selection: beginning_with(vec![AttributeValue::from(hash)], begins.to_owned()),
            order,
        }
    }

    fn shown(parts: Vec<Part>) -> Vec<String> {
        let mut shown: Vec<String> = ranges(parts)
            .into_iter()
            .map(|range| {
                let begins = match range.selection.range_last {
                    Some(KeyOp::BeginsWith(text)) => text.as_s().unwrap().to_owned(),
                    _ => String::new(),
                };
                let hash = range.selection.hash[0].as_s().unwrap();
                format!("{hash}/{begins} {}", range.ordered)
            })
            .collect();
        shown.sort();
        shown
    }

    #[test]
    fn parts_that_share_no_row_stay_apart() {
        let parts = vec![
            part("h", "a#", Order::Same),
            part("h", "b#", Order::Other),
            part("i", "a#", Order::Same),
        ];
        assert_eq!(shown(parts), ["h/a# true", "h/b# false", "i/a# true"]);
    }

    #[test]
    fn parts_that_meet_become_one_and_keep_their_order_only_if_it_is_the_same_one() {
        let begins = |before: &str, now: &str| Order::Begins {
            before: before.to_owned(),
            now: now.to_owned(),
        };
        let joined = |one: Order, two: Order| shown(vec![part("h", "a#", one), part("h", "a#b", two)]);
        assert_eq!(joined(Order::Same, Order::Same), ["h/a# true"]);
        assert_eq!(joined(begins("a", "b"), begins("a", "b")), ["h/a# true"]);
        assert_eq!(joined(begins("a", "b"), begins("a", "c")), ["h/a# false"]);
        assert_eq!(joined(Order::Same, Order::Other), ["h/a# false"]);
        assert_eq!(joined(Order::Same, begins("a", "b")), ["h/a# false"]);
    }

    #[test]
    fn a_part_can_join_others_that_were_apart() {
        let parts = vec![
            part("h", "a#", Order::Same),
            part("h", "b#", Order::Same),
            part("h", "", Order::Same),
        ];
        assert_eq!(shown(parts), ["h/ true"]);
    }
}
