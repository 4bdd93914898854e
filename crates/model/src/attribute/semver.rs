//! Semantic versions (2.0.0): parsing, and their text in a key, which sorts by precedence.
//!
//! A key sorts by its bytes, and versions do not: as bytes, `1.10.0` is before `1.9.0`, and `1.0.0` before
//! `1.0.0-rc.1`. So a version is encoded in a key as follows, and can be decoded from it:
//!
//! - A number of several digits begins with a letter for the number of digits after the first: `10` is `a10`,
//!   `100` is `b100`. After `y` comes `z` with another letter: `za`.
//! - `~` sorts after every other character that can be at its place. It ends a version that is not a
//!   prerelease (`1.2.3~`), and begins an identifier that is not a number (`1.2.3-~rc`).
//! - Identifiers are separated by `,`, which sorts before every character of an identifier.
//! - A number of the build metadata with leading zeros ends with a letter for the number of zeros: `007` is
//!   `7b`.
//!
//! *Invariant*: of two versions, the one that [`Version`] orders first has the lesser text, also if the texts
//! are followed by something that begins with a character before [`LEAST`].

use semver::Version;

use crate::chars::CharSet;

/// The most characters of a version. npm has the same limit.
pub(crate) const CHARS_MAX: usize = 256;

/// The least character that can continue the text of a complete version: a separator after a version must
/// sort before it.
pub(crate) const LEAST: char = '+';

/// The shortest text in a key: that of `0.0.0`.
pub(crate) const KEY_CHARS_MIN: usize = 6;

/// The greatest number that a letter before `z` stands for.
const LETTERS: usize = 25;

/// The characters of a text in a key.
pub(crate) fn key_characters() -> CharSet {
    CharSet::of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.,+~-")
}

/// The version in a text; the error says why there is none.
pub(crate) fn parse(text: &str) -> Result<Version, String> {
    let length = text.chars().count();
    if length > CHARS_MAX {
        return Err(format!(
            "it is {length} characters long, and a version has at most {CHARS_MAX}"
        ));
    }
    Version::parse(text).map_err(|error| error.to_string())
}

/// The text of a version in a key.
pub(crate) fn key_text(version: &Version) -> String {
    let mut text = String::with_capacity(16);
    push_numbers(&mut text, [version.major, version.minor, version.patch]);
    if version.pre.is_empty() {
        text.push('~');
    } else {
        text.push('-');
        push_identifiers(&mut text, &version.pre);
    }
    if !version.build.is_empty() {
        text.push('+');
        push_identifiers(&mut text, &version.build);
    }
    text
}

/// The common beginning of the keys of all versions that begin with one, two or three numbers: `1`, `1.4` or
/// `1.4.2`.
pub(crate) fn key_beginning(text: &str) -> Result<String, String> {
    let numbers: Option<Vec<u64>> = text.split('.').map(core_number).collect();
    let numbers = numbers.filter(|numbers| numbers.len() <= 3).ok_or_else(|| {
        format!("must be the first one, two or three numbers of a version, such as \"1.4\", but is {text:?}")
    })?;
    let is_open = numbers.len() < 3;
    let mut beginning = String::new();
    push_numbers(&mut beginning, numbers);
    if is_open {
        beginning.push('.');
    }
    Ok(beginning)
}

/// A number as the standard writes it: without leading zeros.
fn core_number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

fn push_numbers(text: &mut String, numbers: impl IntoIterator<Item = u64>) {
    for (at, number) in numbers.into_iter().enumerate() {
        if at > 0 {
            text.push('.');
        }
        push_number(text, &number.to_string());
    }
}

fn push_identifiers(text: &mut String, identifiers: &str) {
    for (at, identifier) in identifiers.split('.').enumerate() {
        if at > 0 {
            text.push(',');
        }
        if !identifier.bytes().all(|byte| byte.is_ascii_digit()) {
            text.push('~');
            text.push_str(identifier);
            continue;
        }
        // Only build metadata has leading zeros.
        let number = match identifier.trim_start_matches('0') {
            "" => "0",
            number => number,
        };
        push_number(text, number);
        push_count(text, identifier.len() - number.len());
    }
}

fn push_number(text: &mut String, digits: &str) {
    push_count(text, digits.len().saturating_sub(1));
    text.push_str(digits);
}

/// Letters that sort by the number they stand for; none for zero.
fn push_count(text: &mut String, count: usize) {
    let mut count = count;
    while count > LETTERS {
        text.push('z');
        count -= LETTERS;
    }
    text.extend(count.checked_sub(1).and_then(|at| ('a'..='y').nth(at)));
}

