//! A version of Python on an architecture, in the original's notation: `p3.12` is x86_64, `p3.12-arm64` is
//! arm64.

use pep508_rs::{MarkerEnvironment, MarkerEnvironmentBuilder};

use crate::Error;

/// The target of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Python<'p> {
    /// `3.12`
    pub(crate) version: &'p str,
    minor: u32,
    /// `x86_64` or `arm64`, Lambda's names.
    pub(crate) architecture: &'static str,
}

impl<'p> Python<'p> {
    pub(crate) fn parse(name: &'p str) -> Option<Self> {
        let name = name.strip_prefix('p')?;
        let (version, architecture) = match name.split_once('-') {
            None => (name, "x86_64"),
            Some((version, "arm64")) => (version, "arm64"),
            Some(_) => return None,
        };
        let minor = version.strip_prefix("3.")?.parse().ok()?;
        (version == format!("3.{minor}")).then_some(Self {
            version,
            minor,
            architecture,
        })
    }

    /// The name for Lambda's `python3.12` on this architecture.
    pub(crate) fn name_of(runtime: &str, architecture: &str) -> Option<String> {
        let name = runtime.strip_prefix("python").map(|version| match architecture {
            "x86_64" => format!("p{version}"),
            other => format!("p{version}-{other}"),
        });
        name.filter(|name| Python::parse(name).is_some())
    }

    /// `python3.12`
    pub(crate) fn runtime(self) -> String {
        format!("python{}", self.version)
    }

    /// The environment for conditions of requirements. Its patch version is the first one, as for pip: a
    /// superfluous package does no harm.
    pub(crate) fn markers(self) -> Result<MarkerEnvironment, Error> {
        let full = format!("{}.0", self.version);
        let machine = self.architecture.replace("arm64", "aarch64");
        let markers = MarkerEnvironment::try_from(MarkerEnvironmentBuilder {
            implementation_name: "cpython",
            implementation_version: &full,
            os_name: "posix",
            platform_machine: &machine,
            platform_python_implementation: "CPython",
            platform_release: "",
            platform_system: "Linux",
            platform_version: "",
            python_full_version: &full,
            python_version: self.version,
            sys_platform: "linux",
        });
        markers.map_err(|error| Error::Pip(error.to_string()))
    }

    /// pip's names for the platforms of wheels: those with a C library that is not newer than Lambda's, which
    /// is 2.34 since Python 3.12, and 2.26 before.
    pub(crate) fn platforms(self) -> Vec<String> {
        let machine = self.architecture.replace("arm64", "aarch64");
        let newest = if self.minor < 12 { 26 } else { 34 };
        let libraries = (5..=newest).rev();
        let libraries = libraries.map(|minor| format!("manylinux_2_{minor}_{machine}"));
        libraries.chain([format!("manylinux2014_{machine}")]).collect()
    }
}

/// For the command line: a version of Python that layers can be made for.
pub(crate) fn python_name(text: &str) -> Result<String, String> {
    let known = Python::parse(text).map(|_| text.to_owned());
    known.ok_or_else(|| "name a version such as p3.12, or p3.12-arm64 for the other architecture".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_original_and_nothing_else() {
        let python = |name| Python::parse(name).map(|python| (python.version, python.architecture));
        assert_eq!(python("p3.12"), Some(("3.12", "x86_64")));
        assert_eq!(python("p3.9-arm64"), Some(("3.9", "arm64")));
        for name in [
            "",
            "p",
            "3.12",
            "p2.7",
            "p3",
            "p3.",
            "p3.x",
            "p3.012",
            "p3.12-",
            "p3.12-x86",
        ] {
            assert_eq!(python(name), None, "{name}");
        }
        assert_eq!(
            Python::name_of("python3.12", "arm64").as_deref(),
            Some("p3.12-arm64")
        );
        assert_eq!(Python::name_of("nodejs22.x", "x86_64"), None);
    }

    #[test]
    fn older_pythons_run_on_an_older_c_library() {
        let platforms = |name| Python::parse(name).unwrap().platforms();
        assert!(platforms("p3.12").contains(&"manylinux_2_28_x86_64".to_owned()));
        assert!(!platforms("p3.11").contains(&"manylinux_2_28_x86_64".to_owned()));
        assert!(platforms("p3.11-arm64").contains(&"manylinux2014_aarch64".to_owned()));
    }
}
