//! What code made from a model file stands on: keys, rows, updates, queries and transactions over any `Database`.
