//! A function for each access pattern.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use trestle_model::{AccessPattern, AttributeKind, Operation, Parameter, Projection};

use crate::collection::Variant;
use crate::names::{Taken, ident, pascal, snake};
use crate::plan::{Plan, typed};
use crate::{types, view};

/// All access patterns, and what indexes show of entities.
pub(crate) struct Accesses<'m> {
    pub(crate) patterns: Vec<Planned<'m>>,
    pub(crate) views: Vec<view::Planned>,
}

/// An access pattern, and the names generated for it.
pub(crate) struct Planned<'m> {
    pub(crate) pattern: &'m AccessPattern,
    function: Ident,
    /// The type of its rows: a struct, or the enum of several.
    pub(crate) row: Ident,
    /// The variants of the enum, if it is one: name, entity, and type.
    pub(crate) variants: Vec<Variant>,
    /// The struct into which its rows are sorted, if they belong to several entities.
    pub(crate) gathered: Option<Ident>,
    /// The struct of its parameters, if two of them could be confused.
    parameters: Option<Ident>,
    arguments: Vec<Argument<'m>>,
}

struct Argument<'m> {
    parameter: &'m Parameter,
    name: Ident,
    value: TokenStream,
    borrowed: bool,
}

pub(crate) fn plan<'m>(plan: &mut Plan<'m>) -> Accesses<'m> {
    let mut accesses = Accesses {
        patterns: Vec::new(),
        views: Vec::new(),
    };
    for pattern in plan.model.access_patterns() {
        let rows: Vec<(String, Ident)> = pattern
            .returns()
            .iter()
            .filter_map(|entity| {
                Some((
                    entity.clone(),
                    row_type(plan, pattern, entity, &mut accesses.views)?,
                ))
            })
            .collect();
        let (row, variants) = match rows.as_slice() {
            [(_, only)] => (only.clone(), Vec::new()),
            several => {
                let name = plan.type_name(&format!("{}Row", pascal(pattern.name())), "Sum");
                (name, variants(several))
            }
        };
        let arguments = arguments(plan, pattern);
        let parameters = can_be_swapped(&arguments)
            .then(|| plan.type_name(&format!("{}Where", pascal(pattern.name())), "Parameters"));
        let gathered = (!variants.is_empty()).then(|| plan.type_name(&pascal(pattern.name()), "Gathered"));
        accesses.patterns.push(Planned {
            pattern,
            gathered,
            function: plan.function_name(&snake(pattern.name())),
            row,
            variants,
            parameters,
            arguments,
        });
    }
    accesses
}

fn variants(rows: &[(String, Ident)]) -> Vec<Variant> {
    let mut taken = Taken::default();
    rows.iter()
        .map(|(entity, row)| {
            (
                ident(&taken.take(&pascal(entity), "Entity")),
                entity.clone(),
                row.clone(),
            )
        })
        .collect()
}

/// The struct of an entity; or of the part that the index shows, if that is not all.
fn row_type(
    plan: &mut Plan<'_>,
    pattern: &AccessPattern,
    entity: &str,
    views: &mut Vec<view::Planned>,
) -> Option<Ident> {
    let row = plan.entity(entity)?.row.clone();
    let table = plan.model.table(pattern.table_name())?;
    let index = pattern.index().and_then(|name| table.index(name));
    let Some(index) = index.filter(|index| index.projection != Projection::All) else {
        return Some(row);
    };
    let known = views
        .iter()
        .find(|view| view.entity == entity && view.table == table.table_name() && view.index == index.name);
    if let Some(known) = known {
        return Some(known.name.clone());
    }
    let name = plan.type_name(&format!("{row}In{}", pascal(&index.name)), "View");
    views.push(view::Planned {
        entity: entity.to_owned(),
        table: table.table_name().to_owned(),
        index: index.name.clone(),
        name: name.clone(),
    });
    Some(name)
}

fn arguments<'m>(plan: &Plan<'m>, pattern: &'m AccessPattern) -> Vec<Argument<'m>> {
    let mut taken = Taken::default();
    let first = pattern.returns().first().and_then(|name| plan.entity(name));
    let argument = |parameter: &'m Parameter| {
        let attribute = parameter.attribute.as_deref();
        let one_of = first
            .zip(attribute)
            .and_then(|(names, attribute)| names.field(attribute)?.one_of.clone());
        let borrowed = one_of.is_none() && parameter.kind == AttributeKind::String;
        let value = match one_of {
            Some(one_of) => quote!(#one_of),
            None if borrowed => quote!(str),
            // The beginning of a timestamp is not a timestamp.
            None if attribute.is_none() => quote!(::std::string::String),
            None => types::of_kind(parameter.kind),
        };
        Argument {
            parameter,
            name: ident(&taken.take(&snake(&parameter.name), "_")),
            value,
            borrowed,
        }
    };
    pattern.parameters().iter().map(argument).collect()
}

