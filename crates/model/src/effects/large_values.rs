//! Large values: at most one row refers to a value, and the value is complete before a row refers to it. A
//! value without a row is loose, and is removed in the background.

use std::time::Duration;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_hook::{By, Change, Refused, Rows, Verdict};
use trestle_item::{AttributeValue, Item, Number};

use super::Stopped;
use super::ledger::{At, Ledger};
use super::own_rows::{OwnRow, OwnRows, OwnTable, text_in};
use super::settle::Row;
use crate::attribute::AttributeKind;
use crate::entity::{Entity, Role};
use crate::large_value::{
    LARGE_VALUE_BYTES_MAX, LARGE_VALUE_PARTS_MAX, LargeValue, PARTS_BYTES, PARTS_ID, PARTS_NUMBER,
    PARTS_TABLE, check_id, number_in,
};
use crate::model::Model;
use crate::refusal::Refusal;

/// The table in the database with the large values that rows refer to. Its key is [`PARTS_ID`], a string.
pub const NAMED_VALUES_TABLE: &str = NAMED.name;
/// The table in the database of large values that no row refers to. Its key is [`PARTS_ID`], a string.
pub const LOOSE_VALUES_TABLE: &str = LOOSE.name;

pub(super) const NAMED: OwnTable = OwnTable {
    name: "_trestle.values",
    key: PARTS_ID,
};
pub(super) const LOOSE: OwnTable = OwnTable {
    name: "_trestle.loose_values",
    key: PARTS_ID,
};

/// How long parts that no row refers to are kept after the last of them was put.
const UPLOAD_TIME: Duration = Duration::from_secs(60 * 60);
/// How long a value can be read after its row was replaced or removed.
const READING_TIME: Duration = Duration::from_secs(10 * 60);

/// The large attributes of an entity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Step {
    attributes: Vec<String>,
}

impl Step {
    pub(super) fn of(entity: &Entity) -> Option<Self> {
        // A head copies the reference of its row, which is the one that counts.
        if entity.role != Role::Declared {
            return None;
        }
        let large = entity.large_attributes();
        let attributes: Vec<String> = large.map(str::to_owned).collect();
        (!attributes.is_empty()).then_some(Step { attributes })
    }
}

impl Entity {
    /// The names of its attributes that are large values.
    pub fn large_attributes(&self) -> impl Iterator<Item = &str> {
        let attributes = self.attributes.iter();
        let large = attributes.filter(|attribute| attribute.kind == AttributeKind::Large);
        large.map(|attribute| attribute.name.as_str())
    }

    /// Whether more is written with a row: rows of its effects, or rows about a large value.
    #[must_use]
    pub fn is_followed(&self) -> bool {
        !self.effects.is_empty() || self.large_attributes().next().is_some()
    }
}

impl Model {
    /// The large values that a row of a table refers to, each with the entity and the attribute. Rows that
    /// the database writes, such as heads, do not count.
    #[must_use]
    pub fn values_named_in(&self, table_name: &str, row: &Item) -> Vec<NamedValue> {
        let entity = self.recognise(table_name, row).ok().flatten();
        let Some(entity) = entity.filter(|entity| entity.role == Role::Declared) else {
            return Vec::new();
        };
        let large = entity.large_attributes();
        let named = large.filter_map(|attribute| {
            let reference = named_in(Some(row), attribute)?;
            Some(NamedValue::new(self, entity, attribute, reference))
        });
        named.collect()
    }

    /// Whether rows of the model can refer to large values.
    #[must_use]
    pub fn has_large_values(&self) -> bool {
        let mut entities = self.entities.iter();
        entities.any(|entity| entity.large_attributes().next().is_some())
    }
}

/// The values that one write begins and ceases to refer to.
#[derive(Default)]
pub(super) struct Values {
    named: OwnRows<NamedValue>,
    loose: OwnRows<LooseValue>,
}

impl Values {
    pub(super) fn companions(self) -> impl Iterator<Item = trestle_hook::Companion> {
        self.named.companions().chain(self.loose.companions())
    }
}

/// The references of a row before and after the write.
pub(super) fn run(
    ledger: &mut Ledger<'_, '_>,
    step: &Step,
    row: &Row<'_>,
    new: Option<&Item>,
) -> Result<(), Stopped> {
    for attribute in &step.attributes {
        let (was, is) = (named_in(row.old, attribute), named_in(new, attribute));
        if was == is {
            continue;
        }
        if let Some(was) = was {
            name(ledger, row.entity, attribute, was)?.names -= 1;
        }
        if let Some(is) = is {
            let cause = ledger.cause();
            let named = name(ledger, row.entity, attribute, is.clone())?;
            named.names += 1;
            named.cause = cause;
            (named.entity, named.attribute) = (row.entity.name.clone(), attribute.clone());
            // References are compared with what is stored when all rows of the request are known.
            named.reference = is;
        }
    }
    Ok(())
}

