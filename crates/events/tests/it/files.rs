//! Route files: their settings, and all their errors at once.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use trestle_env::Timestamp;
use trestle_events::{
    Backoff, ChangeEvent, Concurrency, Destination, Maintenance, Route, RouteFile, StartingPosition,
    read_routes,
};
use trestle_model::Model;

const MODEL: &str = r#"
model = "shop"
table_prefix = "shop-"

[table.things]
key = ["pk"]

[entity.user]
table = "things"
key = { pk = "USER#{id}" }
attributes = { id = "string" }

[entity.order]
table = "things"
key = { pk = "ORDER#{id}" }
attributes = { id = "string" }

[route.paid]
entity = "order"
event = ["insert", "modify"]
changed = "state"
pattern = { new = { state = ["paid"], total = [{ numeric = [">", 100] }] } }
target = { webhook = "http://127.0.0.1:9000/hook", timeout = "5s" }
input = '{"order": <keys.pk>}'
batch_size = 10
maximum_batching_window = "2s"
parallelization_factor = 4
maximum_retry_attempts = 0
maximum_record_age = "1h"
bisect_batch_on_error = false
backoff = { first = "1s" }
starting_position = { at = 2026-11-15T07:00:00Z }
enabled = false
"#;

fn models() -> Vec<Arc<Model>> {
    let loaded = trestle_model::load(MODEL);
    assert_eq!(loaded.problems, []);
    vec![Arc::new(loaded.model.unwrap())]
}

fn read(text: &str, models: &[Arc<Model>]) -> RouteFile {
    read_routes(text, models, &|_| Vec::new())
}

/// The problems as `line:column message`.
fn problems(file: &RouteFile) -> Vec<String> {
    let shown = file.problems.iter();
    shown
        .map(|problem| {
            assert!(!problem.help.is_empty(), "{problem}");
            format!("{}:{} {}", problem.line, problem.column, problem.message)
        })
        .collect()
}

#[test]
fn a_model_file_may_have_routes_and_every_setting_is_read() {
    let file = read(MODEL, &models());
    assert_eq!(problems(&file), [""; 0]);
    let target = json!({"webhook": "http://127.0.0.1:9000/hook", "timeout": "5s"});
    let expected = Route {
        entities: vec!["order".into()],
        events: vec![ChangeEvent::Insert, ChangeEvent::Modify],
        changed: vec!["state".into()],
        pattern: Some(json!({"new": {"state": ["paid"], "total": [{"numeric": [">", 100]}]}})),
        input: Some("{\"order\": <keys.pk>}".into()),
        batch_size: 10,
        maximum_batching_window: Duration::from_secs(2),
        parallelization_factor: 4,
        maximum_retry_attempts: 0,
        maximum_record_age: Some(Duration::from_secs(3600)),
        bisect_batch_on_error: false,
        backoff: Backoff {
            first: Duration::from_secs(1),
            longest: Duration::from_secs(60),
        },
        starting_position: StartingPosition::At(Timestamp::from_secs(1_794_726_000)),
        enabled: false,
        ..Route::new(
            "paid",
            "shop-things",
            Destination(target.as_object().unwrap().clone()),
        )
    };
    assert_eq!(file.routes, [expected]);
}

#[test]
fn a_file_of_its_own_needs_only_a_table_and_a_target() {
    let file = read(
        "[route.all]\ntable = \"T\"\ntarget = { queue = \"q\" }\n\
         [route.changed]\ntable = \"things\"\nchanged = [\"a\"]\npattern = '{\"event\": [\"modify\"]}'\n\
         target = { handler = \"h\" }\nstarting_position = \"all-rows\"\n",
        &models(),
    );
    assert_eq!(problems(&file), [""; 0]);
    assert_eq!(
        file.routes[0],
        Route::new("all", "T", Destination::new("queue", "q"))
    );
    assert_eq!(file.routes[0].target.queue(), Some("q"));
    let changed = &file.routes[1];
    assert_eq!(
        changed.events,
        [ChangeEvent::Modify],
        "who asks for a change of an attribute means a modification"
    );
    assert_eq!(
        changed.table, "shop-things",
        "a model's name for a table is understood"
    );
    assert_eq!(changed.starting_position, StartingPosition::AllRows);
    assert_eq!(changed.pattern, Some(json!({"event": ["modify"]})));
}

fn with_concurrency(text: &str) -> RouteFile {
    let target = "{ webhook = \"http://127.0.0.1:9000\" }";
    read(
        &format!("[route.a]\ntable = \"T\"\ntarget = {target}\nconcurrency = {text}"),
        &[],
    )
}

#[test]
fn upkeep_is_all_of_it_none_or_some_by_name() {
    let read = |setting: &str| {
        let text =
            format!("[route.r]\ntable = \"T\"\ntarget = {{ webhook = \"http://127.0.0.1:1/\" }}\n{setting}");
        read(&text, &[])
    };
    for (setting, expected) in [
        ("", Vec::new()),
        ("include_maintenance = false", Vec::new()),
        (
            "include_maintenance = true",
            vec![Maintenance::Move, Maintenance::Touch],
        ),
        ("include_maintenance = [\"touch\"]", vec![Maintenance::Touch]),
        ("include_maintenance = [\"move\"]", vec![Maintenance::Move]),
    ] {
        let file = read(setting);
        assert_eq!(problems(&file), Vec::<String>::new(), "{setting}");
        assert_eq!(file.routes[0].include_maintenance, expected, "{setting}");
    }
    for setting in [
        "include_maintenance = \"touch\"",
        "include_maintenance = [\"touches\"]",
    ] {
        let found = problems(&read(setting));
        assert!(found[0].contains("`include_maintenance` is"), "{found:?}");
    }
}

