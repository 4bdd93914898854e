//! A model proposed from what is there: a table's rows, or a file of another modelling tool.
//!
//! The crate is pure. What it proposes is text, a model file that loads, with the evidence in its comments.
