//! Rows of several entities, sorted by entity.

use crate::{AccessRows, Error, FromRow};

/// An enum of entities whose rows can be sorted into a struct with a field for each.
pub trait Collection: FromRow {
    /// The struct.
    type Gathered: Default + Send;

    /// Adds the row to its field.
    fn gather(self, into: &mut Self::Gathered);
}

impl<T: Collection, How> AccessRows<'_, T, How> {
    /// All rows, sorted by entity. Within a list they keep their order.
    pub async fn gather(self) -> Result<T::Gathered, Error> {
        let mut stream = self.stream();
        let mut gathered = T::Gathered::default();
        while let Some(row) = stream.next().await {
            row?.gather(&mut gathered);
        }
        Ok(gathered)
    }
}
