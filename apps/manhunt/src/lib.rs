//! Manhunt: finds a person by trying their contact methods one after another, until they answer, the search is called
//! off, or nothing is left to try.
//!
//! Contacts, methods, searches and attempts lie in one table with two overloaded indexes; the model file says how. A
//! search that is written starts a chain: the database sends its first step to a queue, and each step tries one method
//! and leaves the next step in the queue, in the same commit.
//!
//! Start reading at [`Service`], then `hunt.rs`.

pub mod api;
mod attempt_id;
pub mod channel;
mod contacts;
pub mod demo;
mod hunt;
mod lines;
pub mod model;
mod searches;
mod service;
mod trail;

pub use attempt_id::AttemptId;
pub use contacts::{MethodChange, MethodDraft};
pub use searches::{SearchFilter, Words};
pub use service::{Running, STEPS, Service};
pub use trail::{Entry, Trail, trail};
pub use trestle::app::{Error, Result};
