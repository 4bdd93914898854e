//! A list of layers as JSON, CSV or HTML.

use std::fmt::Write as _;

use axum::http::header;
use axum::response::{Html, IntoResponse, Json, Response};

use super::Failure;
use super::view::LatestView;

/// What a list can be asked for as.
pub(super) const FORMATS: [&str; 3] = ["json", "csv", "html"];

/// The list in this format; in JSON if there is no such format.
pub(super) fn answer(
    format: &str,
    region: &str,
    python: &str,
    layers: Vec<LatestView>,
) -> Result<Response, Failure> {
    Ok(match format {
        "csv" => {
            let name = format!(
                "attachment; filename=klayers-{}-{}.csv",
                plain(region),
                plain(python)
            );
            let headers = [
                (header::CONTENT_TYPE, "text/csv".to_owned()),
                (header::CONTENT_DISPOSITION, name),
            ];
            (headers, csv(&layers)?).into_response()
        }
        "html" => Html(html(region, python, &layers)).into_response(),
        _ => Json(layers).into_response(),
    })
}

/// What a client wrote goes into a header only as far as it can be part of a file's name.
fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_ascii_alphanumeric() || "-.".contains(*c))
        .collect()
}

fn csv(layers: &[LatestView]) -> Result<Vec<u8>, csv::Error> {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(["Package", "Package Version", "arn"])?;
    for layer in layers {
        out.write_record([&layer.package, &layer.package_version, &layer.arn])?;
    }
    out.into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))
}

fn html(region: &str, python: &str, layers: &[LatestView]) -> String {
    let title = format!("Layers for {} in {}", escape(python), escape(region));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title}</title></head>\n<body>\n\
         <h1>{title}</h1>\n<table>\n<tr><th>Package</th><th>Package Version</th><th>arn</th></tr>\n"
    );
    for layer in layers {
        let cells = [&layer.package, &layer.package_version, &layer.arn].map(|cell| escape(cell));
        let [package, version, arn] = cells;
        // Writing to a text cannot fail.
        let _ = writeln!(
            page,
            "<tr><td>{package}</td><td>{version}</td><td>{arn}</td></tr>"
        );
    }
    page.push_str("</table>\n</body>\n</html>\n");
    page
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
