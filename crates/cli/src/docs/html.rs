//! Pages of the book as HTML.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// The address of a link or a picture of a page; `None` if it is not part of the book.
pub(super) type Links<'p> = &'p dyn Fn(&str) -> Option<String>;

/// The HTML of a page. A link that leads out of the book becomes its text, a picture that is not part of it becomes its name.
pub(super) fn body(markdown: &str, links: Links<'_>) -> String {
    let mut events: Vec<Event<'_>> = Parser::new_ext(markdown, Options::ENABLE_TABLES).collect();
    set_anchors(&mut events);
    let mut open = Vec::new();
    let resolved = events
        .into_iter()
        .filter_map(|event| resolve(event, links, &mut open));
    let mut out = String::new();
    html::push_html(&mut out, resolved);
    out
}

/// Gives each heading the anchor that links between pages use.
fn set_anchors(events: &mut [Event<'_>]) {
    let mut anchor = String::new();
    for event in events.iter_mut().rev() {
        match event {
            Event::End(TagEnd::Heading(_)) => anchor.clear(),
            Event::Text(text) | Event::Code(text) => anchor.insert_str(0, &anchor_of(text)),
            Event::Start(Tag::Heading { id, .. }) => *id = Some(std::mem::take(&mut anchor).into()),
            _ => {}
        }
    }
}

/// The anchor of a heading, as GitHub and mdBook make it.
fn anchor_of(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        _ => c.is_alphanumeric().then_some(c),
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// Replaces the target of a link or picture. `open` has, for each of them that is not closed yet, whether it is part of the book.
fn resolve<'e>(mut event: Event<'e>, links: Links<'_>, open: &mut Vec<bool>) -> Option<Event<'e>> {
    match &mut event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            let target = links(dest_url);
            open.push(target.is_some());
            *dest_url = CowStr::from(target?);
        }
        Event::End(TagEnd::Link | TagEnd::Image) if open.pop() == Some(false) => return None,
        _ => {}
    }
    Some(event)
}

pub(super) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body_of(markdown: &str) -> String {
        body(markdown, &|target| {
            (!target.contains("gone")).then(|| target.replace(".md", ".html"))
        })
    }

    #[test]
    fn headings_have_anchors_and_tables_have_cells() {
        let page = "# A page, `x`\n\n## Second one\n\n| a | b |\n|---|---|\n| `x\\|y` | |\n";
        let html = body_of(page);
        assert!(
            html.contains("<h1 id=\"a-page-x\">A page, <code>x</code></h1>"),
            "{html}"
        );
        assert!(html.contains("<h2 id=\"second-one\">Second one</h2>"), "{html}");
        assert!(html.contains("<td><code>x|y</code></td><td></td>"), "{html}");
    }

    #[test]
    fn links_and_pictures_lead_to_what_the_book_has() {
        let page = "[`c`](x.md#y) [d](gone.rs) ![p](p.svg) ![q](gone.png)";
        let expected = "<p><a href=\"x.html#y\"><code>c</code></a> d <img src=\"p.svg\" alt=\"p\" /> q</p>\n";
        assert_eq!(body_of(page), expected);
    }
}
