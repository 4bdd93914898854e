//! All fields of a model file, in one place: the reader refuses all others, and the JSON Schema for editors
//! is generated from this list.

use crate::attribute::{AttributeKind, Precision};

/// A field of a section.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    pub(crate) about: &'static str,
}

/// The type of a field.
pub(crate) enum Shape {
    Text,
    Flag,
    Count,
    /// A whole number from 0 on.
    Natural,
    Choice(&'static [&'static str]),
    /// A truth value, or one of these words.
    FlagOrChoices(&'static [&'static str]),
    TextList,
    /// One text, or several.
    TextOrList,
    /// Key attributes: hash, then range; each a name, a name with a type, or up to four of them.
    Keys,
    /// `"all"`, `"keys"`, or names.
    Projection,
    /// Attribute name to text.
    TextMap,
    /// Names, or a map of names.
    Mapping,
    /// Attribute name to its type or its section.
    Attributes,
    /// The name of a string, or one attribute as under `attributes`.
    OneAttribute,
    /// Attribute name to a value.
    ValueMap,
    /// A text, a number or a truth value; an empty map or list.
    Default,
    /// Texts, numbers or truth values.
    ScalarList,
    /// A number, or `"2..36"`.
    Length,
    /// A whole number, or the name of an attribute.
    CountOrText,
    /// Groups of names.
    TextGroups,
    /// Attribute name to a value, a `{parameter}` or a comparison.
    Where,
    /// A duration as text: `200ms`, `10s`, `5m`, `24h`.
    Duration,
    /// A whole number, or a section that the reader of routes interprets.
    CountOrSection,
    /// A text or a section whose meaning is defined elsewhere.
    Anything,
    Section(&'static [Field]),
    /// Sections under names that the author chooses.
    Named(&'static [Field]),
}

const fn field(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field {
        name,
        shape,
        required: false,
        about,
    }
}

const fn required(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field {
        name,
        shape,
        required: true,
        about,
    }
}

pub(crate) const MODEL: &[Field] = &[
    required("model", Shape::Text, "The name of the model."),
    field("about", Shape::Text, "What the model is for, in a sentence."),
    field(
        "table_prefix",
        Shape::Text,
        "Put before the name of every table, so that models do not get in each other's way.",
    ),
    field("table", Shape::Named(TABLE), "The tables."),
    field("entity", Shape::Named(ENTITY), "The kinds of rows."),
    field(
        "access",
        Shape::Named(ACCESS),
        "The access patterns: each is one Get or one Query.",
    ),
    field(
        "route",
        Shape::Named(ROUTE),
        "Where changes go. They may also stand in a file of their own.",
    ),
];

/// The fields of a route. The router reads routes; models only contain them.
pub(crate) const ROUTE: &[Field] = &[
    field(
        "table",
        Shape::Text,
        "The table whose changes it takes; without it, the table of its entities.",
    ),
    field(
        "entity",
        Shape::TextOrList,
        "The entities it takes; without it, all.",
    ),
    field(
        "event",
        Shape::TextOrList,
        "What must have happened: `insert`, `modify`, `remove`, `expire` or `backfill`. Without it, any; with `changed`, `modify`.",
    ),
    field(
        "changed",
        Shape::TextOrList,
        "Attributes of which one must have changed.",
    ),
    field(
        "pattern",
        Shape::Anything,
        "An EventBridge pattern that the change as JSON must match: a table, or JSON as text.",
    ),
    required(
        "target",
        Shape::Anything,
        "Where it goes: `{ webhook = … }`, `{ command = … }`, `{ queue = … }`, `{ sqs = … }`, `{ event_bridge = … }` or \
         `{ handler = … }`.",
    ),
    field(
        "input",
        Shape::Text,
        "What the target gets instead of the change: JSON in which `<path>` stands for a value of it.",
    ),
    field(
        "batch_size",
        Shape::Count,
        "The most changes in a batch: 1 to 10000, 100 unless given.",
    ),
    field(
        "maximum_batching_window",
        Shape::Duration,
        "How long a batch may wait to become full: up to 300s, not at all unless given.",
    ),
    field(
        "parallelization_factor",
        Shape::Count,
        "How many batches may be on their way at once: 1 to 10, 1 unless given. Each item stays in order.",
    ),
    field(
        "concurrency",
        Shape::CountOrSection,
        "How many deliveries may be under way at once, 1 to 1000, so that one that is slow holds up only its own item; with \
         `{ per = \"<new.customer>\", most = 100 }`, only changes of which the template makes the same text.",
    ),
    field(
        "maximum_retry_attempts",
        Shape::Natural,
        "How often to try again: 0 to 10000, 10 unless given. Then the change becomes a dead letter.",
    ),
    field(
        "maximum_record_age",
        Shape::Duration,
        "A change that is older becomes a dead letter. Without it, no change gets too old.",
    ),
    field(
        "bisect_batch_on_error",
        Shape::Flag,
        "Whether a refused batch is cut in halves to find what cannot be taken; true unless given.",
    ),
    field(
        "backoff",
        Shape::Anything,
        "How long to wait between attempts: `{ first = \"200ms\", longest = \"60s\" }` unless given.",
    ),
    field(
        "starting_position",
        Shape::Anything,
        "Where a new route begins: `latest` unless given, `trim-horizon`, `all-rows`, or `{ at = \"2026-11-15T07:00:00Z\" }`.",
    ),
    field("enabled", Shape::Flag, "Whether it delivers; true unless given."),
    field(
        "include_maintenance",
        Shape::FlagOrChoices(&["move", "touch"]),
        "What it also takes of what the application did not do: `move`, rows that a migration moves; `touch`, rows whose version a \
         reindex raises. True for both; false unless given.",
    ),
];

pub(crate) const STREAMS: &[&str] = &["keys-only", "new-image", "old-image", "new-and-old-images"];

pub(crate) const TABLE: &[Field] = &[
    field(
        "name",
        Shape::Text,
        "The table's name after the prefix; without it, the name of this section.",
    ),
    required(
        "key",
        Shape::Keys,
        "The partition key, and the sort key if there is one.",
    ),
    field(
        "entity_attribute",
        Shape::Text,
        "The attribute that holds the entity's tag; filled in when a row is written.",
    ),
    field(
        "ttl",
        Shape::Text,
        "The attribute that holds when a row expires, in epoch seconds.",
    ),
    field(
        "stream",
        Shape::Choice(STREAMS),
        "What the table's change records hold.",
    ),
    field("index", Shape::Named(INDEX), "Secondary indexes."),
    field(
        "same_shape",
        Shape::TextGroups,
        "Groups of entities whose keys look alike: the tag distinguishes them, and a row of one is never replaced by a \
         row of another.",
    ),
    field(
        "open",
        Shape::Flag,
        "Whether rows that are no entity of the model may be written; they are left alone.",
    ),
];

pub(crate) const INDEX: &[Field] = &[
    required(
        "key",
        Shape::Keys,
        "The key attributes: hash, then range; up to four of each.",
    ),
    field(
        "project",
        Shape::Projection,
        "What the index holds besides keys: \"all\", \"keys\", or a list of attributes.",
    ),
    field(
        "local",
        Shape::Flag,
        "A local index: it shares the table's partition key and can be read consistently.",
    ),
];

pub(crate) const ENTITY: &[Field] = &[
    required("table", Shape::Text, "The table its rows are in."),
    field("about", Shape::Text, "What a row is, in a sentence."),
    field(
        "tag",
        Shape::Text,
        "Its value of the entity attribute; without it, the name of this section.",
    ),
    field(
        "key",
        Shape::TextMap,
        "Templates of key attributes, of the table and of its indexes. A key attribute that the entity has as an \
         attribute needs none.",
    ),
    field("attributes", Shape::Attributes, "The attributes and their types."),
    field(
        "created",
        Shape::Text,
        "The attribute that gets the time of the first write.",
    ),
    field(
        "updated",
        Shape::Text,
        "The attribute that gets the time of every write.",
    ),
    field(
        "reindex_version",
        Shape::Text,
        "The attribute that holds the version up to which a row was reindexed: a number that only a reindex writes.",
    ),
    field(
        "closed",
        Shape::Flag,
        "Whether attributes that are not declared are refused.",
    ),
    field(
        "head",
        Shape::Section(HEAD),
        "A row that always holds the newest of a group.",
    ),
    field(
        "history",
        Shape::Section(HISTORY),
        "A row for each change of some attributes: when, from what, to what.",
    ),
    field(
        "inverse",
        Shape::Named(INVERSE),
        "The other direction of a relation.",
    ),
    field("counter", Shape::Named(COUNTER), "Counts rows, each once."),
    field(
        "unique",
        Shape::Named(UNIQUE),
        "Attributes that no two rows share.",
    ),
    field(
        "copy",
        Shape::Named(COPY),
        "Attributes taken from a row of another entity.",
    ),
    field(
        "entries",
        Shape::Named(ENTRIES),
        "A row for each member of a list, set or map, so that rows are found by their members.",
    ),
    field(
        "migrate",
        Shape::Section(MIGRATE),
        "How rows of the version before become rows of this one.",
    ),
];

pub(crate) const MIGRATE: &[Field] = &[
    field(
        "from",
        Shape::Text,
        "The entity's name in the version before, if it was another one.",
    ),
    field(
        "set",
        Shape::ValueMap,
        "Attributes that rows of the version before get if they lack them.",
    ),
];

/// A compile-time list, because the schema needs the names.
pub(crate) fn kinds() -> Vec<&'static str> {
    AttributeKind::ALL.iter().map(|(name, _)| *name).collect()
}

