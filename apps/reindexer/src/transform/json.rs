//! The sources that speak JSON.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{WorkText, titled};

type Read = Result<(WorkText, bool), String>;

fn from_json<T: DeserializeOwned>(payload: &[u8]) -> Result<T, String> {
    serde_json::from_slice(payload).map_err(|error| error.to_string())
}

/// A bibliographic record of the library, in MARC.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bib {
    #[serde(default)]
    suppressed: bool,
    var_fields: Vec<VarField>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VarField {
    marc_tag: String,
    #[serde(default)]
    subfields: Vec<Subfield>,
}

#[derive(Deserialize)]
struct Subfield {
    tag: char,
    content: String,
}

impl Bib {
    /// The fields with one of these tags, each as the text of these subfields.
    fn texts(&self, tags: &[&str], subfields: &str) -> Vec<String> {
        let fields = self.var_fields.iter();
        let fields = fields.filter(|field| tags.contains(&field.marc_tag.as_str()));
        fields.map(|field| field.text(subfields)).collect()
    }
}

impl VarField {
    fn text(&self, subfields: &str) -> String {
        let parts = self.subfields.iter().filter(|part| subfields.contains(part.tag));
        let parts: Vec<_> = parts.map(|part| part.content.as_str()).collect();
        parts.join(" ")
    }
}

pub(super) fn sierra(payload: &[u8]) -> Read {
    let bib: Bib = from_json(payload)?;
    let text = WorkText {
        title: bib.texts(&["245"], "ab").join(" "),
        description: bib.texts(&["520"], "a").join(" "),
        contributors: bib.texts(&["100", "110", "700", "710"], "a"),
        subjects: bib.texts(&["650"], "a"),
    };
    Ok((titled(text)?, bib.suppressed))
}

/// An image of the picture library.
#[derive(Deserialize)]
struct Image {
    #[serde(default)]
    image_title: String,
    #[serde(default)]
    image_image_desc: String,
    #[serde(default)]
    image_creator: Vec<String>,
    #[serde(default)]
    image_keywords: Vec<String>,
}

pub(super) fn miro(payload: &[u8]) -> Read {
    let image: Image = from_json(payload)?;
    // Many images have only a description; its first sentence is the title then.
    let first = image.image_image_desc.split_inclusive('.').next();
    let title = match image.image_title.as_str() {
        "" => first.unwrap_or_default().trim().to_owned(),
        title => title.to_owned(),
    };
    let text = WorkText {
        title,
        description: image.image_image_desc,
        contributors: image.image_creator,
        subjects: image.image_keywords,
    };
    Ok((titled(text)?, false))
}

/// A record of the archive: every field is a list.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct Archive {
    title: Vec<String>,
    description: Vec<String>,
    creator_name: Vec<String>,
    subject: Vec<String>,
    catalogue_status: Vec<String>,
}

pub(super) fn calm(payload: &[u8]) -> Read {
    let record: Archive = from_json(payload)?;
    let is_shown = |status: &String| status == "Catalogued" || status == "Partially catalogued";
    let is_suppressed = !record.catalogue_status.iter().any(is_shown);
    let text = WorkText {
        title: record.title.join(" "),
        description: record.description.join(" "),
        contributors: record.creator_name,
        subjects: record.subject,
    };
    Ok((titled(text)?, is_suppressed))
}
