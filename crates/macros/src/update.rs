//! The builder of an update: setters for what may change, and for nothing else.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use trestle_model::AttributeKind;

use crate::names::{pascal, snake};
use crate::plan::{EntityNames, Field, Plan, typed};
use crate::types;

/// An entity of which something may change.
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
    !names.is_identity(field) && !field.attribute.immutable && !names.is_time(field)
}

pub(crate) fn expand(plan: &Plan<'_>, planned: &Planned) -> TokenStream {
    let Some(names) = plan.entity(&planned.entity) else {
        return TokenStream::new();
    };
    let typed = typed();
    let EntityNames { row, update, .. } = names;
    let marker = &plan.marker;
    let doc = format!(
        "Changes a row of `{}`. Awaiting it gives the row as it is then; that there is none is an error.",
        names.entity.name()
    );
    let changing = names.fields.iter().filter(|field| may_change(names, field));
    let methods = changing.flat_map(methods);
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
            #(#methods)*
            #(#refused)*

            /// Only if this holds for the row; given twice, both must hold.
            pub fn only_if(self, condition: #typed::If<#row>) -> Self {
                Self(self.0.only_if(condition))
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

fn methods(field: &Field<'_>) -> Vec<TokenStream> {
    let attribute = field.attribute;
    let name = &attribute.name;
    let value = types::value(field);
    let mut methods = Vec::new();
    let argument = &field.name;
    let set = format_ident!("set_{}", field.text);
    let doc = format!("Sets `{name}`.");
    let (taken, given) = types::taken(field);
    methods.push(quote! {
        #[doc = #doc]
        pub fn #set(self, #argument: #taken) -> Self { Self(self.0.set(#name, #given)) }
    });
    if attribute.optional {
        let remove = format_ident!("remove_{}", field.text);
        let doc = format!("Removes `{name}`.");
        methods.push(quote! {
            #[doc = #doc]
            pub fn #remove(self) -> Self { Self(self.0.remove(#name)) }
        });
    }
    if field.one_of.is_none() && matches!(attribute.kind, AttributeKind::Integer | AttributeKind::Number) {
        let add = format_ident!("add_to_{}", field.text);
        let doc = format!("Adds to `{name}`; what is missing counts as zero.");
        methods.push(quote! {
            #[doc = #doc]
            pub fn #add(self, #argument: #value) -> Self { Self(self.0.add(#name, #argument)) }
        });
    }
    if let Some(element) = types::element(attribute.kind) {
        methods.extend(set_methods(field, &element));
    }
    if attribute.kind == AttributeKind::Map {
        methods.extend(map_methods(field));
    }
    methods
}

fn set_methods(field: &Field<'_>, element: &TokenStream) -> [TokenStream; 2] {
    let name = &field.attribute.name;
    let value = types::value(field);
    let (add, take) = (
        format_ident!("add_to_{}", field.text),
        format_ident!("take_from_{}", field.text),
    );
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

fn map_methods(field: &Field<'_>) -> [TokenStream; 2] {
    let typed = typed();
    let name = &field.attribute.name;
    let (set, remove) = (
        format_ident!("set_in_{}", field.text),
        format_ident!("remove_from_{}", field.text),
    );
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

/// An attribute that updates leave alone. Its setter is there only to say why it cannot be called.
struct Frozen<'n> {
    field: &'n Field<'n>,
    reason: Ident,
    message: String,
    help: &'static str,
}

impl<'n> Frozen<'n> {
    fn of(names: &'n EntityNames<'n>, field: &'n Field<'n>) -> Option<Self> {
        let (what, help) = if names.is_identity(field) {
            (
                "identifies the row",
                "put a row with the other key, and delete this one",
            )
        } else if names.is_time(field) {
            ("is kept by the database", "leave it out")
        } else if field.attribute.immutable {
            (
                "is immutable",
                "an update cannot change it; the model file says so",
            )
        } else {
            return None;
        };
        Some(Frozen {
            field,
            reason: format_ident!("{}{}CannotChange", names.row, pascal(&field.text)),
            message: format!(
                "attribute `{}` of entity `{}` {what}",
                field.attribute.name,
                names.entity.name()
            ),
            help,
        })
    }

    /// A trait that nothing implements, so that the compiler says the message.
    fn refusal(&self) -> TokenStream {
        let Frozen {
            reason,
            message,
            help,
            ..
        } = self;
        quote! {
            #[doc(hidden)]
            #[diagnostic::on_unimplemented(message = #message, label = #help)]
            pub trait #reason {}
        }
    }

    fn method(&self) -> TokenStream {
        let reason = &self.reason;
        let set = format_ident!("set_{}", self.field.text);
        quote! {
            #[doc(hidden)]
            pub fn #set(self, _: impl #reason) -> Self { self }
        }
    }
}
