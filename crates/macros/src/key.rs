//! What identifies a row of an entity.

use proc_macro2::TokenStream;
use quote::quote;

use crate::entity::{field_of, identity};
use crate::json;
use crate::plan::{EntityNames, Plan, typed};
use crate::types;

pub(crate) fn expand(plan: &Plan<'_>, names: &EntityNames<'_>) -> TokenStream {
    let typed = typed();
    let EntityNames { row, key, .. } = names;
    let marker = &plan.marker;
    let doc = format!("What identifies a row of `{}`.", names.entity.name());
    let fields = identity(names).map(|field| field_of(names, field));
    let inserts = identity(names).map(|field| {
        let (name, attribute) = (&field.name, &field.attribute.name);
        quote!(#typed::insert(&mut item, #attribute, &self.#name);)
    });
    let new = new(names);
    let json = json::as_item(key, &quote!(#typed::Key::<#marker>::to_item(self)));
    quote! {
        #[doc = #doc]
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct #key { #(#fields)* }

        #new
        #json

        impl #typed::Key<#marker> for #key {
            type Entity = #row;

            fn to_item(&self) -> #typed::Item {
                let mut item = #typed::Item::new();
                #(#inserts)*
                item
            }
        }
    }
}

/// A key of one attribute is as good as its value. Several have names, so that none is taken for another.
fn new(names: &EntityNames<'_>) -> Option<TokenStream> {
    let mut fields = identity(names);
    let (Some(field), None) = (fields.next(), fields.next()) else {
        return None;
    };
    let (key, name) = (&names.key, &field.name);
    let doc = format!(
        "The row of `{}` with this `{}`.",
        names.entity.name(),
        field.attribute.name
    );
    let (taken, given) = types::taken(field);
    Some(quote! {
        impl #key {
            #[doc = #doc]
            pub fn new(#name: #taken) -> Self {
                Self { #name: #given }
            }
        }
    })
}
