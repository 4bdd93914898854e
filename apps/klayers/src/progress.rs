//! How far a run is: a bar on a terminal, lines in a log.

use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressStyle};

/// Is told how far a run is.
pub trait Progress: Send + Sync {
    /// There are so many layers to look after.
    fn begin(&self, layers: u64);
    /// So many of them are as they should be now.
    fn step(&self, layers: u64, what: &str);
    /// There is no more.
    fn end(&self);
}

/// Says nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: u64) {}
    fn step(&self, _: u64, _: &str) {}
    fn end(&self) {}
}

/// A bar on the terminal.
#[derive(Clone, Debug)]
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar that is drawn as soon as there is something to do.
    #[must_use]
    pub fn new() -> Self {
        let bar = ProgressBar::hidden();
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} layers, {elapsed}  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(bar)
    }
}

impl Default for Bar {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress for Bar {
    fn begin(&self, layers: u64) {
        self.0.set_length(layers);
        self.0.set_draw_target(indicatif::ProgressDrawTarget::stderr());
    }

    fn step(&self, layers: u64, what: &str) {
        self.0.set_message(what.to_owned());
        self.0.inc(layers);
    }

    fn end(&self) {
        self.0.finish_with_message("done");
    }
}

/// A line in the log for each package.
#[derive(Debug, Default)]
pub struct Lines {
    total: AtomicU64,
    done: AtomicU64,
}

impl Progress for Lines {
    fn begin(&self, layers: u64) {
        self.total.store(layers, Ordering::Relaxed);
    }

    fn step(&self, layers: u64, what: &str) {
        let done = self.done.fetch_add(layers, Ordering::Relaxed) + layers;
        tracing::info!(done, of = self.total.load(Ordering::Relaxed), "{what}");
    }

    fn end(&self) {}
}
