//! The model: a struct for each entity and a function for each access pattern.

#![allow(
    missing_docs,
    reason = "generated from the model file, which describes itself"
)]

trestle::model!("warehouse.toml");
