//! Any JSON is a pattern or has faults; a member that a pattern does not know makes no difference. The first line is the pattern
//! or the template, the rest the event.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use trestle_pattern::{Pattern, Template};

const UNKNOWN: &str = "\u{0}unknown";

fuzz_target!(|text: &str| {
    let (first, rest) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(event) = serde_json::from_str::<Value>(rest) else { return };
    if let Ok(template) = Template::parse(first) {
        template.fill(&event);
    }
    let Ok(pattern) = serde_json::from_str::<Value>(first) else { return };
    match Pattern::parse(&pattern) {
        Ok(pattern) if !first.contains("unknown") => {
            let mut more = event.clone();
            if let Some(members) = more.as_object_mut() {
                members.insert(UNKNOWN.to_owned(), Value::from(1));
            }
            assert_eq!(pattern.matches(&event), pattern.matches(&more), "{first} {rest}");
        }
        Ok(pattern) => drop(pattern.matches(&event)),
        Err(faults) => assert!(!faults.is_empty(), "what is refused has a reason"),
    }
});
