//! Why a write or a read does not fit the model. The texts are those that a client sees in a
//! `ValidationException`.

use std::collections::BTreeSet;
use std::fmt;

use crate::problem::listed;

/// Why the model refuses an item, a key or a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It belongs to no entity of the table.
    Unrecognised {
        /// The table.
        table: String,
        /// The entities it could be.
        entities: Vec<String>,
        /// The attribute that would decide.
        entity_attribute: Option<String>,
    },
    /// The tag names no entity of the table.
    UnknownTag {
        /// The table.
        table: String,
        /// The attribute that holds the tag.
        attribute: String,
        /// The tag.
        tag: String,
        /// The existing tags.
        known: Vec<String>,
    },
    /// It could be one of several entities.
    Ambiguous {
        /// The entities it could be.
        entities: Vec<String>,
        /// The attribute that would decide.
        entity_attribute: Option<String>,
    },
    /// An attribute that the entity needs is missing.
    Missing {
        /// The entity.
        entity: String,
        /// The attribute.
        attribute: String,
        /// The key that contains it, if one does.
        key: Option<String>,
    },
    /// An attribute does not fit its declaration.
    Unfit {
        /// The entity.
        entity: String,
        /// The attribute.
        attribute: String,
        /// The rest of a sentence about it.
        reason: String,
    },
    /// A given key does not follow from the attributes.
    Mismatch {
        /// The entity.
        entity: String,
        /// The key attribute.
        key: String,
        /// What was given.
        given: String,
        /// The key that follows from the attributes.
        derived: String,
    },
    /// An attribute that identifies the row changed.
    Identifying {
        /// The entity.
        entity: String,
        /// The attribute.
        attribute: String,
        /// What it is.
        stored: String,
        /// What was given.
        given: String,
    },
    /// An immutable attribute changed.
    Immutable {
        /// The entity.
        entity: String,
        /// The attribute.
        attribute: String,
        /// What it is.
        stored: String,
        /// The given value; `None` if it was removed.
        given: Option<String>,
    },
    /// The key belongs to a row of another entity.
    OtherEntity {
        /// The entity of the stored row.
        stored: String,
        /// The entity of the row that was written.
        written: String,
    },
    /// An attribute is not declared, and the entity is closed.
    Undeclared {
        /// The entity.
        entity: String,
        /// The attribute.
        attribute: String,
    },
    /// A parameter of an access pattern does not fit.
    Parameter {
        /// The access pattern.
        access: String,
        /// The parameter.
        parameter: String,
        /// The rest of a sentence about it.
        reason: String,
    },
    /// A client writes to a row that the database keeps.
    Kept {
        /// The entity of the row.
        entity: String,
        /// The entity whose rows it follows.
        of: String,
        /// What was written to it.
        attribute: Option<String>,
    },
    /// A written head names no row of its group.
    NoTarget {
        /// The entity of the head.
        head: String,
        /// The entity of the rows.
        entity: String,
        /// The attributes that would name one, with their values.
        given: Vec<String>,
    },
    /// A row names more rows than can have heads that follow it.
    TooManyHeads {
        /// The entity of the row that names them.
        pointer: String,
        /// The entity of the rows.
        entity: String,
        /// The number of rows that it names.
        rows: usize,
        /// The number of rows that it may name.
        most: usize,
    },
    /// A head was to be removed while its row exists.
    HasRow {
        /// The entity of the head.
        head: String,
        /// The entity of the row.
        entity: String,
    },
    /// The newest row of a group was to be removed, and its successor cannot be found.
    NoSuccessor {
        /// The entity of the row.
        entity: String,
        /// The entity of the head.
        head: String,
    },
    /// A value that must be unique is taken.
    Taken {
        /// The entity.
        entity: String,
        /// The attributes that are unique together.
        attributes: Vec<String>,
        /// Their values.
        value: String,
        /// The identity of the row that has it.
        owner: String,
    },
    /// A client gave an attribute that the database keeps, with a value that differs from the stored one.
    Given(Box<Given>),
    /// A reindex was to raise an attribute that is not the entity's version.
    NotTheVersion {
        /// The entity.
        entity: String,
        /// The attribute.
        attribute: String,
        /// The attribute that the entity declares for it.
        declared: Option<String>,
    },
    /// Raising the version of the row would change something else in it.
    ChangesWithTouch {
        /// The entity.
        entity: String,
        /// What would change.
        attribute: String,
    },
    /// A row that counts is written, and the row with the count is missing.
    NoParent {
        /// The entity that is written.
        entity: String,
        /// The counter.
        counter: String,
        /// The entity that counts.
        parent: String,
        /// The identity of the missing row.
        identity: String,
    },
    /// A row copies attributes of a missing row.
    NoOriginal {
        /// The entity.
        entity: String,
        /// The copy.
        copy: String,
        /// The entity to copy from.
        from: String,
        /// The identity of the missing row.
        original: String,
    },
    /// A row that follows from the write is refused.
    Following {
        /// The entity that is written.
        written: String,
        /// The derived change: `create the row of entity team with id "a"`.
        consequence: String,
        /// Why not.
        cause: Box<Refusal>,
    },
    /// An original has more copies than one commit may update.
    TooManyCopies {
        /// The entity of the original.
        entity: String,
        /// The identity of the original.
        original: String,
        /// The copy.
        copy: String,
        /// The entity that has the copy.
        of: String,
        /// The number of rows that have it.
        rows: usize,
        /// The most rows.
        most: usize,
    },
    /// The row has more entries than one write can remove.
    TooManyEntriesGo {
        /// The entity of the row.
        entity: String,
        /// The attributes with the members.
        attributes: BTreeSet<String>,
        /// The number of entries that would be removed.
        entries: usize,
        /// The most rows.
        most: usize,
    },
    /// More rows follow from the write than one commit may hold.
    TooMuchFollows {
        /// The entity that is written.
        entity: String,
        /// The most rows.
        rows: usize,
    },
    /// The row's place does not follow from a key of the previous version.
    FormerKey {
        /// The entity.
        entity: String,
        /// The attributes that are only in the present key.
        lacking: Vec<String>,
    },
    /// A key condition of the previous version selects rows that are no longer together.
    FormerCondition {
        /// The entity.
        entity: String,
    },
    /// A row cannot move back, because it has no place of its own in the previous version.
    NoWayBack {
        /// The entity.
        entity: String,
        /// The attribute that distinguishes the row from the one in that place.
        attribute: String,
        /// What it is.
        value: String,
        /// The value that it would need.
        only: String,
    },
    /// An internal error: something is missing that a proved model has.
    Defect {
        /// What.
        what: &'static str,
        /// The place in the code.
        place: String,
    },
    /// The model has no such table.
    NoTable {
        /// The table.
        table: String,
    },
}

