//! A model of a hundred entities in one table, with all its proofs.

use std::fmt::Write;
use std::time::Instant;
use trestle_model::load;

fn hundred_entities() -> String {
    let mut text = "model = \"large\"\n[table.rows]\nkey = [\"pk\", \"sk\"]\nentity_attribute = \"kind\"\n[table.rows.index.one]\nkey = [\"one_pk\", \"one_sk\"]\n".to_owned();
    for at in 0..100 {
        let group = at / 10;
        let _ = write!(
            text,
            "[entity.e{at}]\ntable = \"rows\"\n\
             key = {{ pk = \"tenant#{{tenant}}#group{group:02}#{{parent}}\", sk = \"kind{at:03}#{{id}}#v{{version:08}}\", one_pk = \"{{status}}#{{tenant}}\", one_sk = \"{{at}}\" }}\n\
             attributes = {{ tenant = \"string\", parent = \"string\", id = \"string\", version = \"integer\", status = {{ type = \"string\", one_of = [\"open\", \"done\"] }}, at = \"timestamp\", body = \"map\" }}\n\
             [entity.e{at}.head]\nkey.sk = \"head{at:03}#{{id}}\"\nnewest_by = \"version\"\n\
             [access.get{at}]\nget = \"e{at}\"\nwhere = {{ tenant = \"{{t}}\", parent = \"{{p}}\", id = \"{{i}}\", version = \"{{v}}\" }}\n\
             [access.of{at}]\nquery = \"rows\"\nwhere = {{ tenant = \"{{t}}\", parent = \"{{p}}\" }}\nreturns = [\"e{at}\"]\n"
        );
    }
    text
}

#[test]
fn a_hundred_entities_load_with_all_their_proofs() {
    let text = hundred_entities();
    let began = Instant::now();
    let loaded = load(&text);
    println!("loading {} bytes took {:?}", text.len(), began.elapsed());
    assert_eq!(loaded.problems, []);
    let model = loaded.model.unwrap();
    assert_eq!(model.entities().len(), 200);
    assert_eq!(model.access_patterns().len(), 200);
}

#[test]
fn the_one_collision_among_a_hundred_is_found() {
    let text = hundred_entities().replace(
        "sk = \"kind042#{id}#v{version:08}\"",
        "sk = \"kind041#{id}#v{version:08}\"",
    );
    let errors: Vec<String> = load(&text).problems.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert!(errors[0].contains("entities `e41` and `e42` can have the same key"));
}
