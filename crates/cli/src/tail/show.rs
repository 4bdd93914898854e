//! Prints changes for people: a line for each, and one for each attribute that differs. On a terminal, in
//! colours.

use serde_json::{Map, Value};
use std::io::{self, IsTerminal, Write};
use trestle_events::{Change, ChangeEvent, plain_json};

/// The maximum number of characters shown of a value.
const VALUE_CHARS_MAX: usize = 200;

/// How changes are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Show {
    json: bool,
    colours: bool,
}

#[derive(Clone, Copy)]
enum Colour {
    Red = 31,
    Green = 32,
    Yellow = 33,
    Blue = 34,
    Grey = 90,
}

impl Show {
    pub(crate) fn new(json: bool) -> Self {
        let wants_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Show {
            json,
            colours: io::stdout().is_terminal() && !wants_none,
        }
    }

    /// Prints a change. An error means that the reader closed the output.
    pub(crate) fn change(self, change: &Change) -> io::Result<()> {
        if self.json {
            self.json(&change.to_json())
        } else {
            self.print(&self.text(change))
        }
    }

    /// Prints a value in a line.
    pub(crate) fn json(self, value: &Value) -> io::Result<()> {
        self.print(&format!("{value}\n"))
    }

    fn print(self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    }

    fn paint(self, colour: Colour, text: &str) -> String {
        if self.colours {
            format!("\x1b[{}m{text}\x1b[0m", colour as u8)
        } else {
            text.to_owned()
        }
    }

    fn text(self, change: &Change) -> String {
        let json = change.to_json();
        let colour = match change.event {
            ChangeEvent::Insert | ChangeEvent::Backfill => Colour::Green,
            ChangeEvent::Modify => Colour::Yellow,
            ChangeEvent::Remove | ChangeEvent::Expire => Colour::Red,
        };
        let mut text = format!(
            "{} {} {} {}",
            self.paint(Colour::Grey, json["at"].as_str().unwrap_or_default()),
            self.paint(colour, change.event.name()),
            self.paint(Colour::Blue, change.entity.as_deref().unwrap_or("-")),
            keys(&json["keys"]),
        );
        if let Some(maintenance) = change.maintenance {
            // Nothing else has changed in the row.
            let why = format!("({maintenance})");
            return format!("{text} {}\n", self.paint(Colour::Grey, &why));
        }
        text.push('\n');
        let image = |item: Option<&trestle_item::Item>| item.map(plain_json).unwrap_or_default();
        let (old, new) = (image(change.old.as_ref()), image(change.new.as_ref()));
        for name in &change.changed {
            // The key is in the line above.
            if !change.keys.contains_key(name) {
                text += &self.attribute(name, old.get(name), new.get(name));
            }
        }
        text
    }

    fn attribute(self, name: &str, old: Option<&Value>, new: Option<&Value>) -> String {
        let (colour, line) = match (old, new) {
            (Some(old), Some(new)) => (Colour::Yellow, format!("~ {name}: {} → {}", cut(old), cut(new))),
            (Some(old), None) => (Colour::Red, format!("- {name}: {}", cut(old))),
            (None, Some(new)) => (Colour::Green, format!("+ {name}: {}", cut(new))),
            (None, None) => return String::new(),
        };
        format!("  {}\n", self.paint(colour, &line))
    }
}

/// `pk="user#1" sk=7`.
fn keys(keys: &Value) -> String {
    let none = Map::new();
    let keys = keys.as_object().unwrap_or(&none).iter();
    let shown: Vec<String> = keys
        .map(|(name, value)| format!("{name}={}", cut(value)))
        .collect();
    shown.join(" ")
}

/// A value as JSON, shortened if it is long.
fn cut(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_env::Timestamp;
    use trestle_events::Maintenance;
    use trestle_item::Item;

    fn change() -> Change {
        Change {
            table: "layers".into(),
            entity: Some("layer".into()),
            event: ChangeEvent::Modify,
            maintenance: None,
            keys: Item::from([("pk", "lyr#7")]),
            former_keys: None,
            old: Some(Item::from([("pk", "lyr#7"), ("status", "latest"), ("note", "x")])),
            new: Some(Item::from([
                ("pk", "lyr#7"),
                ("status", "deprecated"),
                ("rgn", "eu"),
            ])),
            changed: ["note", "rgn", "status"].map(str::to_owned).to_vec(),
            event_id: "7".into(),
            sequence: "100".into(),
            shard: "shardId-1".into(),
            at: Timestamp::from_millis(1_709_164_799_999),
        }
    }

    #[test]
    fn each_attribute_that_differs_has_a_line() {
        let show = Show {
            json: false,
            colours: false,
        };
        assert_eq!(
            show.text(&change()),
            "2024-02-28T23:59:59.999Z modify layer pk=\"lyr#7\"\n  - note: \"x\"\n  + rgn: \"eu\"\n  \
             ~ status: \"latest\" → \"deprecated\"\n"
        );
        let coloured = Show {
            json: false,
            colours: true,
        };
        assert!(coloured.text(&change()).contains("\x1b[33mmodify\x1b[0m"));
    }

    #[test]
    fn a_row_that_is_moved_is_a_line_that_says_so() {
        let show = Show {
            json: false,
            colours: false,
        };
        let moved = Change {
            event: ChangeEvent::Insert,
            maintenance: Some(Maintenance::Move),
            ..change()
        };
        assert_eq!(
            show.text(&moved),
            "2024-02-28T23:59:59.999Z insert layer pk=\"lyr#7\" (move)\n"
        );
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let cut = cut(&Value::from("ä".repeat(1000)));
        assert_eq!(cut.chars().count(), VALUE_CHARS_MAX + 1);
        assert!(cut.ends_with('…'));
    }
}
