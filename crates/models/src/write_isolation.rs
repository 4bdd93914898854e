//! How ScyllaDB Alternator isolates the conditional writes of a table: a tag of the table determines it. On
//! other endpoints they are exact.

use trestle_api::{Database, DatabaseExt, Error, ListTagsOfResource, Tag, TagResource};

/// The beginning of ScyllaDB Alternator's ARNs.
const ALTERNATOR: &str = "arn:scylla:";
const TAG: &str = "system:write_isolation";
/// The value with which conditional writes are exact, whatever else is written.
const ALWAYS: &str = "always";

/// The isolation in the tag of a table at Alternator; `not set` without the tag, `None` at other endpoints.
pub async fn write_isolation(database: &dyn Database, arn: &str) -> Result<Option<String>, Error> {
    if !is_alternator(arn) {
        return Ok(None);
    }
    let asked = ListTagsOfResource {
        resource_arn: arn.to_owned(),
        next_token: None,
    };
    let tags = database.list_tags_of_resource(asked).await?.tags;
    Ok(Some(named(tags)))
}

/// Whether conditional writes are exact under an isolation that [`write_isolation`] returned.
#[must_use]
pub fn is_exact(isolation: Option<&str>) -> bool {
    matches!(isolation, None | Some("a" | ALWAYS | "always_use_lwt"))
}

/// Gives a table that was just created the isolation under which conditional writes are exact.
pub async fn isolate(database: &dyn Database, arn: &str) -> Result<(), Error> {
    if !is_alternator(arn) {
        return Ok(());
    }
    let tag = TagResource {
        resource_arn: arn.to_owned(),
        tags: vec![Tag {
            key: TAG.to_owned(),
            value: ALWAYS.to_owned(),
        }],
    };
    database.tag_resource(tag).await.map(drop)
}

/// Refuses a table for a model if its conditional writes are not exact.
pub(crate) fn check(table: &str, arn: &str, isolation: Option<&str>) -> Result<(), Error> {
    let Some(other) = isolation.filter(|isolation| !is_exact(Some(isolation))) else {
        return Ok(());
    };
    Err(Error::validation(format!(
        "table {table}: conditional writes are not exact there, and every write of a modelled row is one: the tag {TAG} is {other} and must \
         be {ALWAYS}. Set it with `aws dynamodb tag-resource --endpoint-url URL --resource-arn {arn} --tags Key={TAG},Value={ALWAYS}`"
    )))
}

fn is_alternator(arn: &str) -> bool {
    arn.starts_with(ALTERNATOR)
}

fn named(tags: Vec<Tag>) -> String {
    let tag = tags.into_iter().find(|tag| tag.key == TAG);
    tag.map_or_else(|| "not set".to_owned(), |tag| tag.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:scylla:alternator:shop:scylla:table/orders";

    #[test]
    fn a_table_of_alternator_is_refused_unless_its_conditional_writes_are_exact() {
        for isolation in [None, Some("always"), Some("a"), Some("always_use_lwt")] {
            assert_eq!(check("orders", ARN, isolation), Ok(()), "{isolation:?}");
        }
        for isolation in [
            "not set",
            "only_rmw_uses_lwt",
            "forbid_rmw",
            "unsafe_rmw",
            "o",
            "",
        ] {
            let refused = check("orders", ARN, Some(isolation)).unwrap_err();
            let way_out = format!("--resource-arn {ARN} --tags Key=system:write_isolation,Value=always");
            assert!(refused.message().contains(&way_out), "{refused}");
            assert!(
                refused.message().contains(&format!("is {isolation} and")),
                "{refused}"
            );
        }
    }

    #[test]
    fn the_isolation_is_that_of_the_tag_and_only_at_alternator() {
        let tag = |key: &str, value: &str| Tag {
            key: key.to_owned(),
            value: value.to_owned(),
        };
        let tags = vec![tag("team", "a"), tag("system:write_isolation", "unsafe_rmw")];
        assert_eq!(named(tags), "unsafe_rmw");
        assert_eq!(named(vec![tag("team", "a")]), "not set");
        assert!(is_alternator(ARN));
        assert!(!is_alternator(
            "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
        ));
    }
}
