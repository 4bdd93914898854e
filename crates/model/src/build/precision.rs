//! Timestamps in a key, and those that decide which row is the newest, have one precision, so that their
//! texts sort by time.

use super::Builder;
use crate::attribute::{Attribute, AttributeKind, Precision};
use crate::draft::{DraftEntity, Name};
use crate::template::{RawPart, parse};

impl Builder<'_, '_, '_> {
    /// Decides the precision of timestamps that are sorted by and whose declaration does not give it.
    pub(super) fn decide_precisions(
        &mut self,
        attributes: &mut [Attribute],
        draft: &DraftEntity,
        table: usize,
        what: &str,
    ) {
        let sorted = self.sorted_by(draft, table);
        for attribute in attributes {
            let is_timestamp = attribute.kind == AttributeKind::Timestamp;
            if is_timestamp && attribute.precision.is_none() && sorted.contains(&attribute.name) {
                attribute.precision = Some(Precision::Millis);
                self.check_declared(attribute, draft, what);
            }
        }
    }

    /// The values that a declaration names were read before the precision was known.
    fn check_declared(&mut self, attribute: &Attribute, draft: &DraftEntity, what: &str) {
        let declared = draft
            .attributes
            .iter()
            .find(|placed| placed.value.name == attribute.name);
        let Some(declared) = declared else { return };
        let values = attribute.one_of.iter().chain(&attribute.default);
        for reason in values.filter_map(|value| attribute.check(value).err()) {
            let message = format!("{what}: attribute `{}` {reason}", attribute.name);
            self.problems
                .error(declared.at, message, "write all its values in one precision");
        }
    }

    /// Names of attributes in keys, and of those that decide which row is the newest.
    fn sorted_by(&self, draft: &DraftEntity, table: usize) -> Vec<String> {
        let head = draft.head.as_ref();
        let mut templates: Vec<&(Name, Name)> = draft.key.iter().collect();
        templates.extend(head.iter().flat_map(|head| &head.key));
        templates.extend(draft.uniques.iter().flat_map(|unique| &unique.key));
        templates.extend(draft.entries.iter().flat_map(|entries| &entries.key));
        let mut names: Vec<String> = templates
            .into_iter()
            .flat_map(|(_, template)| fields(&template.value))
            .collect();
        names.extend(
            head.iter()
                .flat_map(|head| &head.newest_by)
                .map(|name| name.value.clone()),
        );
        let of_head = head.and_then(|head| head.table.as_ref());
        let of_entries = draft.entries.iter().filter_map(|entries| entries.table.as_ref());
        let others: Vec<&Name> = of_head.into_iter().chain(of_entries).collect();
        let others = self
            .tables
            .iter()
            .filter(|table| others.iter().any(|name| name.value == table.name));
        for table in self.tables.get(table).into_iter().chain(others) {
            names.extend(table.key_attributes().iter().map(|key| key.name.clone()));
        }
        names
    }
}

/// The attributes that a template names. Mistakes are reported when the template is built.
pub(super) fn fields(template: &str) -> Vec<String> {
    let parts = parse(template).unwrap_or_default();
    let fields = parts.into_iter().filter_map(|part| match part {
        RawPart::Field(field) => Some(field.attribute),
        RawPart::Literal(_) => None,
    });
    fields.collect()
}
