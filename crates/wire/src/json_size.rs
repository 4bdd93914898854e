//! The size of a JSON text besides its strings, determined without parsing it into values.

/// The parts of a JSON text, counted outside of its strings. A text that is not JSON has some size, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JsonSize {
    /// Objects.
    pub objects: usize,
    /// Elements of arrays and members of objects, without the first of each.
    pub further_elements: usize,
}

impl JsonSize {
    /// Counts in one pass.
    #[must_use]
    pub fn of(body: &[u8]) -> Self {
        let mut size = JsonSize::default();
        let (mut in_string, mut is_escaped) = (false, false);
        for byte in body {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_string => is_escaped = true,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'{' => size.objects += 1,
                b',' => size.further_elements += 1,
                _ => {}
            }
        }
        size
    }

    /// The approximate size in bytes of its tree, without strings: an object is a node for eleven members.
    pub(crate) fn tree_bytes(self) -> usize {
        self.objects * 640 + self.further_elements * 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_outside_of_strings_counts() {
        let size = JsonSize::of(br#"{"a":[{"S":"{,\",{"},{"N":"1"}]}"#);
        assert_eq!((size.objects, size.further_elements), (3, 1));
    }
}