/// An attribute that a client gave, and that the database keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The entity.
    pub entity: String,
    /// The attribute.
    pub attribute: String,
    /// Why the database keeps it.
    pub why: Keeps,
    /// What the attribute is.
    pub stored: String,
    /// What was given.
    pub given: String,
}

/// Why the database keeps an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// It is a count.
    Count {
        /// The counter.
        counter: String,
        /// The entity whose rows are counted.
        of: String,
    },
    /// It is the time of the row's first write.
    Created,
    /// It is the version up to which the row was reindexed.
    ReindexVersion,
    /// It is a copy.
    Copy {
        /// The original's attribute.
        of: String,
        /// The original's entity.
        entity: String,
        /// The identity of the original.
        identity: String,
        /// What the copy follows.
        follows: Follows,
    },
}

/// What a copy follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// Its original, in step.
    Original,
    /// Nothing: it keeps the value of the first write.
    FirstWrite,
    /// Nothing: the original does not exist.
    Missing,
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entity {}: attribute {} is ", self.entity, self.attribute)?;
        match &self.why {
            Keeps::Count { counter, of } => write!(f, "kept by the counter {counter} of entity {of}")?,
            Keeps::Created => write!(f, "the time of the row's first write")?,
            Keeps::ReindexVersion => write!(f, "the version up to which the row was reindexed")?,
            Keeps::Copy {
                of,
                entity,
                identity,
                follows,
            } => {
                write!(
                    f,
                    "copied from attribute {of} of the row of entity {entity} with {identity}"
                )?;
                f.write_str(match follows {
                    Follows::Original => "",
                    Follows::FirstWrite => ", and keeps the value of the first write",
                    Follows::Missing => ", which is not there",
                })?;
            }
        }
        write!(
            f,
            "; it is {}, and was given as {}; leave it out",
            self.stored, self.given
        )?;
        match &self.why {
            Keeps::Copy {
                follows: Follows::Original,
                ..
            } => write!(f, ", or change it there"),
            Keeps::ReindexVersion => write!(
                f,
                ". Only a reindex changes it: `trestle reindex start` with --server or --data"
            ),
            _ => Ok(()),
        }
    }
}

