//! Sample packages.
use crate::{Result, Service};
use std::io::Write;
/// x
pub async fn run(_service: &Service, _out: &mut impl Write) -> Result<()> { Ok(()) }
