//! What a route may use of the process that runs it.

use trestle_http_client::{Endpoint, Reach};

/// What a route may use of the process that runs it. A route from the operator's files may use all of it; one
/// that was created over the network may not run programs, read files and variables, or connect to the
/// network of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trust {
    /// Run programs, and read files and environment variables.
    pub commands_and_secrets: bool,
    /// Connect to loopback, link-local and private addresses.
    pub private_addresses: bool,
}

impl Trust {
    /// Everything.
    pub const ALL: Trust = Trust {
        commands_and_secrets: true,
        private_addresses: true,
    };

    /// Nothing.
    pub const NONE: Trust = Trust {
        commands_and_secrets: false,
        private_addresses: false,
    };

    pub(crate) fn reach(self) -> Reach {
        match self.private_addresses {
            true => Reach::Anywhere,
            false => Reach::Public,
        }
    }

    /// Refuses an address that is not allowed; the addresses of a name are checked with each connection.
    pub(crate) fn check(self, endpoint: &Endpoint) -> Result<(), String> {
        let is_refused = match endpoint.host.parse() {
            Ok(address) => !self.reach().has(address),
            Err(_) => !self.private_addresses && is_local_name(&endpoint.host),
        };
        if is_refused {
            Err(PRIVATE.to_owned())
        } else {
            Ok(())
        }
    }
}

fn is_local_name(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

/// Why a command, a file or a variable is refused.
pub(crate) const NOT_TRUSTED: &str = "is only for routes in files that the server was started with: name the file at the \
                                      start (`trestle serve --routes FILE`), or start the server with --allow-command-routes";

const PRIVATE: &str = "is no address of the public internet, which is only for routes in files that the server was started \
                       with: name the file at the start (`trestle serve --routes FILE`), or start the server with \
                       --allow-private-webhooks";
