//! The names of all generated items, decided first, so that no two collide.

use std::collections::BTreeMap;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use trestle_model::{Attribute, Entity, Model, Role};

use crate::names::{Taken, ident, pascal, snake};
use crate::{access, client, collection, entity, key, one_of, update, view};

/// The name of the runtime crate in generated code.
pub(crate) fn typed() -> TokenStream {
    quote!(::trestle::typed)
}

/// Functions of every client, which no access pattern may hide.
const CLIENT: &[&str] = &[
    "on",
    "apply_to",
    "migrate_to",
    "known_to",
    "get",
    "get_many",
    "put",
    "put_many",
    "delete",
    "delete_many",
    "check",
    "transaction",
    "update_of",
    "point",
    "handle",
    "definition",
    "database",
    "now",
    "shared",
    "with_clock",
    "model_applied",
    "clone",
];

/// A model, and its names in Rust.
pub(crate) struct Plan<'m> {
    pub(crate) model: &'m Model,
    /// The text of the model file, as an expression.
    pub(crate) text: TokenStream,
    /// The marker type of the model.
    pub(crate) marker: Ident,
    /// The client.
    pub(crate) client: Ident,
    /// The sum of all entities.
    pub(crate) row: Ident,
    types: Taken,
    functions: Taken,
    entities: BTreeMap<&'m str, EntityNames<'m>>,
}

/// The names generated for an entity.
pub(crate) struct EntityNames<'m> {
    pub(crate) entity: &'m Entity,
    pub(crate) row: Ident,
    pub(crate) new: Ident,
    pub(crate) key: Ident,
    pub(crate) update: Ident,
    pub(crate) fields: Vec<Field<'m>>,
    pub(crate) rest: Ident,
}

/// An attribute and its field.
pub(crate) struct Field<'m> {
    pub(crate) attribute: &'m Attribute,
    /// The field's name, not escaped.
    pub(crate) text: String,
    pub(crate) name: Ident,
    /// The enum of its values, if it has few.
    pub(crate) one_of: Option<Ident>,
    /// Whether that enum is generated for this field, and does not belong to another entity.
    pub(crate) owns_enum: bool,
}

impl<'m> Plan<'m> {
    pub(crate) fn new(model: &'m Model, text: TokenStream) -> Self {
        let mut types = Taken::default();
        let rows: Vec<String> = model
            .entities()
            .iter()
            .map(|entity| types.take(&pascal(entity.name()), "Entity"))
            .collect();
        let client = types.take(&pascal(model.name()), "Client");
        let marker = types.take(&format!("{client}Model"), "Marker");
        let row = types.take(&format!("{client}Row"), "Sum");
        let mut plan = Plan {
            model,
            text,
            marker: ident(&marker),
            client: ident(&client),
            row: ident(&row),
            types,
            functions: Taken::of(CLIENT),
            entities: BTreeMap::new(),
        };
        for (entity, row) in model.entities().iter().zip(rows) {
            let names = plan.entity_names(entity, &row);
            plan.entities.insert(entity.name(), names);
        }
        plan
    }

    fn entity_names(&mut self, entity: &'m Entity, row: &str) -> EntityNames<'m> {
        let mut taken = Taken::default();
        let mut fields = Vec::new();
        for attribute in entity.attributes() {
            let text = taken.take(&snake(&attribute.name), "_");
            let shared = self.shared_enum(entity, attribute);
            fields.push(Field {
                attribute,
                name: ident(&text),
                text,
                owns_enum: shared.is_none(),
                one_of: shared.or_else(|| self.own_enum(attribute, row)),
            });
        }
        EntityNames {
            entity,
            row: ident(row),
            new: ident(&self.types.take(&format!("New{row}"), "Row")),
            key: ident(&self.types.take(&format!("{row}Key"), "Row")),
            update: ident(&self.types.take(&format!("Update{row}"), "Row")),
            fields,
            rest: ident(&taken.take("rest", "_of_attributes")),
        }
    }

    /// An attribute shares the enum of another one with the same name and the same values: heads, unique rows
    /// and entries share that of the entity they come from, others that of the first such entity in the
    /// model.
    fn shared_enum(&self, entity: &Entity, attribute: &Attribute) -> Option<Ident> {
        let origin = entity.role().follows().and_then(|of| self.entities.get(of));
        let entities = origin.into_iter().chain(self.entities.values());
        let is_same = |field: &&Field<'_>| {
            let known = field.attribute;
            known.name == attribute.name && known.kind == attribute.kind && known.one_of == attribute.one_of
        };
        let mut same = entities.flat_map(|names| &names.fields).filter(is_same);
        same.find_map(|field| field.one_of.clone())
    }

