//! A key value with parameters in it.

use std::borrow::Cow;
use std::fmt::Write;

use trestle_item::{AttributeValue, Item, ScalarType};

use crate::attribute::{AttributeKind, plain, semver};
use crate::draft::Operand;
use crate::language::Piece;
use crate::template::{Part, RESERVED_END, Slot};

/// A key value, or the beginning of one, that depends only on the parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Expression {
    pub(crate) pieces: Vec<ExpressionPiece>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExpressionPiece {
    Literal(String),
    Slot(Box<Slot>, Operand),
}

impl Expression {
    /// The beginning of a template, up to the first field that `value` does not know.
    pub(crate) fn of(parts: &[Part], value: impl Fn(&Slot) -> Option<Operand>) -> Self {
        let mut pieces = Vec::new();
        for part in parts {
            match part {
                Part::Literal(text) => pieces.push(ExpressionPiece::Literal(text.clone())),
                Part::Slot(slot) => match value(slot) {
                    Some(operand) => pieces.push(ExpressionPiece::Slot(Box::new(slot.clone()), operand)),
                    None => break,
                },
            }
        }
        Expression { pieces }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(crate) fn followed_by(&self, slot: &Slot, operand: &Operand) -> Self {
        let mut pieces = self.pieces.clone();
        pieces.push(ExpressionPiece::Slot(Box::new(slot.clone()), operand.clone()));
        Expression { pieces }
    }

    pub(crate) fn followed_by_text(&self, character: char) -> Self {
        let mut pieces = self.pieces.clone();
        pieces.push(ExpressionPiece::Literal(character.to_string()));
        Expression { pieces }
    }

    /// With a character that sorts after every continuation.
    pub(crate) fn to_its_end(&self) -> Self {
        let mut pieces = self.pieces.clone();
        pieces.push(ExpressionPiece::Literal(RESERVED_END.to_string()));
        Expression { pieces }
    }

    /// The value for the given parameters; the error completes a sentence about one of them.
    pub(crate) fn value(
        &self,
        kind: ScalarType,
        parameters: &Item,
    ) -> Result<AttributeValue, (String, String)> {
        if kind != ScalarType::S
            && let [ExpressionPiece::Slot(slot, operand)] = self.pieces.as_slice()
        {
            let value = slot.attribute.compared(known(operand, parameters)?);
            slot.attribute
                .check(&value)
                .map_err(|reason| (named(slot, operand), reason))?;
            return Ok(value.into_owned());
        }
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                ExpressionPiece::Literal(literal) => text.push_str(literal),
                ExpressionPiece::Slot(slot, operand) => {
                    let value = slot.attribute.compared(known(operand, parameters)?);
                    text.push_str(
                        &slot
                            .text(&value)
                            .map_err(|reason| (named(slot, operand), reason))?,
                    );
                }
            }
        }
        Ok(AttributeValue::S(text))
    }

    /// The beginning for `begins_with`; its last value need not be complete.
    pub(crate) fn beginning(&self, parameters: &Item) -> Result<AttributeValue, (String, String)> {
        let [most @ .., ExpressionPiece::Slot(slot, operand)] = self.pieces.as_slice() else {
            return self.value(ScalarType::S, parameters);
        };
        if slot.attribute.kind == AttributeKind::Semver {
            let before = Expression {
                pieces: most.to_vec(),
            };
            return before.followed_by_version(slot, operand, parameters);
        }
        // Timestamps have one length, and yet can be queried by year or day.
        let is_open = slot.fixed_length().is_none() || slot.attribute.kind == AttributeKind::Timestamp;
        if is_open && slot.ends_before.is_none() && !slot.escape {
            let before = Expression {
                pieces: most.to_vec(),
            }
            .value(ScalarType::S, parameters)?;
            let text = known(operand, parameters)?.as_s().unwrap_or_default();
            return Ok(AttributeValue::S(format!(
                "{}{text}",
                before.as_s().unwrap_or_default()
            )));
        }
        self.value(ScalarType::S, parameters)
    }

    /// With the beginning of a version, consisting of its first numbers.
    fn followed_by_version(
        &self,
        slot: &Slot,
        operand: &Operand,
        parameters: &Item,
    ) -> Result<AttributeValue, (String, String)> {
        let before = self.value(ScalarType::S, parameters)?;
        let text = known(operand, parameters)?.as_s().unwrap_or_default();
        let beginning = semver::key_beginning(text).map_err(|reason| (named(slot, operand), reason))?;
        let before = before.as_s().unwrap_or_default();
        Ok(AttributeValue::S(format!("{before}{beginning}")))
    }

    /// Equal for expressions that always give the same value, for whatever entity.
    pub(crate) fn signature(&self) -> Vec<String> {
        let mut atoms = Vec::new();
        for piece in &self.pieces {
            match piece {
                ExpressionPiece::Literal(text) => atoms.extend(text.chars().map(String::from)),
                ExpressionPiece::Slot(slot, operand) => atoms.push(format!(
                    "{}{:?}{}{}{}",
                    shown_operand(operand),
                    slot.width,
                    slot.escape,
                    slot.lower,
                    slot.attribute.kind == AttributeKind::Semver
                )),
            }
        }
        atoms
    }

    /// The beginning that it shares with another one, ending at a separator.
    pub(crate) fn common_beginning(&self, other: &Self) -> Self {
        let theirs = other.signature();
        let mut atoms = Vec::new();
        for piece in &self.pieces {
            match piece {
                ExpressionPiece::Literal(text) => {
                    atoms.extend(text.chars().map(|c| ExpressionPiece::Literal(c.to_string())));
                }
                slot @ ExpressionPiece::Slot(..) => atoms.push(slot.clone()),
            }
        }
        let same = self
            .signature()
            .iter()
            .zip(&theirs)
            .take_while(|(one, two)| one == two)
            .count();
        atoms.truncate(same);
        while let Some(last) = atoms.last() {
            let at_separator = match last {
                ExpressionPiece::Literal(text) => !text.chars().any(char::is_alphanumeric),
                ExpressionPiece::Slot(slot, _) => slot.fixed_length().is_some(),
            };
            if at_separator {
                break;
            }
            atoms.pop();
        }
        Expression {
            pieces: merged(atoms),
        }
    }

    /// The values that it can have.
    pub(crate) fn pieces_of_language(&self) -> Vec<Piece> {
        let piece = |piece: &ExpressionPiece| match piece {
            ExpressionPiece::Literal(text) => Piece::Literal(text.clone()),
            ExpressionPiece::Slot(slot, Operand::Parameter(_)) => slot.piece(),
            ExpressionPiece::Slot(slot, Operand::Value(value)) => Piece::Literal(written(slot, value)),
        };
        self.pieces.iter().map(piece).collect()
    }

    /// `{id}`, `"search"`, `"{status}#{contactId}"`.
    pub(crate) fn shown(&self) -> String {
        if let [ExpressionPiece::Slot(slot, operand @ Operand::Parameter(_))] = self.pieces.as_slice()
            && slot.is_plain()
        {
            return shown_operand(operand);
        }
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                ExpressionPiece::Literal(literal) => text.push_str(&literal.replace(RESERVED_END, "…")),
                ExpressionPiece::Slot(slot, Operand::Value(value)) => {
                    text.push_str(&written(slot, value));
                }
                ExpressionPiece::Slot(slot, Operand::Parameter(name)) => {
                    let width = slot.width.map(|width| format!(":0{width}")).unwrap_or_default();
                    let escape = if slot.escape { "|escape" } else { "" };
                    let lower = if slot.lower { "|lower" } else { "" };
                    let _ = write!(text, "{{{name}{width}{escape}{lower}}}");
                }
            }
        }
        format!("\"{text}\"")
    }
}