pub(crate) const ATTRIBUTE: &[Field] = &[
    required("type", Shape::Text, "The type."),
    field("optional", Shape::Flag, "Whether a row may lack it."),
    field("default", Shape::Default, "What it is when a row lacks it."),
    field("one_of", Shape::ScalarList, "The only values it may have."),
    field(
        "immutable",
        Shape::Flag,
        "Whether it may never change once written.",
    ),
    field(
        "chars",
        Shape::Text,
        "The only characters it may contain, such as \"0-9a-f\".",
    ),
    field(
        "length",
        Shape::Length,
        "How many characters it has: 7, or \"1..36\".",
    ),
    field(
        "precision",
        Shape::Choice(Precision::NAMES),
        "The precision of a timestamp, so that its texts sort by time: \"s\", \"ms\", \"us\" or \"ns\"; \"ms\" if it is in a key.",
    ),
];

pub(crate) const CHANGE: &[Field] = &[
    field("set", Shape::ValueMap, "Attributes to set."),
    field("remove", Shape::TextList, "Attributes to remove."),
    field(
        "expire_after",
        Shape::Text,
        "How long until the row expires, such as \"365d\"; needs the table's `ttl`.",
    ),
];

pub(crate) const HEAD: &[Field] = &[
    field(
        "table",
        Shape::Text,
        "The table of the head, if it is another one.",
    ),
    field(
        "key",
        Shape::TextMap,
        "Templates of the head's key; those that are missing are the entity's own.",
    ),
    field(
        "newest_by",
        Shape::TextOrList,
        "The attributes that decide which row is the newest; a head has either this or `follows`.",
    ),
    field(
        "follows",
        Shape::Text,
        "The entity whose row says which row the head stands for, so that several heads move together.",
    ),
    field(
        "retired_by",
        Shape::TextOrList,
        "Attributes that a row gets when it is out of use; a row that has one takes no part.",
    ),
    field("omit", Shape::TextList, "Attributes that the head does not have."),
    field(
        "previous",
        Shape::TextMap,
        "What the head remembers of its predecessor: an attribute of the head to an attribute of the entity.",
    ),
    field(
        "tag",
        Shape::Text,
        "The head's value of the entity attribute; without it, `<tag of the entity>.head`.",
    ),
    field(
        "promote",
        Shape::Section(CHANGE),
        "What happens to the row that becomes the newest.",
    ),
    field(
        "demote",
        Shape::Section(CHANGE),
        "What happens to the row that was the newest.",
    ),
];

