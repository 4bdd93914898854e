//! An open database as programs, the server and tools see it.

mod expiry_while_closed;
mod lifetime;
mod own_tables;
mod repair;
mod routes;
mod support;
