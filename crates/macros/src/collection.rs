//! The sum of the entities that an access pattern returns.

use proc_macro2::TokenStream;
use quote::quote;

use crate::access::Planned;
use crate::plan::{Plan, typed};

pub(crate) fn expand(plan: &Plan<'_>, planned: &Planned<'_>) -> TokenStream {
    if planned.variants.is_empty() {
        return TokenStream::new();
    }
    let typed = typed();
    let (marker, name) = (&plan.marker, &planned.row);
    let doc = format!(
        "A row that the access pattern `{}` finds.",
        planned.pattern.name()
    );
    let variants = planned.variants.iter().map(|(variant, entity, row)| {
        let doc = format!("A row of `{entity}`.");
        quote!(#[doc = #doc] #variant(#row),)
    });
    let entities = planned.variants.iter().map(|(_, entity, _)| entity);
    let reads = planned.variants.iter().map(|(variant, entity, row)| {
        quote!(#entity => <#row as #typed::FromRow>::from_row(entity, row).map(Self::#variant),)
    });
    let last = planned.variants.last().map(|(variant, _, row)| {
        quote!(_ => <#row as #typed::FromRow>::from_row(entity, row).map(Self::#variant),)
    });
    let reads: Vec<TokenStream> = reads.collect();
    let reads = reads.iter().take(planned.variants.len().saturating_sub(1));
    let open = plan
        .model
        .table(planned.pattern.table_name())
        .is_some_and(trestle_model::Table::is_open);
    let other = open.then(|| quote!(#[doc = "A row that is no entity of the model."] Other(#typed::Item),));
    let from_other = open.then(|| {
        quote! {
            fn from_other(item: #typed::Item) -> ::core::option::Option<Self> {
                ::core::option::Option::Some(Self::Other(item))
            }
        }
    });
    quote! {
        #[doc = #doc]
        #[derive(Clone, Debug, PartialEq)]
        pub enum #name { #(#variants)* #other }

        impl #typed::FromRow for #name {
            type Model = #marker;
            const ENTITIES: &'static [&'static str] = &[#(#entities),*];

            fn from_row(entity: &str, row: #typed::Row<'_>) -> ::core::result::Result<Self, #typed::Error> {
                match entity { #(#reads)* #last }
            }

            #from_other
        }
    }
}
