//! Which expression parameters of a request may be used together.

use crate::ExprError;

/// The expression parameters and legacy parameters of one operation, in the order in which messages list them,
/// and whether a request has them.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    /// For example `[("ProjectionExpression", false), ("FilterExpression", true)]`.
    pub expressions: &'a [(&'a str, bool)],
    /// For example `[("AttributesToGet", true)]`.
    pub legacy: &'a [(&'a str, bool)],
    /// Whether `ExpressionAttributeNames` is present.
    pub names: bool,
    /// Whether `ExpressionAttributeValues` is present.
    pub values: bool,
}

impl Parameters<'_> {
    /// Refuses legacy parameters together with expressions, and placeholders without an expression that could
    /// use them.
    pub fn check(&self) -> Result<(), ExprError> {
        let expressions = present(self.expressions);
        let legacy = present(self.legacy);
        if !expressions.is_empty() && !legacy.is_empty() {
            return Err(ExprError(format!(
                "Can not use both expression and non-expression parameters in the same request: \
                 Non-expression parameters: {{{}}} Expression parameters: {{{}}}",
                legacy.join(", "),
                expressions.join(", ")
            )));
        }
        if self.names && expressions.is_empty() {
            return Err(ExprError::new(
                "ExpressionAttributeNames can only be specified when using expressions",
            ));
        }
        if self.values { self.check_values() } else { Ok(()) }
    }

    /// A projection cannot use values.
    fn check_values(&self) -> Result<(), ExprError> {
        let users: Vec<_> = self
            .expressions
            .iter()
            .filter(|(name, _)| *name != "ProjectionExpression")
            .collect();
        if users.is_empty() || users.iter().any(|(_, present)| *present) {
            return Ok(());
        }
        let names: Vec<&str> = users.iter().map(|(name, _)| *name).collect();
        let verb = if names.len() > 1 { "are" } else { "is" };
        Err(ExprError(format!(
            "ExpressionAttributeValues can only be specified when using expressions: {} {verb} null",
            names.join(" and ")
        )))
    }
}

fn present<'a>(parameters: &[(&'a str, bool)]) -> Vec<&'a str> {
    parameters
        .iter()
        .filter(|(_, present)| *present)
        .map(|(name, _)| *name)
        .collect()
}
