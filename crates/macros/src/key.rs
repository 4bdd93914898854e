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

/// A key can be built from its values directly if no two can be confused. Otherwise they have names.
fn new(names: &EntityNames<'_>) -> Option<TokenStream> {
    if types::can_be_swapped(identity(names)) {
        return None;
    }
    let key = &names.key;
    let doc = format!(
        "What identifies a row of `{}`, in the order of its key.",
        names.entity.name()
    );
    let (arguments, fields) = types::arguments(identity(names));
    Some(quote! {
        impl #key {
            #[doc = #doc]
            pub fn new(#(#arguments),*) -> Self {
                Self { #(#fields),* }
            }
        }
    })
}
