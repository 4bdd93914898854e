//! Starts, stops and rolls back migrations, with the same commands as users.

use super::knowledge::Understood;
use super::layout::Layout;
use super::writer::Shared;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trestle_torture::http::Client;
use trestle_torture::server::binary;

const PATIENCE: Duration = Duration::from_secs(120);

/// Controls the migrations of one server.
pub(super) struct Steering<'a> {
    pub(super) address: &'a str,
    pub(super) shared: &'a Shared,
    /// Set before the server is killed.
    pub(super) is_killed: &'a AtomicBool,
}

/// The file of a model.
fn file(layout: Layout) -> PathBuf {
    let name = match layout {
        Layout::ByDepot => "by_depot.toml",
        Layout::ByCustomer => "by_customer.toml",
    };
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/migrations")
        .join(name)
}

/// Applies the first version of the model.
pub(super) fn apply(address: &str, layout: Layout) {
    let mut command = Command::new(binary());
    command.args(["model", "apply", "--endpoint", &format!("http://{address}")]);
    let done = command.arg(file(layout)).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Starts a migration.
pub(super) fn start(address: &str, layout: Layout, rate: &str) {
    let mut command = Command::new(binary());
    command.args([
        "migrate",
        "start",
        "--rate",
        rate,
        "--endpoint",
        &format!("http://{address}"),
    ]);
    let done = command.arg(file(layout)).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Continues to move rows in a directory that no server has open.
pub(super) fn sweep_alone(directory: &Path) -> Child {
    let mut command = Command::new(binary());
    command.args(["migrate", "resume", "--rate", "500", "--data"]);
    let command = command.arg(directory).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// The status of the migration; null without one.
pub(super) fn status(client: &mut Client) -> Option<Value> {
    let mut answer = client.administer("list-migrations", &json!({})).ok()?;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let migration = answer.body["migrations"].get_mut(0);
    Some(migration.map_or(Value::Null, Value::take))
}

impl Steering<'_> {
    /// Determines what is in effect, without knowing what happened before.
    pub(super) fn find_out(&self, client: &mut Client) -> Option<Value> {
        let model = client
            .administer("read-model", &json!({"name": "depots"}))
            .ok()?
            .body;
        let text = &model["text"];
        let layouts = [Layout::ByDepot, Layout::ByCustomer];
        let in_effect = layouts
            .into_iter()
            .find(|layout| text.as_str() == Some(layout.model()));
        let in_effect = in_effect.unwrap_or_else(|| panic!("no model that anybody applied: {text}"));
        let status = status(client)?;
        let other = match status["state"].as_str() {
            Some("dual" | "sweeping" | "verifying" | "verified") if status["finishes_by_itself"] == false => {
                Understood::Yes
            }
            Some("dual" | "sweeping" | "verifying" | "verified" | "rolling-back") => Understood::Perhaps,
            _ => Understood::No,
        };
        self.shared.knowledge.write().unwrap().reconcile(in_effect, other);
        Some(status)
    }

    /// Runs random commands until the server is gone.
    pub(super) fn steer(&self, mut random: fastrand::Rng) {
        let Ok(mut client) = Client::connect(self.address) else {
            return;
        };
        loop {
            std::thread::sleep(Duration::from_millis(random.u64(5..120)));
            let is_there = self.step(&mut client, &mut random);
            if is_there.is_none() {
                return;
            }
        }
    }

    /// `None` if the server is gone.
    fn step(&self, client: &mut Client, random: &mut fastrand::Rng) -> Option<()> {
        let status = status(client)?;
        let is_paused = status["paused"] == true;
        let rate = random.choice(["100", "300", "1000", "unlimited"]).unwrap();
        match (status["state"].as_str(), random.u8(0..10)) {
            (None | Some("done" | "rolled-back"), _) => self.start(random, rate),
            (Some("planned"), 0..3) => self.tell(&["rollback"]),
            (Some("planned"), _) => self.begin(&["start", "--rate", rate], false),
            (Some("verified"), 0..4) => self.finish(),
            (Some("verified" | "sweeping"), 4) | (Some("dual" | "verifying"), 4 | 5) => {
                self.roll_back(status["finishes_by_itself"] == true)
            }
            (Some("verified"), _) => Some(()),
            (_, 5..8) if is_paused => self.tell(&["resume", "--rate", rate]),
            (_, 8) => self.tell(&["resume", "--rate", rate]),
            (_, 0..2) => self.tell(&["pause"]),
            _ => Some(()),
        }
        .or_else(|| {
            // Either the server is gone, or the state has changed meanwhile.
            self.find_out(client).map(drop)
        })
    }

    fn start(&self, random: &mut fastrand::Rng, rate: &str) -> Option<()> {
        if random.u8(0..4) == 0 {
            let from = self.shared.knowledge.read().unwrap().in_effect?;
            return self.tell(&["plan", file(from.other()).to_str().unwrap()]);
        }
        let mut flags = vec!["--rate", rate];
        if random.u8(0..5) == 0 {
            flags.push("--finish");
        }
        if random.u8(0..5) == 0 {
            flags.push("--paused");
        }
        self.start_with(&flags)
    }

    fn start_with(&self, flags: &[&str]) -> Option<()> {
        let from = self.shared.knowledge.read().unwrap().in_effect?;
        let file = file(from.other());
        let command = [&["start", file.to_str().unwrap()], flags].concat();
        self.begin(&command, flags.contains(&"--finish"))
    }

    fn begin(&self, command: &[&str], finishes: bool) -> Option<()> {
        let from = self.shared.knowledge.read().unwrap().in_effect?;
        let mut knowledge = self.shared.knowledge.write().unwrap();
        knowledge.begin_turn(from);
        let former = if finishes {
            Understood::Perhaps
        } else {
            Understood::Yes
        };
        knowledge.set(from, former);
        drop(knowledge);
        self.tell(command)?;
        self.shared
            .knowledge
            .write()
            .unwrap()
            .reconcile(from.other(), former);
        Some(())
    }

    /// Rolls back, unless the migration has ended already.
    fn roll_back(&self, finishes: bool) -> Option<()> {
        let from = self.shared.knowledge.read().unwrap().in_effect?;
        let mut knowledge = self.shared.knowledge.write().unwrap();
        knowledge.begin_turn(from.other());
        if finishes {
            knowledge.set(from.other(), Understood::Perhaps);
        }
        drop(knowledge);
        self.tell(&["rollback"])?;
        let mut knowledge = self.shared.knowledge.write().unwrap();
        knowledge.reconcile(from.other(), Understood::Perhaps);
        Some(())
    }

    fn finish(&self) -> Option<()> {
        let from = self.shared.knowledge.read().unwrap().in_effect?;
        let mut knowledge = self.shared.knowledge.write().unwrap();
        knowledge.set(from.other(), Understood::No);
        drop(knowledge);
        self.tell(&["finish"])
    }

    /// Runs a command; `None` if the server is gone, or if the state of the migration changed meanwhile.
    fn tell(&self, command: &[&str]) -> Option<()> {
        let done = Command::new(binary())
            .arg("migrate")
            .args(command)
            .args(["--endpoint", &format!("http://{}", self.address)])
            .output()
            .unwrap();
        if done.status.success() {
            return Some(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        let is_overtaken =
            said.contains("there is no migration of") || said.contains("the migration of model depots is");
        // Another gateway changed it at this moment.
        let is_overtaken = is_overtaken || said.contains("another gateway");
        assert!(
            self.is_killed.load(Ordering::SeqCst) || is_overtaken,
            "trestle migrate {command:?}: {said}{}",
            String::from_utf8_lossy(&done.stdout)
        );
        None
    }

    /// Ends a running migration: finished, or rolled back. `look` is called when all rows have moved, before
    /// it is finished. If the server was always killed before the first one began, it begins now.
    pub(super) fn end(&self, client: &mut Client, backwards: bool, look: impl Fn(&mut Client)) -> Value {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "{:?}", status(client));
            let status = self.find_out(client).unwrap();
            match status["state"].as_str() {
                None => self.start_with(&["--rate", "100"]).unwrap(),
                Some("done" | "rolled-back") => return status,
                Some("planned") => self.tell(&["rollback"]).unwrap(),
                Some("verified") if backwards => self.roll_back(false).unwrap(),
                Some("verified") => {
                    look(client);
                    self.finish().unwrap();
                }
                _ if status["paused"] == true || status["rate"] != Value::Null => {
                    let _ = self.tell(&["resume", "--rate", "unlimited"]);
                }
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }
}
