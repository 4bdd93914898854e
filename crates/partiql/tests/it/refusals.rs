//! What is refused, and in which words.

use crate::{bind, key, statement, with_composite, with_hash};
use trestle_item::{AttributeValue, Item, ScalarType};
use trestle_partiql::{Keys, Statement, parse};

fn refusal(text: &str) -> String {
    bind(text, &[]).map_or_else(
        |refusal| refusal.to_string(),
        |statement| panic!("accepted: {statement:?}"),
    )
}

/// Statements, and the detail behind "wasn't well formed, …: ".
fn not_well_formed(cases: &[(&str, &str)]) {
    for (text, detail) in cases {
        let expected = format!("Statement wasn't well formed, can't be processed: {detail}");
        assert_eq!(refusal(text), expected, "{text}");
    }
}

fn refused(cases: &[(&str, &str)]) {
    for (text, message) in cases {
        assert_eq!(refusal(text), *message, "{text}");
    }
}

#[test]
fn a_text_that_cannot_be_read_says_what_was_expected() {
    not_well_formed(&[
        ("SELECTT * FROMM \"t\"", "Unexpected token after expression"),
        ("SLECT * FROM \"t\" WHERE pk = 'x'", "Expected data manipulation"),
        ("SELECT", "Unexpected term"),
        ("SELECT *", "Expected FROM after select list"),
        ("SELECT * FROM", "Unexpected term"),
        ("SELECT * FROM t WHERE", "Unexpected term"),
        ("SELECT * FROM t WHERE;", "Unexpected term"),
        ("SELECT * FROM t WHERE NOT", "Unexpected term"),
        ("SELECT * FROM t WHERE (", "Unexpected term"),
        ("UPDATE t SET a = 1 WHERE", "Unexpected term"),
        ("DELETE FROM t WHERE", "Unexpected term"),
        (
            "SELECT * FROM t WHERE pk =",
            "Missing right-hand side expression of infix operator",
        ),
        (
            "SELECT * FROM t WHERE pk = 'a' OR",
            "Missing right-hand side expression of infix operator",
        ),
        ("SELECT * FROM t WHERE ORDER BY pk", "Unexpected keyword"),
        ("SELECT * FROM t WHERE IS NULL", "Unexpected operator"),
        ("SELECT * FROM t WHERE pk = LIKE", "Unexpected operator"),
        ("SELECT * FROM t WHERE pk == 'a'", "Unexpected operator"),
        (
            "SELECT * FROM t WHERE pk = 'a' AND x IS FOO",
            "Expected type name",
        ),
        ("SELECT * FROM t WHERE (pk = 'a'", "Expected RIGHT_PAREN"),
        ("SELECT * FROM t WHERE pk IN [1 2]", "Expected RIGHT_BRACKET"),
        ("SELECT * FROM t WHERE pk = 'a", ""),
        ("SELECT * FROM t WHERE pk = 1 # note", ""),
        ("SELECT * FROM t WHERE pk = 1e2147483648", ""),
        ("SELECT * FROM t WHERE m.inner = 1", "Invalid path dot component"),
        ("SELECT * FROM t WHERE order = 1", "Unexpected keyword"),
        ("INSERT t VALUE {'pk': 'a'}", "Unexpected keyword"),
        ("INSERT INTO t (key) VALUES ('x')", "Unexpected keyword"),
        ("INSERT INTO t", "Unexpected term"),
        ("INSERT INTO t VALUE {'pk' 'a'}", "Expected COLON"),
        ("INSERT INTO t VALUE {'pk': 'a' 'b'}", "Expected RIGHT_CURLY"),
        ("UPDATE", "Expected identifier for simple path"),
        ("UPDATE t WHERE pk = 'a'", "Expected data manipulation"),
        (
            "UPDATE a-b SET c = 1 WHERE pk = 'a'",
            "Expected data manipulation",
        ),
        ("UPDATE t SET a = WHERE pk = 'a'", "Unexpected keyword"),
        ("DELETE", "Expected FROM after DELETE"),
        ("DELETE t", "Expected FROM after DELETE"),
        ("DELETE FROM", "Expected identifier for simple path"),
        (
            "DELETE FROM WHERE pk = 'a'",
            "Expected identifier for simple path",
        ),
    ]);
}

