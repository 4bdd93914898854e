//! The program itself: its demonstration, and what it keeps when it is killed.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Pkg;

/// The program, ended with the test.
pub(crate) struct Program {
    pub(crate) child: Child,
    said: BufReader<ChildStdout>,
}

impl Program {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        // For the clients of the tests. An error means that one is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self::start_with(arguments, |command| command.env("RUST_LOG", "error"))
    }

    fn start_with(arguments: &[&str], change: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warehouse"));
        // Installed programs do not matter here: packages are packed unchanged.
        let command = change(command.args(arguments).env("PATH", ""));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    /// Its output until it serves, and its address.
    pub(crate) fn serves(&mut self) -> (String, String) {
        let mut said = String::new();
        loop {
            let mut line = String::new();
            assert!(self.said.read_line(&mut line).unwrap() > 0, "it ended: {said}");
            if let Some((_, url)) = line.split_once("warehouse serves ") {
                return (said, url.trim().to_owned());
            }
            said += &line;
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn read(url: &str, path: &str) -> Value {
    let text = reqwest::get(format!("{url}{path}"))
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    serde_json::from_str(&text).unwrap_or_default()
}

#[tokio::test]
async fn the_demonstration_publishes_promotes_and_rolls_back() {
    let mut program = Program::start(&["demo", "--port", "0"]);
    let (said, url) = program.serves();
    let words: Vec<Vec<&str>> = said
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let rows = [
        ["@sample/banner", "0.3.1-0", "0.3.1-0", "0.3.0"],
        ["@sample/button", "1.0.1-0", "1.0.1-0", "1.0.0"],
        ["@sample/tokens", "1.1.0", "1.1.0", "1.0.0"],
    ];
    for row in rows {
        assert!(words.contains(&row.to_vec()), "{said}");
    }
    let progress = read(&url, "/progress/@sample%2fshop/prod").await;
    assert_eq!(progress["progress"], 100);
    let page = reqwest::get(&url).await.unwrap();
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
}

#[tokio::test]
async fn the_start_says_what_builds_packages_and_the_demonstration_warns_of_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let to = std::fs::File::create(&log).unwrap();
    let demo = ["demo", "--port", "0"];
    let mut program = Program::start_with(&demo, |command| command.env_remove("RUST_LOG").stderr(to));
    let (_, url) = program.serves();
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.matches("there is no esbuild").count(), 1, "{log}");
    assert!(log.contains("npm install esbuild"), "{log}");
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
    let build = read(&url, "/builds/@sample%2fshop/prod").await;
    assert_eq!(build["bundler"], "files");
    let events = read(&url, "/status-events/@sample%2fshop/prod").await;
    assert!(events.to_string().contains("built by files"), "{events}");
}

#[tokio::test]
async fn what_was_published_is_built_although_the_program_is_killed() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path().to_str().unwrap();
    let arguments = ["serve", "--data", data, "--port", "0"];
    let client = reqwest::Client::new();
    let names: Vec<String> = (0..8).map(|number| format!("p{number}")).collect();
    let (mut program, mut round) = (Program::start(&arguments), 0);
    for name in &names {
        let mut url = program.serves().1;
        let package = Pkg::new(name, "1.0.0").locales(&["de-DE", "en-US", "fr-FR"]);
        let put = client.put(format!("{url}/{name}")).json(&package.payload());
        assert_eq!(put.send().await.unwrap().status(), 201);
        // Each time a little later.
        tokio::time::sleep(Duration::from_millis(8 * round)).await;
        round += 1;
        program.child.kill().unwrap();
        program.child.wait().unwrap();
        program = Program::start(&arguments);
        if name == names.last().unwrap() {
            url = program.serves().1;
            let begun = Instant::now();
            for name in &names {
                while read(&url, &format!("/status/{name}/dev")).await["complete"] != true {
                    assert!(begun.elapsed() < Duration::from_secs(120), "{name} is not built");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                let progress = read(&url, &format!("/progress/{name}/dev")).await;
                assert_eq!(progress, json!({ "progress": 100, "count": 3, "total": 3 }));
                let heads = read(&url, &format!("/builds/-/head?name={name}&env=dev")).await;
                assert_eq!(heads.as_array().unwrap().len(), 3, "{heads}");
            }
        }
    }
}
