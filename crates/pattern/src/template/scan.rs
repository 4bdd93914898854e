//! Finding the holes of a template before it is read as JSON, and again afterwards.

use super::TemplateError;
use super::path::Path;

/// A stretch of the template.
enum Stretch {
    Json(String),
    /// The number of a hole.
    Hole(usize),
}

/// A hole, and whether it is inside of text.
pub(super) struct Hole {
    path: Path,
    in_text: bool,
}

/// A template taken apart.
pub(super) struct Scanned {
    stretches: Vec<Stretch>,
    holes: Vec<Hole>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Literal(String),
    Hole(Path),
}

/// The meaning of a marked text.
pub(super) enum Pieces {
    /// It replaced a value.
    Value(Path),
    Text(Vec<Piece>),
}

pub(super) fn scan(template: &str) -> Result<Scanned, TemplateError> {
    let mut scanned = Scanned {
        stretches: Vec::new(),
        holes: Vec::new(),
    };
    let mut json = String::new();
    let mut in_text = false;
    let mut rest = template.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '<' => {
                let after = rest.as_str();
                if after.starts_with('<') {
                    rest.next();
                    json.push('<');
                    continue;
                }
                let Some((path, after)) = after.split_once('>') else {
                    return Err(TemplateError::Hole {
                        path: after.chars().take(40).collect(),
                        message: "the hole is not closed with `>`; write `<<` for a plain `<`",
                    });
                };
                let path = Path::parse(path)?;
                scanned.stretches.push(Stretch::Json(std::mem::take(&mut json)));
                scanned.stretches.push(Stretch::Hole(scanned.holes.len()));
                scanned.holes.push(Hole { path, in_text });
                rest = after.chars();
            }
            '"' => {
                in_text = !in_text;
                json.push('"');
            }
            '\\' if in_text => {
                json.push('\\');
                json.extend(rest.next());
            }
            other => json.push(other),
        }
    }
    scanned.stretches.push(Stretch::Json(json));
    Ok(scanned)
}

impl Scanned {
    /// The template as JSON: with empty holes, or with markers that contain the numbers of the holes.
    pub(super) fn filled(&self, marker: Option<char>) -> String {
        let mut json = String::new();
        for stretch in &self.stretches {
            match (stretch, marker) {
                (Stretch::Json(text), _) => json.push_str(text),
                (Stretch::Hole(number), None) => {
                    if !self.is_in_text(*number) {
                        json.push_str("null");
                    }
                }
                (Stretch::Hole(number), Some(marker)) => {
                    let quote = if self.is_in_text(*number) { "" } else { "\"" };
                    json.push_str(&format!("{quote}{marker}{number}{marker}{quote}"));
                }
            }
        }
        json
    }

    pub(super) fn into_holes(self) -> Vec<Hole> {
        self.holes
    }

    fn is_in_text(&self, number: usize) -> bool {
        self.holes.get(number).is_some_and(|hole| hole.in_text)
    }
}

/// Takes a text apart at its markers.
pub(super) fn pieces(text: &str, marker: char, holes: &[Hole]) -> Pieces {
    let mut pieces = Vec::new();
    // Markers come in pairs, so every second stretch is the number of a hole.
    for (index, stretch) in text.split(marker).enumerate() {
        let hole = (index % 2 == 1)
            .then(|| holes.get(stretch.parse::<usize>().ok()?))
            .flatten();
        match hole {
            Some(hole) if !hole.in_text => return Pieces::Value(hole.path.clone()),
            Some(hole) => pieces.push(Piece::Hole(hole.path.clone())),
            None if stretch.is_empty() => {}
            None => pieces.push(Piece::Literal(stretch.to_owned())),
        }
    }
    Pieces::Text(pieces)
}