#[test]
fn a_token_left_over_refuses_the_whole_statement() {
    let leftover = "Unexpected token after expression";
    not_well_formed(&[
        ("SELECT * FROM t WHERE pk = 1 foo", leftover),
        ("SELECT * FROM t WHERE pk = 1 e5", leftover),
        ("SELECT * FROM t WHERE pk = 1)", leftover),
        ("SELECT * FROM t ORDER BY pk WHERE pk = 1", leftover),
        ("INSERT INTO t VALUE {'pk': 1} foo", leftover),
        ("INSERT INTO t x VALUE {'pk': 1}", leftover),
        ("UPDATE t SET a = 1 WHERE pk = 1 foo", leftover),
        ("UPDATE t REMOVE a, b WHERE pk = 1", leftover),
        ("DELETE FROM t WHERE pk = 1 ORDER BY pk", leftover),
        ("FROM t SET c = 1 WHERE pk = 'a'", leftover),
        (
            "SELECT * FROM t; SELECT * FROM t",
            "Unexpected token after semicolon. (Only one query is allowed.)",
        ),
    ]);
}

#[test]
fn sql_that_dynamodb_lacks_is_named() {
    refused(&[
        ("SELECT * FROM t x WHERE pk = 1", "Aliasing is not supported"),
        ("SELECT * FROM t AS x", "Aliasing is not supported"),
        ("SELECT pk AS x FROM t", "Aliasing is not supported"),
        ("UPDATE t x SET a = 3 WHERE pk = 'x'", "Aliasing is not supported"),
        ("DELETE FROM t x WHERE pk = 'x'", "Aliasing is not supported"),
        (
            "SELECT * FROM t, u",
            "Only select from a single table or index is supported.",
        ),
        (
            "SELECT * FROM t JOIN u ON 1 = 1",
            "Only select from a single table or index is supported.",
        ),
        (
            "SELECT * FROM htab WHERE pk = 'a' LIMIT 1",
            "Unsupported clause: LIMIT at 1:41:1",
        ),
        ("SELECT * FROM t GROUP BY pk", "Unsupported clause: GROUP BY"),
        (
            "SELECT DISTINCT pk FROM t",
            "Unsupported token in expression: DISTINCT",
        ),
        (
            "SELECT VALUE pk FROM t",
            "Select projection doesn't support value or pivot keywords",
        ),
        ("SELECT COUNT(*) FROM t", "Unexpected path component at 1:8:5"),
        ("SELECT 'x' FROM t", "Unexpected path component at 1:8:3"),
        (
            "SELECT m.* FROM t",
            "Changing item's hierarchy while reading isn't supported",
        ),
        (
            "SELECT a, m.a FROM t",
            "Duplicate identifiers in select clause: a",
        ),
        ("x IS INT4", "Unsupported operation: IsType"),
        ("hello", "Unsupported operation: Id"),
        (
            "SELECT * FROM t WHERE a = 1 UNION SELECT * FROM t",
            "Unsupported operation: Union",
        ),
        ("DROP TABLE t", "Unsupported operation: DropTable"),
        (
            "SELECT * FROM t.i.x",
            "A path may contain at most 2 components in the FROM clause",
        ),
        (
            "SELECT * FROM \"t\".\"\"",
            "Path component cannot be an empty string",
        ),
        ("SELECT * FROM [1]", "Unexpected from source"),
        (
            "UPDATE t.i SET a = 1 WHERE pk = 'a'",
            "This operation is not supported on an index",
        ),
        (
            "INSERT INTO ctab.gix VALUE {'pk': 'a'}",
            "FROM clause may only contain a single table name in data manipulation statements at 1:13:4",
        ),
        (
            "INSERT INTO t VALUE {'pk': 1} RETURNING ALL OLD *",
            "RETURNING is not supported in INSERT",
        ),
        (
            "DELETE FROM t WHERE pk = 'x' RETURNING MODIFIED OLD *",
            "Invalid returning clause: RETURNING MODIFIED OLD *. \
             Only RETURNING ALL OLD * is allowed in DELETE statements.",
        ),
        (
            "INSERT INTO t << {'pk': 1} >>",
            "Unsupported operation: Inserting multiple items in a single statement is not supported, \
             use \"INSERT INTO tableName VALUE item\" instead",
        ),
    ]);
}

