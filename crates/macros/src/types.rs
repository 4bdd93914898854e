//! Rust types for the model's types.

use proc_macro2::TokenStream;
use quote::quote;
use trestle_model::AttributeKind;

use crate::plan::{Field, typed};

/// The type of an attribute's value.
pub(crate) fn value(field: &Field<'_>) -> TokenStream {
    match &field.one_of {
        Some(one_of) => quote!(#one_of),
        None => of_kind(field.attribute.kind),
    }
}

pub(crate) fn of_kind(kind: AttributeKind) -> TokenStream {
    let typed = typed();
    let set = quote!(::std::collections::BTreeSet);
    let vec = quote!(::std::vec::Vec);
    match kind {
        AttributeKind::String => quote!(::std::string::String),
        AttributeKind::Integer => quote!(i64),
        AttributeKind::Number => quote!(#typed::Number),
        AttributeKind::Boolean => quote!(bool),
        AttributeKind::Binary => quote!(#vec<u8>),
        AttributeKind::EpochSeconds => quote!(#typed::EpochSeconds),
        AttributeKind::Timestamp => quote!(#typed::Timestamp),
        AttributeKind::Semver => quote!(#typed::Version),
        AttributeKind::List => quote!(#vec<#typed::AttributeValue>),
        AttributeKind::Map => quote!(#typed::Map),
        AttributeKind::StringSet => quote!(#set<::std::string::String>),
        AttributeKind::NumberSet => quote!(#set<#typed::Number>),
        AttributeKind::BinarySet => quote!(#set<#vec<u8>>),
        AttributeKind::Large => quote!(#typed::LargeValue),
        AttributeKind::Any => quote!(#typed::AttributeValue),
    }
}

/// How a function takes a value, and how it converts it: anything that becomes text is accepted as text.
pub(crate) fn taken(field: &Field<'_>) -> (TokenStream, TokenStream) {
    let name = &field.name;
    if field.attribute.kind == AttributeKind::String && field.one_of.is_none() {
        let text = quote!(::std::string::String);
        (
            quote!(impl ::core::convert::Into<#text>),
            quote!(::core::convert::Into::<#text>::into(#name)),
        )
    } else {
        (value(field), quote!(#name))
    }
}

/// The arguments of a function that takes these fields, and the fields that it builds from them.
pub(crate) fn arguments<'f>(
    fields: impl Iterator<Item = &'f Field<'f>>,
) -> (Vec<TokenStream>, Vec<TokenStream>) {
    let one = |field: &'f Field<'f>| {
        let (name, (taken, given)) = (&field.name, taken(field));
        (quote!(#name: #taken), quote!(#name: #given))
    };
    fields.map(one).unzip()
}

/// Whether two of these fields have the same type, so that they could be confused.
pub(crate) fn can_be_swapped<'f>(fields: impl Iterator<Item = &'f Field<'f>>) -> bool {
    let mut types: Vec<String> = fields.map(|field| value(field).to_string()).collect();
    types.sort_unstable();
    types.windows(2).any(|two| two.first() == two.last())
}

/// The type of a set's elements.
pub(crate) fn element(kind: AttributeKind) -> Option<TokenStream> {
    let typed = typed();
    match kind {
        AttributeKind::StringSet => Some(quote!(::std::string::String)),
        AttributeKind::NumberSet => Some(quote!(#typed::Number)),
        AttributeKind::BinarySet => Some(quote!(::std::vec::Vec<u8>)),
        _ => None,
    }
}

pub(crate) fn is_set(kind: AttributeKind) -> bool {
    element(kind).is_some()
}

/// The introduction of a field in the documentation: the model's `about`.
pub(crate) fn doc(field: &Field<'_>) -> String {
    let attribute = field.attribute;
    let mut doc = format!("`{}`: {}", attribute.name, attribute.kind.name());
    if attribute.optional {
        doc.push_str(", optional");
    }
    if attribute.immutable {
        doc.push_str(", immutable");
    }
    doc.push('.');
    doc
}
