//! The status of a route.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use trestle_env::Timestamp;

use crate::{BackfillStatus, Gap};

/// The status of a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteStatus {
    /// The route.
    pub route: String,
    /// Its table.
    pub table: String,
    /// Its state.
    pub state: RouteState,
    /// Changes that have been read for it and are not done yet.
    pub waiting: u64,
    /// How many records the route is behind the newest of the stream: waiting ones, and those that have not
    /// been read for it. It is not known yet whether it takes the latter.
    pub lag_records: u64,
    /// The stream has not been counted to its end: the route is behind by at least `lag_records`.
    pub lag_at_least: bool,
    /// The age of the oldest change that is not done yet, in milliseconds; zero if there is none.
    pub lag_ms: u64,
    /// Changes delivered since the router started.
    pub delivered: u64,
    /// Further attempts to deliver a change since the router started.
    pub retried: u64,
    /// Changes that were refused and will be tried again, and those that wait for them.
    pub parked: u64,
    /// Dead letters.
    pub dead: u64,
    /// The records that the route may have missed, because the stream trimmed them before they were read.
    pub gaps: Vec<Gap>,
    /// Bytes of changes of the route's table that are older than the stream's retention and kept because a
    /// route has not delivered them.
    pub held_bytes: u64,
    /// The maximum number of bytes that are kept for this reason, of all tables together; 0 if none are kept.
    pub held_bytes_max: u64,
    /// Since when and why the route is on hold, if it is.
    pub on_hold: Option<OnHold>,
    /// The last error.
    pub last_error: Option<LastError>,
    /// Its last backfill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfill: Option<BackfillStatus>,
}

impl RouteStatus {
    /// The status of a route that neither reads nor delivers in this process.
    pub(crate) fn idle(route: String, table: String, state: RouteState) -> Self {
        RouteStatus {
            route,
            table,
            state,
            waiting: 0,
            lag_records: 0,
            lag_at_least: true,
            lag_ms: 0,
            delivered: 0,
            retried: 0,
            parked: 0,
            dead: 0,
            gaps: Vec::new(),
            held_bytes: 0,
            held_bytes_max: 0,
            on_hold: None,
            last_error: None,
            backfill: None,
        }
    }
}

/// Why a route is on hold: its target cannot be reached or fails, and no change is at fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnHold {
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// The error of the last attempt.
    pub reason: String,
    /// When the target is tried next, in milliseconds since 1970; in the past while that probe is under way.
    pub next_probe_ms: u64,
    /// The probe is under way: the target has not answered it yet.
    #[serde(default)]
    pub probing: bool,
    /// How many destinations are on hold, if the route distinguishes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<u64>,
}

/// The last error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastError {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The message.
    pub message: String,
    /// The target has taken changes since, without another error.
    #[serde(default)]
    pub past: bool,
}

/// The state of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RouteState {
    /// Delivers changes as they come.
    Running,
    /// Reads existing records of the stream, and is not at its end yet.
    CatchingUp,
    /// Delivers nothing until its target, which cannot be reached or fails, answers a probe.
    OnHold,
    /// Waits for a response of its target that takes long.
    AwaitingAnswer,
    /// The table has no stream to read.
    NoStream,
    /// Its target could not be opened; it keeps its position and its undelivered changes.
    HeldBack,
    /// Switched off.
    Disabled,
    /// Another gateway of the same endpoint runs it.
    AtAnotherGateway,
}

impl RouteState {
    /// Its name, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::CatchingUp => "catching-up",
            Self::OnHold => "on-hold",
            Self::AwaitingAnswer => "awaiting-answer",
            Self::NoStream => "no-stream",
            Self::HeldBack => "held-back",
            Self::Disabled => "disabled",
            Self::AtAnotherGateway => "at-another-gateway",
        }
    }

    /// Whether it neither reads nor delivers in this process.
    #[must_use]
    pub fn is_off(self) -> bool {
        matches!(self, Self::HeldBack | Self::Disabled | Self::AtAnotherGateway)
    }
}

/// Counters and the last error of a running route.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) delivered: AtomicU64,
    pub(crate) retried: AtomicU64,
    pub(crate) dead: AtomicU64,
    last_error: Mutex<Option<LastError>>,
}

impl Counters {
    pub(crate) fn failed(&self, at: Timestamp, message: &str) {
        *self.last_error.lock() = Some(LastError {
            at_ms: at.as_millis(),
            message: message.to_owned(),
            past: false,
        });
    }

    /// Records that changes were taken, in an attempt without errors.
    pub(crate) fn went_well(&self) {
        if let Some(last) = &mut *self.last_error.lock() {
            last.past = true;
        }
    }

    pub(crate) fn last_error(&self) -> Option<LastError> {
        self.last_error.lock().clone()
    }
}

/// Adds to a counter.
pub(crate) fn count(counter: &AtomicU64, more: usize) {
    counter.fetch_add(more as u64, Ordering::Relaxed);
}
