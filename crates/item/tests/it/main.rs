//! What every other crate relies on: exact numbers, ordered keys, a total codec and DynamoDB's JSON.

mod codec;
mod generate;
mod json;
mod key;
mod number;
mod oracle;
mod size;
mod value;
