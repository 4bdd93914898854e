//! The program, and its messages when it fails.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use klayers::model::{Klayers, LatestBuildWhere};
use trestle::api::Scan;
use trestle::{Embedded, Options};

/// Runs the program in a directory, and returns its exit status and output.
fn klayers(place: &Path, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_klayers"));
    let ran = command.args(arguments).current_dir(place).output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    (ran.status.code().unwrap(), said)
}

#[test]
fn errors_name_the_thing_and_the_way_out() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    write("one.csv", "package,version,requires\nidna,3.10,\n");
    write("other.csv", "name,license\nidna,BSD\n");
    write("broken.csv", "region\neu-west-1,more\n");
    write("nothing.csv", "region\n");
    write("nameless.csv", "Code,Name\neu-west-1,Ireland\n,London\n");
    write("empty.csv", "package,version,requires\nidna,,\n");
    write(
        "twice.csv",
        "package,version\npsycopg[binary],1.0\npsycopg[pool],1.0\n",
    );
    write("file", "");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let in_use = format!("cannot listen on port {port}: Address already in use");
    for (arguments, reasons) in [
        (vec!["run", "--packages", "no.csv"], vec!["no.csv: No such file"]),
        (
            vec!["run", "--packages", "other.csv"],
            vec!["other.csv: ", "missing field `package`"],
        ),
        (
            vec!["run", "--regions", "broken.csv"],
            vec!["broken.csv: ", "line: 2"],
        ),
        (
            vec!["run", "--index", "list", "--regions", "nothing.csv"],
            vec!["nothing to deploy", "--regions"],
        ),
        (
            vec!["serve", "--regions", "nameless.csv"],
            vec!["nameless.csv: `` is no region"],
        ),
        (
            vec!["run", "--packages", "empty.csv"],
            vec!["empty.csv: idna has the version ``"],
        ),
        (
            vec!["run", "--packages", "twice.csv"],
            vec!["twice.csv: psycopg[binary] and psycopg[pool]"],
        ),
        (
            vec!["run", "--pythons", "p3.12,"],
            vec!["--pythons", "p3.12-arm64"],
        ),
        (vec!["run", "--account", "12"], vec!["--account", "12 digits"]),
        (vec!["serve", "--run-every", "often"], vec!["--run-every"]),
        (
            vec!["run", "--packages", "one.csv", "--pip", "no-such-pip"],
            vec![
                "no-such-pip: No such file",
                "--index list makes layers that only name their requirements",
            ],
        ),
        (vec!["run", "--data", "file"], vec!["cannot make file/layers: "]),
        (
            vec!["run", "--layers", "gs://bucket"],
            vec!["--layers", "s3://BUCKET/PREFIX"],
        ),
        (
            vec!["run", "--layers", "s3://"],
            vec!["--layers", "s3://BUCKET/PREFIX"],
        ),
        (
            vec!["run", "--s3-endpoint", "http://127.0.0.1:1"],
            vec!["--layers <LAYERS>"],
        ),
        (
            vec!["serve", "--port", &port],
            vec![&in_use, "0 takes a free one"],
        ),
    ] {
        let (status, said) = klayers(place.path(), &arguments);
        assert_ne!(status, 0, "{arguments:?}: {said}");
        for reason in reasons {
            assert!(said.contains(reason), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn a_server_lists_the_runs_of_the_command_and_a_second_program_is_told_to_let_it_run() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    write("packages.csv", "package,version\nidna,3.10\n");
    write("regions.csv", "region\neu-west-1\n");
    let lists = "--data . --index list --pythons p3.12 --packages packages.csv --regions regions.csv";
    let lists: Vec<&str> = lists.split(' ').collect();
    let run = || klayers(place.path(), &[&["run"], &lists[..]].concat());
    assert_eq!((run().0, run().0), (0, 0));
    let mut serve = Command::new(env!("CARGO_BIN_EXE_klayers"));
    let serve = serve.arg("serve").args(&lists).current_dir(place.path());
    let mut server = serve.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let stdout = server.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("klayers serves http://").unwrap();
    let listed = get(address, "/api/v1/runs");
    let (status, said) = run();
    server.kill().unwrap();
    server.wait().unwrap();
    for (figure, runs) in [("\"ended\":", 2), ("\"deployed\":1", 1), ("\"unchanged\":1", 1)] {
        assert_eq!(listed.matches(figure).count(), runs, "{figure}: {listed}");
    }
    assert_ne!(status, 0);
    let reason = format!("is in use by process {}", server.id());
    assert!(said.contains(&reason), "{said}");
    assert!(
        said.contains("curl -X POST -H") && said.contains("/api/v1/runs"),
        "{said}"
    );
}

/// The answer of a server at this address.
fn get(address: &str, path: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    write!(
        connection,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

/// Behaves like pip: reports the newest release, installs it, and reports where it cannot reach its index.
const PIP: &str = r#"#!/bin/sh
if [ -e offline ]; then
    echo "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by 'NewConnectionError'" >&2
    echo "ERROR: No matching distribution found" >&2
    exit 1
fi
case "$*" in
*--dry-run*) echo '{"install": [{"metadata": {"name": "idna", "version": "4.0"}}]}' ;;
*)
    while [ "$1" != --target ]; do shift; done
    mkdir "$2/idna-4.0.dist-info"
    printf 'Name: idna\nLicense-Expression: BSD-3-Clause\n' > "$2/idna-4.0.dist-info/METADATA" ;;
esac
"#;

#[tokio::test]
async fn without_a_network_a_run_takes_the_list_says_so_and_replaces_nothing_of_pip() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    write("pip", PIP);
    std::fs::set_permissions(place.path().join("pip"), Permissions::from_mode(0o755)).unwrap();
    write("regions.csv", "region\neu-west-1\n");
    let list = |version: &str| write("packages.csv", &format!("package,version\nidna,{version}\n"));
    let lists = "run --data . --pip ./pip --pythons p3.12 --packages packages.csv --regions regions.csv";
    let lists: Vec<&str> = lists.split(' ').collect();
    let run = |more: &[&str]| klayers(place.path(), &[&lists, more].concat());
    let stands_in = "takes the versions of the list";
    write("offline", "");
    for (version, done) in [
        ("3.9", "built=1 deployed=1 unchanged=0 failed=0"),
        ("3.9", "built=0 deployed=0 unchanged=1 failed=0"),
        ("3.10", "built=1 deployed=1 unchanged=0 failed=0"),
    ] {
        list(version);
        let (status, said) = run(&[]);
        assert_eq!(status, 0, "{said}");
        assert_eq!(said.matches(stands_in).count(), 1, "it is said once: {said}");
        assert!(
            said.contains("`--index pip` fails instead, `--index list`"),
            "{said}"
        );
        assert!(said.contains(done), "{said}");
    }
    let (status, said) = run(&["--index", "pip"]);
    assert!(
        status != 0 && said.contains("idna for p3.12: pip cannot reach its package index"),
        "{said}"
    );
    let (status, said) = run(&["--index", "list"]);
    assert!(status == 0 && !said.contains("package index"), "{said}");

    std::fs::remove_file(place.path().join("offline")).unwrap();
    let (status, said) = run(&[]);
    assert_eq!(status, 0, "{said}");
    assert!(
        said.contains("built=1 deployed=1") && !said.contains(stands_in),
        "{said}"
    );
    write("offline", "");
    for version in ["3.10", "4.0"] {
        list(version);
        let (status, said) = run(&[]);
        assert!(
            status != 0 && said.contains("the newest build is pip's, and stays"),
            "{said}"
        );
        assert!(said.contains("built=0 deployed=0 unchanged=0 failed=1"), "{said}");
    }
    let embedded = Embedded::open(place.path().join("table"), Options::default()).unwrap();
    let newest = LatestBuildWhere {
        python_version: "p3.12",
        package: "idna",
    };
    let db = Klayers::apply_to(&embedded).unwrap();
    let newest = db.latest_build(newest).await.unwrap().unwrap();
    assert_eq!(newest.pckg_vrsn.as_deref(), Some("4.0"));
    assert_eq!(newest.lcns.as_deref(), Some("BSD-3-Clause"), "of its METADATA");
}

/// Without a terminal there is no bar, and the log has a line for each package.
#[test]
fn layers_that_are_lost_are_noticed_at_the_next_start() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    write(
        "packages.csv",
        "package,version,requires\n idna ,3.10,\nrequests,2.0,idna==3.10\n",
    );
    write("regions.csv", "region\neu-west-1\nus-east-1\n");
    let run = [
        "run",
        "--index",
        "list",
        "--data",
        ".",
        "--packages",
        "packages.csv",
        "--regions",
        "regions.csv",
    ];
    let run = |more: &[&str]| klayers(place.path(), &[&run, more].concat());
    let (status, said) = run(&[]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("idna for p3.12 done="), "{said}");
    assert!(said.contains("built=4 deployed=8 unchanged=0 failed=0"), "{said}");
    let (status, said) = run(&["--layers", "elsewhere"]);
    assert_eq!(status, 0, "{said}");
    assert!(
        said.contains("8 layers of the table are not there: see --layers"),
        "{said}"
    );
}

