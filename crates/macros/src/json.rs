//! Rows, keys and values of the model as JSON, with the model's names.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::plan::typed;

/// Serialized as the plain item that `item` returns.
pub(crate) fn as_item(name: &Ident, item: &TokenStream) -> TokenStream {
    let typed = typed();
    let body = quote! {
        let item: #typed::Item = #item;
        #typed::serde::Serialize::serialize(&#typed::Plain(&item), serializer)
    };
    serialize(name, &body)
}

/// An enum is serialized like its row.
pub(crate) fn as_variant<'v>(name: &Ident, variants: impl Iterator<Item = &'v Ident>) -> TokenStream {
    let typed = typed();
    let body = quote! {
        match self { #(Self::#variants(row) => #typed::serde::Serialize::serialize(row, serializer),)* }
    };
    serialize(name, &body)
}

/// An object with these members, each named after its entity.
pub(crate) fn as_object(name: &Ident, members: &[(Ident, &str)]) -> TokenStream {
    let typed = typed();
    let (fields, entities): (Vec<_>, Vec<_>) = members.iter().cloned().unzip();
    let body = quote! {
        let mut members = #typed::serde::Serializer::serialize_map(serializer, ::core::option::Option::None)?;
        #(#typed::serde::ser::SerializeMap::serialize_entry(&mut members, #entities, &self.#fields)?;)*
        #typed::serde::ser::SerializeMap::end(members)
    };
    serialize(name, &body)
}

/// A value with few possibilities: text or a whole number, in both directions.
pub(crate) fn as_one_of(name: &Ident, is_number: bool) -> TokenStream {
    let typed = typed();
    let (written, read) = if is_number {
        (
            quote!(#typed::serde::Serialize::serialize(&self.as_i64(), serializer)),
            quote!(<i64 as #typed::serde::Deserialize>::deserialize(deserializer)?.to_string()),
        )
    } else {
        (
            quote!(#typed::serde::Serializer::serialize_str(serializer, self.as_str())),
            quote!(<::std::string::String as #typed::serde::Deserialize>::deserialize(deserializer)?),
        )
    };
    let serialize = serialize(name, &written);
    quote! {
        #serialize

        impl<'de> #typed::serde::Deserialize<'de> for #name {
            fn deserialize<D: #typed::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                let text = #read;
                text.parse().map_err(<D::Error as #typed::serde::de::Error>::custom)
            }
        }
    }
}

fn serialize(name: &Ident, body: &TokenStream) -> TokenStream {
    let typed = typed();
    quote! {
        impl #typed::serde::Serialize for #name {
            fn serialize<S: #typed::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                #body
            }
        }
    }
}
