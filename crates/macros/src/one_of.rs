//! An enum for an attribute that has few values.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use trestle_item::{AttributeValue, Number};
use trestle_model::{Attribute, AttributeKind};

use crate::json;
use crate::names::{Taken, ident, pascal};
use crate::plan::{EntityNames, Field, typed};

/// Whether the values can be distinguished by name: texts, or whole numbers.
pub(crate) fn has_enum(attribute: &Attribute) -> bool {
    let texts = attribute.kind == AttributeKind::String;
    let numbers = attribute.kind == AttributeKind::Integer;
    !attribute.one_of.is_empty()
        && attribute.one_of.iter().all(|value| match value {
            AttributeValue::S(_) => texts,
            AttributeValue::N(number) => numbers && number.to_i64().is_some(),
            _ => false,
        })
}

/// The variant of a value.
pub(crate) fn variant(attribute: &Attribute, value: &AttributeValue) -> Option<Ident> {
    let at = attribute.one_of.iter().position(|known| known == value)?;
    variants(attribute).into_iter().nth(at)
}

fn variants(attribute: &Attribute) -> Vec<Ident> {
    let mut taken = Taken::default();
    let name = |value: &AttributeValue| match value {
        AttributeValue::S(text) => pascal(text),
        AttributeValue::N(number) if number.is_negative() => {
            format!("Minus{}", number.to_string().trim_start_matches('-'))
        }
        AttributeValue::N(number) => format!("N{number}"),
        _ => "Other".to_owned(),
    };
    attribute
        .one_of
        .iter()
        .map(|value| ident(&taken.take(&name(value), "Value")))
        .collect()
}

/// The enums that are generated for an entity itself.
pub(crate) fn expand(names: &EntityNames<'_>) -> Vec<TokenStream> {
    let own = names.fields.iter().filter(|field| field.owns_enum);
    own.filter_map(|field| Some(expand_one(names, field, field.one_of.as_ref()?)))
        .collect()
}

fn expand_one(names: &EntityNames<'_>, field: &Field<'_>, name: &Ident) -> TokenStream {
    let typed = typed();
    let attribute = field.attribute;
    let doc = format!("The values of `{}` of `{}`.", attribute.name, names.entity.name());
    let attribute_name = &attribute.name;
    let variants = variants(attribute);
    let shown: Vec<String> = attribute
        .one_of
        .iter()
        .map(|value| match value {
            AttributeValue::S(text) => text.clone(),
            AttributeValue::N(number) => number.to_string(),
            _ => String::new(),
        })
        .collect();
    let docs = shown.iter().map(|text| format!("`{text}`"));
    let is_number = attribute.kind == AttributeKind::Integer;
    let numbers = attribute.one_of.iter().filter_map(AttributeValue::as_n);
    let numbers = numbers.filter_map(Number::to_i64);
    let as_number = is_number.then(|| {
        quote! {
            /// The stored number.
            pub const fn as_i64(self) -> i64 {
                match self { #(Self::#variants => #numbers,)* }
            }
        }
    });
    let stored = if is_number {
        quote!(#typed::Value::to_value(&self.as_i64()))
    } else {
        quote!(#typed::AttributeValue::from(self.as_str()))
    };
    let json = json::as_one_of(name, is_number);
    quote! {
        #[doc = #doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum #name { #(#[doc = #docs] #variants,)* }

        impl #name {
            /// Every value, in the order of the model.
            pub const ALL: &'static [Self] = &[#(Self::#variants,)*];

            /// The value as in the model file.
            pub const fn as_str(self) -> &'static str {
                match self { #(Self::#variants => #shown,)* }
            }

            #as_number
        }

        #json

        impl #typed::Value for #name {
            fn to_value(&self) -> #typed::AttributeValue { #stored }

            fn from_value(value: #typed::AttributeValue) -> ::core::result::Result<Self, #typed::AttributeValue> {
                let found = Self::ALL.iter().find(|known| #typed::Value::to_value(*known) == value);
                found.copied().ok_or(value)
            }
        }

        impl ::core::str::FromStr for #name {
            type Err = #typed::NotOneOf;

            fn from_str(text: &str) -> ::core::result::Result<Self, #typed::NotOneOf> {
                let found = Self::ALL.iter().copied().find(|known| known.as_str() == text);
                found.ok_or_else(|| #typed::NotOneOf {
                    attribute: #attribute_name,
                    value: ::std::string::String::from(text),
                    known: &[#(#shown,)*],
                })
            }
        }

        impl ::core::fmt::Display for #name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    }
}
