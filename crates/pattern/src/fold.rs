//! Letters without their case.

/// Text in lower case, letter by letter, so that a part of a text folds to a part of its folded text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folded(String);

impl Folded {
    pub(crate) fn new(text: &str) -> Self {
        Folded(text.chars().flat_map(char::to_lowercase).collect())
    }

    pub(crate) fn equals(&self, text: &str) -> bool {
        fold(text).eq(self.0.chars())
    }

    pub(crate) fn begins(&self, text: &str) -> bool {
        let mut letters = fold(text);
        self.0.chars().all(|wanted| letters.next() == Some(wanted))
    }

    pub(crate) fn ends(&self, text: &str) -> bool {
        let length = fold(text).count();
        let wanted = self.0.chars().count();
        length >= wanted && fold(text).skip(length - wanted).eq(self.0.chars())
    }
}

fn fold(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_is_no_difference_in_any_script() {
        assert!(Folded::new("Überlingen").equals("üBERLINGEN"));
        assert!(Folded::new("ÉCOLE").begins("école normale"));
        assert!(Folded::new("ΣΑΣ").ends("ο σασ"));
        assert!(!Folded::new("ab").equals("abc"));
        assert!(!Folded::new("abc").begins("AB"));
        assert!(!Folded::new("abc").ends("bc"));
    }
}
