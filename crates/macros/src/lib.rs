//! `model!`: a typed client from a model file, at compile time.