impl Refusal {
    /// The innermost cause, also if it concerns a row that follows from the write.
    #[must_use]
    pub fn cause(&self) -> &Refusal {
        match self {
            Self::Following { cause, .. } => cause.cause(),
            refusal => refusal,
        }
    }
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unrecognised {
                table,
                entities,
                entity_attribute,
            } => {
                write!(
                    f,
                    "The item is no entity of table {table}, which holds {}",
                    names(entities)
                )?;
                say_the_tag(f, entity_attribute.as_deref())
            }
            Self::UnknownTag {
                table,
                attribute,
                tag,
                known,
            } => {
                write!(
                    f,
                    "{attribute} is {tag:?}, which is no entity of table {table}; there is {}",
                    names(known)
                )
            }
            Self::Ambiguous {
                entities,
                entity_attribute,
            } => {
                write!(f, "The attributes could be of any of {}", names(entities))?;
                say_the_tag(f, entity_attribute.as_deref())
            }
            Self::Missing {
                entity,
                attribute,
                key: None,
            } => write!(
                f,
                "Entity {entity} needs the attribute {attribute}, which is missing"
            ),
            Self::Missing {
                entity,
                attribute,
                key: Some(key),
            } => {
                write!(
                    f,
                    "Entity {entity} needs the attribute {attribute}, of which its key {key} is made and which is missing"
                )
            }
            Self::Unfit {
                entity,
                attribute,
                reason,
            } => write!(f, "Entity {entity}: attribute {attribute} {reason}"),
            Self::Mismatch {
                entity,
                key,
                given,
                derived,
            } => write!(
                f,
                "Entity {entity}: key {key} was given as {given}, but its attributes give {derived}; leave the key out, or give the one that fits"
            ),
            Self::Identifying {
                entity,
                attribute,
                stored,
                given,
            } => write!(
                f,
                "Entity {entity}: attribute {attribute} identifies the row and cannot change; it is {stored}, and was given \
                 as {given}; delete the row and put another one"
            ),
            Self::Immutable {
                entity,
                attribute,
                stored,
                given: Some(given),
            } => write!(
                f,
                "Entity {entity}: attribute {attribute} may not change; it is {stored}, and was given as {given}; leave it as it is"
            ),
            Self::Immutable {
                entity,
                attribute,
                stored,
                given: None,
            } => write!(
                f,
                "Entity {entity}: attribute {attribute} may not change; it is {stored}, and cannot be removed; leave it as it is"
            ),
            Self::OtherEntity { stored, written } => {
                write!(
                    f,
                    "The key belongs to a row of entity {stored}, which a row of entity {written} may not replace; remove that row \
                     first, or give other identifying attributes"
                )
            }
            Self::Undeclared { entity, attribute } => {
                write!(
                    f,
                    "Entity {entity} is closed and has no attribute {attribute}; leave it out, or declare it"
                )
            }
            Self::Parameter {
                access,
                parameter,
                reason,
            } => {
                write!(f, "Access pattern {access}: parameter {parameter} {reason}")
            }
            Self::Kept {
                entity,
                of,
                attribute: None,
            } => write!(
                f,
                "Rows of entity {entity} are kept by the database; write those of entity {of} instead"
            ),
            Self::Kept {
                entity,
                of,
                attribute: Some(attribute),
            } => write!(
                f,
                "Rows of entity {entity} are kept by the database: {attribute} is not what the row of entity {of} has; \
                 write it there instead"
            ),
            Self::NoTarget { head, entity, given } => write!(
                f,
                "Entity {head} can only be pointed at an existing row of entity {entity}, and there is none such: {}",
                given.join(", ")
            ),
            Self::TooManyHeads {
                pointer,
                entity,
                rows,
                most,
            } => write!(
                f,
                "The row of entity {pointer} names {rows} rows of entity {entity}, and at most {most} heads move together; \
                 put fewer rows into one version, or divide them by a further attribute of entity {pointer}"
            ),
            Self::HasRow { head, entity } => write!(
                f,
                "Entity {head} goes with the last row of entity {entity}; remove that one, or point the head at another"
            ),
            Self::NoSuccessor { entity, head } => write!(
                f,
                "The row of entity {entity} is its group's newest, and which one comes next cannot be found; point \
                 entity {head} at another row first, or remove it"
            ),
            Self::Taken {
                entity, value, owner, ..
            } => write!(
                f,
                "Entity {entity}: {value} is taken by the row with {owner}; give another value, or change that row first"
            ),
            Self::Given(given) => given.fmt(f),
            Self::NotTheVersion {
                entity,
                attribute,
                declared: Some(declared),
            } => write!(
                f,
                "Entity {entity}: attribute {attribute} is not its version; reindex through {declared}, which the model declares"
            ),
            Self::NotTheVersion {
                entity,
                attribute,
                declared: None,
            } => write!(
                f,
                "Entity {entity}: attribute {attribute} is not its version; declare one with `reindex_version = \"…\"`, or reindex \
                 through an attribute that the model does not declare"
            ),
            Self::ChangesWithTouch { entity, attribute } => write!(
                f,
                "Entity {entity}: the row is not as the model wants it, and attribute {attribute} would change with its version; \
                 see `trestle verify`, and write the row or run `trestle model repair` first"
            ),
            Self::NoParent {
                entity,
                counter,
                parent,
                identity,
            } => write!(
                f,
                "Entity {entity}: counter {counter} needs the row of entity {parent} with {identity}, which counts it, and \
                 there is none; write that row first, or in the same transaction"
            ),
            Self::NoOriginal {
                entity,
                copy,
                from,
                original,
            } => write!(
                f,
                "Entity {entity}: copy {copy} finds no row of entity {from} with {original}; write that row first, or in \
                 the same transaction"
            ),
            Self::Following {
                written,
                consequence,
                cause,
            } => {
                write!(f, "Entity {written}: the write would {consequence}: {cause}")?;
                match consequence.starts_with("create ") {
                    true => write!(f, "; write that row first, or in the same transaction"),
                    false => Ok(()),
                }
            }
            Self::TooManyCopies {
                entity,
                original,
                copy,
                of,
                rows,
                most,
            } => write!(
                f,
                "Entity {entity}: copy {copy} of {rows} rows of entity {of} would follow the row with {original} in one \
                 commit, and {most} are the most; declare the copy with background = true"
            ),
            Self::TooManyEntriesGo {
                entity,
                attributes,
                entries,
                most,
            } => write!(
                f,
                "Entity {entity}: {entries} entries of the row would go in one write, and {most} are the most; take away a part of \
                 the members of {} with an update, such as half of them, then repeat this write",
                Vec::from_iter(attributes.iter().map(String::as_str)).join(", ")
            ),
            Self::TooMuchFollows { entity, rows } => write!(
                f,
                "Entity {entity}: more than {rows} rows follow from the write: one row has too many entries, copies or other rows \
                 that follow it, or effects feed each other; write fewer rows in one request, and take away members or related \
                 rows a part at a time"
            ),
            Self::FormerKey { entity, lacking } => write!(
                f,
                "Entity {entity}: the key is of the layout before, which does not say {}; give the key in the present \
                 layout, or the identifying attributes",
                names(lacking)
            ),
            Self::FormerCondition { entity } => write!(
                f,
                "Entity {entity}: the key condition is of the previous layout and has no equivalent in the present \
                 one; query with the present keys"
            ),
            Self::NoWayBack {
                entity,
                attribute,
                value,
                only,
            } => write!(
                f,
                "Entity {entity}: attribute {attribute} is {value}, and the layout before only has a place for rows where \
                 it is {only}"
            ),
            Self::Defect { what, place } => write!(
                f,
                "The write was refused by a fault of the database, not of the request: {what} ({place})"
            ),
            Self::NoTable { table } => write!(f, "The model has no table {table}"),
        }
    }
}

fn names(names: &[String]) -> String {
    listed(names.iter().map(String::as_str))
}

fn say_the_tag(f: &mut fmt::Formatter<'_>, entity_attribute: Option<&str>) -> fmt::Result {
    match entity_attribute {
        Some(attribute) => write!(f, "; say which with {attribute}"),
        None => Ok(()),
    }
}