fn named_in(row: Option<&Item>, attribute: &str) -> Option<LargeValue> {
    LargeValue::from_value(row?.get(attribute)?).ok()
}

fn name<'l>(
    ledger: &'l mut Ledger<'_, '_>,
    entity: &Entity,
    attribute: &str,
    reference: LargeValue,
) -> Result<&'l mut NamedValue, Stopped> {
    let named = NamedValue {
        cause: ledger.cause(),
        ..NamedValue::new(ledger.model, entity, attribute, reference)
    };
    let (named, _) = ledger.values.named.row(named, ledger.rows)?;
    Ok(named)
}

/// Compares the references in the rows of a request with what is stored, once all of the rows are known.
pub(super) fn finish(ledger: &mut Ledger<'_, '_>) -> Result<(), Stopped> {
    let mut values = std::mem::take(&mut ledger.values);
    for named in values.named.iter() {
        match (&named.stored, named.names) {
            (_, 2..) => {
                ledger.blame(named.cause);
                return Err(named
                    .refused("which another row names; upload the bytes again")
                    .into());
            }
            (Some(stored), 1) if *stored != named.reference => {
                ledger.blame(named.cause);
                let why = "whose size, parts and sha256 are others; a value never changes";
                return Err(named.refused(why).into());
            }
            (None, 1) => {
                ledger.blame(named.cause);
                let (loose, _) = values
                    .loose
                    .row(LooseValue::absent(&named.reference.id), ledger.rows)?;
                loose.check(named)?;
                loose.state = None;
            }
            // Also where the reference was not noted, which no client can cause: otherwise its parts would
            // never be removed.
            (Some(_), ..=0) | (None, ..=-1) => {
                let (loose, _) = values
                    .loose
                    .row(LooseValue::absent(&named.reference.id), ledger.rows)?;
                *loose = LooseValue::released(&named.reference, ledger.now);
            }
            (Some(_), 1) | (None, 0) => {}
        }
    }
    ledger.values = values;
    Ok(())
}

/// A large value that a row names.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedValue {
    /// The model of the row.
    pub model: String,
    /// The entity of the row.
    pub entity: String,
    /// The attribute of the row.
    pub attribute: String,
    /// The value.
    pub reference: LargeValue,
    /// The reference in the row that had it before the write.
    stored: Option<LargeValue>,
    /// How many rows refer to it after the write.
    names: i64,
    /// The last row of the request that refers to it.
    cause: At,
}

impl NamedValue {
    fn new(model: &Model, entity: &Entity, attribute: &str, reference: LargeValue) -> Self {
        NamedValue {
            model: model.name.clone(),
            entity: entity.name.clone(),
            attribute: attribute.to_owned(),
            reference,
            stored: None,
            names: 0,
            cause: 0,
        }
    }

    /// The key of a value in [`NAMED_VALUES_TABLE`].
    #[must_use]
    pub fn key_of(id: &str) -> Item {
        NAMED.key(id.to_owned())
    }

    /// Its key in [`NAMED_VALUES_TABLE`].
    #[must_use]
    pub fn key(&self) -> Item {
        NAMED.key(self.key_text())
    }

    /// The row in [`NAMED_VALUES_TABLE`].
    #[must_use]
    pub fn to_item(&self) -> Item {
        let mut item = self.key();
        item.insert("model", self.model.as_str());
        item.insert("entity", self.entity.as_str());
        item.insert("attribute", self.attribute.as_str());
        item.insert("reference", self.reference.to_value());
        item
    }

    /// The value in a row of [`NAMED_VALUES_TABLE`]; `None` if it is not such a row.
    #[must_use]
    pub fn from_item(item: &Item) -> Option<Self> {
        let reference = LargeValue::from_value(item.get("reference")?).ok()?;
        Some(NamedValue {
            model: text_in(item, "model")?,
            entity: text_in(item, "entity")?,
            attribute: text_in(item, "attribute")?,
            stored: Some(reference.clone()),
            reference,
            names: 1,
            cause: 0,
        })
    }

    fn refused(&self, why: &str) -> Refusal {
        Refusal::Unfit {
            entity: self.entity.clone(),
            attribute: self.attribute.clone(),
            reason: format!("names the large value {}, {why}", self.reference.id),
        }
    }
}

impl OwnRow for NamedValue {
    const TABLE: OwnTable = NAMED;

    fn key_text(&self) -> String {
        self.reference.id.clone()
    }

    fn stored(&self) -> Option<Item> {
        (self.names > 0).then(|| self.to_item())
    }

    fn recall(&mut self, stored: &Item) -> Result<(), Refusal> {
        let stored = Self::from_item(stored);
        *self = stored.ok_or_else(|| Refusal::defect("a row about a large value cannot be read"))?;
        Ok(())
    }

