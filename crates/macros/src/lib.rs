//! `model!`: a typed client from a model file, at compile time.
//!
//! The model is read and proved by `trestle-model`, here as in the database. The generated code is thin:
//! structs, and functions that pass names and values to `trestle-typed`, which does the work.
//!
//! An internal part of Trestle: programs use the crate `trestle`.

mod access;
mod client;
mod collection;
mod defaults;
mod entity;
mod file;
mod input;
mod json;
mod key;
mod names;
mod one_of;
mod plan;
mod types;
mod update;
mod view;

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use trestle_model::Severity;

use plan::Plan;

/// Generates the client of a model: `trestle::model!("models/shop.toml");`
///
/// The path is relative to the package's `Cargo.toml`; with `./` before it, to the file with the macro. See
/// the crate `trestle` for what is generated.
#[proc_macro]
pub fn model(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(input.into()).unwrap_or_else(Fault::into_tokens).into()
}

/// Why there is no client: one message for each mistake.
struct Fault {
    span: Span,
    messages: Vec<String>,
}

impl Fault {
    fn new(span: Span, message: impl Into<String>) -> Self {
        Fault {
            span,
            messages: vec![message.into()],
        }
    }

    fn into_tokens(self) -> TokenStream {
        let span = self.span;
        let errors = self
            .messages
            .iter()
            .map(|message| quote_spanned!(span=> ::core::compile_error! { #message }));
        errors.collect()
    }
}

fn expand(input: TokenStream) -> Result<TokenStream, Fault> {
    let path = input::path(input)?;
    let text = file::read(&path)?;
    let loaded = trestle_model::load(&text);
    match loaded.model {
        Some(model) => Ok(Plan::new(&model, file::text(&path)).expand()),
        None => Err(Fault {
            span: path.span,
            messages: problems(&path.text, &loaded.problems),
        }),
    }
}

/// Each error of the model file with its place, in the form of compilers, without the word "error", which the
/// compiler adds.
fn problems(path: &str, problems: &[trestle_model::Problem]) -> Vec<String> {
    let errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error);
    let shown = |problem: &trestle_model::Problem| {
        let trestle_model::Problem {
            line,
            column,
            message,
            help,
            ..
        } = problem;
        match help.as_str() {
            "" => format!("{path}:{line}:{column}: {message}"),
            help => format!("{path}:{line}:{column}: {message}\n  help: {help}"),
        }
    };
    errors.map(shown).collect()
}
