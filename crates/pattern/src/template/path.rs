//! The way to a value inside an event: `new.tags.0`, `new.'a.b'`, or `.` for all of it.

use super::TemplateError;
use serde_json::Value;

/// Names and numbers, from the outside in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path(Vec<String>);

impl Path {
    pub(super) fn parse(text: &str) -> Result<Path, TemplateError> {
        let refuse = |message| TemplateError::Hole {
            path: format!("{text}>"),
            message,
        };
        let trimmed = text.trim();
        if trimmed == "." {
            return Ok(Path(Vec::new()));
        }
        let mut steps = Vec::new();
        let mut rest = trimmed;
        loop {
            let (step, after) = match rest.strip_prefix('\'') {
                Some(quoted) => quoted
                    .split_once('\'')
                    .ok_or_else(|| refuse("a quoted name must end with another `'`"))?,
                None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
            };
            if step.is_empty() {
                return Err(refuse(
                    "must hold a path such as `new.state`, or `.` for the whole event; write `<<` for a plain `<`",
                ));
            }
            steps.push(step.to_owned());
            if after.is_empty() {
                return Ok(Path(steps));
            }
            rest = after
                .strip_prefix('.')
                .ok_or_else(|| refuse("names must be separated by dots"))?;
        }
    }

    pub(super) fn find<'a>(&self, event: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(event, |value, step| match value {
            Value::Object(object) => object.get(step),
            Value::Array(members) => members.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }
}
