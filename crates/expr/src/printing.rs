//! Expressions as text. Every name and value becomes a placeholder, so that any item can be described.

use std::collections::BTreeMap;
use std::fmt::Write;

use trestle_item::{AttributeValue, Map};

use crate::path::{Path, Step};
use crate::{Action, Condition, KeyCondition, KeyOp, Operand, Projection, SetOperand, SetValue, Update};

/// An expression and the meaning of its placeholders. Parsing it gives the printed expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The expression.
    pub text: String,
    /// `ExpressionAttributeNames`
    pub names: BTreeMap<String, String>,
    /// `ExpressionAttributeValues`
    pub values: Map,
}

impl Condition {
    /// The condition as an expression.
    #[must_use]
    pub fn print(&self) -> Printed {
        let mut printer = Printer::default();
        printer.condition(self);
        printer.printed
    }
}

impl KeyCondition {
    /// The key condition as an expression.
    #[must_use]
    pub fn print(&self) -> Printed {
        let mut printer = Printer::default();
        printer.separated(" AND ", &self.terms, |printer, term| {
            printer.key_term(&Path::top(term.attribute.as_str()), &term.op);
        });
        printer.printed
    }
}

impl Projection {
    /// The projection as an expression.
    #[must_use]
    pub fn print(&self) -> Printed {
        let mut printer = Printer::default();
        printer.separated(", ", self.paths(), Printer::path);
        printer.printed
    }
}

impl Update {
    /// The update as an expression, with its actions grouped into sections.
    #[must_use]
    pub fn print(&self) -> Printed {
        let mut printer = Printer::default();
        for keyword in ["SET", "REMOVE", "ADD", "DELETE"] {
            let section: Vec<_> = self
                .actions()
                .iter()
                .filter(|action| keyword == action.keyword())
                .collect();
            if section.is_empty() {
                continue;
            }
            if !printer.printed.text.is_empty() {
                printer.write(" ");
            }
            printer.write(keyword);
            printer.write(" ");
            printer.separated(", ", section, Printer::action);
        }
        printer.printed
    }
}

impl Action {
    fn keyword(&self) -> &'static str {
        match self {
            Self::Set(..) => "SET",
            Self::Remove(_) => "REMOVE",
            Self::Add(..) => "ADD",
            Self::Delete(..) => "DELETE",
        }
    }
}

#[derive(Default)]
struct Printer {
    printed: Printed,
    /// Placeholders by the names they represent.
    names: BTreeMap<String, String>,
}

impl Printer {
    fn write(&mut self, text: &str) {
        self.printed.text.push_str(text);
    }

    fn separated<T>(
        &mut self,
        separator: &str,
        things: impl IntoIterator<Item = T>,
        mut print: impl FnMut(&mut Self, T),
    ) {
        for (at, thing) in things.into_iter().enumerate() {
            if at > 0 {
                self.write(separator);
            }
            print(self, thing);
        }
    }

    fn name(&mut self, name: &str) {
        let number = self.names.len();
        let placeholder = self
            .names
            .entry(name.to_owned())
            .or_insert_with(|| format!("#n{number}"))
            .clone();
        self.write(&placeholder);
        self.printed.names.insert(placeholder, name.to_owned());
    }

    fn value(&mut self, value: &AttributeValue) {
        let placeholder = format!(":v{}", self.printed.values.len());
        self.write(&placeholder);
        self.printed.values.insert(placeholder, value.clone());
    }

    fn path(&mut self, path: &Path) {
        self.name(&path.attribute);
        for step in &path.steps {
            match step {
                Step::Name(name) => {
                    self.write(".");
                    self.name(name);
                }
                Step::Index(index) => {
                    // Writing to a String cannot fail.
                    let _ = write!(self.printed.text, "[{index}]");
                }
            }
        }
    }