/// The version that a text in a key may stand for: the reader encodes it again and compares.
pub(crate) fn from_key(key: &str) -> Option<String> {
    let mut reader = Reader {
        rest: key,
        text: String::with_capacity(key.len()),
    };
    reader.number()?;
    for _ in 0..2 {
        reader.same('.')?;
        reader.number()?;
    }
    if reader.taken('~').is_none() {
        reader.same('-')?;
        reader.identifiers()?;
    }
    if !reader.rest.is_empty() {
        reader.same('+')?;
        reader.identifiers()?;
    }
    reader.rest.is_empty().then_some(reader.text)
}

/// The unread rest of a text in a key, and the version so far.
struct Reader<'k> {
    rest: &'k str,
    text: String,
}

impl<'k> Reader<'k> {
    fn taken(&mut self, character: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(character)?;
        Some(())
    }

    /// A character that is the same in the version.
    fn same(&mut self, character: char) -> Option<()> {
        self.taken(character)?;
        self.text.push(character);
        Some(())
    }

    fn cut(&mut self, at: usize) -> Option<&'k str> {
        let (text, rest) = self.rest.split_at_checked(at)?;
        self.rest = rest;
        Some(text)
    }

    fn count(&mut self) -> usize {
        let mut count = 0;
        while self.taken('z').is_some() {
            count += LETTERS;
        }
        let further = ('a'..='y').position(|letter| self.rest.starts_with(letter));
        if let Some(further) = further {
            self.rest = self.rest.get(1..).unwrap_or_default();
            count += further + 1;
        }
        count
    }

    fn digits(&mut self) -> Option<&'k str> {
        let further = self.count();
        self.cut(further + 1)
    }

    fn number(&mut self) -> Option<()> {
        let digits = self.digits()?;
        self.text.push_str(digits);
        Some(())
    }

    fn identifiers(&mut self) -> Option<()> {
        self.identifier()?;
        while self.taken(',').is_some() {
            self.text.push('.');
            self.identifier()?;
        }
        Some(())
    }

    fn identifier(&mut self) -> Option<()> {
        if self.taken('~').is_some() {
            let end = self.rest.find([',', '+']).unwrap_or(self.rest.len());
            let word = self.cut(end)?;
            self.text.push_str(word);
            return Some(());
        }
        let digits = self.digits()?;
        let zeros = self.count();
        self.text.extend(std::iter::repeat_n('0', zeros));
        self.text.push_str(digits);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn in_key(text: &str) -> String {
        key_text(&parse(text).unwrap())
    }

    #[test]
    fn versions_are_readable_in_keys() {
        for (version, key) in [
            ("1.2.3", "1.2.3~"),
            ("1.10.0", "1.a10.0~"),
            ("20231105.0.100", "g20231105.0.b100~"),
            ("1.0.0-0", "1.0.0-0"),
            ("1.0.0-alpha.1", "1.0.0-~alpha,1"),
            ("1.0.0-x-y.12", "1.0.0-~x-y,a12"),
            ("1.2.3+build.7", "1.2.3~+~build,7"),
            ("1.2.3-rc.1+007.00", "1.2.3-~rc,1+7b,0a"),
        ] {
            assert_eq!(in_key(version), key);
            assert_eq!(from_key(key).as_deref(), Some(version), "{key}");
        }
    }

    #[test]
    fn versions_of_the_standard_sort_in_its_order() {
        let ascending = [
            "0.9.10",
            "1.0.0-0",
            "1.0.0-9",
            "1.0.0-10",
            "1.0.0-99999999999999999999999999999999999999",
            "1.0.0--",
            "1.0.0-0a",
            "1.0.0-alpha",
            "1.0.0-alpha+1",
            "1.0.0-alpha.1",
            "1.0.0-alpha.1.0",
            "1.0.0-alpha.beta",
            "1.0.0-alpha-",
            "1.0.0-alpha-1",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.0+0",
            "1.0.0+00",
            "1.0.0+1",
            "1.0.0+01",
            "1.0.0+b",
            "1.0.1-0",
            "1.2.0",
            "1.10.0",
            "2.0.0",
            "18446744073709551615.0.0",
        ];
        for pair in ascending.windows(2) {
            let [less, more] = pair else { continue };
            assert!(in_key(less) < in_key(more), "{less} {more}");
            assert!(parse(less).unwrap() < parse(more).unwrap(), "{less} {more}");
        }
    }

    #[test]
    fn counts_of_any_size_sort() {
        let letters = |count: usize| {
            let mut text = String::new();
            push_count(&mut text, count);
            text
        };
        assert_eq!([letters(0), letters(25), letters(26)], ["", "y", "za"]);
        for count in 0..CHARS_MAX {
            assert!(letters(count) < letters(count + 1), "{count}");
        }
    }

    #[test]
    fn a_beginning_ends_where_a_number_ends() {
        let begins = |text: &str| key_beginning(text).unwrap();
        assert!(in_key("1.4.0-rc.1").starts_with(&begins("1")));
        assert!(!in_key("10.4.0").starts_with(&begins("1")));
        assert!(in_key("1.4.0").starts_with(&begins("1.4")));
        assert!(!in_key("1.40.0").starts_with(&begins("1.4")));
        assert!(in_key("1.4.2-rc.1").starts_with(&begins("1.4.2")));
        assert!(!in_key("1.4.20").starts_with(&begins("1.4.2")));
        for wrong in ["", "1.", "01", "1.x", "1.2.3.4", "1.4.2-rc", "+1"] {
            assert!(key_beginning(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_fault_is_named() {
        let long = format!("1.0.0-{}", "x".repeat(CHARS_MAX));
        for (text, fault) in [
            ("v1.2.3", "unexpected character 'v'"),
            ("1.2", "minor version number"),
            ("1.02.3", "leading zero in minor"),
            ("1.2.3-01", "leading zero in pre-release"),
            ("1.2.3-", "empty identifier segment in pre-release"),
            ("1.2.3-a..b", "empty identifier segment in pre-release"),
            ("1.2.3+", "empty identifier segment in build"),
            ("1.2.3 ", "unexpected character ' '"),
            ("99999999999999999999.0.0", "exceeds u64::MAX"),
            (&long, "at most 256"),
        ] {
            let reason = parse(text).unwrap_err();
            assert!(reason.contains(fault), "{text}: {reason}");
        }
    }

    fn identifiers(leading_zeros: bool) -> impl Strategy<Value = String> {
        let number = if leading_zeros {
            "[0-2]{1,4}|0{0,30}[1-9]{1,30}"
        } else {
            "0|[1-9][0-1]{0,3}|[1-9]{20,60}"
        };
        let identifier = prop_oneof![number, "[0-1]{0,2}[a-bA-Zz-][01a-bY-]{0,2}"];
        prop::collection::vec(identifier, 1..4).prop_map(|identifiers| identifiers.join("."))
    }

    fn version() -> impl Strategy<Value = String> {
        let core = prop_oneof![0_u64..3, 8_u64..12, 99_u64..101, any::<u64>()];
        let core = [core.clone(), core.clone(), core];
        let pre = prop::option::of(identifiers(false));
        let build = prop::option::weighted(0.4, identifiers(true));
        let whole = (core, pre, build).prop_map(|([major, minor, patch], pre, build)| {
            let pre = pre.map_or(String::new(), |pre| format!("-{pre}"));
            let build = build.map_or(String::new(), |build| format!("+{build}"));
            format!("{major}.{minor}.{patch}{pre}{build}")
        });
        whole.prop_filter("is too long", |text| text.len() <= CHARS_MAX)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// `Version` orders by precedence, and then by build metadata.
        #[test]
        fn keys_are_ordered_as_versions_are(
            one in version(),
            two in version(),
            separator in prop::sample::select(vec!["", "#", "!", "*", " "]),
            (behind, other) in ("[#~a+]{0,2}", "[#~a+]{0,2}"),
        ) {
            let (left, right) = (parse(&one).unwrap(), parse(&two).unwrap());
            let ordering = left.cmp(&right);
            prop_assert_eq!(key_text(&left).cmp(&key_text(&right)), ordering);
            if ordering.is_ne() && !separator.is_empty() {
                let left = format!("{}{separator}{behind}", key_text(&left));
                let right = format!("{}{separator}{other}", key_text(&right));
                prop_assert_eq!(left.cmp(&right), ordering, "{} {}", left, right);
            }
        }

        #[test]
        fn a_version_is_read_back_from_its_key(text in version()) {
            let key = in_key(&text);
            prop_assert!(key.chars().all(|character| key_characters().contains(character)), "{}", key);
            prop_assert!(key.len() >= KEY_CHARS_MIN, "{}", key);
            prop_assert_eq!(from_key(&key), Some(text));
        }
    }
}
