//! Converts a record to a row: columns become attributes, and the model derives the keys.

use trestle_item::{AttributeValue, Item, codec, size};
use trestle_model::{Entity, Model, Refusal, Table};
use xxhash_rust::xxh3::xxh3_64;

use super::misfit::{Misfit, RecordPlace, shortened};
use crate::export::{Cells, RecordFault};
use crate::mapping::{BoundImport, FileLayout};
use crate::schema::{ColumnKind, CqlType, Native};
use crate::value::{Literal, Moment, convert};

/// DynamoDB's limits for keys.
const HASH_BYTES_MAX: usize = 2048;
const RANGE_BYTES_MAX: usize = 1024;

/// The write time of a live row with only a key: any other time is later.
const UNKNOWN_TIME: i64 = 0;

/// A row to write.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ImportedRow {
    /// The item with its keys.
    pub(super) item: Item,
    /// The line at which its record begins, if it comes from a file.
    pub(super) line: u64,
    /// When it was written in Cassandra, in microseconds since 1970.
    pub(super) write_time: Option<i64>,
}

/// The result of converting a record.
pub(super) enum Made {
    Row(Box<ImportedRow>),
    /// The record is a partition with only static columns.
    WithoutRow,
    Misfit(Box<Misfit>),
}

/// Makes rows of an import.
pub(super) struct RowMaker<'p> {
    pub(super) import: &'p BoundImport,
    model: &'p Model,
    entity: &'p Entity,
    table: &'p Table,
    now_ms: u64,
    /// Whether `created` and `updated` are set here, because the database does not have the model.
    keeps_times: bool,
}

/// An error in a record, without its location.
struct Fault {
    column: Option<(usize, String)>,
    reason: String,
    help: String,
}

impl<'p> RowMaker<'p> {
    /// `None` if the model is not the one of the plan.
    pub(super) fn new(
        model: &'p Model,
        import: &'p BoundImport,
        now_ms: u64,
        keeps_times: bool,
    ) -> Option<Self> {
        let entity = model.entity(&import.entity)?;
        Some(RowMaker {
            import,
            model,
            entity,
            table: model.table_of(entity)?,
            now_ms,
            keeps_times,
        })
    }

    /// Converts a record of a file.
    pub(super) fn make(
        &self,
        cells: Result<Cells<'_>, RecordFault>,
        layout: Option<&FileLayout>,
        file: &str,
        line: u64,
    ) -> Made {
        let place = || RecordPlace::Line {
            file: file.to_owned(),
            line,
        };
        let cells = match cells {
            Ok(cells) => cells,
            Err(RecordFault { reason, help }) => return self.misfit(place(), None, whole(reason, &help)),
        };
        let made = match layout {
            Some(layout) => self.row(&cells, layout, line),
            None => match FileLayout::of_record(self.import, cells.names()) {
                Ok(layout) => self.row(&cells, &layout, line),
                Err(reason) => Err(whole(reason, "")),
            },
        };
        match made {
            Ok(Some(row)) => Made::Row(Box::new(row)),
            Ok(None) => Made::WithoutRow,
            Err(fault) => self.misfit(place(), Some(&cells), fault),
        }
    }

    /// Converts a row of a live cluster.
    #[cfg(feature = "live")]
    pub(super) fn make_selected(&self, cells: &Cells<'_>, layout: &FileLayout) -> Made {
        match self.row(cells, layout, 0) {
            Ok(Some(row)) => Made::Row(Box::new(row)),
            Ok(None) => Made::WithoutRow,
            Err(fault) => {
                let is_key =
                    |kind: ColumnKind| matches!(kind, ColumnKind::Partition(_) | ColumnKind::Clustering(_));
                let columns = self.import.columns.iter().zip(&layout.columns);
                let key = columns.filter(|(column, _)| is_key(column.kind));
                let key =
                    key.map(|(column, at)| format!("{} = {}", column.name, cells.shown(*at, &column.name)));
                let place = RecordPlace::Table {
                    table: self.import.table.full_name(),
                    row: Some(shortened(&key.collect::<Vec<_>>().join(", "))),
                };
                self.misfit(place, Some(cells), fault)
            }
        }
    }

