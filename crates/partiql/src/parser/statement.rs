//! Statements: `SELECT`, `INSERT`, both forms of `UPDATE`, `DELETE` and `EXISTS`.

use super::Parser;
use crate::error::{Result, StatementError};
use crate::syntax::{Change, Columns, Direction, Expr, ExprKind, Returning, Select, Statement};
use crate::token::Sign;

impl Parser {
    /// One statement, up to the end of the text.
    pub(super) fn statement(&mut self) -> Result<Statement> {
        let statement = if self.at_word("insert") && self.second().is_word("into") {
            self.insert()?
        } else if self.take_word("update") {
            self.update()?
        } else if self.take_word("delete") {
            self.delete()?
        } else if self.at_word("from") {
            self.update_by_from()?
        } else if self.at_word("drop") || self.at_word("create") {
            return Err(self.definition());
        } else {
            let expr = self.expression()?;
            self.end()?;
            return as_statement(expr);
        };
        self.end()?;
        Ok(statement)
    }

    /// Tables are created by separate operations.
    fn definition(&self) -> StatementError {
        let verb = if self.at_word("drop") { "Drop" } else { "Create" };
        let what = if self.second().is_word("index") {
            "Index"
        } else {
            "Table"
        };
        StatementError::new(format!("Unsupported operation: {verb}{what}"))
    }

    fn end(&mut self) -> Result<()> {
        let ended = self.take_sign(Sign::Semicolon);
        match (ended, &self.head().kind) {
            (_, crate::token::Kind::End) => Ok(()),
            (true, _) => Err(StatementError::not_well_formed(
                "Unexpected token after semicolon. (Only one query is allowed.)",
            )),
            (false, _) => Err(StatementError::not_well_formed(
                "Unexpected token after expression",
            )),
        }
    }

    pub(super) fn select(&mut self) -> Result<Select> {
        let span = self.span();
        self.advance();
        if self.take_word("distinct") {
            return Err(StatementError::new("Unsupported token in expression: DISTINCT"));
        }
        self.take_word("all");
        if self.at_word("value") || self.at_word("pivot") {
            return Err(StatementError::new(
                "Select projection doesn't support value or pivot keywords",
            ));
        }
        let columns = self.columns()?;
        self.expect_word("from", "Expected FROM after select list")?;
        let source = self.source()?;
        let condition = self.condition()?;
        self.refuse_grouping()?;
        let order = self.order()?;
        if self.take_word("limit") {
            let limit = self.expression()?;
            return Err(StatementError::at("Unsupported clause: LIMIT", limit.span));
        }
        Ok(Select {
            columns,
            source,
            condition,
            order,
            span,
        })
    }

    fn columns(&mut self) -> Result<Columns> {
        if self.take_sign(Sign::Star) {
            if self.at_sign(Sign::Comma) {
                return Err(StatementError::not_well_formed(
                    "Other expressions may not be present in the select list when '*' is used without dot notation.",
                ));
            }
            return Ok(Columns::All);
        }
        self.comma_separated(Self::column).map(Columns::Listed)
    }

    fn column(&mut self) -> Result<Expr> {
        let column = self.clause()?;
        self.refuse_alias()?;
        Ok(column)
    }

    fn source(&mut self) -> Result<Expr> {
        let source = self.clause()?;
        self.refuse_alias()?;
        const JOINS: [&str; 6] = ["join", "inner", "left", "right", "full", "cross"];
        if self.at_sign(Sign::Comma) || JOINS.iter().any(|join| self.at_word(join)) {
            return Err(StatementError::new(
                "Only select from a single table or index is supported.",
            ));
        }
        Ok(source)
    }

    fn refuse_alias(&mut self) -> Result<()> {
        let named = self.take_word("as");
        if self.take_name().is_some() {
            return Err(StatementError::new("Aliasing is not supported"));
        }
        if named {
            Err(StatementError::not_well_formed("Expected identifier for alias"))
        } else {
            Ok(())
        }
    }

    fn condition(&mut self) -> Result<Option<Expr>> {
        if self.take_word("where") {
            self.clause().map(Some)
        } else {
            Ok(None)
        }
    }

    fn refuse_grouping(&mut self) -> Result<()> {
        if self.at_word("group") {
            return Err(StatementError::new("Unsupported clause: GROUP BY"));
        }
        if self.take_word("having") {
            let having = self.expression()?;
            return Err(StatementError::at("Unsupported clause: HAVING", having.span));
        }
        Ok(())
    }

    fn order(&mut self) -> Result<Vec<(Expr, Direction)>> {
        if !self.take_word("order") {
            return Ok(Vec::new());
        }
        self.expect_word("by", "Expected BY")?;
        self.comma_separated(|parser| {
            let key = parser.clause()?;
            let direction = if parser.take_word("desc") {
                Direction::Descending
            } else {
                parser.take_word("asc");
                Direction::Ascending
            };
            Ok((key, direction))
        })
    }

