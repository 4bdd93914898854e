//! The figures in an answer about the work behind it.

use trestle_api::{ConsumedCapacity, Response};

/// Items and capacity in one answer.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) returned_items: u64,
    pub(crate) read_units: f64,
    pub(crate) write_units: f64,
}

impl Usage {
    /// Capacity is known only if the request asked for it.
    pub(crate) fn of(response: &Response) -> Usage {
        match response {
            Response::GetItem(output) => {
                read(&output.consumed_capacity).returning(output.item.iter().count())
            }
            Response::Query(output) => read(&output.consumed_capacity).returning(output.count as usize),
            Response::Scan(output) => read(&output.consumed_capacity).returning(output.count as usize),
            Response::BatchGetItem(output) => read(output.consumed_capacity.iter().flatten())
                .returning(output.responses.values().map(Vec::len).sum()),
            Response::TransactGetItems(output) => {
                let found = output.responses.iter().filter(|response| response.item.is_some());
                read(output.consumed_capacity.iter().flatten()).returning(found.count())
            }
            Response::PutItem(output) => write(&output.consumed_capacity),
            Response::UpdateItem(output) => write(&output.consumed_capacity),
            Response::DeleteItem(output) => write(&output.consumed_capacity),
            Response::BatchWriteItem(output) => write(output.consumed_capacity.iter().flatten()),
            Response::TransactWriteItems(output) => write(output.consumed_capacity.iter().flatten()),
            // A statement's answer does not show whether it read or wrote, so only its items are counted.
            Response::ExecuteStatement(output) => Usage::default().returning(output.items.len()),
            Response::GetRecords(output) => Usage::default().returning(output.records.len()),
            _ => Usage::default(),
        }
    }

    /// For an answer that was not decoded, to a request that did not ask for its capacity; `None` if it is
    /// not an answer to a read.
    pub(crate) fn of_forwarded(answer: &[u8]) -> Option<Usage> {
        let returned_items = trestle_wire::items_of_plain_read(answer)?;
        Some(Usage {
            returned_items,
            ..Usage::default()
        })
    }

    fn returning(self, items: usize) -> Usage {
        Usage {
            returned_items: items as u64,
            ..self
        }
    }
}

fn read<'a>(consumed: impl IntoIterator<Item = &'a ConsumedCapacity>) -> Usage {
    Usage {
        read_units: units(consumed),
        ..Usage::default()
    }
}

fn write<'a>(consumed: impl IntoIterator<Item = &'a ConsumedCapacity>) -> Usage {
    Usage {
        write_units: units(consumed),
        ..Usage::default()
    }
}

fn units<'a>(consumed: impl IntoIterator<Item = &'a ConsumedCapacity>) -> f64 {
    consumed
        .into_iter()
        .filter_map(|capacity| capacity.capacity_units)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_api::{BatchWriteItemOutput, QueryOutput};

    fn capacity(units: f64) -> ConsumedCapacity {
        ConsumedCapacity {
            capacity_units: Some(units),
            ..ConsumedCapacity::default()
        }
    }

    #[test]
    fn a_query_returns_items_and_reads() {
        let output = QueryOutput {
            count: 3,
            consumed_capacity: Some(capacity(1.5)),
            ..QueryOutput::default()
        };
        let expected = Usage {
            returned_items: 3,
            read_units: 1.5,
            write_units: 0.0,
        };
        assert_eq!(Usage::of(&output.into()), expected);
    }

    #[test]
    fn a_batch_writes_the_sum_over_its_tables() {
        let output = BatchWriteItemOutput {
            consumed_capacity: Some(vec![capacity(2.0), capacity(3.0)]),
            ..BatchWriteItemOutput::default()
        };
        assert_eq!(Usage::of(&output.into()).write_units, 5.0);
    }
}