    fn too_long(&self) -> Refusal {
        self.refused("whose `id` is too long")
    }
}

/// A large value that no row names: it is being uploaded, its row is gone, or its parts are being removed.
#[derive(Clone, Debug, PartialEq)]
pub struct LooseValue {
    /// What identifies it.
    pub id: String,
    /// How many parts there are.
    pub parts: u64,
    /// The number of the last one.
    pub last: u64,
    /// How many bytes they have.
    pub size: u64,
    /// When its last part was put, or when its row was removed.
    pub at: Timestamp,
    /// Its state; `None` if it is not loose.
    pub state: Option<LooseState>,
}

/// The state of a large value that no row refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LooseState {
    /// Parts are being put, and a row may begin to refer to it.
    Uploading,
    /// Its row is gone; it can be read for a while.
    Released,
    /// Its parts are being removed.
    Removing,
}

impl LooseState {
    const NAMES: [(&'static str, LooseState); 3] = [
        ("uploading", LooseState::Uploading),
        ("released", LooseState::Released),
        ("removing", LooseState::Removing),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Uploading => "uploading",
            Self::Released => "released",
            Self::Removing => "removing",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        let mut named = Self::NAMES.iter();
        named.find(|(known, _)| *known == name).map(|(_, state)| *state)
    }
}

impl LooseValue {
    fn absent(id: &str) -> Self {
        LooseValue {
            id: id.to_owned(),
            parts: 0,
            last: 0,
            size: 0,
            at: Timestamp::EPOCH,
            state: None,
        }
    }

    /// A value whose row is gone.
    #[must_use]
    pub fn released(reference: &LargeValue, now: Timestamp) -> Self {
        LooseValue {
            id: reference.id.clone(),
            parts: reference.parts,
            last: reference.parts,
            size: reference.size,
            at: now,
            state: Some(LooseState::Released),
        }
    }

    /// A value of which only the parts are known. No row can begin to refer to it.
    #[must_use]
    pub fn abandoned(id: &str, now: Timestamp) -> Self {
        LooseValue {
            at: now,
            state: Some(LooseState::Removing),
            ..LooseValue::absent(id)
        }
    }

    /// When its parts are to be removed.
    #[must_use]
    pub fn due(&self) -> Timestamp {
        match self.state {
            Some(LooseState::Uploading) => self.at.plus(UPLOAD_TIME),
            Some(LooseState::Released) => self.at.plus(READING_TIME),
            Some(LooseState::Removing) | None => self.at,
        }
    }

    /// A value that is not yet known at some time need not be removed within this time after it.
    #[must_use]
    pub fn shortest_time() -> Duration {
        READING_TIME.min(UPLOAD_TIME)
    }

    /// The key of a value in [`LOOSE_VALUES_TABLE`].
    #[must_use]
    pub fn key_of(id: &str) -> Item {
        LOOSE.key(id.to_owned())
    }

    /// Its key in [`LOOSE_VALUES_TABLE`].
    #[must_use]
    pub fn key(&self) -> Item {
        LOOSE.key(self.id.clone())
    }

    /// The row in [`LOOSE_VALUES_TABLE`]; `None` if the value is not loose.
    #[must_use]
    pub fn to_item(&self) -> Option<Item> {
        let state = self.state?;
        let mut item = self.key();
        item.insert("parts", Number::from(self.parts));
        item.insert("last", Number::from(self.last));
        item.insert("size", Number::from(self.size));
        item.insert("at", Number::from(self.at.as_millis()));
        item.insert("state", state.name());
        Some(item)
    }

    /// The value in a row of [`LOOSE_VALUES_TABLE`]; `None` if it is not such a row.
    #[must_use]
    pub fn from_item(item: &Item) -> Option<Self> {
        Some(LooseValue {
            id: text_in(item, PARTS_ID)?,
            parts: number_in(item, "parts")?,
            last: number_in(item, "last")?,
            size: number_in(item, "size")?,
            at: Timestamp::from_millis(number_in(item, "at")?),
            state: Some(LooseState::from_name(item.get("state")?.as_s()?)?),
        })
    }

    /// Whether a row may begin to refer to it.
    fn check(&self, named: &NamedValue) -> Result<(), Refusal> {
        let reference = &named.reference;
        match self.state {
            Some(LooseState::Uploading | LooseState::Released) => {}
            Some(LooseState::Removing) | None => {
                return Err(named.refused(&format!(
                    "which is not there; put its parts into {PARTS_TABLE} first. Parts that no row names are removed after \
                     an hour, and those of a replaced value after ten minutes"
                )));
            }
        }
        let is_complete = self.parts == reference.parts && self.last == reference.parts;
        if !is_complete || self.size != reference.size {
            return Err(named.refused(&format!(
                "of {} bytes in {} parts; {} bytes in {} parts are there, and the last part has the number {}",
                reference.size, reference.parts, self.size, self.parts, self.last
            )));
        }
        Ok(())
    }
}

impl OwnRow for LooseValue {
    const TABLE: OwnTable = LOOSE;

