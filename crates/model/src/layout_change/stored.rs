//! The same as `renew.rs` for a row in its stored form: only the values that determine the result are
//! decoded, and the rest is copied as bytes. A read renews each row in a former place, so this is most of the
//! cost of such a read.
//!
//! *Invariant*: results are the same as those of `renew.rs`, which handles all unusual rows.

use trestle_hook::Renewal;
use trestle_item::codec::{StoredValue, StoredView};
use trestle_item::{AttributeValue, ScalarType};

use super::LayoutChange;
use super::pair::MovedEntity;
use super::plan::MovedTable;
use super::recipe::{Ingredients, Recipe};
use crate::attribute::Attribute;
use crate::derive::{declares, is_time};
use crate::entity::Entity;
use crate::model::Table;
use crate::template::{Given, KeyTemplate, RenderError};

/// The new values of some attributes, `None` if they are removed.
type Changes<'m> = Vec<(&'m str, Option<AttributeValue>)>;

impl LayoutChange {
    pub(super) fn renewed_stored(&self, moved: &MovedTable, row: &[u8]) -> Renewal {
        let Ok(view) = StoredView::read(row) else {
            return Renewal::Untold;
        };
        let mut found = self.moving(moved).filter(|moving| begins(moving.former, &view));
        let moving = match (found.next(), found.next()) {
            (None, _) => return Renewal::Here,
            (Some(only), None) => Some(only),
            (Some(_), Some(_)) => self.tagged(moved, &view),
        };
        let table = self.present.tables.get(moved.present);
        let row = moving
            .zip(table)
            .map(|(moving, table)| Row::new(moving, table, &view));
        let changes = row.and_then(|row| row.changes());
        changes.map_or(Renewal::Untold, |changes| Renewal::Renewed(view.with(&changes)))
    }

    /// If several entities have such keys, the row shows to which it belongs.
    fn tagged<'r>(&'r self, moved: &'r MovedTable, view: &StoredView<'_>) -> Option<MovedEntity<'r>> {
        let attribute = self.former.table(&moved.name)?.entity_attribute.as_ref()?;
        let tag = view.get(attribute)?.text()?;
        let mut found = self
            .moving(moved)
            .filter(|moving| moving.former.tag.as_bytes() == tag);
        found.next().filter(|_| found.next().is_none())
    }
}

/// Whether a row's key has the beginning of an entity's keys.
fn begins(entity: &Entity, view: &StoredView<'_>) -> bool {
    let mut templates = entity.table_key.iter();
    templates.all(|template| {
        let key = view.get(&template.attribute);
        template.begins_with(key.and_then(|key| key.text()))
    })
}

/// A row whose key seems to be a former key of an entity. Positions are those of the recipe.
struct Row<'m, 'v> {
    moving: MovedEntity<'m>,
    /// The table in the present version.
    table: &'m Table,
    view: &'v StoredView<'v>,
    stored: Vec<Option<StoredValue<'v>>>,
}

/// The values in keys, and those that the present version declares.
type Values<'v> = Vec<Option<Seen<'v>>>;

/// A value; most are texts, which need not be copied.
#[derive(Clone, Debug)]
enum Seen<'v> {
    Text(&'v str),
    Other(AttributeValue),
}

impl<'v> Seen<'v> {
    fn of(stored: StoredValue<'v>) -> Option<Self> {
        match stored.text() {
            Some(text) => std::str::from_utf8(text).ok().map(Seen::Text),
            None => stored.decode().ok().map(Seen::Other),
        }
    }

    /// As the part of a key; a text is no part of a key that is not a text.
    fn given(&self, template: &KeyTemplate) -> Option<Given<'_>> {
        match self {
            Seen::Text(text) => (template.kind == ScalarType::S).then_some(Given::Text(text)),
            Seen::Other(value) => Some(Given::Value(value)),
        }
    }

    fn fits(&self, attribute: &Attribute) -> bool {
        match self {
            Seen::Text(text) => attribute.check_str(text).is_ok(),
            Seen::Other(value) => attribute.check(value).is_ok(),
        }
    }
}

impl<'m, 'v> Row<'m, 'v> {
    fn new(moving: MovedEntity<'m>, table: &'m Table, view: &'v StoredView<'v>) -> Self {
        Row {
            stored: view.find(&moving.pair.recipe.names),
            moving,
            table,
            view,
        }
    }

