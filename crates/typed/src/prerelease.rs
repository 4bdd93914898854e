//! The next version of semantic versions.

use semver::{Prerelease, Version};

/// The next prerelease, as npm counts: `5.0.0` becomes `5.0.1-0`, `5.0.1-0` becomes `5.0.1-1`, `5.0.1-rc`
/// becomes `5.0.1-rc.0`. Build metadata is removed.
///
/// ```
/// use trestle_typed::{Version, next_prerelease};
///
/// let version = Version::parse("1.2.3-rc.9").unwrap();
/// assert_eq!(next_prerelease(&version).to_string(), "1.2.3-rc.10");
/// ```
#[must_use]
pub fn next_prerelease(version: &Version) -> Version {
    let mut next = Version::new(version.major, version.minor, version.patch);
    let before = version.pre.as_str();
    let last = before.rsplit('.').next().unwrap_or(before);
    let text = match (before, last.parse::<u64>()) {
        ("", _) => "0".to_owned(),
        (_, Ok(number)) => {
            let front = before.strip_suffix(last).unwrap_or_default();
            format!("{front}{}", number.saturating_add(1))
        }
        (_, Err(_)) => format!("{before}.0"),
    };
    if before.is_empty() {
        next.patch = next.patch.saturating_add(1);
    }
    // Made of identifiers of a valid version, and of numbers.
    next.pre = Prerelease::new(&text).unwrap_or_default();
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prereleases_count_as_npm_counts_them() {
        let counted = [
            ("5.0.0", "5.0.1-0"),
            ("5.0.1-0", "5.0.1-1"),
            ("5.0.1-9", "5.0.1-10"),
            ("1.2.3-rc.4", "1.2.3-rc.5"),
            ("1.2.3-4.4", "1.2.3-4.5"),
            ("1.2.3-rc", "1.2.3-rc.0"),
            ("1.2.3-rc+build.7", "1.2.3-rc.0"),
        ];
        for (version, next) in counted {
            let version = Version::parse(version).unwrap();
            assert_eq!(next_prerelease(&version).to_string(), next);
        }
    }
}
