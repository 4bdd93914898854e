//! Any body for any operation is a request or a refusal, and a decoded request can be encoded again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trestle_api::OperationName;

fuzz_target!(|input: (u8, &[u8])| {
    let (which, body) = input;
    let all = OperationName::ALL;
    let Some(operation) = all.get(usize::from(which) % all.len()).copied() else { return };
    match trestle_wire::decode(operation, body) {
        Ok(request) => {
            let again = trestle_wire::decode(operation, &trestle_wire::encode_request(&request));
            assert_eq!(again.as_ref(), Ok(&request), "a request survives the way out and in");
        }
        Err(error) => {
            let (status, _) = trestle_wire::encode_error(&error);
            assert!((400..600).contains(&status), "a refusal has an error's status");
        }
    }
});
