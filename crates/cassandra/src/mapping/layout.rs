//! Finds the columns of an import in a file.

use super::BoundImport;
use crate::schema::CqlTable;

/// The positions of an import's columns in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileLayout {
    /// The position of each column of the import, in its order.
    pub(crate) columns: Vec<usize>,
    /// Positions and names of `writetime(…)` columns.
    pub(crate) write_times: Vec<(usize, String)>,
    /// Positions, names and columns of `ttl(…)` columns.
    pub(crate) ttls: Vec<(usize, String, String)>,
}

/// The role of a column of a file.
enum ColumnRole<'n> {
    Value(&'n str),
    WriteTime,
    Ttl(&'n str),
}

impl FileLayout {
    /// Finds the columns of an import among those of a file, or of a record.
    pub(crate) fn of<'n>(import: &BoundImport, names: impl Iterator<Item = &'n str>) -> Result<Self, String> {
        let mut values = Vec::new();
        let mut layout = FileLayout::default();
        for (at, name) in names.enumerate() {
            match role(&import.table, name)? {
                ColumnRole::Value(name) => values.push((at, name)),
                ColumnRole::WriteTime => layout.write_times.push((at, name.to_owned())),
                ColumnRole::Ttl(of) => layout.ttls.push((at, name.to_owned(), of.to_owned())),
            }
        }
        for column in &import.columns {
            let mut found = values.iter().filter(|(_, name)| *name == column.name);
            match (found.next(), found.next()) {
                (Some((at, _)), None) => layout.columns.push(*at),
                (None, _) => {
                    return Err(format!(
                        "has no column {}; export it, or leave it out in the mapping: `{} = false`",
                        column.name, column.name
                    ));
                }
                _ => return Err(format!("has the column {} twice", column.name)),
            }
        }
        layout.check_extras(import)?;
        Ok(layout)
    }

    /// The same for a JSON record, where columns are found by name, and those without a value may be missing.
    pub(crate) fn of_record<'n>(
        import: &BoundImport,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<Self, String> {
        let mut layout = FileLayout {
            columns: vec![0; import.columns.len()],
            ..FileLayout::default()
        };
        for name in names {
            match role(&import.table, name)? {
                ColumnRole::Value(_) => {}
                ColumnRole::WriteTime => layout.write_times.push((0, name.to_owned())),
                ColumnRole::Ttl(of) => layout.ttls.push((0, name.to_owned(), of.to_owned())),
            }
        }
        layout.check_extras(import)?;
        Ok(layout)
    }

    /// Checks that write times and times to live are imported or deliberately left out.
    fn check_extras(&self, import: &BoundImport) -> Result<(), String> {
        match (&import.write_time, self.write_times.is_empty()) {
            (None, false) => {
                return Err(
                    "has write times: say `write_time = \"attribute\"` in the mapping to keep them, or `write_time = false`".to_owned(),
                );
            }
            (Some(Some(_)), true) => {
                return Err(
                    "has no column `writetime(…)`, which the mapping asks for with `write_time`; export one, or leave it out".to_owned(),
                );
            }
            _ => {}
        }
        match (&import.expires, self.ttls.is_empty()) {
            (None, false) => Err(
                "has times to live: say `expires = \"attribute\"` and `exported` in the mapping to keep them, or `expires = false`"
                    .to_owned(),
            ),
            (Some(Some(_)), true) => Err(
                "has no column `ttl(…)`, which the mapping asks for with `expires`; export one, or leave it out".to_owned(),
            ),
            _ => Ok(()),
        }
    }
}

fn role<'n>(table: &CqlTable, name: &'n str) -> Result<ColumnRole<'n>, String> {
    if table.column(name).is_some() {
        return Ok(ColumnRole::Value(name));
    }
    let lower = name.to_ascii_lowercase();
    let inner = |function: &str| {
        let is_it = lower.starts_with(function) && lower.ends_with(')');
        let inner = is_it.then(|| name.get(function.len()..name.len() - 1))??;
        let inner = inner.trim_matches('"');
        table.column(inner).map(|_| inner)
    };
    if inner("writetime(").is_some() {
        return Ok(ColumnRole::WriteTime);
    }
    if let Some(of) = inner("ttl(") {
        return Ok(ColumnRole::Ttl(of));
    }
    let known: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    Err(format!(
        "has a column {name:?}, which table {} has not ({}); if the first line is no header, give the columns in the mapping: \
         `header = [\"{}\", …]`",
        table.full_name(),
        known.join(", "),
        known.first().copied().unwrap_or_default()
    ))
}