fn merged(atoms: Vec<ExpressionPiece>) -> Vec<ExpressionPiece> {
    let mut pieces: Vec<ExpressionPiece> = Vec::new();
    for atom in atoms {
        match (pieces.last_mut(), atom) {
            (Some(ExpressionPiece::Literal(text)), ExpressionPiece::Literal(more)) => text.push_str(&more),
            (_, atom) => pieces.push(atom),
        }
    }
    pieces
}

/// The value of an operand once the parameters are known.
pub(super) fn known<'v>(
    operand: &'v Operand,
    parameters: &'v Item,
) -> Result<&'v AttributeValue, (String, String)> {
    match operand {
        Operand::Value(value) => Ok(value),
        Operand::Parameter(name) => parameters
            .get(name)
            .ok_or_else(|| (name.clone(), "is missing".to_owned())),
    }
}

/// The text of a value in a key. A value that does not fit is refused elsewhere, and is shown unchanged here.
fn written(slot: &Slot, value: &AttributeValue) -> String {
    slot.text(value).map_or_else(|_| plain(value), Cow::into_owned)
}

fn named(slot: &Slot, operand: &Operand) -> String {
    match operand {
        Operand::Parameter(name) => name.clone(),
        Operand::Value(_) => slot.attribute.name.clone(),
    }
}

pub(super) fn shown_operand(operand: &Operand) -> String {
    match operand {
        Operand::Parameter(name) => format!("{{{name}}}"),
        Operand::Value(AttributeValue::S(text)) => format!("{text:?}"),
        Operand::Value(value) => plain(value),
    }
}
