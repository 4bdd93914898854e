//! `ExecuteStatement`.

use trestle_api::{Error, ExecuteStatement, ExecuteStatementOutput};
use trestle_partiql::Parsed;
use trestle_writes::{StatementWrite, bind_statement, parse_alone, write_of_statement};

use crate::completion::Completion;
use crate::{Engine, image, ops, statement};

pub(crate) fn run(engine: &Engine, request: ExecuteStatement) -> Completion {
    match parse_alone(&request.statement) {
        Err(error) => Completion::Ready(Err(error)),
        Ok(parsed) if parsed.is_read() => ops::read(statement::read(engine.shared(), &request, &parsed)),
        Ok(parsed) => write(engine, &request, &parsed),
    }
}

fn write(engine: &Engine, request: &ExecuteStatement, parsed: &Parsed) -> Completion {
    let StatementWrite { write, shown } = match check(engine, request, parsed) {
        Ok(write) => write,
        Err(error) => return Completion::Ready(Err(error)),
    };
    let capacity = request.return_consumed_capacity;
    ops::write_item(engine, Ok(write), move |outcome| ExecuteStatementOutput {
        items: shown
            .of(
                image::item(outcome.old.as_ref()),
                image::item(outcome.new.as_ref()),
            )
            .into_iter()
            .collect(),
        consumed_capacity: outcome.consumed.report(&outcome.table, capacity),
        ..ExecuteStatementOutput::default()
    })
}

fn check(engine: &Engine, request: &ExecuteStatement, parsed: &Parsed) -> Result<StatementWrite, Error> {
    let table = statement::table(engine.shared(), parsed)?;
    let bound = bind_statement(parsed, request.parameters.as_ref())?;
    let show = trestle_writes::shows(request.return_values_on_condition_check_failure);
    write_of_statement(bound, statement::written(&table)?, show)
}
