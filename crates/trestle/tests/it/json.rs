//! Values of a client, as JSON for others.

use crate::manhunt::{ZAVIER, contact, search};
use crate::models::klayers::{
    Klayers, LatestLayerWhere, LayerDplySts, LayerInDeployedInRegionByPythonVersion, LayerKey, NewLayer,
};
use crate::models::manhunt::*;
use crate::models::members::{Member, MemberLevel, NewMember};
use crate::support::embedded;
use serde::Serialize;
use serde_json::{Value, json};
use trestle::typed::{Bookmark, Page};
use trestle::{Map, Number, Wait};

fn shown(what: impl Serialize) -> Value {
    serde_json::to_value(what).unwrap()
}

#[test]
fn a_row_has_the_names_of_the_model_and_only_what_is_there() {
    let new = NewMember {
        id: 7,
        email: "7@example".into(),
    };
    assert_eq!(shown(&new), json!({"id": 7, "email": "7@example"}));
    let member = Member {
        level: MemberLevel::N10,
        points: Number::parse("2.5").unwrap(),
        badge: Some(vec![1, 2, 255]),
        settings: Some(Map::from([("theme", "dark")])),
        nicknames: ["Bo".to_owned()].into(),
        ..new.into()
    };
    assert_eq!(
        shown(&member),
        json!({
            "id": 7, "email": "7@example", "level": 10, "points": 2.5, "active": true, "badge": "AQL/",
            "settings": {"theme": "dark"}, "nicknames": ["Bo"], "client": "1.10.0-rc.1",
        })
    );
}

#[test]
fn an_enum_is_the_value_of_the_model_both_ways() {
    assert_eq!(shown(SearchStatus::Active), json!("active"));
    assert_eq!(shown(MemberLevel::Minus1), json!(-1));
    assert_eq!(
        serde_json::from_value::<SearchStatus>(json!("active")).unwrap(),
        SearchStatus::Active
    );
    assert_eq!(
        serde_json::from_value::<MemberLevel>(json!(-1)).unwrap(),
        MemberLevel::Minus1
    );
    let error = serde_json::from_value::<MemberLevel>(json!(11)).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#""11" is no value of level, which is one of -1, 0, 10"#
    );
    assert!(serde_json::from_value::<SearchStatus>(json!(1)).is_err());
}

#[test]
fn what_lies_together_is_an_object_with_its_entities() {
    let db = Manhunt::apply_to(&embedded()).unwrap();
    let row = contact(ZAVIER, "db3280c", "Zavier Curtis");
    db.put(&row).wait().unwrap();
    let gathered = db.contact_with_methods(ZAVIER).gather().wait().unwrap();
    assert_eq!(
        shown(&gathered),
        json!({"contact": shown(&row), "contactMethod": []})
    );
    let rows = db.contact_with_methods(ZAVIER).collect().wait().unwrap();
    assert_eq!(shown(&rows), json!([shown(&row)]), "a sum is its row");
}

#[test]
fn heads_parts_and_keys_are_shown_too() {
    let db = Klayers::apply_to(&embedded()).unwrap();
    let layer = NewLayer {
        rgn: "eu-west-1".into(),
        pckg: "numpy".into(),
        py_vrsn: "p3.12".into(),
        lyr_vrsn: 3,
        arn: "arn:3".into(),
        pckg_vrsn: "1.26".into(),
    };
    db.put(&layer).wait().unwrap();
    let key: LayerKey = layer.key();
    assert_eq!(
        shown(&key),
        json!({"rgn": "eu-west-1", "pckg": "numpy", "pyVrsn": "p3.12", "lyrVrsn": 3})
    );
    let wanted = LatestLayerWhere {
        region: "eu-west-1",
        package: "numpy",
        python_version: "p3.12",
    };
    let head = shown(db.latest_layer(wanted).wait().unwrap().unwrap());
    assert_eq!((&head["arn"], &head["lyrVrsn"]), (&json!("arn:3"), &json!(3)));
    let part = LayerInDeployedInRegionByPythonVersion {
        rgn: layer.rgn,
        pckg: layer.pckg,
        py_vrsn: layer.py_vrsn,
        lyr_vrsn: layer.lyr_vrsn,
        pckg_vrsn: layer.pckg_vrsn,
        arn: layer.arn,
        dply_sts: Some(LayerDplySts::Latest),
        crtd_dt: None,
        ex_dt: None,
    };
    assert_eq!(
        shown(&part),
        json!({
            "rgn": "eu-west-1", "pckg": "numpy", "pyVrsn": "p3.12", "lyrVrsn": 3, "pckgVrsn": "1.26", "arn": "arn:3",
            "dplySts": "latest",
        })
    );
}

#[test]
fn a_page_is_its_rows_and_where_to_go_on() {
    let row = search("a1", ZAVIER, "2019-12-30T19:32:14Z");
    let page = Page {
        rows: vec![row.clone()],
        next: Some(Bookmark::from("YWJj")),
    };
    assert_eq!(shown(&page), json!({"rows": [shown(&row)], "next": "YWJj"}));
    let read: Bookmark = serde_json::from_value(json!("YWJj")).unwrap();
    assert_eq!(Some(read), page.next);
}