    fn misfit(&self, place: RecordPlace, cells: Option<&Cells<'_>>, fault: Fault) -> Made {
        let (column, value) = fault.column.map_or((None, None), |(at, name)| {
            let value = cells.map(|cells| shortened(&cells.shown(at, &name)));
            (Some(name), value)
        });
        Made::Misfit(Box::new(Misfit {
            entity: self.import.entity.clone(),
            place,
            column,
            value,
            reason: fault.reason,
            help: fault.help,
        }))
    }

    fn row(&self, cells: &Cells<'_>, layout: &FileLayout, line: u64) -> Result<Option<ImportedRow>, Fault> {
        let Some(mut item) = self.attributes(cells, layout)? else {
            return Ok(None);
        };
        if let Some((attribute, tag)) = &self.import.tag {
            item.insert(attribute.as_str(), tag.as_str());
        }
        self.expiry(cells, layout, &mut item)?;
        self.keys(layout, &mut item)?;
        let write_time = self.write_time(cells, layout)?;
        let marked = write_time.or(self.import.is_live().then_some(UNKNOWN_TIME));
        if let (Some(attribute), Some(micros)) = (self.import.write_time_attribute(), marked) {
            item.insert(attribute, write_mark(micros, fingerprint(self.import, &item)));
        }
        self.check_sizes(&item)?;
        Ok(Some(ImportedRow {
            item,
            line,
            write_time,
        }))
    }

    fn attributes(&self, cells: &Cells<'_>, layout: &FileLayout) -> Result<Option<Item>, Fault> {
        let mut item = Item::with_capacity(self.import.columns.len() + 6);
        let may_lack_row = self.import.table.has_static();
        for (column, at) in self.import.columns.iter().zip(&layout.columns) {
            let fault = |reason: String| Fault {
                column: Some((*at, column.name.clone())),
                reason,
                help: String::new(),
            };
            let literal = cells
                .literal(*at, &column.name, &column.cql_type)
                .map_err(fault)?;
            let value = convert(&column.cql_type, column.form, &literal, cells.blobs()).map_err(fault)?;
            match value {
                Some(value) => {
                    item.insert(column.attribute.as_str(), value);
                }
                None if may_lack_row && matches!(column.kind, ColumnKind::Clustering(_)) => return Ok(None),
                None => {}
            }
        }
        Ok(Some(item))
    }

    /// The keys that the model derives from the attributes, and its defaults.
    fn keys(&self, layout: &FileLayout, item: &mut Item) -> Result<(), Fault> {
        for template in self.entity.table_key() {
            if !item.contains_key(template.attribute())
                && let Ok(key) = template.render(item)
            {
                item.insert(template.attribute(), key);
            }
        }
        let derived = self
            .model
            .derive(self.table.table_name(), None, item, self.now_ms);
        let derived = derived.map_err(|refusal| self.refused(&refusal, layout))?;
        let Some(mut derived) = derived.filter(|derived| derived.entity.name() == self.entity.name()) else {
            return Err(whole(
                format!("is not recognised as a row of {}", self.entity.name()),
                "give the table of the model an `entity_attribute`",
            ));
        };
        if !self.keeps_times {
            let times = [self.entity.created(), self.entity.updated()];
            derived.set.retain(|(name, _)| !times.contains(&Some(*name)));
        }
        derived.apply(item);
        Ok(())
    }

    /// Why the model refuses the row, with the responsible column.
    fn refused(&self, refusal: &Refusal, layout: &FileLayout) -> Fault {
        let (attribute, help) = match refusal {
            Refusal::Missing { attribute, .. } => (
                Some(attribute),
                "give the column a value in Cassandra, or let the model declare the attribute as optional or with a default",
            ),
            Refusal::Unfit { attribute, .. } => (
                Some(attribute),
                "correct the value in Cassandra and export it again, or let the model allow it",
            ),
            _ => (None, ""),
        };
        let mut columns = self.import.columns.iter().zip(&layout.columns);
        let column = columns.find(|(column, _)| Some(&column.attribute) == attribute);
        Fault {
            column: column.map(|(column, at)| (*at, column.name.clone())),
            reason: format!("does not fit the model: {refusal}"),
            help: help.to_owned(),
        }
    }

