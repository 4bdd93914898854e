//! A small benchmark: every workload once, with its figures in all three forms.

use crate::running;

#[test]
fn a_small_benchmark_measures_every_workload_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let args = "bench --targets trestle --seconds 0.1 --rows 1 --connections 4 --dir . --json all.json --svg all.svg";
    let output = running::run(path, &args.split(' ').collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let json = std::fs::read(path.join("all.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let outcomes = report["targets"][0]["outcomes"].as_array().unwrap();
    assert_eq!(outcomes.len(), 9);
    for outcome in outcomes {
        let figures = &outcome["figures"];
        assert!(figures["per_second"].as_f64().unwrap() > 0.0, "{outcome}");
        assert_eq!(figures["errors"], 0, "{outcome}");
    }
    assert_eq!(report["limits"].as_array().unwrap().len(), 4);
    assert!(
        std::fs::read_to_string(path.join("all.svg"))
            .unwrap()
            .ends_with("</svg>\n")
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("Operations per second") && text.contains("Trestle reaches"),
        "{text}"
    );

    let mut left: Vec<_> = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["all.json", "all.svg"]);
}

#[test]
fn a_server_that_is_not_there_is_left_out_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let args = "bench --targets dynalite --dynalite nowhere/dynalite --no-limits --dir .";
    let output = running::run(directory.path(), &args.split(' ').collect::<Vec<_>>());
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("Not measured: dynalite (there is no nowhere/dynalite)"),
        "{text}"
    );
}

#[test]
fn a_signal_ends_the_benchmark_and_what_it_started() {
    let directory = tempfile::tempdir().unwrap();
    let args = "bench --targets trestle --only get --seconds 30 --rows 1 --dir .";
    let mut bench = running::trestle(directory.path())
        .args(args.split(' '))
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut loaded = String::new();
    let mut said = std::io::BufReader::new(bench.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut said, &mut loaded).unwrap();
    assert!(loaded.contains("rows loaded"), "{loaded}");
    let id = bench.id().to_string();
    let servers = || std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let before = servers();
    assert!(!before.trim().is_empty());
    let asked = std::process::Command::new("kill")
        .args(["-TERM", &id])
        .status()
        .unwrap();
    assert!(asked.success());
    assert_eq!(bench.wait().unwrap().code(), Some(130));
    for server in before.split_whitespace() {
        assert!(
            !std::path::Path::new(&format!("/proc/{server}")).exists(),
            "{server} still runs"
        );
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
