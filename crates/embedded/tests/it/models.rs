//! Models of an open database: what applying one changes and refuses, and what is guaranteed afterwards.

mod audit;
mod background_copies;
mod closing;
mod constraints;
mod counts;
mod effects;
mod entries;
mod fill;
mod follows;
mod heads;
mod identities;
mod large_values;
mod migration;
mod renamed_effects;
mod rows;
mod stored;
mod support;
mod systems;
mod tables;
mod tables_in_use;
mod updates;
mod writes;
