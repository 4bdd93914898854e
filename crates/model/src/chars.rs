//! Sets of characters, for the values of attributes.

/// Characters as sorted, disjoint ranges, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CharSet {
    ranges: Vec<(u32, u32)>,
}

const LAST_BEFORE_SURROGATES: u32 = 0xD7FF;
const FIRST_AFTER_SURROGATES: u32 = 0xE000;
const LAST: u32 = 0x10_FFFF;

impl CharSet {
    pub(crate) fn any() -> Self {
        CharSet {
            ranges: vec![(0, LAST_BEFORE_SURROGATES), (FIRST_AFTER_SURROGATES, LAST)],
        }
    }

    /// The characters of a text.
    pub(crate) fn of(text: &str) -> Self {
        Self::from_ranges(text.chars().map(|c| (u32::from(c), u32::from(c))).collect())
    }

    /// Reads `a-z0-9_-`: characters and ranges, as between the brackets of a regular expression. A `-` at either
    /// end stands for itself.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let characters: Vec<char> = text.chars().collect();
        if characters.is_empty() {
            return Err("names no characters".to_owned());
        }
        let mut ranges = Vec::new();
        let mut rest = characters.as_slice();
        while let [first, tail @ ..] = rest {
            if let ['-', last, after @ ..] = tail {
                if first > last {
                    return Err(format!("has the range `{first}-{last}`, which runs backwards"));
                }
                ranges.push((u32::from(*first), u32::from(*last)));
                rest = after;
            } else {
                ranges.push((u32::from(*first), u32::from(*first)));
                rest = tail;
            }
        }
        Ok(Self::from_ranges(ranges))
    }

    fn from_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (start, end) in ranges {
            match merged.last_mut() {
                Some(last) if start <= last.1.saturating_add(1) => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        CharSet { ranges: merged }
    }

    pub(crate) fn contains(&self, character: char) -> bool {
        let code = u32::from(character);
        self.ranges
            .iter()
            .any(|(start, end)| (*start..=*end).contains(&code))
    }

    /// This set without one character.
    pub(crate) fn without(&self, character: char) -> Self {
        let code = u32::from(character);
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        for &(start, end) in &self.ranges {
            if !(start..=end).contains(&code) {
                ranges.push((start, end));
                continue;
            }
            if start < code {
                ranges.push((start, code - 1));
            }
            if code < end {
                ranges.push((code + 1, end));
            }
        }
        CharSet { ranges }
    }

    /// A character of both sets, a readable one if possible.
    pub(crate) fn common(&self, other: &Self) -> Option<char> {
        let well = "xay1b0Z".chars();
        let mut well = well.filter(|c| self.contains(*c) && other.contains(*c));
        well.next().or_else(|| self.first_common(other))
    }

    fn first_common(&self, other: &Self) -> Option<char> {
        let mut first = None;
        for &(start, end) in &self.ranges {
            for &(other_start, other_end) in &other.ranges {
                let (low, high) = (start.max(other_start), end.min(other_end));
                let printable = low.max(u32::from('!'));
                let low = if printable <= high { printable } else { low };
                if low <= high {
                    // A range that begins among the surrogates continues after them.
                    let found =
                        char::from_u32(low).or_else(|| char::from_u32(FIRST_AFTER_SURROGATES.min(high)));
                    first = first.or(found);
                }
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_single_characters_are_read() {
        let set = CharSet::parse("a-f0-9_-").unwrap();
        assert!("abcf059_-".chars().all(|c| set.contains(c)));
        assert!(!"gG# ".chars().any(|c| set.contains(c)));
        assert!(CharSet::parse("").is_err());
        assert!(CharSet::parse("z-a").is_err());
    }

    #[test]
    fn what_is_taken_out_is_gone_and_nothing_else() {
        let set = CharSet::parse("a-e").unwrap().without('c');
        assert!("abde".chars().all(|c| set.contains(c)));
        assert!(!set.contains('c'));
        assert_eq!(CharSet::of("c").without('c').common(&CharSet::any()), None);
    }

    #[test]
    fn a_common_character_is_found_wherever_it_is() {
        let high = CharSet::of("\u{10FFFE}\u{7}");
        assert_eq!(high.common(&CharSet::of("\u{10FFFE}")), Some('\u{10FFFE}'));
        assert_eq!(high.common(&CharSet::of("\u{7}")), Some('\u{7}'));
        assert_eq!(CharSet::of("a").common(&CharSet::of("b")), None);
    }
}
