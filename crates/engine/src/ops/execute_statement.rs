//! `ExecuteStatement`.

use trestle_api::{Error, ExecuteStatement, ExecuteStatementOutput};
use trestle_partiql::{Parsed, parse};

use crate::completion::Completion;
use crate::statement::{self, Write};
use crate::{Engine, ops};

pub(crate) fn run(engine: &Engine, request: ExecuteStatement) -> Completion {
    match parse(&request.statement).map_err(statement::refused) {
        Err(error) => Completion::Ready(Err(error)),
        Ok(parsed) if parsed.is_exists() => {
            Completion::Ready(Err(Error::validation(statement::EXISTS_MISPLACED)))
        }
        Ok(parsed) if parsed.is_read() => ops::read(statement::read(engine.shared(), &request, &parsed)),
        Ok(parsed) => write(engine, &request, &parsed),
    }
}

fn write(engine: &Engine, request: &ExecuteStatement, parsed: &Parsed) -> Completion {
    let Write { item, shown } = match check(engine, request, parsed) {
        Ok(write) => write,
        Err(error) => return Completion::Ready(Err(error)),
    };
    let capacity = request.return_consumed_capacity;
    ops::write_item(engine, Ok(item), move |outcome| ExecuteStatementOutput {
        items: shown.of(&outcome).into_iter().collect(),
        consumed_capacity: outcome.consumed.report(&outcome.table, capacity),
        ..ExecuteStatementOutput::default()
    })
}

fn check(engine: &Engine, request: &ExecuteStatement, parsed: &Parsed) -> Result<Write, Error> {
    let table = statement::table(engine.shared(), parsed)?;
    let bound = statement::bind(parsed, request.parameters.as_ref())?;
    let show = trestle_writes::shows(request.return_values_on_condition_check_failure);
    statement::write(bound, &table, show)
}