    fn recipe(&self) -> &'m Recipe {
        &self.moving.pair.recipe
    }

    /// The resulting row; `None` if it cannot be determined here.
    fn changes(&self) -> Option<Changes<'m>> {
        let values = self.values()?;
        let is_told = self.is_usual() && self.is_at_former_place(&values) && self.is_whole(&values);
        if !is_told {
            return None;
        }
        let recipe = self.recipe();
        let mut becomes: Vec<Option<AttributeValue>> = vec![None; recipe.names.len()];
        let mut is_changed = recipe.derived.clone();
        for (template, made_of) in self.moving.own.table_key.iter().zip(&recipe.own_key) {
            let derived = self.rendered(template, made_of, &values).ok()?;
            // A key that is an attribute itself already exists.
            if self.kept(made_of.key).is_some_and(|given| !given.is(&derived)) {
                return None;
            }
            set(&mut becomes, &mut is_changed, made_of.key, Some(derived));
        }
        let index_keys = self.moving.own.index_keys.iter().zip(&recipe.index_keys);
        for (template, made_of) in index_keys.filter(|(template, _)| !template.is_identity()) {
            let derived = match self.rendered(template, made_of, &values) {
                Ok(derived) => Some(derived),
                Err(RenderError::Missing { .. }) if template.kind == ScalarType::S => None,
                Err(_) => return None,
            };
            set(&mut becomes, &mut is_changed, made_of.key, derived);
        }
        Some(self.differing(becomes, &is_changed))
    }

    /// The differences to the stored row.
    fn differing(&self, becomes: Vec<Option<AttributeValue>>, is_changed: &[bool]) -> Changes<'m> {
        let mut changes = Vec::with_capacity(4);
        let all = self.recipe().names.iter().zip(&self.stored);
        for (((name, stored), value), is_changed) in all.zip(becomes).zip(is_changed) {
            let is_same = match (stored, &value) {
                (Some(stored), Some(value)) => stored.is(value),
                (stored, value) => stored.is_none() && value.is_none(),
            };
            if *is_changed && !is_same {
                changes.push((name.as_str(), value));
            }
        }
        changes
    }

    /// The values in keys, and those that the present version declares.
    fn values(&self) -> Option<Values<'v>> {
        let recipe = self.recipe();
        let mut values = vec![None; recipe.names.len()];
        let keys = recipe.former_key.iter().chain(&recipe.own_key);
        let keys = keys.chain(&recipe.index_keys);
        let fields = keys.flat_map(|made_of| made_of.parts.iter().flatten());
        for at in recipe.attributes.iter().chain(fields) {
            if let Some(value) = values.get_mut(*at)
                && value.is_none()
                && let Some(stored) = self.stored.get(*at)?
            {
                *value = Some(Seen::of(*stored)?);
            }
        }
        Some(values)
    }

    /// A key of the present version, without attributes that the previous version derived.
    fn rendered(
        &self,
        template: &KeyTemplate,
        made_of: &Ingredients,
        values: &Values<'_>,
    ) -> Result<AttributeValue, RenderError> {
        template.render_parts(|part, _| {
            let at = (*made_of.parts.get(part)?)?;
            self.kept(at)?;
            values.get(at)?.as_ref()?.given(template)
        })
    }

    /// Whether its attributes give its key, in the previous version.
    fn is_at_former_place(&self, values: &Values<'_>) -> bool {
        let mut templates = self.moving.former.table_key.iter().zip(&self.recipe().former_key);
        let has = |(template, made_of): (&KeyTemplate, &Ingredients)| {
            let value = |at: usize| values.get(at)?.as_ref()?.given(template);
            let derived = template.render_parts(|part, _| value((*made_of.parts.get(part)?)?));
            let stored = self.stored.get(made_of.key).copied().flatten();
            derived.is_ok_and(|derived| stored.is_some_and(|stored| stored.is(&derived)))
        };
        templates.all(has)
    }

    /// Whether only keys change.
    fn is_usual(&self) -> bool {
        let (pair, recipe) = (self.moving.pair, self.recipe());
        let is_there = |at: &usize| self.stored.get(*at).is_some_and(Option::is_some);
        !pair.may_stay
            && pair.fixed.is_empty()
            && recipe.given.iter().all(is_there)
            && !recipe.withdrawn.iter().any(is_there)
            && recipe.tag.is_none_or(|at| {
                let tag = self.kept(at).and_then(|tag| tag.text());
                tag == Some(self.moving.own.tag.as_bytes())
            })
    }

    /// Whether it is a row of the present version, apart from its keys.
    fn is_whole(&self, values: &Values<'_>) -> bool {
        let (own, recipe) = (self.moving.own, self.recipe());
        let mut attributes = own.attributes.iter().zip(&recipe.attributes);
        let fits = attributes.all(|(attribute, at)| {
            let value = values.get(*at).and_then(Option::as_ref);
            match value.filter(|_| self.kept(*at).is_some()) {
                Some(value) => value.fits(attribute),
                None if attribute.default.is_some() || own.keeps(&attribute.name).is_some() => false,
                None => attribute.optional || is_time(own, &attribute.name),
            }
        });
        fits && recipe.identity.iter().all(|at| self.kept(*at).is_some())
            && (!own.closed || self.is_declared())
    }

    /// Whether the present version declares all attributes that stay.
    fn is_declared(&self) -> bool {
        let recipe = self.recipe();
        let mut names = self.view.names();
        names.all(|name| {
            let at = recipe.names.iter().position(|known| known.as_bytes() == name);
            let is_derived = at
                .and_then(|at| recipe.derived.get(at))
                .is_some_and(|derived| *derived);
            let declared = |name| declares(self.table, self.moving.own, name);
            is_derived || std::str::from_utf8(name).is_ok_and(declared)
        })
    }

    /// A stored value, unless the previous version derived it.
    fn kept(&self, at: usize) -> Option<StoredValue<'v>> {
        let is_derived = self.recipe().derived.get(at).is_none_or(|derived| *derived);
        self.stored.get(at).copied().flatten().filter(|_| !is_derived)
    }
}

fn set(
    becomes: &mut [Option<AttributeValue>],
    is_changed: &mut [bool],
    at: usize,
    value: Option<AttributeValue>,
) {
    if let (Some(known), Some(is_changed)) = (becomes.get_mut(at), is_changed.get_mut(at)) {
        (*known, *is_changed) = (value, true);
    }
}
