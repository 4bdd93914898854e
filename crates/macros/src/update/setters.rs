//! What an update can do with each attribute.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use trestle_model::AttributeKind;

use crate::names::{Taken, ident};
use crate::plan::{Field, typed};
use crate::types;

/// The methods for these attributes. Plain setters get their names first; other methods get different ones in
/// a conflict.
pub(super) fn of<'n>(fields: impl Iterator<Item = &'n Field<'n>> + Clone) -> Vec<TokenStream> {
    let mut names = Names(Taken::of(&["only_if", "when"]));
    let mut methods: Vec<TokenStream> = fields.clone().map(|field| set(&mut names, field)).collect();
    for field in fields {
        methods.extend(more(&mut names, field));
    }
    methods
}

/// The names of the methods.
struct Names(Taken);

impl Names {
    fn take(&mut self, verb: &str, field: &Field<'_>) -> Ident {
        ident(&self.0.take(&format!("{verb}_{}", field.text), "_"))
    }
}

fn set(names: &mut Names, field: &Field<'_>) -> TokenStream {
    let (set, argument, name) = (names.take("set", field), &field.name, &field.attribute.name);
    let doc = format!("Sets `{name}`.");
    let (taken, given) = types::taken(field);
    quote! {
        #[doc = #doc]
        pub fn #set(self, #argument: #taken) -> Self { Self(self.0.set(#name, #given)) }
    }
}

fn more(names: &mut Names, field: &Field<'_>) -> Vec<TokenStream> {
    let attribute = field.attribute;
    let mut methods = Vec::new();
    if attribute.optional {
        methods.push(remove(names, field));
    }
    match attribute.kind {
        AttributeKind::Integer | AttributeKind::Number if field.one_of.is_none() => {
            methods.push(add(names, field));
        }
        AttributeKind::Map => methods.extend(of_map(names, field)),
        kind => {
            if let Some(element) = types::element(kind) {
                methods.extend(of_set(names, field, &element));
            }
        }
    }
    methods
}

fn remove(names: &mut Names, field: &Field<'_>) -> TokenStream {
    let (remove, name) = (names.take("remove", field), &field.attribute.name);
    let doc = format!("Removes `{name}`.");
    quote! {
        #[doc = #doc]
        pub fn #remove(self) -> Self { Self(self.0.remove(#name)) }
    }
}

fn add(names: &mut Names, field: &Field<'_>) -> TokenStream {
    let (add, argument, name) = (names.take("add_to", field), &field.name, &field.attribute.name);
    let value = types::value(field);
    let doc = format!("Adds to `{name}`; what is missing counts as zero.");
    quote! {
        #[doc = #doc]
        pub fn #add(self, #argument: #value) -> Self { Self(self.0.add(#name, #argument)) }
    }
}

fn of_set(names: &mut Names, field: &Field<'_>, element: &TokenStream) -> [TokenStream; 2] {
    let (add, take) = (names.take("add_to", field), names.take("take_from", field));
    let (name, value) = (&field.attribute.name, types::value(field));
    let (add_doc, take_doc) = (
        format!("Adds elements to `{name}`."),
        format!("Removes elements from `{name}`."),
    );
    let elements = quote! {
        elements: impl ::core::iter::IntoIterator<Item = impl ::core::convert::Into<#element>>
    };
    let collected = quote! {
        elements.into_iter().map(::core::convert::Into::into).collect::<#value>()
    };
    [
        quote! {
            #[doc = #add_doc]
            pub fn #add(self, #elements) -> Self { Self(self.0.add(#name, #collected)) }
        },
        quote! {
            #[doc = #take_doc]
            pub fn #take(self, #elements) -> Self { Self(self.0.take_out(#name, #collected)) }
        },
    ]
}

fn of_map(names: &mut Names, field: &Field<'_>) -> [TokenStream; 2] {
    let typed = typed();
    let (set, remove) = (names.take("set_in", field), names.take("remove_from", field));
    let name = &field.attribute.name;
    let (set_doc, remove_doc) = (
        format!("Sets an entry of `{name}`, which the row must have, and leaves the others alone."),
        format!("Removes an entry of `{name}`."),
    );
    let text = quote!(::std::string::String);
    [
        quote! {
            #[doc = #set_doc]
            pub fn #set(
                self,
                entry: impl ::core::convert::Into<#text>,
                value: impl ::core::convert::Into<#typed::AttributeValue>,
            ) -> Self {
                Self(self.0.set_entry(#name, entry.into(), value.into()))
            }
        },
        quote! {
            #[doc = #remove_doc]
            pub fn #remove(self, entry: impl ::core::convert::Into<#text>) -> Self {
                Self(self.0.remove_entry(#name, entry.into()))
            }
        },
    ]
}
