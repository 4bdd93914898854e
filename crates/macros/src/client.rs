//! The client: the model's marker, and all reads and writes.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use trestle_model::Effect;

use crate::access::{Accesses, Planned};
use crate::names::snake;
use crate::plan::{Plan, typed};
use crate::{types, update};

pub(crate) fn expand(plan: &Plan<'_>, accesses: &Accesses<'_>, updates: &[update::Planned]) -> TokenStream {
    let typed = typed();
    let (client, marker, text) = (&plan.client, &plan.marker, &plan.text);
    let name = plan.model.name();
    let about = plan.model.about().unwrap_or_default();
    let doc = format!("{about}\n\nThe client of the model `{name}`, on any database.");
    let marker_doc = format!("The model `{name}`: types of another model do not compile with it.");
    let functions = accesses.patterns.iter().map(Planned::function);
    let updates = updates.iter().map(|planned| update_function(plan, planned));
    let points = plan.model.entities().iter().map(|entity| points(plan, entity));
    quote! {
        #[doc = #marker_doc]
        #[derive(Clone, Copy, Debug)]
        pub enum #marker {}

        impl #typed::Model for #marker {
            fn definition() -> &'static #typed::Definition {
                static DEFINITION: #typed::Definition = #typed::Definition::new(
                    #name,
                    #text,
                );
                &DEFINITION
            }
        }

        #[doc = #doc]
        #[derive(Clone, Debug)]
        pub struct #client<D> {
            client: #typed::Client<D, #marker>,
        }

        impl<D: #typed::Database> #client<D> {
            /// A client of this database. Until `model_applied` states that the database knows the model,
            /// writes that need derived rows or keys are refused.
            pub fn on(database: D) -> Self {
                Self { client: #typed::Client::new(database) }
            }

            /// With another clock, for the times that the model writes into rows.
            #[must_use]
            pub fn with_clock(self, clock: ::std::sync::Arc<dyn #typed::Clock>) -> Self {
                Self { client: self.client.with_clock(clock) }
            }

            /// States that the model is applied to the database, which derives index keys and carries out
            /// effects.
            #[must_use]
            pub fn model_applied(self) -> Self {
                Self { client: self.client.model_applied() }
            }

            /// The same client, for code that works with any database.
            #[must_use]
            pub fn shared(self) -> #client<::std::sync::Arc<dyn #typed::Database>>
            where
                D: 'static,
            {
                #client { client: self.client.shared() }
            }

            #(#functions)*
            #(#updates)*
            #(#points)*
        }

        impl<D: ::trestle::WithModels> #client<D> {
            /// Applies the model to a database, which then derives keys and carries out effects in every
            /// commit, on its own clock. A repetition changes nothing. It blocks.
            pub fn apply_to(db: &D) -> ::core::result::Result<Self, ::trestle::ApplyError> {
                ::trestle::apply::<#marker>(db)?;
                ::core::result::Result::Ok(Self::known_to(db))
            }

            /// Applies the model, even if rows have keys of the previous version: it takes effect
            /// immediately, and rows move in the background while the database is open. Call it at every
            /// start: it begins the migration, continues it, or has nothing to do. It blocks.
            pub fn migrate_to(
                db: &D,
                options: ::trestle::migrate::StartOptions,
            ) -> ::core::result::Result<(Self, ::trestle::migrate::Migration<D>), ::trestle::migrate::MigrateError> {
                let migration = ::trestle::migrate::to::<#marker, D>(db, options)?;
                ::core::result::Result::Ok((Self::known_to(db), migration))
            }

            fn known_to(db: &D) -> Self {
                let clock = ::core::clone::Clone::clone(::trestle::WithModels::clock(db));
                Self::on(::core::clone::Clone::clone(db)).with_clock(clock).model_applied()
            }
        }

        impl<D> ::core::ops::Deref for #client<D> {
            type Target = #typed::Client<D, #marker>;

            fn deref(&self) -> &Self::Target {
                &self.client
            }
        }
    }
}

fn update_function(plan: &Plan<'_>, planned: &update::Planned) -> Option<TokenStream> {
    let names = plan.entity(&planned.entity)?;
    let typed = typed();
    let (function, update, row, marker) = (&planned.function, &names.update, &names.row, &plan.marker);
    let doc = format!("Changes a row of `{}`, which must exist.", planned.entity);
    Some(quote! {
        #[doc = #doc]
        pub fn #function(&self, key: impl #typed::Key<#marker, Entity = #row>) -> #update<'_> {
            #update(self.client.update_of(key))
        }
    })
}

/// A head can be pointed at another row of its group: for a rollback, or forward again.
fn points(plan: &Plan<'_>, entity: &trestle_model::Entity) -> Option<TokenStream> {
    let typed = typed();
    let head = entity.effects().iter().find_map(|effect| match effect {
        // A head that follows a row is moved by writing that row.
        Effect::Head(head) => Some(head).filter(|head| head.follows.is_none()),
        _ => None,
    })?;
    let of = plan.entity(entity.name())?;
    let names = plan.entity(&head.entity)?;
    let (row, key) = (&names.row, &names.key);
    let function = format_ident!("point_{}", snake(&head.entity));
    let doc = format!(
        "Makes the `{}` with these values the newest of its group, whichever that was: a rollback, or the way forward \
         again. The database does it, so the model must be applied.",
        entity.name()
    );
    let fields: Vec<_> = head.newest_by.iter().filter_map(|name| of.field(name)).collect();
    let arguments = fields.iter().map(|field| {
        let (name, value) = (&field.name, types::value(field));
        quote!(#name: #value)
    });
    let pairs = fields.iter().map(|field| {
        let (name, attribute) = (&field.name, &field.attribute.name);
        quote!((#attribute, #typed::Value::to_value(&#name)))
    });
    Some(quote! {
        #[doc = #doc]
        pub fn #function(&self, head: #key, #(#arguments),*) -> #typed::Future<'_, #row> {
            self.client.point(head, #typed::Item::from([#(#pairs),*]))
        }
    })
}
