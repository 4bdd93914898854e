//! The rows: a struct for each entity and a function for each list. The previous version has the same with
//! other keys.

#![allow(missing_docs, reason = "the model file describes itself")]

trestle::model!("littlehorse.toml");
