//! The model: a struct for each entity and a function for each of the nine queries.

#![allow(
    missing_docs,
    reason = "generated from the model file, which describes itself"
)]

trestle::model!("../../models/manhunt.toml");