    fn write_time(&self, cells: &Cells<'_>, layout: &FileLayout) -> Result<Option<i64>, Fault> {
        if self.import.write_time_attribute().is_none() {
            return Ok(None);
        }
        let mut latest = None;
        for (at, name) in &layout.write_times {
            let fault = |reason: String| Fault {
                column: Some((*at, name.clone())),
                reason,
                help: String::new(),
            };
            let literal = cells
                .literal(*at, name, &CqlType::Native(Native::Integer))
                .map_err(fault)?;
            latest = latest.max(micros(&literal).map_err(fault)?);
        }
        // All write times of a live row were selected: without one, the row has only a key.
        if latest.is_none() && !self.import.is_live() {
            return Err(whole(
                "has no write time in any `writetime(…)` column".to_owned(),
                "export the write time of a column that every row has, or say `write_time = false`",
            ));
        }
        Ok(latest)
    }

    /// In Cassandra each cell expires separately, here the whole row: it expires with its last cell, and
    /// never if one does not expire.
    fn expiry(&self, cells: &Cells<'_>, layout: &FileLayout, item: &mut Item) -> Result<(), Fault> {
        let Some(Some(expires)) = &self.import.expires else {
            return Ok(());
        };
        let mut longest: Option<i64> = None;
        for (at, name, of) in &layout.ttls {
            let fault = |reason: String| Fault {
                column: Some((*at, name.clone())),
                reason,
                help: String::new(),
            };
            let mut columns = self.import.columns.iter().zip(&layout.columns);
            // A column that is left out is not part of the row.
            let Some((column, value_at)) = columns.find(|(column, _)| column.name == *of) else {
                continue;
            };
            let value = cells.literal(*value_at, of, &column.cql_type).map_err(fault)?;
            let ttl = cells
                .literal(*at, name, &CqlType::Native(Native::Integer))
                .map_err(fault)?;
            match lifetime(&value, &ttl).map_err(fault)? {
                Lifetime::Seconds(seconds) => longest = longest.max(Some(seconds)),
                Lifetime::NoValue => {}
                Lifetime::Unbounded => return Ok(()),
            }
        }
        let from = expires.exported_seconds.or(cells.asked_seconds());
        if let (Some(longest), Some(from)) = (longest, from) {
            item.insert(expires.attribute.as_str(), from.saturating_add(longest));
        }
        Ok(())
    }

    fn check_sizes(&self, item: &Item) -> Result<(), Fault> {
        let bytes = size::of_item(item);
        if bytes > size::ITEM_BYTES_MAX {
            return Err(whole(
                format!(
                    "has {bytes} bytes, and an item has at most {}",
                    size::ITEM_BYTES_MAX
                ),
                "leave a large column out, or keep it elsewhere",
            ));
        }
        let key = self.table.key();
        for (attributes, most) in [(&key.hash, HASH_BYTES_MAX), (&key.range, RANGE_BYTES_MAX)] {
            let key = attributes
                .iter()
                .filter_map(|attribute| item.get(&attribute.name));
            let bytes: usize = key.map(size::of_value).sum();
            if bytes > most {
                return Err(whole(
                    format!("has a key of {bytes} bytes, and it may have {most}"),
                    "let the model make the key of shorter attributes",
                ));
            }
        }
        Ok(())
    }

    /// The key attribute that every row has.
    pub(super) fn hash_attribute(&self) -> &str {
        self.table.key().hash.first().map_or("", |key| &key.name)
    }

    /// The key of a row.
    pub(super) fn key_of(&self, item: &Item) -> Item {
        let key = self.table.key().attributes();
        let values = key.filter_map(|key| Some((key.name.as_str(), item.get(&key.name)?.clone())));
        values.collect()
    }

    /// The attributes of index keys that the model derives.
    pub(super) fn index_keys(&self) -> impl Iterator<Item = &str> {
        let templates = self
            .entity
            .index_keys()
            .iter()
            .filter(|template| !template.is_identity());
        templates.map(trestle_model::KeyTemplate::attribute)
    }
}

fn whole(reason: String, help: &str) -> Fault {
    Fault {
        column: None,
        reason,
        help: help.to_owned(),
    }
}

