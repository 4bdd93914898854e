//! Patterns compared with EventBridge's documentation, and with a naive implementation of it.

#![allow(clippy::unwrap_used, reason = "a helper of a test may stop it")]

mod documented;
mod envelope;
mod faults;
mod naive;
mod properties;
