//! The sources with XML payloads. Elements are identified by their names without prefix.

use roxmltree::{Document, Node};

use super::{Read, WorkText};

/// A digitised book. It is shown as part of the Sierra record whose pages it has, so it is not visible
/// separately.
pub(super) fn mets(payload: &[u8]) -> Read {
    let elements = [
        "titleInfo/title",
        "mods/note",
        "name/displayForm",
        "subject/topic",
    ];
    Ok((read(payload, elements)?, true))
}

/// A description of a manuscript.
pub(super) fn tei(payload: &[u8]) -> Read {
    let elements = [
        "titleStmt/title",
        "msContents/summary",
        "msItem/author",
        "list/item",
    ];
    Ok((read(payload, elements)?, false))
}

/// A work from the elements with its title, its description, its contributors and its subjects.
fn read(payload: &[u8], elements: [&str; 4]) -> Result<WorkText, String> {
    let text = str::from_utf8(payload).map_err(|error| error.to_string())?;
    let document = Document::parse(text).map_err(|error| error.to_string())?;
    let [title, description, contributors, subjects] = elements.map(|element| texts(&document, element));
    Ok(WorkText {
        title: title.join(" "),
        description: description.join(" "),
        contributors,
        subjects,
    })
}

/// The texts of all elements with the second name directly in one with the first.
fn texts(document: &Document<'_>, names: &str) -> Vec<String> {
    let is_named = |node: &Node<'_, '_>| match node.parent() {
        Some(parent) => format!("{}/{}", parent.tag_name().name(), node.tag_name().name()) == names,
        None => false,
    };
    document.descendants().filter(is_named).map(text).collect()
}

/// All text within an element, with single spaces.
fn text(node: Node<'_, '_>) -> String {
    let parts = node
        .descendants()
        .filter_map(|node| node.text().filter(|_| node.is_text()));
    let parts: String = parts.collect();
    parts.split_whitespace().collect::<Vec<_>>().join(" ")
}
