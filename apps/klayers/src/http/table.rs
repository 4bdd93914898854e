//! A list of layers as CSV or HTML.

use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{Html, IntoResponse, Response};
use csv::{Terminator, WriterBuilder};
use trestle::app;

use super::Answer;
use crate::model::LayerInDeployedInRegionByPythonVersion as Row;

const COLUMNS: [&str; 3] = ["Package", "Package Version", "arn"];

fn cells(row: &Row) -> [&str; 3] {
    [&row.pckg, &row.pckg_vrsn, &row.arn]
}

/// In Python's format: lines end with CR and LF.
pub(super) fn csv(region: &str, python: &str, rows: &[Row]) -> Answer {
    let mut csv = WriterBuilder::new();
    let mut out = csv.terminator(Terminator::CRLF).from_writer(Vec::new());
    for line in std::iter::once(COLUMNS).chain(rows.iter().map(cells)) {
        out.write_record(line).map_err(app::Error::failed)?;
    }
    let body = out.into_inner().map_err(|error| error.into_error())?;
    let name = format!("klayers-{}-{}.csv", plain(region), plain(python));
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [(CONTENT_TYPE, "text/csv"), (CONTENT_DISPOSITION, &disposition)];
    Ok((headers, body).into_response())
}

/// A client's text is used in a header only as far as it can be part of a file name.
fn plain(text: &str) -> String {
    text.replace(|c: char| !c.is_ascii_alphanumeric() && !"-.".contains(c), "")
}

pub(super) fn html(region: &str, python: &str, rows: &[Row]) -> Response {
    let title = format!("Layers for {} in {}", escape(python), escape(region));
    let header = line("th", COLUMNS);
    let rows: String = rows.iter().map(|row| line("td", cells(row))).collect();
    let page = include_str!("../../table.html").replace("{title}", &title);
    Html(page.replace("{rows}", &(header + &rows))).into_response()
}

fn line(tag: &str, cells: [&str; 3]) -> String {
    let cells = cells.map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)));
    format!("<tr>{}</tr>\n", cells.concat())
}

/// For text between tags, its only use here.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