/// Whether two arguments have the same type, so that they could be confused.
fn can_be_swapped(arguments: &[Argument<'_>]) -> bool {
    let mut types: Vec<String> = arguments
        .iter()
        .map(|argument| argument.value.to_string())
        .collect();
    types.sort_unstable();
    types.windows(2).any(|two| two.first() == two.last())
}

impl Argument<'_> {
    /// The type; text is only borrowed.
    fn taken(&self, lifetime: &TokenStream) -> TokenStream {
        let value = &self.value;
        if self.borrowed {
            quote!(&#lifetime #value)
        } else {
            quote!(#value)
        }
    }

    /// The parameter's name and value.
    fn pair(&self, of: &TokenStream) -> TokenStream {
        let typed = typed();
        let (name, parameter) = (&self.name, &self.parameter.name);
        if self.borrowed {
            quote!((#parameter, #typed::AttributeValue::from(#of #name)))
        } else {
            quote!((#parameter, #typed::Value::to_value(&#of #name)))
        }
    }
}

/// The struct of the parameters of an access pattern, where they have one.
pub(crate) fn parameters(_: &Plan<'_>, planned: &Planned<'_>) -> TokenStream {
    let Some(name) = &planned.parameters else {
        return TokenStream::new();
    };
    let doc = format!("Parameters of the access pattern `{}`.", planned.pattern.name());
    let lifetime = planned.lifetime();
    let copy = planned
        .arguments
        .iter()
        .all(|argument| argument.borrowed)
        .then(|| quote!(Copy,));
    let fields = planned.arguments.iter().map(|argument| {
        let doc = format!(
            "`{}`: {}.",
            argument.parameter.name,
            argument.parameter.kind.name()
        );
        let name = &argument.name;
        let taken = argument.taken(&quote!('a));
        quote!(#[doc = #doc] pub #name: #taken,)
    });
    quote! {
        #[doc = #doc]
        #[derive(Clone, #copy Debug, PartialEq)]
        pub struct #name #lifetime { #(#fields)* }
    }
}

impl Planned<'_> {
    fn lifetime(&self) -> Option<TokenStream> {
        let borrows = self.arguments.iter().any(|argument| argument.borrowed);
        borrows.then(|| quote!(<'a>))
    }

    /// The function of the client.
    pub(crate) fn function(&self) -> TokenStream {
        let typed = typed();
        let (function, row) = (&self.function, &self.row);
        let access = self.pattern.name();
        let about = self.pattern.about().unwrap_or_default();
        let doc = format!("{about}\n\n```text\n{}```", self.pattern.explain());
        let (answer, make) = match self.pattern.operation() {
            Operation::GetItem => (quote!(#typed::Get<'_, #row>), quote!(#typed::Get::by_access)),
            Operation::Query => (
                quote!(#typed::AccessRows<'_, #row>),
                quote!(#typed::AccessRows::new),
            ),
            Operation::Scan => (
                quote!(#typed::AccessRows<'_, #row, #typed::Scanned>),
                quote!(#typed::AccessRows::new),
            ),
        };
        let (taken, of) = match &self.parameters {
            Some(name) => {
                let lifetime = self.lifetime().map(|_| quote!(<'_>));
                (quote!(parameters: #name #lifetime), quote!(parameters.))
            }
            None => {
                let arguments = self.arguments.iter().map(|argument| {
                    let (name, taken) = (&argument.name, argument.taken(&TokenStream::new()));
                    quote!(#name: #taken)
                });
                (quote!(#(#arguments),*), TokenStream::new())
            }
        };
        let pairs: Vec<TokenStream> = self.arguments.iter().map(|argument| argument.pair(&of)).collect();
        let item = if pairs.is_empty() {
            quote!(#typed::Item::new())
        } else {
            quote!(#typed::Item::from([#(#pairs),*]))
        };
        quote! {
            #[doc = #doc]
            pub fn #function(&self, #taken) -> #answer {
                #make(self.client.handle(), #access, #item)
            }
        }
    }
}
