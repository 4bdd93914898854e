//! The binary as a user meets it: what it prints, how it ends.

mod configuration;
mod running;
mod serving;
mod usage;
