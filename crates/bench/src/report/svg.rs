//! The report as a chart: one panel per workload, one bar per server, lengths in operations per second.

use super::{Report, TargetReport};
use crate::target::Target;
use crate::thousands;
use crate::workload::Workload;
use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const LABEL: f64 = 130.0;
const BAR: f64 = 16.0;
const GAP: f64 = 5.0;
const TITLE: f64 = 26.0;
const MARGIN: f64 = 20.0;
const HEAD: f64 = 56.0;
/// Space for the figure after the longest bar.
const FIGURE: f64 = 150.0;

pub(super) fn draw(report: &Report) -> String {
    let mut body = String::new();
    let mut y = HEAD;
    for (connections, workload) in report.phases() {
        y = panel(&mut body, report, connections, workload, y);
    }
    let height = y + MARGIN;
    let note = escape(&format!(
        "{} processors, shared by server and load generator; items of {} bytes; {} s each",
        report.machine.processors, report.item_bytes, report.seconds
    ));
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="system-ui, sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="{MARGIN}" y="26" font-size="16" font-weight="600" fill="#1c2733">Operations per second, longer is better</text>
<text x="{MARGIN}" y="44" fill="#5b6875">{note}</text>
{body}</svg>
"##
    )
}

/// Draws one workload; returns the position of the next one.
fn panel(out: &mut String, report: &Report, connections: usize, workload: Workload, top: f64) -> f64 {
    let title = format!("{workload}, {connections} connections");
    let mut y = top + TITLE;
    let _ = writeln!(
        out,
        r##"<text x="{MARGIN}" y="{:.0}" font-weight="600" fill="#1c2733">{title}</text>"##,
        y - 8.0
    );
    let figures = |target: &TargetReport| {
        target
            .figures(workload, connections)
            .map(|figures| figures.per_second)
    };
    let most = report.targets.iter().filter_map(figures).fold(1.0, f64::max);
    for target in &report.targets {
        bar(out, target, figures(target), most, y);
        y += BAR + GAP;
    }
    y
}

fn bar(out: &mut String, target: &TargetReport, per_second: Option<f64>, most: f64, y: f64) {
    let middle = y + BAR - 4.0;
    let _ = writeln!(
        out,
        r##"<text x="{:.0}" y="{middle:.0}" text-anchor="end" fill="#1c2733">{}</text>"##,
        MARGIN + LABEL - 8.0,
        escape(target.target.name())
    );
    let start = MARGIN + LABEL;
    let length = per_second
        .map_or(0.0, |value| (WIDTH - start - FIGURE) * value / most)
        .max(1.0);
    let _ = writeln!(
        out,
        r##"<rect x="{start:.0}" y="{y:.0}" width="{length:.1}" height="{BAR}" rx="2" fill="{}"/>"##,
        colour(target.target)
    );
    let figure = per_second.map_or_else(|| "none".to_owned(), thousands);
    let _ = writeln!(
        out,
        r##"<text x="{:.1}" y="{middle:.0}" fill="#5b6875">{figure}</text>"##,
        start + length + 6.0
    );
}

/// Trestle has a distinct colour; the others are distinguished by their labels.
fn colour(target: Target) -> &'static str {
    match target {
        Target::Trestle => "#0f7b6c",
        Target::Before => "#7fb3ab",
        Target::DynamodbLocal | Target::Dynoxide | Target::Dynalite => "#b3bec9",
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn every_server_has_a_bar_in_every_panel() {
        let svg = draw(&sample::report());
        assert_eq!(svg.matches(r##"rx="2""##).count(), 4);
        assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
        assert!(svg.contains(">8,000<") && svg.contains(">none<"));
    }

    #[test]
    fn the_longest_bar_leaves_room_for_its_figure() {
        let svg = draw(&sample::report());
        let widths = svg
            .split("width=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next());
        let bars: Vec<f64> = widths
            .filter_map(|width| width.parse().ok())
            .filter(|width| *width < WIDTH)
            .collect();
        let longest = bars.iter().copied().fold(0.0, f64::max);
        assert_eq!(longest, WIDTH - MARGIN - LABEL - FIGURE);
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("<a & b>"), "&lt;a &amp; b&gt;");
    }
}
