//! Effects as written: `head`, `inverse`, `counter`, `unique`, `copy`.

use super::section::{Section, integer, text};
use crate::draft::{
    DraftChange, DraftCopy, DraftCounter, DraftHead, DraftHistory, DraftInverse, DraftUnique, Name,
};
use crate::fields;
use crate::problem::{Placed, Problems};

pub(super) fn head(section: &Section<'_>, problems: &mut Problems<'_>) -> DraftHead {
    DraftHead {
        at: section.at,
        table: section.text("table", problems),
        key: section.text_map("key", problems),
        newest_by: section.texts("newest_by", problems),
        follows: section.text("follows", problems),
        retired_by: section.texts("retired_by", problems),
        omit: section.texts("omit", problems),
        previous: section.text_map("previous", problems),
        tag: section.plain("tag", problems),
        promote: change(section, "promote", problems),
        demote: change(section, "demote", problems),
    }
}

pub(super) fn history(section: &Section<'_>, problems: &mut Problems<'_>) -> DraftHistory {
    DraftHistory {
        at: section.at,
        of: section.texts("of", problems),
        key: section.text_map("key", problems),
        time: section.text("at", problems),
        previous: section.text_map("previous", problems),
        keep: section.count("keep", problems),
        expire_after_seconds: expire_after(section, problems),
    }
}

fn change(head: &Section<'_>, name: &'static str, problems: &mut Problems<'_>) -> DraftChange {
    let Some(section) = head.section(name, fields::CHANGE, problems) else {
        return DraftChange::default();
    };
    DraftChange {
        set: section.value_map("set", problems),
        remove: section.texts("remove", problems),
        expire_after_seconds: expire_after(&section, problems),
    }
}

fn expire_after(section: &Section<'_>, problems: &mut Problems<'_>) -> Option<Placed<u64>> {
    let text = section.text("expire_after", problems)?;
    let seconds = seconds(&text.value);
    if seconds.is_none() {
        let message = format!(
            "{}: `expire_after` is {:?}, which is no duration",
            section.what, text.value
        );
        problems.error(
            text.at,
            message,
            "write a number and a unit: \"90s\", \"15m\", \"12h\", \"365d\" or \"2w\"",
        );
    }
    seconds.map(|seconds| Placed::new(seconds, text.at))
}

fn seconds(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    let digits = text.get(..text.len() - 1)?;
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .parse::<u64>()
        .ok()
        .filter(|_| all_digits)?
        .checked_mul(unit)
}

pub(super) fn inverse(name: Name, section: &Section<'_>, problems: &mut Problems<'_>) -> DraftInverse {
    DraftInverse {
        name,
        entity: section.text("entity", problems),
        of: section.text("of", problems),
        set: section.text("set", problems),
        with: section.text_map("with", problems),
    }
}

pub(super) fn counter(name: Name, section: &Section<'_>, problems: &mut Problems<'_>) -> DraftCounter {
    DraftCounter {
        name,
        entity: section.text("entity", problems),
        attribute: section.text("attribute", problems),
        by: by(section, problems),
        only: section.value_map("where", problems),
        once_by: section.texts("once_by", problems),
        seen: section.text("seen", problems),
        with: section.text_map("with", problems),
    }
}

fn by(section: &Section<'_>, problems: &mut Problems<'_>) -> Option<Placed<Result<i64, String>>> {
    let value = section.value("by")?;
    let at = value.span().start;
    if let Some(number) = integer(value) {
        return Some(Placed::new(Ok(number), at));
    }
    if let Some(attribute) = text(value) {
        return Some(Placed::new(Err(attribute.value), at));
    }
    let message = format!("{}: `by` says no amount", section.what);
    problems.error(
        at,
        message,
        "write a whole number, or the name of a numeric attribute",
    );
    None
}

pub(super) fn unique(name: Name, section: &Section<'_>, problems: &mut Problems<'_>) -> DraftUnique {
    DraftUnique {
        name,
        table: section.text("table", problems),
        key: section.text_map("key", problems),
    }
}

pub(super) fn copy(name: Name, section: &Section<'_>, problems: &mut Problems<'_>) -> DraftCopy {
    let renamed = section
        .value("attributes")
        .is_some_and(|value| value.get_ref().is_table());
    let attributes = if renamed {
        section.text_map("attributes", problems)
    } else {
        let names = section.texts("attributes", problems);
        names.into_iter().map(|name| (name.clone(), name)).collect()
    };
    DraftCopy {
        name,
        from: section.text("from", problems),
        attributes,
        with: section.text_map("with", problems),
        in_step: section.text("in_step", problems),
        background: section.flag("background", problems),
    }
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        assert_eq!(seconds("365d"), Some(31_536_000));
        assert_eq!(seconds("2w"), Some(1_209_600));
        for bad in [
            "",
            "d",
            "365",
            "-1d",
            "+1d",
            "1 d",
            "1ö",
            "99999999999999999999d",
            "99999999999999999w",
        ] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }
}
