//! Error texts of AWS at two times.

use crate::running::start;

#[test]
fn a_server_speaks_the_texts_that_it_was_told_to() {
    let directory = tempfile::tempdir().unwrap();
    let put = r#"{"TableName":"notes","Item":{"pk":{"S":"a"}},"ReturnValues":"ALL_NEW"}"#;
    for (flags, text) in [
        (&[][..], "1 validation error detected: ReturnValues can only be"),
        (&["--error-texts", "2026-05"][..], "\"ReturnValues can only be"),
    ] {
        let serve = ["serve", "--in-memory", "--port", "0"];
        let server = start(directory.path(), &[&serve[..], flags].concat());
        let refused = server.call("PutItem", put);
        assert!(refused.contains(text), "{refused}");
        assert_eq!(server.stop().0, Some(0));
    }
}