#[test]
fn destinations_are_items_or_what_a_template_makes_of_a_change() {
    for (text, per) in [
        ("100", None),
        ("{ per = \"<new.to>/x\", most = 100 }", Some("<new.to>/x")),
    ] {
        let file = with_concurrency(text);
        assert_eq!(problems(&file), [""; 0], "{text}");
        let expected = Concurrency {
            most: 100,
            per: per.map(str::to_owned),
        };
        assert_eq!(file.routes[0].concurrency, Some(expected));
    }
}

#[test]
fn what_is_wrong_with_the_concurrency_is_said() {
    for (text, wrong) in [
        ("0", "`concurrency` is 0, but can be 1 to 1000"),
        (
            "{ per = \"<new.to>\", most = 1001 }",
            "is 1001, but can be 1 to 1000",
        ),
        ("\"many\"", "`concurrency` is \"many\""),
        ("{ most = 5 }", "`concurrency` is {\"most\":5}"),
        ("{ per = \"<new.to>\", moss = 5 }", "moss"),
        ("{ per = \"<new.\", most = 5 }", "the hole is not closed"),
        ("5\nparallelization_factor = 2", "exclude each other"),
    ] {
        let problems = problems(&with_concurrency(text));
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        assert!(problems[0].contains(wrong), "{text}: {problems:?}");
    }
    let file = read(
        "[route.a]\ntable = \"T\"\nconcurrency = 5\ntarget = { queue = \"q\" }",
        &[],
    );
    assert!(problems(&file)[0].contains("one batch at a time"));
}

#[test]
fn a_queue_is_a_name_and_a_handler_may_have_a_timeout() {
    let target = "{ handler = \"h\", timeout = \"30s\" }";
    let file = read(&format!("[route.a]\ntable = \"T\"\ntarget = {target}"), &[]);
    assert_eq!(problems(&file), [""; 0]);
    assert_eq!(file.routes[0].target.timeout(), Some(Duration::from_secs(30)));
    for target in [
        "{ queue = 7 }",
        "{ handler = \"\" }",
        "{ queue = \"q\", delay = \"5s\" }",
        "{ queue = \"q\", timeout = \"5s\" }",
        "{ handler = \"h\", timeout = \"soon\" }",
        "{ handler = \"h\", timeout = \"5s\", delay = \"5s\" }",
    ] {
        let file = read(&format!("[route.a]\ntable = \"T\"\ntarget = {target}"), &[]);
        assert_eq!(file.problems.len(), 1, "{target}");
        assert!(file.problems[0].help.contains("write a name"), "{target}");
    }
}

#[test]
fn everything_that_is_wrong_is_said_at_once_with_its_place() {
    let text = r#"colour = "red"
[route.a]
entity = "ordr"
event = "updated"
target = { webhok = "x" }
[route.b]
table = "T"
target = { queue = "q", sqs = "x" }
[route."c d"]
table = "T"
target = { queue = "q" }
batch_size = 0
batchsize = 3
pattern = { new = "paid" }
input = "{<"
maximum_record_age = "1 day"
maximum_retry_attempts = "many"
backoff = { frist = "1s" }
starting_position = "oldest"
[route.e]
target = { queue = "q" }
"#;
    let file = read(text, &models());
    let found = problems(&file);
    let expected = [
        "1:1 `colour` does not belong into a file of routes",
        "3:10 route `a`: there is no entity `ordr`",
        "4:9 route `a`: there is no event `updated`",
        "5:10 route `a`: the target is not one destination",
        "8:10 route `b`: the target is not one destination",
        "9:8 route `c d`: its name may have letters",
        "12:14 route `c d`: `batch_size` is 0, but can be 1 to 10000",
        "13:1 route `c d`: unknown field `batchsize`",
        "14:11 route `c d`: the pattern cannot be used",
        "15:9 route `c d`: the input cannot be used",
        "16:22 route `c d`: `maximum_record_age` is \"1 day\"",
        "17:26 route `c d`: `maximum_retry_attempts` is \"many\"",
        "18:11 route `c d`: `backoff` is",
        "19:21 route `c d`: `starting_position` is \"oldest\"",
        "20:8 route `e`: it has no table",
    ];
    for says in expected {
        assert!(
            found.iter().any(|problem| problem.starts_with(says)),
            "{says}\n{found:#?}"
        );
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    let suggested = file
        .problems
        .iter()
        .find(|problem| problem.message.contains("batchsize"))
        .unwrap();
    assert_eq!(suggested.help, "did you mean `batch_size`?");
}

#[test]
fn what_a_destination_lacks_is_said_where_it_stands() {
    let file = read_routes(
        "[route.a]\ntable = \"T\"\ntarget = { webhook = \"nowhere\" }\n",
        &[],
        &|destination| vec![format!("{} is no address", destination.kind().unwrap().1)],
    );
    assert_eq!(
        problems(&file),
        ["3:10 route `a`: target: \"nowhere\" is no address"]
    );
    let broken = read("[route.a\n", &[]);
    assert!(broken.routes.is_empty() && problems(&broken)[0].contains("not TOML"));
}