    fn own_enum(&mut self, attribute: &Attribute, row: &str) -> Option<Ident> {
        one_of::has_enum(attribute).then(|| {
            ident(
                &self
                    .types
                    .take(&format!("{row}{}", pascal(&attribute.name)), "Value"),
            )
        })
    }

    /// The head that the model keeps of an entity.
    pub(crate) fn head_of(&self, entity: &str) -> Option<&EntityNames<'m>> {
        let mut all = self.entities.values();
        all.find(|names| matches!(names.entity.role(), Role::Head { of } if of == entity))
    }

    pub(crate) fn entity(&self, name: &str) -> Option<&EntityNames<'m>> {
        self.entities.get(name)
    }

    /// A type name that nothing else has.
    pub(crate) fn type_name(&mut self, name: &str, suffix: &str) -> Ident {
        ident(&self.types.take(name, suffix))
    }

    /// A function name that no other function of the client has.
    pub(crate) fn function_name(&mut self, name: &str) -> Ident {
        ident(&self.functions.take(name, "_"))
    }

    /// Everything.
    pub(crate) fn expand(mut self) -> TokenStream {
        let accesses = access::plan(&mut self);
        let updates = update::plan(&mut self);
        let mut items: Vec<TokenStream> = Vec::new();
        for entity in self.model.entities() {
            let Some(names) = self.entities.get(entity.name()) else {
                continue;
            };
            items.push(entity::expand(&self, names));
            items.push(key::expand(&self, names));
            items.extend(one_of::expand(names));
        }
        items.extend(updates.iter().map(|planned| update::expand(&self, planned)));
        items.extend(accesses.views.iter().map(|planned| view::expand(&self, planned)));
        items.extend(
            accesses
                .patterns
                .iter()
                .map(|planned| collection::expand(&self, planned)),
        );
        items.extend(
            accesses
                .patterns
                .iter()
                .map(|planned| access::parameters(&self, planned)),
        );
        items.push(collection::everything(&self));
        items.push(client::expand(&self, &accesses, &updates));
        items.into_iter().collect()
    }
}

impl EntityNames<'_> {
    pub(crate) fn field(&self, attribute: &str) -> Option<&Field<'_>> {
        self.fields.iter().find(|field| field.attribute.name == attribute)
    }

    /// Whether an attribute gets its value from the clock, so that a row that was never written lacks it.
    pub(crate) fn is_time(&self, field: &Field<'_>) -> bool {
        let name = Some(field.attribute.name.as_str());
        self.entity.created() == name || self.entity.updated() == name
    }

    /// Whether the database keeps it: its times, and the version up to which the row was reindexed.
    pub(crate) fn is_kept(&self, field: &Field<'_>) -> bool {
        self.is_time(field) || self.entity.reindex_version() == Some(field.attribute.name.as_str())
    }

    pub(crate) fn is_identity(&self, field: &Field<'_>) -> bool {
        self.entity.identity().contains(&field.attribute.name)
    }

    /// Whether the field is an `Option`. Sets are not, because an empty set means the same.
    pub(crate) fn is_optional(&self, field: &Field<'_>) -> bool {
        let may_lack = field.attribute.optional || self.is_time(field);
        may_lack && !self.is_identity(field) && !crate::types::is_set(field.attribute.kind)
    }

    /// Whether a new row requires it.
    pub(crate) fn is_required(&self, field: &Field<'_>) -> bool {
        let attribute = field.attribute;
        let may_lack = attribute.optional || attribute.default.is_some() || self.is_time(field);
        !may_lack || self.is_identity(field)
    }

    /// Whether clients write it.
    pub(crate) fn is_declared(&self) -> bool {
        *self.entity.role() == Role::Declared
    }
}
