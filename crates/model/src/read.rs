//! From a model file to a draft. Names are not resolved here; parts that cannot be read become problems and
//! are left out.

mod access;
mod attribute;
mod effect;
mod entries;
mod key;
pub(crate) mod section;
pub(crate) mod syntax;

use crate::draft::{DraftEntity, DraftIndex, DraftMigrate, DraftModel, DraftTable, Name};
use crate::fields;
use crate::model::{Projection, StreamView};
use crate::problem::Problems;
use section::{Section, THE_FILE};

/// Reads the text of a model file.
pub(crate) fn read(text: &str, problems: &mut Problems<'_>) -> DraftModel {
    // A broken file is read only in part; problems reported for it would mislead.
    let Some(document) = syntax::parse(text, problems) else {
        return DraftModel::default();
    };
    if document.get_ref().is_empty() {
        let help =
            "begin with `model = \"…\"`, the model's name; docs/model/ten-minutes.md shows a whole file";
        problems.error(0, "the file is empty, or has only comments", help);
        return DraftModel::default();
    }
    let root = Section::open(
        THE_FILE.to_owned(),
        0,
        document.get_ref(),
        fields::MODEL,
        problems,
    );
    let mut unread = Vec::new();
    DraftModel {
        name: model_name(&root, problems),
        about: root.plain("about", problems),
        prefix: root.plain("table_prefix", problems).unwrap_or_default(),
        tables: root
            .named("table", fields::TABLE, problems)
            .into_iter()
            .map(|(name, section)| table(name, &section, problems))
            .collect(),
        entities: root
            .named("entity", fields::ENTITY, problems)
            .into_iter()
            .map(|(name, section)| entity(name, &section, &mut unread, problems))
            .collect(),
        access: root
            .named("access", fields::ACCESS, problems)
            .into_iter()
            .map(|(name, section)| access::read(name, &section, problems))
            .collect(),
        unread,
    }
}

fn table(name: Name, section: &Section<'_>, problems: &mut Problems<'_>) -> DraftTable {
    let same_shape = same_shape(section, problems);
    DraftTable {
        table_name: section.text("name", problems),
        key: key::read(section, 1, problems),
        entity_attribute: section.text("entity_attribute", problems),
        ttl: section.text("ttl", problems),
        stream: section
            .choice("stream", fields::STREAMS, problems)
            .and_then(StreamView::from_name),
        indexes: section
            .named("index", fields::INDEX, problems)
            .into_iter()
            .map(|(name, section)| index(name, &section, problems))
            .collect(),
        same_shape,
        open: section.is_set("open", problems),
        name,
    }
}

fn same_shape(section: &Section<'_>, problems: &mut Problems<'_>) -> Vec<Vec<Name>> {
    let Some(value) = section.value("same_shape") else {
        return Vec::new();
    };
    let groups = value.get_ref().as_array().map(|groups| {
        groups
            .iter()
            .map(|group| {
                let names = group.get_ref().as_array()?;
                names.iter().map(section::text).collect::<Option<Vec<Name>>>()
            })
            .collect::<Option<Vec<_>>>()
    });
    groups.flatten().unwrap_or_else(|| {
        problems.error(
            value.span().start,
            format!("{}: `same_shape` is no list of groups", section.what),
            "write groups of entities: `[[\"one\", \"two\"]]`",
        );
        Vec::new()
    })
}

fn index(name: Name, section: &Section<'_>, problems: &mut Problems<'_>) -> DraftIndex {
    DraftIndex {
        key: key::read(section, 4, problems),
        projection: projection(section, problems),
        local: section.is_set("local", problems),
        name,
    }
}

fn projection(section: &Section<'_>, problems: &mut Problems<'_>) -> Projection {
    let Some(value) = section.value("project") else {
        return Projection::All;
    };
    match value.get_ref().as_str() {
        Some("all") => Projection::All,
        Some("keys") => Projection::Keys,
        Some(other) => {
            problems.error(
                value.span().start,
                format!("{}: `project` is {other:?}, which it cannot be", section.what),
                "write \"all\", \"keys\", or a list of attributes",
            );
            Projection::All
        }
        None => {
            let names = section.texts("project", problems);
            Projection::Include(names.into_iter().map(|name| name.value).collect())
        }
    }
}

fn entity(
    name: Name,
    section: &Section<'_>,
    unread: &mut Vec<String>,
    problems: &mut Problems<'_>,
) -> DraftEntity {
    DraftEntity {
        about: section.plain("about", problems),
        table: section.text("table", problems),
        tag: section.plain("tag", problems),
        key: section.text_map("key", problems),
        attributes: attribute::read(section, unread, problems),
        created: section.text("created", problems),
        updated: section.text("updated", problems),
        reindex_version: section.text("reindex_version", problems),
        closed: section.is_set("closed", problems),
        head: section
            .section("head", fields::HEAD, problems)
            .map(|section| effect::head(&section, problems)),
        history: section
            .section("history", fields::HISTORY, problems)
            .map(|section| effect::history(&section, problems)),
        inverses: section
            .named("inverse", fields::INVERSE, problems)
            .into_iter()
            .map(|(name, section)| effect::inverse(name, &section, problems))
            .collect(),
        counters: section
            .named("counter", fields::COUNTER, problems)
            .into_iter()
            .map(|(name, section)| effect::counter(name, &section, problems))
            .collect(),
        uniques: section
            .named("unique", fields::UNIQUE, problems)
            .into_iter()
            .map(|(name, section)| effect::unique(name, &section, problems))
            .collect(),
        copies: section
            .named("copy", fields::COPY, problems)
            .into_iter()
            .map(|(name, section)| effect::copy(name, &section, problems))
            .collect(),
        entries: section
            .named("entries", fields::ENTRIES, problems)
            .into_iter()
            .map(|(name, section)| entries::read(name, &section, problems))
            .collect(),
        migrate: migrate(section, problems),
        name,
    }
}

/// The name is used in lists and log lines, and must not break them.
fn model_name(root: &Section<'_>, problems: &mut Problems<'_>) -> String {
    let Some(name) = root.text("model", problems) else {
        return String::new();
    };
    if name.value.chars().any(char::is_control) {
        let help = "write it in letters, digits and what else can be read";
        problems.error(
            name.at,
            "the model's name holds a line break or another control character",
            help,
        );
    }
    name.value
}

fn migrate(entity: &Section<'_>, problems: &mut Problems<'_>) -> DraftMigrate {
    let Some(section) = entity.section("migrate", fields::MIGRATE, problems) else {
        return DraftMigrate::default();
    };
    DraftMigrate {
        from: section.text("from", problems),
        set: section.value_map("set", problems),
    }
}
