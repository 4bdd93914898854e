//! The sources with JSON payloads.

use serde_json::Value;

use super::{Read, WorkText};

fn from_json(payload: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(payload).map_err(|error| error.to_string())
}

/// The elements of a list; none if it is none.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn texts(value: &Value) -> Vec<String> {
    list(value).filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A bibliographic record of the library, in MARC.
pub(super) fn sierra(payload: &[u8]) -> Read {
    let bib = from_json(payload)?;
    let text = WorkText {
        title: marc(&bib, &["245"], &["a", "b"]).join(" "),
        description: marc(&bib, &["520"], &["a"]).join(" "),
        contributors: marc(&bib, &["100", "110", "700", "710"], &["a"]),
        subjects: marc(&bib, &["650"], &["a"]),
    };
    Ok((text, bib["suppressed"] == true))
}

/// The fields with one of these tags, each as the text of these subfields.
fn marc(bib: &Value, tags: &[&str], subfields: &[&str]) -> Vec<String> {
    let is_one_of = |tag: &Value, tags: &[&str]| tag.as_str().is_some_and(|tag| tags.contains(&tag));
    let fields = list(&bib["varFields"]).filter(|field| is_one_of(&field["marcTag"], tags));
    let text = |field: &Value| {
        let parts = list(&field["subfields"]).filter(|part| is_one_of(&part["tag"], subfields));
        let parts: Vec<_> = parts.filter_map(|part| part["content"].as_str()).collect();
        parts.join(" ")
    };
    fields.map(text).collect()
}

/// An image of the picture library. Many have only a description; its first sentence is the title then.
pub(super) fn miro(payload: &[u8]) -> Read {
    let image = from_json(payload)?;
    let description = image["image_image_desc"].as_str().unwrap_or_default();
    let first = description.split_inclusive('.').next().unwrap_or_default();
    let text = WorkText {
        title: image["image_title"].as_str().unwrap_or(first).to_owned(),
        description: description.to_owned(),
        contributors: texts(&image["image_creator"]),
        subjects: texts(&image["image_keywords"]),
    };
    Ok((text, false))
}

/// A record of the archive: every field is a list.
pub(super) fn calm(payload: &[u8]) -> Read {
    let record = from_json(payload)?;
    let statuses = texts(&record["CatalogueStatus"]);
    let is_shown = |status: &String| ["Catalogued", "Partially catalogued"].contains(&status.as_str());
    let text = WorkText {
        title: texts(&record["Title"]).join(" "),
        description: texts(&record["Description"]).join(" "),
        contributors: texts(&record["CreatorName"]),
        subjects: texts(&record["Subject"]),
    };
    Ok((text, !statuses.iter().any(is_shown)))
}