#[test]
fn layers_of_another_table_are_refused_and_left_as_they_are() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    write("packages.csv", "package,version\nidna,3.10\n");
    write("regions.csv", "region\neu-west-1\n");
    let run = |data: &str, more: &[&str]| {
        let run = [
            "run",
            "--index",
            "list",
            "--packages",
            "packages.csv",
            "--regions",
            "regions.csv",
            "--pythons",
            "p3.12",
        ];
        klayers(
            place.path(),
            &[&run[..], &["--layers", "layers", "--data", data], more].concat(),
        )
    };
    assert_eq!(run("first", &[]).0, 0);
    let layer = place.path().join("layers/eu-west-1/Klayers-p312-idna/1.zip");
    let content = std::fs::read(&layer).unwrap();
    for (data, more) in [("second", &[][..]), ("first", &["--account", "770693421928"])] {
        let (status, said) = run(data, more);
        assert_ne!(status, 0, "{said}");
        assert!(
            said.contains("--layers: the files belong to table ") && said.contains("name another place"),
            "{said}"
        );
        assert_eq!(std::fs::read(&layer).unwrap(), content);
    }
    std::fs::remove_file(place.path().join("layers/owner")).unwrap();
    let (status, said) = run("first", &[]);
    assert_ne!(status, 0, "{said}");
    assert!(said.contains("no file `owner` says whose they are"), "{said}");
    assert!(layer.exists());
}

