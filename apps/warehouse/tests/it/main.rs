//! Warehouse as its clients see it: over HTTP, with the real npm where npm is meant. Tests of the system's acceptance points are
//! named after their numbers.

mod building;
mod heads;
mod http;
mod imported;
mod lines;
mod npm;
mod program;
mod publishing;
mod support;
