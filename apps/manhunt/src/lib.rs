//! Manhunt: finds a person by trying their contact methods one after another, until they answer, the search is called
//! off, or nothing is left to try.
//!
//! Contacts, methods, searches and attempts are in one table with two overloaded indexes, as the model file
//! describes. Writing a search starts a chain: the database sends its first step to a queue. Each step makes
//! the next attempts and puts the messages that send them, and the next step, into the queue, in the same
//! commit.
//!
//! Start reading at [`Service`], then `hunt.rs` and `sending.rs`.

mod answers;
pub mod api;
mod attempt_id;
pub mod channel;
mod contacts;
mod dead_letters;
pub mod demo;
mod destination;
mod hunt;
mod keys;
mod methods;
mod metrics;
pub mod model;
mod quiet_hours;
mod searches;
mod sending;
mod service;
mod trail;

pub use attempt_id::AttemptId;
pub use contacts::ContactDraft;
pub use hunt::Step;
pub use methods::MethodDraft;
pub use searches::{SearchDraft, SearchFilter, Words};
pub use service::{Running, STEPS, Service, Settings};
pub use trail::{Entry, Trail, trail};
pub use trestle::app::{Error, Result};
