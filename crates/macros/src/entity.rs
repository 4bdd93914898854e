//! The struct of an entity, and the one that makes a new row of it.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use trestle_model::Role;

use crate::defaults;
use crate::json;
use crate::names::{Taken, ident, screaming, snake};
use crate::plan::{EntityNames, Field, Plan, typed};
use crate::types;

pub(crate) fn expand(plan: &Plan<'_>, names: &EntityNames<'_>) -> TokenStream {
    let row = row(plan, names);
    let attributes = attributes(names);
    let written = if names.is_declared() {
        written(plan, names)
    } else {
        json::as_item(&names.row, &item(names))
    };
    let removed = removed(plan, names);
    let head_key = head_key(plan, names);
    let owner_key = owner_key(plan, names);
    quote!(#row #attributes #written #removed #head_key #owner_key)
}

fn row(plan: &Plan<'_>, names: &EntityNames<'_>) -> TokenStream {
    let typed = typed();
    let EntityNames { row, key, rest, .. } = names;
    let marker = &plan.marker;
    let doc = doc(names);
    let entity = names.entity.name();
    let fields = names.fields.iter().map(|field| field_of(names, field));
    let reads = names.fields.iter().map(|field| read(names, field));
    let (rest_field, rest_read) = if names.entity.is_closed() {
        (None, None)
    } else {
        (
            Some(quote!(#[doc = "Attributes that the model does not know."] pub #rest: #typed::Map,)),
            Some(quote!(#rest: row.rest(),)),
        )
    };
    let identity: Vec<&Ident> = identity(names).map(|field| &field.name).collect();
    quote! {
        #[doc = #doc]
        #[derive(Clone, Debug, PartialEq)]
        pub struct #row { #(#fields)* #rest_field }

        impl #typed::FromRow for #row {
            type Model = #marker;
            const ENTITIES: &'static [&'static str] = &[#entity];

            fn from_row(_: &str, mut row: #typed::Row<'_>) -> ::core::result::Result<Self, #typed::Error> {
                ::core::result::Result::Ok(Self { #(#reads,)* #rest_read })
            }
        }

        impl #typed::Entity for #row {
            const NAME: &'static str = #entity;
            type Key = #key;

            fn key(&self) -> #key {
                #key { #(#identity: ::core::clone::Clone::clone(&self.#identity),)* }
            }
        }

        impl #row {
            /// The key of this row.
            pub fn key(&self) -> #key {
                #typed::Entity::key(self)
            }
        }

        impl #typed::Key<#marker> for #row {
            type Entity = #row;

            fn to_item(&self) -> #typed::Item {
                #typed::Key::to_item(&self.key())
            }
        }
    }
}

/// The way from a row to the head of its group, where the model keeps one.
fn head_key(plan: &Plan<'_>, names: &EntityNames<'_>) -> Option<TokenStream> {
    let head = plan.head_of(names.entity.name())?;
    let (row, key) = (&names.row, &head.key);
    let fields = key_of_other(names, head);
    Some(quote! {
        impl #row {
            /// The key of the head of this row's group.
            pub fn head_key(&self) -> #key {
                #key { #(#fields)* }
            }
        }
    })
}

/// The way from an entry to the row whose member it is.
fn owner_key(plan: &Plan<'_>, names: &EntityNames<'_>) -> Option<TokenStream> {
    let Role::Entry { of } = names.entity.role() else {
        return None;
    };
    let owner = plan.entity(of)?;
    let (row, key) = (&names.row, &owner.key);
    let function = format_ident!("{}_key", snake(of));
    let doc = format!("What identifies the `{of}` whose entry this is.");
    let fields = key_of_other(names, owner);
    Some(quote! {
        impl #row {
            #[doc = #doc]
            pub fn #function(&self) -> #key {
                #key { #(#fields)* }
            }
        }
    })
}

/// The fields of another entity's key, made of this row.
fn key_of_other<'n>(
    names: &'n EntityNames<'n>,
    other: &'n EntityNames<'n>,
) -> impl Iterator<Item = TokenStream> + 'n {
    identity(other).filter_map(|field| {
        let (name, own) = (&field.name, &names.field(&field.attribute.name)?.name);
        Some(quote!(#name: ::core::clone::Clone::clone(&self.#own),))
    })
}

/// The fields that identify a row, in the order of the model.
pub(crate) fn identity<'n>(names: &'n EntityNames<'n>) -> impl Iterator<Item = &'n Field<'n>> {
    names
        .entity
        .identity()
        .iter()
        .filter_map(|name| names.field(name))
}

fn doc(names: &EntityNames<'_>) -> String {
    let entity = names.entity;
    let about = match entity.role() {
        Role::Declared => entity.about().unwrap_or_default().to_owned(),
        Role::Head { of } => format!("The newest `{of}` of its group; the database writes it."),
        Role::History { of } => format!("A change of a row of `{of}`; the database writes it."),
        Role::Unique { of } => format!("Keeps a value of `{of}` unique; the database writes it."),
        Role::Entry { of } => format!("An entry of a member of `{of}`; the database writes it."),
    };
    format!("{about}\n\nEntity `{}` of the model.", entity.name())
}

