//! Any text is a route file or has problems with a place in it; every destination is checked before it is used.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::cell::Cell;
use trestle_events::read_routes;

fuzz_target!(|text: &str| {
    let checked = Cell::new(0);
    let file = read_routes(text, &[], &|_| {
        checked.set(checked.get() + 1);
        Vec::new()
    });
    let lines = text.split('\n').count();
    for problem in &file.problems {
        assert!((1..=lines).contains(&problem.line) && problem.column >= 1, "{problem}");
    }
    if file.problems.is_empty() {
        assert!(file.routes.len() <= checked.get(), "a destination was not checked");
        for route in &file.routes {
            assert!(route.target.kind().is_some() && !route.table.is_empty(), "{route:?}");
        }
    }
    let refused = read_routes(text, &[], &|_| vec!["refused".to_owned()]);
    assert!(refused.routes.is_empty() || !refused.problems.is_empty(), "a destination that is refused is a problem");
});
