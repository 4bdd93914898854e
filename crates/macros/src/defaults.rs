//! Values of the model file as expressions.

use proc_macro2::TokenStream;
use quote::quote;
use trestle_item::{AttributeValue, Number};
use trestle_model::AttributeKind;

use crate::one_of::variant;
use crate::plan::{Field, typed};

/// The attribute's default, of the field's type.
pub(crate) fn default(field: &Field<'_>, value: &AttributeValue) -> TokenStream {
    let typed = typed();
    if let Some(one_of) = &field.one_of
        && let Some(variant) = variant(field.attribute, value)
    {
        return quote!(#one_of::#variant);
    }
    match (field.attribute.kind, value) {
        (AttributeKind::Any, value) => any(value),
        (AttributeKind::EpochSeconds, AttributeValue::N(number)) => {
            let seconds = number.to_i64().and_then(|seconds| u64::try_from(seconds).ok());
            match seconds {
                Some(seconds) => quote!(#typed::EpochSeconds(#seconds)),
                None => does_not_fit(field, number),
            }
        }
        (AttributeKind::Timestamp, AttributeValue::S(text)) => quote! {
            #typed::Timestamp::parse(#text).unwrap_or_else(|_| #typed::Timestamp::from_millis(0))
        },
        (AttributeKind::Semver, AttributeValue::S(text)) => quote! {
            #typed::Version::parse(#text).unwrap_or_else(|_| #typed::Version::new(0, 0, 0))
        },
        (AttributeKind::Integer, AttributeValue::N(number)) => match number.to_i64() {
            Some(number) => quote!(#number),
            None => does_not_fit(field, number),
        },
        (_, value) => inner(value),
    }
}

/// The database has larger numbers than the field's type.
fn does_not_fit(field: &Field<'_>, default: &Number) -> TokenStream {
    let name = &field.attribute.name;
    let message = format!("the default {default} of attribute {name} does not fit into the field's 64 bits");
    quote!(::core::compile_error!(#message))
}

/// As an `AttributeValue`.
fn any(value: &AttributeValue) -> TokenStream {
    let typed = typed();
    let inner = inner(value);
    match value {
        AttributeValue::S(_) => quote!(#typed::AttributeValue::S(#inner)),
        AttributeValue::N(_) => quote!(#typed::AttributeValue::N(#inner)),
        AttributeValue::B(_) => quote!(#typed::AttributeValue::B(#inner)),
        AttributeValue::Bool(_) => quote!(#typed::AttributeValue::Bool(#inner)),
        AttributeValue::Null => quote!(#typed::AttributeValue::Null),
        AttributeValue::M(_) => quote!(#typed::AttributeValue::M(#inner)),
        AttributeValue::L(_) => quote!(#typed::AttributeValue::L(#inner)),
        AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_) => {
            quote!(#typed::Value::to_value(&#inner))
        }
    }
}

/// The default of the contained type.
fn inner(value: &AttributeValue) -> TokenStream {
    let typed = typed();
    match value {
        AttributeValue::S(text) => quote!(::std::string::String::from(#text)),
        AttributeValue::N(number) => {
            let text = number.to_string();
            quote!(#typed::Number::parse(#text).unwrap_or_default())
        }
        AttributeValue::B(bytes) => quote!(::std::vec![#(#bytes),*]),
        AttributeValue::Bool(truth) => quote!(#truth),
        AttributeValue::Null => quote!(#typed::AttributeValue::Null),
        AttributeValue::M(map) if map.is_empty() => quote!(#typed::Map::new()),
        AttributeValue::M(map) => {
            let pairs = map.iter().map(|(name, value)| {
                let value = any(value);
                quote!((#name, #value))
            });
            quote!([#(#pairs),*].into_iter().collect::<#typed::Map>())
        }
        AttributeValue::L(list) => {
            let elements = list.iter().map(any);
            quote!(::std::vec![#(#elements),*])
        }
        AttributeValue::Ss(members) => {
            let members = members
                .iter()
                .map(|member| quote!(::std::string::String::from(#member)));
            quote!(::std::collections::BTreeSet::from([#(#members),*]))
        }
        AttributeValue::Ns(members) => {
            let members = members.iter().map(|member| inner(&AttributeValue::N(*member)));
            quote!(::std::collections::BTreeSet::from([#(#members),*]))
        }
        AttributeValue::Bs(members) => {
            let members = members.iter().map(|member| quote!(::std::vec![#(#member),*]));
            quote!(::std::collections::BTreeSet::from([#(#members),*]))
        }
    }
}
