//! Enums of entities: of those that an access pattern returns, and of all.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use trestle_model::{KeyTemplate, Operation};

use crate::access::Planned;
use crate::json;
use crate::names::{Taken, ident, snake};
use crate::plan::{Plan, typed};

/// A variant of an enum: its name, its entity, and the struct of its rows.
pub(crate) type Variant = (Ident, String, Ident);

pub(crate) fn expand(plan: &Plan<'_>, planned: &Planned<'_>) -> TokenStream {
    let doc = format!(
        "A row that the access pattern `{}` finds.",
        planned.pattern.name()
    );
    let sum = sum(plan, &planned.row, &doc, &planned.variants);
    let gathered = gathered(plan, planned);
    quote!(#sum #gathered)
}

/// The enum of all entities of the model: for code that handles rows of any entity.
pub(crate) fn everything(plan: &Plan<'_>) -> TokenStream {
    let doc = format!(
        "A row of any entity of the model `{}`: what comes from a stream, say.",
        plan.model.name()
    );
    let entities = plan
        .model
        .entities()
        .iter()
        .filter_map(|entity| plan.entity(entity.name()));
    let variants: Vec<Variant> = entities
        .map(|names| {
            (
                names.row.clone(),
                names.entity.name().to_owned(),
                names.row.clone(),
            )
        })
        .collect();
    sum(plan, &plan.row, &doc, &variants).unwrap_or_default()
}

fn sum(plan: &Plan<'_>, name: &Ident, doc: &str, variants: &[Variant]) -> Option<TokenStream> {
    let typed = typed();
    let marker = &plan.marker;
    // The entity is one of these, so that the last one needs no name.
    let ((last, _, last_row), others) = variants.split_last()?;
    let declared = variants.iter().map(|(variant, entity, row)| {
        let doc = format!("A row of `{entity}`.");
        quote!(#[doc = #doc] #variant(#row),)
    });
    let entities = variants.iter().map(|(_, entity, _)| entity);
    let reads = others.iter().map(|(variant, entity, row)| {
        quote!(#entity => <#row as #typed::FromRow>::from_row(entity, row).map(Self::#variant),)
    });
    let identities = variants.iter().map(|(variant, entity, _)| {
        quote!(Self::#variant(row) => (#entity, #typed::Key::<#marker>::to_item(row)),)
    });
    let json = json::as_variant(name, variants.iter().map(|(variant, ..)| variant));
    Some(quote! {
        #[doc = #doc]
        #[derive(Clone, Debug, PartialEq)]
        pub enum #name { #(#declared)* }

        #json

        impl #typed::FromRow for #name {
            type Model = #marker;
            const ENTITIES: &'static [&'static str] = &[#(#entities),*];

            fn from_row(entity: &str, row: #typed::Row<'_>) -> ::core::result::Result<Self, #typed::Error> {
                match entity {
                    #(#reads)*
                    _ => <#last_row as #typed::FromRow>::from_row(entity, row).map(Self::#last),
                }
            }
        }

        impl #typed::AnyRow for #name {
            fn identity(&self) -> (&'static str, #typed::Item) {
                match self { #(#identities)* }
            }
        }
    })
}

/// The struct with a field for each entity: one row where the partition can hold only one, otherwise a list.
fn gathered(plan: &Plan<'_>, planned: &Planned<'_>) -> Option<TokenStream> {
    let typed = typed();
    let (name, row) = (planned.gathered.as_ref()?, &planned.row);
    let doc = format!(
        "What the access pattern `{}` finds, sorted out by entity.",
        planned.pattern.name()
    );
    let mut taken = Taken::default();
    let (mut fields, mut arms, mut members) = (Vec::new(), Vec::new(), Vec::new());
    for (variant, entity, row) in &planned.variants {
        let field = ident(&taken.take(&snake(entity), "_"));
        let doc = format!("Rows of `{entity}`.");
        members.push((field.clone(), entity.as_str()));
        if is_single(plan, planned, entity) {
            fields.push(quote!(#[doc = #doc] pub #field: ::core::option::Option<#row>,));
            arms.push(quote!(Self::#variant(row) => into.#field = ::core::option::Option::Some(row),));
        } else {
            fields.push(quote!(#[doc = #doc] pub #field: ::std::vec::Vec<#row>,));
            arms.push(quote!(Self::#variant(row) => into.#field.push(row),));
        }
    }
    let json = json::as_object(name, &members);
    Some(quote! {
        #[doc = #doc]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct #name { #(#fields)* }

        #json

        impl #typed::Collection for #row {
            type Gathered = #name;

            fn gather(self, into: &mut #name) {
                match self { #(#arms)* }
            }
        }
    })
}

/// Whether a partition of the table holds at most one row of the entity: its sort key contains nothing
/// besides its partition key.
fn is_single(plan: &Plan<'_>, planned: &Planned<'_>, entity: &str) -> bool {
    let pattern = planned.pattern;
    let table = plan.model.table(pattern.table_name());
    let Some((table, entity)) = table.zip(plan.model.entity(entity)) else {
        return false;
    };
    if pattern.index().is_some() || pattern.operation() != Operation::Query {
        return false;
    }
    let is_hash = |template: &KeyTemplate| {
        let mut hash = table.key().hash.iter();
        hash.any(|key| key.name == template.attribute())
    };
    let (hash, sort): (Vec<_>, Vec<_>) = entity.table_key().iter().partition(|key| is_hash(key));
    let known: Vec<&str> = hash.iter().flat_map(|key| key.fields()).collect();
    sort.iter()
        .flat_map(|key| key.fields())
        .all(|field| known.contains(&field))
}
