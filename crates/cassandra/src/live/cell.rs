//! Converts values received by the driver to the literals that `cqlsh` would write.

use std::borrow::Cow;
use std::net::IpAddr;

use scylla::cluster::metadata::{CollectionType, ColumnType, NativeType};
use scylla::deserialize::FrameSlice;
use scylla::deserialize::row::{ColumnIterator, DeserializeRow};
use scylla::deserialize::value::{
    DeserializeValue, ListlikeIterator, MapIterator, UdtIterator, VectorIterator,
};
use scylla::deserialize::{DeserializationError, TypeCheckError};
use scylla::frame::response::result::ColumnSpec;
use scylla::value::{
    Counter, CqlDate, CqlDecimal, CqlDuration, CqlTime, CqlTimestamp, CqlTimeuuid, CqlVarint,
};
use uuid::Uuid;

use super::text;
use crate::value::Literal;

/// A row of a select whose first column is the token.
pub(crate) struct SelectedRow<'f> {
    pub(crate) token: i64,
    pub(crate) values: Vec<Literal<'f>>,
}

impl<'f, 'm> DeserializeRow<'f, 'm> for SelectedRow<'f> {
    fn type_check(specs: &[ColumnSpec<'_>]) -> Result<(), TypeCheckError> {
        match specs.first() {
            Some(token) => <i64 as DeserializeValue>::type_check(token.typ()),
            None => Ok(()),
        }
    }

    fn deserialize(mut row: ColumnIterator<'f, 'm>) -> Result<Self, DeserializationError> {
        let token = match row.next().transpose()? {
            Some(column) => i64::deserialize(column.spec.typ(), column.slice)?,
            None => i64::MIN,
        };
        let mut values = Vec::with_capacity(row.columns_remaining());
        for column in row {
            let column = column?;
            values.push(Cell::deserialize(column.spec.typ(), column.slice)?.0);
        }
        Ok(SelectedRow { token, values })
    }
}

/// A value of any type.
struct Cell<'f>(Literal<'f>);

impl<'f, 'm> DeserializeValue<'f, 'm> for Cell<'f> {
    fn type_check(_: &ColumnType<'_>) -> Result<(), TypeCheckError> {
        Ok(())
    }

    fn deserialize(
        of: &'m ColumnType<'m>,
        value: Option<FrameSlice<'f>>,
    ) -> Result<Self, DeserializationError> {
        let Some(slice) = value else {
            return Ok(Cell(Literal::Null));
        };
        let literal = match of {
            ColumnType::Native(NativeType::Text | NativeType::Ascii) => {
                Literal::Text(Cow::Borrowed(<&str>::deserialize(of, value)?))
            }
            ColumnType::Native(NativeType::Blob) => Literal::Word(text::blob(slice.as_slice()).into()),
            // Cassandra has empty values of every type, which have no equivalent in the other types here.
            _ if slice.is_empty() => Literal::Null,
            ColumnType::Native(native) => Literal::Word(word(native, of, value)?.into()),
            ColumnType::Collection {
                typ: CollectionType::Map(..),
                ..
            } => {
                let pairs = MapIterator::<Cell<'f>, Cell<'f>>::deserialize(of, value)?;
                let pairs = pairs.map(|pair| pair.map(|(key, value)| (key.0, value.0)));
                Literal::Pairs(pairs.collect::<Result<_, _>>()?)
            }
            ColumnType::Vector { .. } => {
                let items = VectorIterator::<Cell<'f>>::deserialize(of, value)?;
                Literal::Items(
                    items
                        .map(|item| Ok(item?.0))
                        .collect::<Result<_, DeserializationError>>()?,
                )
            }
            ColumnType::UserDefinedType { .. } => {
                let mut fields = Vec::new();
                for ((name, of), field) in UdtIterator::deserialize(of, value)? {
                    let name = Literal::Word(Cow::Owned(name.to_string()));
                    fields.push((name, Cell::deserialize(of, field?.flatten())?.0));
                }
                Literal::Pairs(fields)
            }
            ColumnType::Tuple(members) => Literal::Items(tuple(members, slice)?),
            // Lists and sets; for any other type, this returns an error.
            _ => {
                ListlikeIterator::<Cell<'f>>::type_check(of).map_err(DeserializationError::new)?;
                let items = ListlikeIterator::<Cell<'f>>::deserialize(of, value)?;
                Literal::Items(
                    items
                        .map(|item| Ok(item?.0))
                        .collect::<Result<_, DeserializationError>>()?,
                )
            }
        };
        Ok(Cell(literal))
    }
}

/// A tuple has fewer members if some were added to its type later.
fn tuple<'f>(
    members: &[ColumnType<'_>],
    mut slice: FrameSlice<'f>,
) -> Result<Vec<Literal<'f>>, DeserializationError> {
    let mut items = Vec::with_capacity(members.len());
    for of in members {
        let member = match slice.is_empty() {
            true => None,
            false => slice.read_cql_bytes().map_err(DeserializationError::new)?,
        };
        items.push(Cell::deserialize(of, member)?.0);
    }
    Ok(items)
}

fn word<'f, 'm>(
    native: &NativeType,
    of: &'m ColumnType<'m>,
    value: Option<FrameSlice<'f>>,
) -> Result<String, DeserializationError> {
    Ok(match native {
        NativeType::Boolean => bool::deserialize(of, value)?.to_string(),
        NativeType::TinyInt => i8::deserialize(of, value)?.to_string(),
        NativeType::SmallInt => i16::deserialize(of, value)?.to_string(),
        NativeType::Int => i32::deserialize(of, value)?.to_string(),
        NativeType::BigInt => i64::deserialize(of, value)?.to_string(),
        NativeType::Counter => Counter::deserialize(of, value)?.0.to_string(),
        NativeType::Varint => {
            let varint = CqlVarint::deserialize(of, value)?;
            text::varint(varint.as_signed_bytes_be_slice())
        }
        NativeType::Decimal => {
            let decimal = CqlDecimal::deserialize(of, value)?;
            let (unscaled, scale) = decimal.as_signed_be_bytes_slice_and_exponent();
            text::decimal(&text::varint(unscaled), scale)
        }
        NativeType::Float => text::floating(format!("{:?}", f32::deserialize(of, value)?)),
        NativeType::Double => text::floating(format!("{:?}", f64::deserialize(of, value)?)),
        NativeType::Timestamp => text::timestamp(CqlTimestamp::deserialize(of, value)?.0),
        NativeType::Date => text::date(CqlDate::deserialize(of, value)?.0),
        NativeType::Time => text::time(CqlTime::deserialize(of, value)?.0),
        NativeType::Duration => {
            let CqlDuration {
                months,
                days,
                nanoseconds,
            } = CqlDuration::deserialize(of, value)?;
            text::duration(months, days, nanoseconds)
        }
        NativeType::Timeuuid => CqlTimeuuid::deserialize(of, value)?.to_string(),
        NativeType::Inet => IpAddr::deserialize(of, value)?.to_string(),
        // For an unknown type, this returns the error that it is no uuid.
        _ => {
            <Uuid as DeserializeValue>::type_check(of).map_err(DeserializationError::new)?;
            Uuid::deserialize(of, value)?.to_string()
        }
    })
}
