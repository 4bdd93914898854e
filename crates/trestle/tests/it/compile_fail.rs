//! Code that must not compile, and the compiler's messages.
//!
//! `TRYBUILD=overwrite cargo test -p trestle compile_fail` rewrites the expected texts: read them before
//! committing.

#[test]
fn mistakes_do_not_compile_and_the_compiler_names_the_models_words() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/fail/*.rs");
}
