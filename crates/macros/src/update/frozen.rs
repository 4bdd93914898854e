//! Setters that exist only so that the compiler explains why they cannot be called.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::names::pascal;
use crate::plan::{EntityNames, Field};

/// An attribute that updates cannot change.
pub(super) struct Frozen<'n> {
    field: &'n Field<'n>,
    reason: Ident,
    message: String,
    help: &'static str,
}

impl<'n> Frozen<'n> {
    pub(super) fn of(names: &'n EntityNames<'n>, field: &'n Field<'n>) -> Option<Self> {
        let (what, help) = if names.is_identity(field) {
            (
                "identifies the row",
                "put a row with the other key, and delete this one",
            )
        } else if names.is_kept(field) {
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

    /// A trait that no type implements, so that the compiler prints the message.
    pub(super) fn refusal(&self) -> TokenStream {
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

    pub(super) fn method(&self) -> TokenStream {
        let reason = &self.reason;
        let set = format_ident!("set_{}", self.field.text);
        quote! {
            #[doc(hidden)]
            pub fn #set(self, _: impl #reason) -> Self { self }
        }
    }
}