pub(crate) const HISTORY: &[Field] = &[
    required("of", Shape::TextOrList, "The attributes whose changes are kept."),
    required(
        "key",
        Shape::TextMap,
        "Templates of a history row's key; those that are missing are the entity's own.",
    ),
    field(
        "at",
        Shape::Text,
        "The timestamp of a history row that says when; without it, `moved`.",
    ),
    field(
        "previous",
        Shape::TextMap,
        "Old values in a history row: an attribute of the history row to one of `of`.",
    ),
    field(
        "keep",
        Shape::Count,
        "How many history rows a row has at most, from 1 to 1,000; without it, 100.",
    ),
    field(
        "expire_after",
        Shape::Text,
        "How long until a history row expires, such as \"365d\"; needs the table's `ttl`.",
    ),
];

pub(crate) const INVERSE: &[Field] = &[
    required("entity", Shape::Text, "The entity on the other side."),
    field(
        "of",
        Shape::Text,
        "The attribute with the other side's identity: a string, or a string-set for several.",
    ),
    field(
        "set",
        Shape::Text,
        "The other side's string-set that collects the identities of this side.",
    ),
    field(
        "with",
        Shape::TextMap,
        "Without `set`, one row for each row: their attribute to ours, where names differ.",
    ),
];

pub(crate) const COUNTER: &[Field] = &[
    required("entity", Shape::Text, "The entity that holds the count."),
    required("attribute", Shape::Text, "Its attribute that counts."),
    field(
        "by",
        Shape::CountOrText,
        "How much a row counts: a number, or a numeric attribute; without it, 1.",
    ),
    field("where", Shape::ValueMap, "Only rows with these values count."),
    field(
        "once_by",
        Shape::TextList,
        "The attributes that identify an event, so that a repeated one does not count; without it, the row's key.",
    ),
    field(
        "seen",
        Shape::Text,
        "The counting entity's string-set that remembers the events; needed with `once_by`.",
    ),
    field(
        "with",
        Shape::TextMap,
        "Their identifying attribute to ours, where names differ.",
    ),
];

