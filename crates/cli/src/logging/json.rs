//! Log lines as JSON objects: time, level, the fields of the event, and the module.

use super::bounded::Bounded;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;
use std::fmt::{self, Debug};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// One JSON object in a line for each event.
pub(super) struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields(Vec::new());
        event.record(&mut fields);
        let line = line(event, &fields.0).map_err(|_| fmt::Error)?;
        writeln!(writer, "{line}")
    }
}

fn line(event: &Event<'_>, fields: &[(&str, Value)]) -> Result<String, serde_json::Error> {
    let mut time = String::new();
    // If the clock cannot be read, the time is empty.
    let _ = SystemTime.format_time(&mut Writer::new(&mut time));
    let mut bytes = Vec::new();
    let mut json = serde_json::Serializer::new(&mut bytes);
    let mut line = json.serialize_map(None)?;
    line.serialize_entry("timestamp", &time)?;
    line.serialize_entry("level", event.metadata().level().as_str())?;
    for (name, value) in fields {
        line.serialize_entry(name, value)?;
    }
    line.serialize_entry("target", event.metadata().target())?;
    line.end()?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The fields of an event, in its order.
struct Fields(Vec<(&'static str, Value)>);

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.push((field.name(), value.into()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.push((field.name(), value.into()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.push((field.name(), value.into()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.push((field.name(), value.into()));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = Bounded::cut(value).to_string();
        self.0.push((field.name(), text.into()));
    }
}
