//! The real client of npm: publish, view, install, dist-tag. Its registry is the application; it has a
//! separate cache and settings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::support::{Pkg, World};

/// npm with settings of its own.
struct Npm {
    folder: TempDir,
}

impl Npm {
    fn of(world: &World) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = world.url.strip_prefix("http:").unwrap();
        let settings = format!("registry={}/\n{host}/:_authToken=any\n", world.url);
        fs::write(folder.path().join(".npmrc"), settings).unwrap();
        Self { folder }
    }

    /// A folder with the files of a package.
    fn package(&self, package: &Pkg) -> PathBuf {
        let folder =
            self.folder
                .path()
                .join(format!("{}-{}", package.name.replace('/', "-"), package.version));
        package.write(&folder);
        folder
    }

    async fn run(&self, folder: &Path, arguments: &[&str]) -> Output {
        let own = self.folder.path();
        let mut npm = Command::new("npm");
        npm.args(arguments).current_dir(folder).env("HOME", own);
        npm.args([
            "--no-audit",
            "--no-fund",
            "--no-update-notifier",
            "--fetch-retries=0",
        ]);
        npm.arg("--userconfig")
            .arg(own.join(".npmrc"))
            .arg("--cache")
            .arg(own.join("cache"));
        npm.kill_on_drop(true).output().await.expect("npm is there")
    }

    /// Runs npm, which must succeed; returns its output.
    async fn said(&self, folder: &Path, arguments: &[&str]) -> String {
        let ended = self.run(folder, arguments).await;
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "npm {arguments:?}: {errors}");
        String::from_utf8(ended.stdout).unwrap()
    }

    async fn json(&self, arguments: &[&str]) -> Value {
        let said = self
            .said(self.folder.path(), &[arguments, &["--json"]].concat())
            .await;
        serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn npm_publishes_views_installs_and_tags() {
    let world = World::new().await;
    let npm = Npm::of(&world);
    let home = npm.folder.path();
    for version in ["1.0.0", "1.1.0"] {
        let package = Pkg::new("button", version).with("keywords", json!(["ui"]));
        npm.said(&npm.package(&package), &["publish"]).await;
    }
    let shown = npm.json(&["view", "button"]).await;
    assert_eq!(shown["version"], "1.1.0");
    assert_eq!(shown["versions"], json!(["1.0.0", "1.1.0"]));
    assert_eq!(shown["dist-tags"], json!({ "latest": "1.1.0" }));

    npm.said(home, &["dist-tag", "add", "button@1.0.0", "dev"]).await;
    world.in_use("button", "dev", "1.0.0").await;
    let tags = npm.said(home, &["dist-tag", "ls", "button"]).await;
    assert_eq!(tags.trim(), "dev: 1.0.0\nlatest: 1.1.0");
    npm.said(home, &["dist-tag", "rm", "button", "dev"]).await;
    let tags = npm.said(home, &["dist-tag", "ls", "button"]).await;
    assert_eq!(tags.trim(), "latest: 1.1.0");
    let unknown = npm.run(home, &["dist-tag", "add", "button@1.0.0", "beta"]).await;
    assert!(!unknown.status.success());
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("none of the tags"));

    let app = home.join("app");
    fs::create_dir(&app).unwrap();
    fs::write(
        app.join("package.json"),
        r#"{ "name": "app", "version": "0.0.0" }"#,
    )
    .unwrap();
    npm.said(&app, &["install", "button@^1.0.0"]).await;
    let installed = fs::read_to_string(app.join("node_modules/button/index.js")).unwrap();
    assert_eq!(installed, "export default 'button 1.1.0';\n");
    // Another version cannot take its place.
    let changed = Pkg::new("button", "1.1.0").file("more.js", "0");
    let refused = npm.run(&npm.package(&changed), &["publish"]).await;
    assert!(!refused.status.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn npm_knows_scoped_packages_with_their_dependencies() {
    let world = World::new().await;
    let npm = Npm::of(&world);
    let home = npm.folder.path();
    npm.said(home, &["ping"]).await;
    assert_eq!(npm.said(home, &["whoami"]).await.trim(), "warehouse");
    npm.said(
        &npm.package(&Pkg::new("@good/base", "1.0.0")),
        &["publish", "--access", "public"],
    )
    .await;
    let work = Pkg::new("@good/work", "0.1.0").needs("@good/base", "^1.0.0");
    npm.said(&npm.package(&work), &["publish", "--access", "public"])
        .await;
    npm.said(home, &["dist-tag", "add", "@good/work@0.1.0", "test"])
        .await;
    world.in_use("@good%2fwork", "test", "0.1.0").await;
    let app = home.join("app");
    fs::create_dir(&app).unwrap();
    npm.said(&app, &["install", "@good/work"]).await;
    assert!(app.join("node_modules/@good/base/index.js").exists());
    assert_eq!(
        world.read("/graph/@good%2fbase").await["@good/work"],
        json!(["@good/base"])
    );
}
