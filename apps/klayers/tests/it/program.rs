//! The program, and what it says when it cannot do what it was asked.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

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
            vec!["run", "--regions", "nothing.csv"],
            vec!["nothing to deploy", "--regions"],
        ),
        (vec!["run", "--pythons", "p3.12,"], vec!["--pythons"]),
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
