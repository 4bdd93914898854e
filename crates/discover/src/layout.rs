//! Entities that look like one entity with two layouts of keys. Only suggested.

use crate::draft::{Draft, DraftKey, Part, Suggestion};
use crate::write::{capitalised, quoted};

/// For each draft, one with more rows whose keys have the same words around other fields.
pub(crate) fn suggestions(drafts: &[Draft]) -> Vec<Option<Suggestion>> {
    let suggest = |(at, draft): (usize, &Draft)| {
        let mut before = drafts.iter().take(at);
        before.find_map(|other| suggestion(draft, other))
    };
    drafts.iter().enumerate().map(suggest).collect()
}

fn suggestion(draft: &Draft, other: &Draft) -> Option<Suggestion> {
    let words: Vec<Vec<&str>> = draft.keys.iter().map(words).collect();
    let same = words.iter().any(|words| !words.is_empty())
        && draft.tag == other.tag
        && words
            .iter()
            .eq(&other.keys.iter().map(self::words).collect::<Vec<_>>());
    let (new, old) = draft.keys.iter().zip(&other.keys).find(|(one, two)| one != two)?;
    same.then(|| {
        let short = format!(
            "perhaps another layout of `{}`: {} is {} here and {} there",
            other.name,
            new.attribute,
            quoted(&new.source()),
            quoted(&old.source())
        );
        Suggestion {
            comments: vec![
                format!("{}.", capitalised(&short)),
                "Both are kept apart. If they are one thing, choose a layout and write the rows of the other anew.".to_owned(),
            ],
            short,
        }
    })
}

/// The words in the literals of a template.
fn words(key: &DraftKey) -> Vec<&str> {
    let literals = key.parts.iter().filter_map(|part| match part {
        Part::Literal(text) => Some(text.as_str()),
        Part::Field { .. } => None,
    });
    let words = literals.flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).collect()
}