#[test]
fn conditions_are_refused_as_in_condition_expressions_without_the_parameter_name() {
    let of = |condition: &str| refusal(&format!("SELECT * FROM t WHERE pk = 'a' AND {condition}"));
    for (condition, message) in [
        ("b", "The arguments to AND/OR must be Expressions"),
        ("NOT b", "The argument to NOT must be a Type or Expression"),
        (
            "n + 1 > 2",
            "Unsupported operator in Condition Expression. Operator: +",
        ),
        (
            "n > -m",
            "Unsupported operator in Condition Expression. Operator: -",
        ),
        (
            "x LIKE 'y'",
            "Unsupported operator in Condition Expression. Operator: like",
        ),
        ("x = MISSING", "MISSING must be compared using IS operator"),
        (
            "n < true",
            "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
        ),
        (
            "n BETWEEN 'a' AND 10",
            "The BETWEEN operator requires same data type for lower and upper bounds; \
             lower bound operand: AttributeValue: {S:a}, upper bound operand: AttributeValue: {N:10}",
        ),
        (
            "n BETWEEN 20 AND 10",
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; \
             lower bound operand: AttributeValue: {N:20}, upper bound operand: AttributeValue: {N:10}",
        ),
        (
            "n IN []",
            "IN operator must have a left hand argument of type Variable Reference \
             and right hand argument of type Seq with at least one member",
        ),
        (
            "n IN 10",
            "IN operator must have a left hand argument of type Variable Reference \
             and right hand argument of type Seq with at least one member",
        ),
        (
            "n IN (SELECT a FROM t)",
            "IN operator must have a left hand argument of type Variable Reference \
             and right hand argument of type Seq with at least one member",
        ),
        (
            "size(l)",
            "Incorrect operand type for operator or function; operator or function: AND, operand type: N",
        ),
        (
            "begins_with(g)",
            "Incorrect number of operands for operator or function; \
             operator or function: begins_with, number of operands: 1",
        ),
        (
            "attribute_exists()",
            "Incorrect number of operands for operator or function; \
             operator or function: attribute_exists, number of operands: 0",
        ),
        (
            "attribute_exists('ss')",
            "Operator or function requires a document path; operator or function: attribute_exists",
        ),
        (
            "attribute_type(g, 'X')",
            "Invalid attribute type name found; type: X, valid types: {N,BS,L,B,NULL,M,S,SS,NS,BOOL}",
        ),
        ("foo(n)", "Unrecognized function: foo at 1:36:3"),
        ("EXISTS(n)", "Unrecognized function: exists at 1:36:6"),
        (
            "set_add(s, <<'x'>>) = s",
            "Unrecognized function: set_add at 1:36:7",
        ),
        (
            "EXISTS(SELECT * FROM t)",
            "Unsupported token in expression: SELECT at 1:43:6",
        ),
        (
            "n IS INT",
            "Unsupported data type for IS operator: IntegerType. Supported data types are \
             [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST] at 1:36:1",
        ),
        (
            "size(n) IS STRING",
            "The left hand side argument to IS must be a Variable Reference, Literal, or Path",
        ),
        (
            "a[-1] = 1",
            "List index is not within the allowable range; index: [-1] at 1:39:1",
        ),
        (
            "a[*] = 1",
            "Wildcard path component like a[*].b are not supported at 1:38:1",
        ),
        (
            "n = `1`",
            "Ion Literals are not supported: INT under key root at 1:40:3",
        ),
    ] {
        assert_eq!(of(condition), message, "{condition}");
    }
    assert_eq!(
        refusal("SELECT * FROM t WHERE pk"),
        "WHERE clause must contain an expression that resolves to a boolean"
    );
}

