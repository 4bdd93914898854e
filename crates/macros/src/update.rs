//! The builder of an update: setters only for mutable attributes.

mod frozen;
mod setters;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::names::snake;
use crate::plan::{EntityNames, Field, Plan, typed};
use frozen::Frozen;

/// An entity with mutable attributes.
pub(crate) struct Planned {
    pub(crate) entity: String,
    pub(crate) function: Ident,
}

pub(crate) fn plan(plan: &mut Plan<'_>) -> Vec<Planned> {
    let model = plan.model;
    let mut planned = Vec::new();
    for entity in model.entities() {
        let changes = plan.entity(entity.name()).is_some_and(|names| {
            names.is_declared() && names.fields.iter().any(|field| may_change(names, field))
        });
        if changes {
            planned.push(Planned {
                entity: entity.name().to_owned(),
                function: plan.function_name(&format!("update_{}", snake(entity.name()))),
            });
        }
    }
    planned
}

fn may_change(names: &EntityNames<'_>, field: &Field<'_>) -> bool {
    !names.is_identity(field) && !field.attribute.immutable && !names.is_kept(field)
}

pub(crate) fn expand(plan: &Plan<'_>, planned: &Planned) -> TokenStream {
    let Some(names) = plan.entity(&planned.entity) else {
        return TokenStream::new();
    };
    let typed = typed();
    let EntityNames { row, update, .. } = names;
    let marker = &plan.marker;
    let doc = format!(
        "Changes a row of `{}`. Awaiting it gives the new row; a missing row is an error.",
        names.entity.name()
    );
    let changing = names.fields.iter().filter(|field| may_change(names, field));
    let setters = setters::of(changing);
    let frozen: Vec<Frozen<'_>> = names
        .fields
        .iter()
        .filter_map(|field| Frozen::of(names, field))
        .collect();
    let refusals = frozen.iter().map(Frozen::refusal);
    let refused = frozen.iter().map(Frozen::method);
    quote! {
        #(#refusals)*

        #[doc = #doc]
        #[derive(Debug)]
        #[must_use = "nothing is changed until this is awaited"]
        pub struct #update<'d>(#typed::Update<'d, #row>);

        impl<'d> #update<'d> {
            #(#setters)*
            #(#refused)*

            /// Only if this holds for the row; given twice, both must hold.
            pub fn only_if(self, condition: #typed::If<#row>) -> Self {
                Self(self.0.only_if(condition))
            }

            /// Sets an attribute only if there is a value.
            pub fn when<V>(self, value: ::core::option::Option<V>, set: impl FnOnce(Self, V) -> Self) -> Self {
                match value {
                    ::core::option::Option::Some(value) => set(self, value),
                    ::core::option::Option::None => self,
                }
            }
        }

        impl<'d> ::core::future::IntoFuture for #update<'d> {
            type Output = ::core::result::Result<#row, #typed::Error>;
            type IntoFuture = #typed::Future<'d, #row>;

            fn into_future(self) -> Self::IntoFuture {
                self.0.send()
            }
        }

        impl #typed::Part<#marker> for #update<'_> {
            fn into_draft(self) -> #typed::Draft {
                self.0.into_draft()
            }
        }
    }
}
