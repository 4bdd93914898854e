//! The program, and what it says when it cannot do what it was asked.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use trestle::api::Scan;
use trestle::{Embedded, Options};

/// Runs the program in a directory, and gives its exit status and what it said.
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
fn of_two_programs_on_one_table_the_second_says_who_is_there() {
    let place = tempfile::tempdir().unwrap();
    let table = place.path().join("table");
    let _first = Embedded::open(&table, Options::default()).unwrap();
    let (status, said) = klayers(place.path(), &["run", "--data", "."]);
    assert_ne!(status, 0);
    let reason = format!("is in use by process {}", std::process::id());
    assert!(said.contains(&reason), "{said}");
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
    // The migration goes on in the background of any command; this one also finds the layers.
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

/// The original's rows, by the program that takes them over.
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