pub(crate) const UNIQUE: &[Field] = &[
    required(
        "key",
        Shape::TextMap,
        "Templates of the key that only one row can take.",
    ),
    field(
        "table",
        Shape::Text,
        "The table of that key, if it is another one.",
    ),
];

pub(crate) const COPY: &[Field] = &[
    required("from", Shape::Text, "The entity to copy from."),
    required(
        "attributes",
        Shape::Mapping,
        "The attributes: names, or their name to ours.",
    ),
    field(
        "with",
        Shape::TextMap,
        "Their identifying attribute to ours, where names differ.",
    ),
    field(
        "in_step",
        Shape::Text,
        "The access pattern that finds the copies when the original changes; without it, a copy is taken once and kept.",
    ),
    field(
        "background",
        Shape::Flag,
        "Copies in step follow after the commit, page by page and without a limit: readers may see old ones for a moment.",
    ),
];

pub(crate) const ENTRIES: &[Field] = &[
    required(
        "of",
        Shape::Text,
        "The attribute whose members become entries: a list, a string-set, a number-set or a map.",
    ),
    required(
        "key",
        Shape::TextMap,
        "Templates of an entry's key: made of the member and of the entity's attributes, all that identify a row among them.",
    ),
    field(
        "table",
        Shape::Text,
        "The table of the entries, if it is another one.",
    ),
    field(
        "member",
        Shape::OneAttribute,
        "What an entry calls the member of a list or set: `\"tag\"` for a string, or `{ tag = \"integer\" }`.",
    ),
    field(
        "name",
        Shape::OneAttribute,
        "What an entry calls the name of a pair of a map.",
    ),
    field(
        "value",
        Shape::OneAttribute,
        "What an entry calls the value of a pair of a map.",
    ),
    field(
        "project",
        Shape::TextList,
        "Further attributes of the row that its entries carry.",
    ),
];

pub(crate) const ORDERS: &[&str] = &["ascending", "descending"];

pub(crate) const ACCESS: &[Field] = &[
    field("about", Shape::Text, "What it is for, in a sentence."),
    field("get", Shape::Text, "The entity of which it gets one row."),
    field(
        "query",
        Shape::Text,
        "The table or index it queries; `table.index` where a name is in two tables.",
    ),
    field(
        "where",
        Shape::Where,
        "Attributes and what they must be: a value, a \"{parameter}\" or a comparison.",
    ),
    field(
        "returns",
        Shape::TextOrList,
        "The entities it returns; several for a collection.",
    ),
    field(
        "order",
        Shape::Choice(ORDERS),
        "By sort key, upwards or downwards.",
    ),
    field("limit", Shape::Count, "The most rows of a page."),
    field("consistent", Shape::Flag, "A strongly consistent read."),
    field("scan", Shape::Flag, "Whether it may read everything."),
];

pub(crate) const COMPARISONS: &[&str] = &[
    "lt",
    "le",
    "gt",
    "ge",
    "between",
    "begins_with",
    "ne",
    "one_of",
    "exists",
];
