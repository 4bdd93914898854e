//! What identifies a row of an entity.

use proc_macro2::TokenStream;
use quote::quote;

use crate::entity::{field_of, identity};
use crate::plan::{EntityNames, Plan, typed};

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
    quote! {
        #[doc = #doc]
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct #key { #(#fields)* }

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
