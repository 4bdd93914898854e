//! The part of an entity that an index shows, if it does not show all of it.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use trestle_model::{Index, Projection, Table};

use crate::entity::{field_of, identity, insert, read};
use crate::json;
use crate::plan::{EntityNames, Field, Plan, typed};

/// An entity as an index shows it.
pub(crate) struct Planned {
    pub(crate) entity: String,
    pub(crate) table: String,
    pub(crate) index: String,
    pub(crate) name: Ident,
}

/// Whether the index shows the attribute. The identity can be read from the table's key, which every index has.
fn is_shown(names: &EntityNames<'_>, field: &Field<'_>, table: &Table, index: &Index) -> bool {
    let name = &field.attribute.name;
    let mut keys = table.key().attributes().chain(index.key.attributes());
    let projected = match &index.projection {
        Projection::All => true,
        Projection::Keys => false,
        Projection::Include(list) => list.contains(name),
    };
    projected || names.is_identity(field) || keys.any(|key| key.name == *name)
}

pub(crate) fn expand(plan: &Plan<'_>, planned: &Planned) -> TokenStream {
    let typed = typed();
    let found = plan.entity(&planned.entity).zip(plan.model.table(&planned.table));
    let Some((names, table)) = found else {
        return TokenStream::new();
    };
    let Some(index) = table.index(&planned.index) else {
        return TokenStream::new();
    };
    let (marker, row, key, name) = (&plan.marker, &names.row, &names.key, &planned.name);
    let entity = names.entity.name();
    let doc = format!(
        "What the index `{}` shows of `{entity}`. Its key leads to the whole row.",
        index.name
    );
    let shown: Vec<&Field<'_>> = names
        .fields
        .iter()
        .filter(|field| is_shown(names, field, table, index))
        .collect();
    let fields = shown.iter().map(|field| field_of(names, field));
    let reads = shown.iter().map(|field| read(names, field));
    let identity: Vec<&Ident> = identity(names).map(|field| &field.name).collect();
    let inserts = shown.iter().map(|field| insert(names, field));
    let json = json::as_item(
        name,
        &quote!({ let mut item = #typed::Item::new(); #(#inserts)* item }),
    );
    quote! {
        #[doc = #doc]
        #[derive(Clone, Debug, PartialEq)]
        pub struct #name { #(#fields)* }

        impl #typed::FromRow for #name {
            type Model = #marker;
            const ENTITIES: &'static [&'static str] = &[#entity];

            fn from_row(_: &str, mut row: #typed::Row<'_>) -> ::core::result::Result<Self, #typed::Error> {
                ::core::result::Result::Ok(Self { #(#reads,)* })
            }
        }

        #json

        impl #name {
            /// The key of the row.
            pub fn key(&self) -> #key {
                #key { #(#identity: ::core::clone::Clone::clone(&self.#identity),)* }
            }
        }

        impl #typed::Key<#marker> for #name {
            type Entity = #row;

            fn to_item(&self) -> #typed::Item {
                #typed::Key::to_item(&self.key())
            }
        }
    }
}