/// A field with its type.
pub(crate) fn field_of(names: &EntityNames<'_>, field: &Field<'_>) -> TokenStream {
    let doc = types::doc(field);
    let name = &field.name;
    let value = types::value(field);
    if names.is_optional(field) {
        quote!(#[doc = #doc] pub #name: ::core::option::Option<#value>,)
    } else {
        quote!(#[doc = #doc] pub #name: #value,)
    }
}

/// A field, read from a row.
pub(crate) fn read(names: &EntityNames<'_>, field: &Field<'_>) -> TokenStream {
    let name = &field.name;
    let attribute = &field.attribute.name;
    if names.is_optional(field) {
        quote!(#name: row.take_optional(#attribute)?)
    } else {
        quote!(#name: row.take(#attribute)?)
    }
}

/// The attributes by name, for conditions.
fn attributes(names: &EntityNames<'_>) -> TokenStream {
    let typed = typed();
    let row = &names.row;
    let mut taken = Taken::default();
    let consts = names.fields.iter().map(|field| {
        let doc = types::doc(field);
        let name = ident(&taken.take(&screaming(&field.attribute.name), "_"));
        let value = types::value(field);
        let attribute = &field.attribute.name;
        quote! {
            #[doc = #doc]
            pub const #name: #typed::Attribute<#row, #value> = #typed::Attribute::new(#attribute);
        }
    });
    quote!(impl #row { #(#consts)* })
}

/// What clients write: the row itself, and a new row with only the required fields.
fn written(plan: &Plan<'_>, names: &EntityNames<'_>) -> TokenStream {
    let typed = typed();
    let EntityNames {
        row, new, key, rest, ..
    } = names;
    let marker = &plan.marker;
    let identity: Vec<&Ident> = identity(names).map(|field| &field.name).collect();
    let item = item(names);
    let to_item = quote!(#typed::Write::<#marker>::to_item(self));
    let (row_json, new_json) = (json::as_item(row, &to_item), json::as_item(new, &to_item));
    let required: Vec<&Field<'_>> = names
        .fields
        .iter()
        .filter(|field| names.is_required(field))
        .collect();
    let made_of = made_of(names, &required);
    let new_fields = required.iter().map(|field| field_of(names, field));
    let new_inserts = required.iter().map(|field| insert(names, field));
    let made = names.fields.iter().map(|field| made(names, field));
    let rest_made = (!names.entity.is_closed()).then(|| quote!(#rest: #typed::Map::new(),));
    let doc = format!(
        "A new row of `{}`: what must be said of it. The rest is as the model says.",
        names.entity.name()
    );
    quote! {
        impl #typed::Write<#marker> for #row {
            type Entity = #row;

            fn to_item(&self) -> #typed::Item { #item }
        }

        #row_json

        #made_of

        #[doc = #doc]
        #[derive(Clone, Debug, PartialEq)]
        pub struct #new { #(#new_fields)* }

        impl #new {
            /// The key of the new row.
            pub fn key(&self) -> #key {
                #key { #(#identity: ::core::clone::Clone::clone(&self.#identity),)* }
            }
        }

        impl #typed::Write<#marker> for #new {
            type Entity = #row;

            fn to_item(&self) -> #typed::Item {
                let mut item = #typed::Item::new();
                #(#new_inserts)*
                item
            }
        }

        #new_json

        impl ::core::convert::From<#new> for #row {
            fn from(new: #new) -> Self {
                Self { #(#made,)* #rest_made }
            }
        }
    }
}

/// A row from its required fields, if no two of them can be confused. Otherwise the fields of `NewOrder` have
/// names.
fn made_of(names: &EntityNames<'_>, required: &[&Field<'_>]) -> Option<TokenStream> {
    if types::can_be_swapped(required.iter().copied()) {
        return None;
    }
    let others = required.iter().filter(|field| !names.is_identity(field));
    let ordered = identity(names).chain(others.copied());
    let (row, new) = (&names.row, &names.new);
    let doc = format!(
        "A new row of `{}`: what identifies it, and what else must be said of it. The rest is as the model says.",
        names.entity.name()
    );
    let (arguments, fields) = types::arguments(ordered);
    Some(quote! {
        impl #row {
            #[doc = #doc]
            pub fn new(#(#arguments),*) -> Self {
                ::core::convert::From::from(#new { #(#fields),* })
            }
        }
    })
}

/// Rows that clients remove: those that they write, and heads.
fn removed(plan: &Plan<'_>, names: &EntityNames<'_>) -> Option<TokenStream> {
    let typed = typed();
    let (row, marker) = (&names.row, &plan.marker);
    let kept = matches!(names.entity.role(), Role::Unique { .. } | Role::Entry { .. });
    (!kept).then(|| quote!(impl #typed::Remove<#marker> for #row {}))
}

/// The item of a row.
fn item(names: &EntityNames<'_>) -> TokenStream {
    let (typed, rest) = (typed(), &names.rest);
    let known = if names.entity.is_closed() {
        quote!(#typed::Item::new())
    } else {
        quote!(::core::clone::Clone::clone(&self.#rest))
    };
    let inserts = names.fields.iter().map(|field| insert(names, field));
    quote!({ let mut item = #known; #(#inserts)* item })
}

pub(crate) fn insert(names: &EntityNames<'_>, field: &Field<'_>) -> TokenStream {
    let typed = typed();
    let name = &field.name;
    let attribute = &field.attribute.name;
    if names.is_optional(field) {
        quote!(#typed::insert_optional(&mut item, #attribute, &self.#name);)
    } else {
        quote!(#typed::insert(&mut item, #attribute, &self.#name);)
    }
}

/// A field of a new row.
fn made(names: &EntityNames<'_>, field: &Field<'_>) -> TokenStream {
    let name = &field.name;
    if names.is_required(field) {
        return quote!(#name: new.#name);
    }
    match &field.attribute.default {
        Some(value) => {
            let default = defaults::default(field, value);
            quote!(#name: #default)
        }
        None => quote!(#name: ::core::default::Default::default()),
    }
}
