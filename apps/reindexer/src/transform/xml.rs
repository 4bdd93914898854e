//! The sources that speak XML. Elements are known by their names without prefix.

use roxmltree::{Document, Node};

use super::{WorkText, titled};

type Read = Result<(WorkText, bool), String>;

/// A digitised book. It is shown as part of the Sierra record whose pages it has, so it is invisible by itself.
pub(super) fn mets(payload: &[u8]) -> Read {
    let text = with_document(payload, |document| WorkText {
        title: texts(document, "titleInfo", "title").join(" "),
        description: texts(document, "mods", "note").join(" "),
        contributors: texts(document, "name", "displayForm"),
        subjects: texts(document, "subject", "topic"),
    })?;
    Ok((titled(text)?, true))
}

/// A description of a manuscript.
pub(super) fn tei(payload: &[u8]) -> Read {
    let text = with_document(payload, |document| WorkText {
        title: texts(document, "titleStmt", "title").join(" "),
        description: texts(document, "msContents", "summary").join(" "),
        contributors: texts(document, "msItem", "author"),
        subjects: texts(document, "list", "item"),
    })?;
    Ok((titled(text)?, false))
}

fn with_document<T>(payload: &[u8], read: impl FnOnce(&Document<'_>) -> T) -> Result<T, String> {
    let text = str::from_utf8(payload).map_err(|error| error.to_string())?;
    let document = Document::parse(text).map_err(|error| error.to_string())?;
    Ok(read(&document))
}

/// The texts of all elements of this name that lie directly in one of the other name.
fn texts(document: &Document<'_>, parent: &str, name: &str) -> Vec<String> {
    let is_in = |node: &Node<'_, '_>| node.parent().is_some_and(|node| node.tag_name().name() == parent);
    let nodes = document.descendants();
    let nodes = nodes.filter(|node| node.tag_name().name() == name && is_in(node));
    nodes.map(text).collect()
}

/// All text within an element, with single spaces.
fn text(node: Node<'_, '_>) -> String {
    let parts = node
        .descendants()
        .filter_map(|node| node.text().filter(|_| node.is_text()));
    let parts: String = parts.collect();
    parts.split_whitespace().collect::<Vec<_>>().join(" ")
}
