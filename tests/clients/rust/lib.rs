//! Nothing but tests lives here; see `tests/sdk`.
