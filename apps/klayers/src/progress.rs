//! How far a run is: a bar on a terminal, lines in a log elsewhere.

use indicatif::{ProgressBar, ProgressStyle};

/// Shows how far a run is.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Knows whether it is drawn.
    bar: ProgressBar,
}

impl Progress {
    /// There are so many layers to look after.
    pub(crate) fn begin(layers: u64) -> Self {
        let bar = ProgressBar::new(layers);
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} layers, {elapsed}  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar }
    }

    /// So many more of them have been looked after.
    pub(crate) fn step(&self, layers: u64, what: String) {
        self.bar.inc(layers);
        if self.bar.is_hidden() {
            tracing::info!(done = self.bar.position(), of = self.bar.length(), "{what}");
        }
        self.bar.set_message(what);
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