/// A write time: microseconds, a timestamp in the form of `dsbulk`, or one for each member of a collection.
fn micros(literal: &Literal<'_>) -> Result<Option<i64>, String> {
    match literal {
        Literal::Null => Ok(None),
        Literal::Text(text) | Literal::Word(text) => {
            let number: Option<i64> = text.parse().ok();
            let number = number.or_else(|| Moment::parse(text)?.micros());
            number.map(Some).ok_or_else(|| "is no write time".to_owned())
        }
        Literal::Items(items) => items
            .iter()
            .map(micros)
            .try_fold(None, |latest, next| Ok(latest.max(next?))),
        Literal::Pairs(_) => Err("is no write time".to_owned()),
    }
}

/// How long a value lives, ordered by length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lifetime {
    /// There is no value.
    NoValue,
    Seconds(i64),
    Unbounded,
}

/// How long a value lives, by its time to live. A collection lives as long as its longest-lived member.
fn lifetime(value: &Literal<'_>, ttl: &Literal<'_>) -> Result<Lifetime, String> {
    match ttl {
        Literal::Null if *value == Literal::Null => Ok(Lifetime::NoValue),
        Literal::Null => Ok(Lifetime::Unbounded),
        Literal::Text(text) | Literal::Word(text) => match text.parse::<i64>() {
            Ok(seconds) if seconds >= 0 => Ok(Lifetime::Seconds(seconds)),
            _ => Err("is no number of seconds".to_owned()),
        },
        // One for each member, and for each field of a user-defined type, including those without a value.
        Literal::Items(ttls) => {
            let member = |at: usize| match value {
                Literal::Pairs(pairs) => pairs.get(at).map(|(_, value)| value),
                Literal::Items(items) => items.get(at),
                _ => None,
            };
            let lifetimes = ttls.iter().enumerate();
            let mut lifetimes =
                lifetimes.map(|(at, ttl)| lifetime(member(at).unwrap_or(&Literal::Null), ttl));
            lifetimes.try_fold(Lifetime::NoValue, |longest, next| Ok(longest.max(next?)))
        }
        Literal::Pairs(_) => Err("is no number of seconds".to_owned()),
    }
}

/// A hash of a row's imported attributes. Other attributes do not affect it.
pub(super) fn fingerprint(import: &BoundImport, item: &Item) -> u64 {
    let imported: Vec<_> = item.iter().filter(|(name, _)| import.gives(name)).collect();
    let mut bytes = Vec::with_capacity(256);
    codec::encode_attributes(imported.into_iter(), &mut bytes);
    xxh3_64(&bytes)
}

/// The content of the write-time attribute: the time, and the fingerprint of the imported attributes, by
/// which later changes in the database are detected.
fn write_mark(micros: i64, fingerprint: u64) -> AttributeValue {
    AttributeValue::S(format!("{micros}:{fingerprint:016x}"))
}

/// Write time and fingerprint of a stored row.
pub(super) fn read_write_mark(import: &BoundImport, item: &Item) -> Option<(i64, u64)> {
    let text = item.get(import.write_time_attribute()?)?.as_s()?;
    let (micros, fingerprint) = text.split_once(':')?;
    Some((micros.parse().ok()?, u64::from_str_radix(fingerprint, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::parse_cqlsh;

    #[test]
    fn a_collection_lives_as_long_as_its_last_member() {
        for (value, ttl, expected) in [
            ("null", "null", Lifetime::NoValue),
            ("'a'", "null", Lifetime::Unbounded),
            ("'a'", "5", Lifetime::Seconds(5)),
            ("['a', 'b']", "[5, 7]", Lifetime::Seconds(7)),
            ("['a', 'b']", "[5, null]", Lifetime::Unbounded),
            ("{street: 'a', number: null}", "[5, null]", Lifetime::Seconds(5)),
            ("{street: 'a', number: 1}", "[5, null]", Lifetime::Unbounded),
        ] {
            let (value, ttl) = (parse_cqlsh(value).unwrap(), parse_cqlsh(ttl).unwrap());
            assert_eq!(lifetime(&value, &ttl), Ok(expected), "{value} {ttl}");
        }
        assert!(lifetime(&Literal::Null, &Literal::Word("soon".into())).is_err());
    }
}