    fn condition(&mut self, condition: &Condition) {
        match condition {
            Condition::Or(any) => self.separated(" OR ", any, |printer, one| {
                printer.grouped(one, matches!(one, Condition::Or(_)));
            }),
            Condition::And(all) => self.separated(" AND ", all, |printer, one| {
                printer.grouped(one, matches!(one, Condition::Or(_) | Condition::And(_)));
            }),
            Condition::Not(negated) => {
                self.write("NOT ");
                self.grouped(negated, matches!(**negated, Condition::Or(_) | Condition::And(_)));
            }
            Condition::Compare {
                left,
                comparator,
                right,
            } => {
                self.operand(left);
                self.write(" ");
                self.write(comparator.symbol());
                self.write(" ");
                self.operand(right);
            }
            Condition::Between { operand, low, high } => {
                self.operand(operand);
                self.write(" BETWEEN ");
                self.operand(low);
                self.write(" AND ");
                self.operand(high);
            }
            Condition::In { operand, list } => {
                self.operand(operand);
                self.write(" IN (");
                self.separated(", ", list, Self::operand);
                self.write(")");
            }
            _ => self.call(condition),
        }
    }

    fn grouped(&mut self, condition: &Condition, in_parentheses: bool) {
        if in_parentheses {
            self.write("(");
        }
        self.condition(condition);
        if in_parentheses {
            self.write(")");
        }
    }

    fn call(&mut self, condition: &Condition) {
        match condition {
            Condition::Exists(path) => {
                self.write("attribute_exists(");
                self.path(path);
            }
            Condition::NotExists(path) => {
                self.write("attribute_not_exists(");
                self.path(path);
            }
            Condition::HasType {
                operand,
                attribute_type,
            } => {
                self.write("attribute_type(");
                self.operand(operand);
                self.write(", ");
                self.value(&AttributeValue::from(attribute_type.name()));
            }
            Condition::BeginsWith { operand, prefix } => {
                self.write("begins_with(");
                self.separated(", ", [operand, prefix], Self::operand);
            }
            Condition::Contains { operand, element } => {
                self.write("contains(");
                self.separated(", ", [operand, element], Self::operand);
            }
            _ => return,
        }
        self.write(")");
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Path(path) => self.path(path),
            Operand::Value(value) => self.value(value),
            Operand::Size(measured) => {
                self.write("size(");
                self.operand(measured);
                self.write(")");
            }
        }
    }

    fn key_term(&mut self, attribute: &Path, op: &KeyOp) {
        let (symbol, value) = match op {
            KeyOp::Eq(value) => (" = ", value),
            KeyOp::Lt(value) => (" < ", value),
            KeyOp::Le(value) => (" <= ", value),
            KeyOp::Gt(value) => (" > ", value),
            KeyOp::Ge(value) => (" >= ", value),
            KeyOp::Between(low, high) => {
                self.path(attribute);
                self.write(" BETWEEN ");
                self.separated(" AND ", [low, high], Self::value);
                return;
            }
            KeyOp::BeginsWith(prefix) => {
                self.write("begins_with(");
                self.path(attribute);
                self.write(", ");
                self.value(prefix);
                self.write(")");
                return;
            }
        };
        self.path(attribute);
        self.write(symbol);
        self.value(value);
    }

    fn action(&mut self, action: &Action) {
        self.path(action.path());
        match action {
            Action::Remove(_) => {}
            Action::Add(_, value) | Action::Delete(_, value) => {
                self.write(" ");
                self.value(value);
            }
            Action::Set(_, value) => {
                self.write(" = ");
                self.set_value(value);
            }
        }
    }

    fn set_value(&mut self, value: &SetValue) {
        match value {
            SetValue::Operand(operand) => self.set_operand(operand),
            SetValue::Plus(left, right) => self.separated(" + ", [left, right], Self::set_operand),
            SetValue::Minus(left, right) => self.separated(" - ", [left, right], Self::set_operand),
            SetValue::ListAppend(first, second) => {
                self.write("list_append(");
                self.separated(", ", [first, second], Self::set_operand);
                self.write(")");
            }
        }
    }

    fn set_operand(&mut self, operand: &SetOperand) {
        match operand {
            SetOperand::Path(path) => self.path(path),
            SetOperand::Value(value) => self.value(value),
            SetOperand::IfNotExists(path, otherwise) => {
                self.write("if_not_exists(");
                self.path(path);
                self.write(", ");
                self.set_operand(otherwise);
                self.write(")");
            }
        }
    }
}
