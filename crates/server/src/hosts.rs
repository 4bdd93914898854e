//! The names that a server answers to.
//!
//! A web page can point its own name to a server that its visitor can reach (DNS rebinding). To the browser
//! both are then the same origin; only the name in `Host` shows the server that the request is meant for
//! another one.

use hyper::header;
use hyper::http::request::Parts;
use std::borrow::Cow;
use std::net::IpAddr;

/// Names that containers have for the machine they run on. No web page can have them.
const OF_CONTAINERS: [&str; 2] = ["host.docker.internal", "host.containers.internal"];

/// The names that a server answers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// All names: callers must sign.
    Any,
    /// Those of this machine, and the given ones.
    Loopback(Vec<String>),
    /// Addresses, names without a dot, which no web page can have, those of this machine, and the given ones.
    Local(Vec<String>),
}

impl Hosts {
    /// The names of a server that listens at an address. `also` contains additional names; `*` stands for
    /// all.
    pub(crate) fn of(address: IpAddr, has_keys: bool, also: &[String]) -> Self {
        let also: Vec<String> = also.iter().map(|host| host.to_ascii_lowercase()).collect();
        if also.iter().any(|host| host == "*") {
            Hosts::Any
        } else if address.is_loopback() {
            Hosts::Loopback(also)
        } else if has_keys {
            Hosts::Any
        } else {
            Hosts::Local(also)
        }
    }

    /// Whether a request is meant for this server; otherwise, the name in the request.
    pub(crate) fn check(&self, head: &Parts) -> Result<(), String> {
        let header = head.headers.get(header::HOST).map(|host| host.as_bytes());
        let authority = || {
            head.uri
                .authority()
                .map(|authority| authority.as_str().as_bytes())
        };
        // Browsers always send the host.
        let Some(named) = header.or_else(authority) else {
            return Ok(());
        };
        if is_usual(named) {
            return Ok(());
        }
        let named = String::from_utf8_lossy(named);
        let name = name_of(&named);
        if self.has(&name) {
            Ok(())
        } else {
            Err(name.into_owned())
        }
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Hosts::Any => true,
            Hosts::Loopback(also) => is_of_this_machine(name) || also.iter().any(|host| host == name),
            Hosts::Local(also) => {
                name.parse::<IpAddr>().is_ok()
                    || !name.contains('.')
                    || is_of_this_machine(name)
                    || also.iter().any(|host| host == name)
            }
        }
    }
}

/// Whether a host is one by which clients on this machine call it, so that most requests need no further
/// check.
fn is_usual(host: &[u8]) -> bool {
    let port = host
        .strip_prefix(b"localhost:")
        .or_else(|| host.strip_prefix(b"127.0.0.1:"));
    port.is_some_and(is_port)
}

fn is_port(port: &[u8]) -> bool {
    port.iter().all(u8::is_ascii_digit)
}

/// The name without its port, in lower case.
fn name_of(host: &str) -> Cow<'_, str> {
    let host = host.trim();
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => match host.rsplit_once(':') {
            Some((name, port)) if is_port(port.as_bytes()) => name,
            _ => host,
        },
    };
    let name = name.trim_end_matches('.');
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return name.to_ascii_lowercase().into();
    }
    name.into()
}

/// Whether a name, or an address, can only belong to this machine.
pub(crate) fn is_of_this_machine(name: &str) -> bool {
    let is_address = |address: IpAddr| address.is_loopback() || address.is_unspecified();
    name == "localhost"
        || name.ends_with(".localhost")
        || OF_CONTAINERS.contains(&name)
        || name.parse().is_ok_and(is_address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn asked(hosts: &Hosts, host: &str) -> bool {
        let request = Request::builder().header(header::HOST, host).body(()).unwrap();
        hosts.check(&request.into_parts().0).is_ok()
    }

    fn of(address: &str, has_keys: bool, also: &[&str]) -> Hosts {
        let also: Vec<String> = also.iter().map(|host| (*host).to_owned()).collect();
        Hosts::of(address.parse().unwrap(), has_keys, &also)
    }

    #[test]
    fn a_server_of_this_machine_answers_to_names_of_this_machine() {
        let hosts = of("127.0.0.1", false, &["Db.Example"]);
        for host in [
            "localhost",
            "LOCALHOST:8000",
            "127.0.0.1:8000",
            "127.1.2.3",
            "[::1]:8000",
            "0.0.0.0:8000",
            "app.localhost:1",
            "localhost.:8000",
            "host.docker.internal:8000",
            "db.example:8000",
        ] {
            assert!(asked(&hosts, host), "{host}");
        }
        for host in [
            "evil.example:8000",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost:8000.evil.example",
            "192.168.1.5:8000",
            "evil",
            "",
            "[::ffff:1.2.3.4]:8000",
        ] {
            assert!(!asked(&hosts, host), "{host}");
        }
    }

    #[test]
    fn a_server_for_others_answers_to_any_name_where_callers_sign() {
        assert!(asked(&of("0.0.0.0", true, &[]), "db.example"));
        assert!(asked(&of("127.0.0.1", true, &["*"]), "db.example"));
        assert!(!asked(&of("127.0.0.1", true, &[]), "db.example"));
    }

    #[test]
    fn a_server_for_others_without_keys_answers_to_names_that_no_page_can_have() {
        let hosts = of("0.0.0.0", false, &["db.example"]);
        for host in ["10.0.0.7:8000", "trestle:8000", "[fd00::1]:8000", "db.example"] {
            assert!(asked(&hosts, host), "{host}");
        }
        assert!(!asked(&hosts, "evil.example"));
    }

    #[test]
    fn a_request_that_names_no_host_is_answered() {
        let request = Request::builder().uri("/").body(()).unwrap();
        assert_eq!(of("127.0.0.1", false, &[]).check(&request.into_parts().0), Ok(()));
    }
}