#[test]
fn a_condition_holds_at_most_three_hundred_operators_and_a_hundred_operands_of_in() {
    let chain = format!("SELECT * FROM t WHERE a = 1{}", " AND a = 1".repeat(150));
    assert_eq!(
        refusal(&chain),
        "The expression contains too many operators; operator count: 301"
    );
    let members = vec!["1"; 101].join(", ");
    let of_many = format!("SELECT * FROM t WHERE a IN [{members}]");
    assert_eq!(
        refusal(&of_many),
        "The IN operator is provided with too many operands; number of operands: 101"
    );
}

#[test]
fn literals_that_are_no_attribute_values_are_refused_where_they_stand() {
    let of = |value: &str| refusal(&format!("INSERT INTO t VALUE {{'pk': {value}}}"));
    let overflow = "Number overflow. Attempting to store a number with magnitude larger than supported range";
    for (value, message) in [
        ("1e126", format!("{overflow} under root")),
        ("{'x': 1e126}", format!("{overflow} under root.x")),
        ("[1, 1e126]", format!("{overflow} under root[1]")),
        (
            "1e-131",
            "Number underflow. Attempting to store a number with magnitude smaller than supported range under root"
                .to_owned(),
        ),
        ("foo", "Unsupported data type: foo under key root at 1:28:3".to_owned()),
        ("missing", "Unsupported data type: MISSING under key root at 1:28:7".to_owned()),
        ("1 + 1", "Unsupported data type: + under key root at 1:30:1".to_owned()),
        ("set_add(<<'a'>>, <<'b'>>)", "Unsupported data type: set_add under key root at 1:28:7".to_owned()),
        ("{'x': foo}", "Unsupported data type: VariableReference under key root.x at 1:34:3".to_owned()),
        ("[missing]", "Unsupported data type: LiteralMissing under key root.0 at 1:29:7".to_owned()),
        ("[{'x': 1 + 1}]", "Unsupported data type: NAry under key root.0.x at 1:37:1".to_owned()),
        ("foo.bar", "Unsupported data type: PATH under key root".to_owned()),
        ("[foo.bar]", "Unsupported data type: Path under key root.0".to_owned()),
        ("<<>>", "Empty bags are not supported at 1:28:2".to_owned()),
        (
            "<<1, 'a'>>",
            "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags".to_owned(),
        ),
        (
            "<<true>>",
            "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags at 1:30:4"
                .to_owned(),
        ),
        (
            "<<'x', 'x'>>",
            "One or more parameter values were invalid: Input collection [x, x] contains duplicates.".to_owned(),
        ),
        (
            "{'a': <<1, 1>>}",
            "One or more parameter values were invalid: Input collection [1, 1] contains duplicates! under root.a"
                .to_owned(),
        ),
        ("{'a': 1, 'a': 2}", "Duplicate keys in tuple. Key: a under root at 1:37:3".to_owned()),
        ("{a: 1}", "Tuple keys must be of type String. Actual type: Id under root at 1:29:1".to_owned()),
        ("{'': 1}", "Path component cannot be an empty string".to_owned()),
    ] {
        assert_eq!(of(value), message, "{value}");
    }
    assert_eq!(
        refusal("INSERT INTO htab VALUE 'x'"),
        "Unsupported format in item expression. \
         Please use struct format {...} to express item values for insert statement. at 1:24:3"
    );
}