    fn key_text(&self) -> String {
        self.id.clone()
    }

    fn stored(&self) -> Option<Item> {
        self.to_item()
    }

    fn recall(&mut self, stored: &Item) -> Result<(), Refusal> {
        let stored = Self::from_item(stored);
        *self = stored.ok_or_else(|| Refusal::defect("a row about a loose value cannot be read"))?;
        Ok(())
    }

    fn too_long(&self) -> Refusal {
        Refusal::defect("the `id` of a loose value is too long")
    }
}

/// A part that a client puts.
struct Part<'i> {
    id: &'i str,
    number: u64,
    bytes: &'i [u8],
}

impl<'i> Part<'i> {
    fn of(item: &'i Item) -> Result<Self, String> {
        let known = [PARTS_ID, PARTS_NUMBER, PARTS_BYTES];
        if let Some(other) = item.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(format!(
                "it has the attribute {other}; a part has {}",
                known.join(", ")
            ));
        }
        let id = item.get(PARTS_ID).and_then(AttributeValue::as_s);
        let id = id.ok_or("`id` is no string")?;
        check_id(id)?;
        let number =
            number_in(item, PARTS_NUMBER).filter(|number| (1..=LARGE_VALUE_PARTS_MAX).contains(number));
        let number =
            number.ok_or_else(|| format!("`part` is no number from 1 to {LARGE_VALUE_PARTS_MAX}"))?;
        let bytes = item.get(PARTS_BYTES).and_then(AttributeValue::as_b);
        Ok(Part {
            id,
            number,
            bytes: bytes.ok_or("`bytes` is not of type B")?,
        })
    }
}

/// The effect of the parts that a client puts: their values are loose. A part is put once and never changes.
pub fn change_parts(changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Refused> {
    let mut loose = OwnRows::default();
    for (at, change) in changes.iter().enumerate() {
        if change.by == By::Client {
            let refused = |why: String| Refused {
                at: Some(at),
                error: Error::validation(format!("A part of a large value is refused: {why}")),
            };
            put_part(&mut loose, change, rows).map_err(|stopped| match stopped {
                PartStopped::Refused(why) => refused(why),
                PartStopped::Rows(error) => Refused { at: Some(at), error },
            })?;
        }
    }
    Ok(Verdict {
        companions: loose.companions().collect(),
        ..Verdict::default()
    })
}

enum PartStopped {
    Refused(String),
    Rows(Error),
}

impl From<String> for PartStopped {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

impl From<Stopped> for PartStopped {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Refused(refusal) => Self::Rows(Error::internal(refusal.to_string())),
            Stopped::Rows(error) => Self::Rows(error),
        }
    }
}

fn put_part(
    loose: &mut OwnRows<LooseValue>,
    change: &Change<'_>,
    rows: &dyn Rows,
) -> Result<(), PartStopped> {
    let Some(new) = change.new else {
        return Err("the database removes parts itself, once no row names the value"
            .to_owned()
            .into());
    };
    let part = Part::of(new)?;
    let Part { id, number, .. } = part;
    match change.old {
        // Sent twice.
        Some(old) if old == new => return Ok(()),
        Some(_) => {
            let why = format!(
                "part {number} of value {id} is there with other bytes, and a value never changes; choose another `id`"
            );
            return Err(why.into());
        }
        None => {}
    }
    let (known, _) = loose.row(LooseValue::absent(id), rows)?;
    match known.state {
        Some(LooseState::Uploading) => {}
        Some(LooseState::Released | LooseState::Removing) => {
            let why = format!("value {id} is being removed; choose another `id`");
            return Err(why.into());
        }
        None if number != 1 => {
            let why = format!("value {id} has no parts yet; begin with part 1");
            return Err(why.into());
        }
        None => {
            let is_named = rows.get(NAMED.name, &NAMED.key(id.to_owned()));
            if is_named.map_err(PartStopped::Rows)?.is_some() {
                let why = format!("a row names value {id}; choose another `id`");
                return Err(why.into());
            }
        }
    }
    known.state = Some(LooseState::Uploading);
    known.parts += 1;
    known.last = known.last.max(number);
    known.size += part.bytes.len() as u64;
    known.at = change.now;
    if known.size > LARGE_VALUE_BYTES_MAX {
        let why = format!("value {id} is larger than {LARGE_VALUE_BYTES_MAX} bytes, the most there is");
        return Err(why.into());
    }
    Ok(())
}