    fn insert(&mut self) -> Result<Statement> {
        self.advance();
        self.advance();
        let target = self.simple_path()?;
        if !self.take_word("value") {
            // `INSERT INTO t <<…>>` and `VALUES (…)` are PartiQL's ways to insert several items.
            if !self.take_word("values") {
                self.expression()?;
                self.end()?;
            }
            return Err(StatementError::new(
                "Unsupported operation: Inserting multiple items in a single statement is not supported, \
                 use \"INSERT INTO tableName VALUE item\" instead",
            ));
        }
        let value = self.expression()?;
        if self.at_word("returning") {
            return Err(StatementError::new("RETURNING is not supported in INSERT"));
        }
        Ok(Statement::Insert { target, value })
    }

    fn update(&mut self) -> Result<Statement> {
        let target = self.simple_path()?;
        let aliased = self.take_name().is_some();
        let changes = self.changes()?;
        if aliased {
            return Err(StatementError::new("Aliasing is not supported"));
        }
        let condition = self.condition()?;
        let returning = self.returning()?;
        Ok(Statement::Update {
            target,
            changes,
            condition,
            returning,
        })
    }

    /// `FROM t WHERE … SET …`
    pub(super) fn update_by_from(&mut self) -> Result<Statement> {
        self.advance();
        let target = self.expression()?;
        self.refuse_alias()?;
        let condition = self.condition()?;
        let changes = self.changes()?;
        let returning = self.returning()?;
        Ok(Statement::Update {
            target,
            changes,
            condition,
            returning,
        })
    }

    /// `SET` and `REMOVE` clauses in any order, at least one.
    fn changes(&mut self) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        loop {
            if self.take_word("set") {
                changes.extend(self.comma_separated(Self::assignment)?);
            } else if self.take_word("remove") {
                changes.push(Change::Remove {
                    target: self.simple_path()?,
                });
            } else if changes.is_empty() {
                return Err(StatementError::not_well_formed("Expected data manipulation"));
            } else {
                return Ok(changes);
            }
        }
    }

    fn assignment(&mut self) -> Result<Change> {
        let target = self.simple_path()?;
        if !self.take_sign(Sign::Equal) {
            return Err(StatementError::not_well_formed("Expected '='"));
        }
        Ok(Change::Set {
            target,
            value: self.expression()?,
        })
    }

    fn delete(&mut self) -> Result<Statement> {
        self.expect_word("from", "Expected FROM after DELETE")?;
        let target = self.simple_path()?;
        self.refuse_alias()?;
        let condition = self.condition()?;
        let returning = self.returning()?;
        Ok(Statement::Delete {
            target,
            condition,
            returning,
        })
    }

    fn returning(&mut self) -> Result<Option<Returning>> {
        if !self.take_word("returning") {
            return Ok(None);
        }
        let returning = self.returning_image()?;
        if !self.take_sign(Sign::Star) {
            self.expression()?;
            return Err(StatementError::new(
                "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause",
            ));
        }
        if self.at_sign(Sign::Comma) {
            return Err(StatementError::new(
                "Invalid syntax with multiple returning elements in RETURNING clause",
            ));
        }
        Ok(Some(returning))
    }

    fn returning_image(&mut self) -> Result<Returning> {
        const IMAGES: [(&str, &str, Returning); 4] = [
            ("all", "old", Returning::AllOld),
            ("all", "new", Returning::AllNew),
            ("modified", "old", Returning::ModifiedOld),
            ("modified", "new", Returning::ModifiedNew),
        ];
        for (extent, image, returning) in IMAGES {
            if self.at_word(extent) && self.second().is_word(image) {
                self.advance();
                self.advance();
                return Ok(returning);
            }
        }
        Err(StatementError::not_well_formed(
            "Expected ALL OLD, ALL NEW, MODIFIED OLD or MODIFIED NEW in the returning clause.",
        ))
    }
}

/// An expression that is a statement of its own.
fn as_statement(expr: Expr) -> Result<Statement> {
    let unsupported = format!("Unsupported operation: {}", expr.node());
    match expr.kind {
        ExprKind::Select(select) => Ok(Statement::Select(*select)),
        ExprKind::Call { name, mut operands } if name == "exists" && operands.len() == 1 => {
            match operands.pop().map(|operand| operand.kind) {
                Some(ExprKind::Select(select)) => Ok(Statement::Exists(*select)),
                _ => Err(StatementError::new(unsupported)),
            }
        }
        _ => Err(StatementError::new(unsupported)),
    }
}