#[test]
fn values_nest_to_thirty_two_levels_whether_written_or_given() {
    let nested = |levels: usize| {
        format!(
            "INSERT INTO t VALUE {{'a': {}{}}}",
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    statement(&nested(32));
    let trail = "[0]".repeat(32);
    assert_eq!(
        refusal(&nested(33)),
        format!("Nesting Levels have exceeded supported limits under root{trail}")
    );

    let deep = (0..32).fold(AttributeValue::Null, |inner, _| AttributeValue::L(vec![inner]));
    assert!(bind("INSERT INTO t VALUE {'a': ?}", std::slice::from_ref(&deep)).is_ok());
    let refusal = bind("INSERT INTO t VALUE {'a': [?]}", &[deep]).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "Nesting Levels have exceeded supported limits under root[0]"
    );
}

#[test]
fn depth_bombs_are_refused_before_they_reach_the_stack() {
    for bomb in [
        "(",
        "[",
        "{'a':",
        "<<",
        "NOT ",
        "-",
        "f(",
        "a[",
        "FROM t WHERE ",
        "SELECT a FROM ",
        "1 + (",
    ] {
        let text = format!("SELECT * FROM t WHERE a = {}", bomb.repeat(100_000 / bomb.len()));
        assert!(bind(&text, &[]).is_err(), "{bomb}");
        let text = format!("SELECT * FROM t WHERE {}", bomb.repeat(100_000 / bomb.len()));
        assert!(bind(&text, &[]).is_err(), "{bomb}");
    }
    for chain in [" = 1", " + 1", " IS NULL", " || a", ".a", "[0]"] {
        let text = format!("SELECT * FROM t WHERE a{}", chain.repeat(100_000 / chain.len()));
        assert!(bind(&text, &[]).is_err(), "{chain}");
    }
}

#[test]
fn updates_are_refused_as_in_update_expressions_without_the_parameter_name() {
    let of = |change: &str| refusal(&format!("UPDATE t SET {change} WHERE pk = 'a'"));
    for (change, message) in [
        (
            "n = n * 2",
            "Unsupported operator in Update Expression. Operator: *",
        ),
        (
            "n = n || 'x'",
            "Unsupported operator in Update Expression. Operator: ||",
        ),
        (
            "n = a + b + c",
            "Unsupported operator in Update Expression. Operator: +",
        ),
        (
            "n = n + 'x'",
            "Incorrect operand type for operator or function; operator or function: +, operand type: S",
        ),
        (
            "n = -n",
            "Incorrect number of operands for operator or function; operator or function: -, number of operands: 1",
        ),
        (
            "l = list_append(l, 1)",
            "Incorrect operand type for operator or function; operator or function: list_append, operand type: N",
        ),
        (
            "l = list_append(l)",
            "Incorrect number of operands for operator or function; \
             operator or function: list_append, number of operands: 1",
        ),
        (
            "n = size(q)",
            "The function is not allowed in an update expression; function: size",
        ),
        ("n = foo(q)", "Unrecognized function: foo at 1:18:3"),
        ("n = missing", "MISSING must be compared using IS operator"),
        (
            "n = q IS NULL",
            "IS operator is not supported in update expressions",
        ),
        (
            "a.b = 1, a = 2",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; \
             path one: [a], path two: [a, b]",
        ),
        (
            "a = 1 REMOVE a",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; \
             path one: [a], path two: [a]",
        ),
        (
            "q = set_add(ss, <<'x'>>)",
            "The first argument to SET_ADD must equal the assignment value at 1:18:7",
        ),
        (
            "ss = set_add(<<'a'>>, <<'b'>>)",
            "The first argument to SET_ADD must equal the assignment value at 1:19:7",
        ),
        (
            "ss = set_add(ss, 'x')",
            "The second argument to SET_ADD must be a value with type SET at 1:27:2",
        ),
        (
            "ss = set_delete(ss, ['x'])",
            "The second argument to SET_DELETE must be a value with type SET at 1:30:2",
        ),
        (
            "ss = set_add(ss)",
            "SET_ADD must have exactly two arguments at 1:19:7",
        ),
        ("ss = set_add(ss, <<>>)", "Empty bags are not supported at 1:31:2"),
    ] {
        assert_eq!(of(change), message, "{change}");
    }
}

#[test]
fn too_few_parameters_are_refused_and_too_many_are_not() {
    let text = "INSERT INTO t VALUE {'pk': ?, 'b': ?}";
    let one = [AttributeValue::from("a")];
    assert_eq!(
        bind(text, &one).unwrap_err().to_string(),
        "Number of parameters in request and statement don't match."
    );
    assert!(bind("INSERT INTO t VALUE {'pk': 'a'}", &one).is_ok());
}

#[test]
fn the_table_is_known_before_values_are_judged() {
    let parsed = parse("SELECT COUNT(*) FROM t.i WHERE a = 1e126").unwrap();
    assert_eq!(
        (parsed.table(), parsed.index(), parsed.is_read()),
        ("t", Some("i"), true)
    );
    assert!(parsed.bind(&[]).is_err());
}

#[test]
fn keys_of_several_attributes_are_beyond_partiql() {
    let two = [key("a", ScalarType::S), key("b", ScalarType::S)];
    assert_eq!(
        Keys::new(&two, &[]).unwrap_err().to_string(),
        "PartiQL statements cannot be executed on tables with multi-attribute HASH keys \
         or multi-attribute RANGE keys."
    );
}

#[test]
fn a_write_names_exactly_one_item() {
    let target = |condition: &str| {
        let text = format!("UPDATE t SET n = 5 WHERE {condition}");
        let Statement::Update(change) = statement(&text) else {
            panic!("{text}")
        };
        with_composite(|keys| change.target(keys))
            .unwrap_err()
            .to_string()
    };
    let mandatory = "Where clause does not contain a mandatory equality on all key attributes";
    for (condition, message) in [
        ("pk = 'a'", mandatory),
        ("pk = 'a' AND sk > 1", mandatory),
        ("pk IN ['a'] AND sk = 1", mandatory),
        ("pk = 'a' AND sk = 1 OR pk = 'b' AND sk = 1", mandatory),
        ("NOT pk = 'a' AND sk = 1", mandatory),
        ("t.pk = 'a' AND sk = 1", mandatory),
        (
            "pk = 'a' AND sk = 1 AND pk = 'b'",
            "Multiple conditions on same key pk. Only single item Update/Insert/Delete are supported",
        ),
        (
            "pk = 1 AND sk = 1",
            "Key attribute's data type should match its data type in table's schema: Key pk",
        ),
        (
            "pk = true AND sk = 1",
            "Key value must be of type S, N, or B. Key name: pk, Key type: BOOL",
        ),
    ] {
        assert_eq!(target(condition), message, "{condition}");
    }
    let Statement::Update(change) = statement("FROM t SET c = 1") else {
        panic!()
    };
    assert_eq!(
        with_hash(|keys| change.target(keys)).unwrap_err().to_string(),
        mandatory
    );
}

#[test]
fn an_insertion_brings_the_key_in_its_type() {
    let of = |item: &str| {
        let text = format!("INSERT INTO t VALUE {item}");
        let Statement::Insert(insert) = statement(&text) else {
            panic!("{text}")
        };
        with_hash(|keys| insert.check(keys)).unwrap_err().to_string()
    };
    assert_eq!(
        of("{'a': 1}"),
        "One or more parameter values were invalid: Missing the key pk in the item"
    );
    assert_eq!(
        of("{'pk': 1}"),
        "Key attribute's data type should match its data type in table's schema: Key pk"
    );
}

#[test]
fn exists_asks_more_of_one_item_than_its_key() {
    let of = |text: &str| {
        let Statement::Exists(select) = statement(text) else {
            panic!("{text}")
        };
        with_hash(|keys| select.exists(keys))
    };
    let message = "EXISTS() must contain a single item read with additional condition";
    assert_eq!(
        of("EXISTS(SELECT * FROM t WHERE pk = 'a')")
            .unwrap_err()
            .to_string(),
        message
    );
    assert_eq!(
        of("EXISTS(SELECT * FROM t WHERE n = 1)").unwrap_err().to_string(),
        message
    );
    let target = of("EXISTS(SELECT * FROM t WHERE pk = 'a' AND n IS MISSING)").unwrap();
    assert_eq!(target.key, Item::from([("pk", "a")]));
    let condition = target.condition.unwrap();
    assert!(condition.holds(&Item::from([("pk", "a")])));
    assert!(!condition.holds(&Item::new()), "the item must exist");
}
