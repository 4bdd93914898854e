//! Versions of the model: their effects, and the layout of their documents.

use std::path::Path;
use std::process::{Command, Output};
use trestle_torture::server::binary;

/// What a version may have or lack.
pub(super) const EFFECTS: [&str; 8] = [
    "head", "unique", "entries", "counter", "inverse", "mirror", "copy", "late",
];

/// A version of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) model: String,
    pub(super) effects: Vec<&'static str>,
    /// The prefix of the keys of documents.
    pub(super) layout: &'static str,
}

impl Version {
    /// The version with every effect.
    pub(super) fn whole(model: &str) -> Self {
        Version {
            model: model.to_owned(),
            effects: EFFECTS.to_vec(),
            layout: "doc",
        }
    }

    /// The same with one effect added, or removed.
    pub(super) fn toggled(&self, effect: &'static str) -> Self {
        let mut other = self.clone();
        match other.effects.iter().position(|known| *known == effect) {
            Some(at) => drop(other.effects.remove(at)),
            None => other.effects.push(effect),
        }
        other
    }

    /// The same with the other layout.
    pub(super) fn moved(&self) -> Self {
        let layout = if self.layout == "doc" { "document" } else { "doc" };
        Version {
            layout,
            ..self.clone()
        }
    }

    pub(super) fn has(&self, effect: &str) -> bool {
        self.effects.contains(&effect)
    }

    /// The name of its table.
    pub(super) fn table(&self) -> String {
        format!("{}.rows", self.model)
    }

    /// Its file.
    pub(super) fn text(&self) -> String {
        let lines = include_str!("model.toml").lines().map(|line| {
            let Some((effect, rest)) = line.strip_prefix("#?").and_then(|line| line.split_once(' ')) else {
                return line;
            };
            if self.has(effect) { rest } else { "" }
        });
        let lines: Vec<&str> = lines.collect();
        lines
            .join("\n")
            .replace("MODEL", &self.model)
            .replace("LAYOUT", self.layout)
    }

    /// Runs a command of `trestle` with this version's file, against a server.
    pub(super) fn run(&self, command: &[&str], scratch: &Path, address: &str) -> Output {
        let file = scratch.join(format!("{}.toml", self.model));
        std::fs::write(&file, self.text()).unwrap();
        let mut program = Command::new(binary());
        program.args(command).arg(file);
        program.args(["--endpoint", &format!("http://{address}")]);
        program.output().unwrap()
    }

    /// The version of the same model in force at a server; `None` if it does not answer.
    pub(super) fn in_force(&self, address: &str) -> Option<Self> {
        let mut program = Command::new(binary());
        program.args([
            "model",
            "list",
            &self.model,
            "--endpoint",
            &format!("http://{address}"),
        ]);
        let done = program.output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let sections = [
            ("head", "[entity.doc.head]"),
            ("unique", "[entity.doc.unique.body]"),
            ("entries", "[entity.doc.entries.words]"),
            ("counter", "[entity.order.counter.count]"),
            ("inverse", "[entity.person.inverse.members]"),
            ("mirror", "[entity.follows.inverse.follower]"),
            ("copy", "[entity.seat.copy.name]"),
            ("late", "[entity.badge.copy.name]"),
        ];
        let there = sections.iter().filter(|(_, section)| text.contains(section));
        done.status.success().then(|| Version {
            model: self.model.clone(),
            effects: there.map(|(effect, _)| *effect).collect(),
            layout: if text.contains("\"document#") {
                "document"
            } else {
                "doc"
            },
        })
    }

    /// Applies it, or fails the test.
    pub(super) fn apply(&self, scratch: &Path, address: &str) {
        let done = self.run(&["model", "apply", "--fill"], scratch, address);
        assert!(done.status.success(), "{}", said(&done));
    }
}

/// What a command printed.
pub(super) fn said(done: &Output) -> String {
    let (out, err) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    format!("{out}{err}")
}