/// The README's section on the new layout, command by command.
#[test]
fn a_table_of_the_first_layout_is_made_and_moved_by_the_next_start() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    write(
        "packages.csv",
        "package,version\nidna,3.10\n\"psycopg[binary,pool]\",3.2\n",
    );
    write("regions.csv", "region\neu-west-1\nus-east-1\n");
    let lists = ["--packages", "packages.csv", "--regions", "regions.csv"];
    let made = example("first_layout")
        .current_dir(place.path())
        .args(lists)
        .output()
        .unwrap();
    let said = String::from_utf8(made.stderr).unwrap();
    assert!(
        made.status.success() && said.contains("made 8 layers of the first layout"),
        "{said}"
    );
    let table = place.path().join("trestle-data/klayers/table");
    let keys = || {
        let embedded = Embedded::open(&table, Options::default()).unwrap();
        let scan = Scan {
            table_name: "kl.db-ver2".into(),
            ..Scan::default()
        };
        let rows = embedded.run(scan).unwrap().items.unwrap().to_vec();
        let pks = rows
            .iter()
            .map(|row| row.get("pk").unwrap().as_s().unwrap().to_owned());
        pks.filter(|pk| pk.starts_with("lyr#")).collect::<BTreeSet<_>>()
    };
    assert!(keys().contains("lyr#eu-west-1.psycopg"), "{:?}", keys());
    // The migration continues in the background of any command; this one also finds the layers.
    let run = [&["run", "--index", "list", "--pythons", "p3.8"], &lists[..]].concat();
    for _ in 0..20 {
        let (status, said) = klayers(place.path(), &run);
        assert_eq!(status, 0, "{said}");
        assert!(!said.contains("are not there"), "{said}");
        assert!(said.contains("built=0 deployed=0 unchanged=4 failed=0"), "{said}");
        if keys().iter().all(|pk| pk.ends_with(":p3.8")) {
            return;
        }
    }
    panic!("rows are left: {:?}", keys());
}

/// The original's rows, imported by the program for that.
#[test]
fn the_originals_file_is_imported() {
    let place = tempfile::tempdir().unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/Klayers.json");
    for said in [
        "imported rows=18 known=0 heads=8",
        "imported rows=0 known=18 heads=8",
    ] {
        let done = example("import")
            .current_dir(place.path())
            .arg(file)
            .output()
            .unwrap();
        let log = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.success() && log.contains(said), "{log}");
    }
}

/// An example program, which cargo builds with the tests.
fn example(name: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_klayers"))
        .with_file_name("examples")
        .join(name);
    assert!(
        program.exists(),
        "cargo test -p trestle-app-klayers builds it: {}",
        program.display()
    );
    Command::new(program)
}
