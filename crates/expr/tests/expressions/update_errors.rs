//! Updates that DynamoDB refuses, with its messages.

use crate::cases::{check_errors, item, update};

const PREFIX: &str = "Invalid UpdateExpression: ";

fn check(table: &[(&str, &str)]) {
    check_errors(PREFIX, update, table);
}

#[test]
fn syntax_errors_show_where() {
    for (text, token, near) in [
        ("INVALID SYNTAX HERE", "INVALID", "INVALID SYNTAX"),
        ("SET", "<EOF>", "SET"),
        ("SET a", "<EOF>", "a"),
        ("SET a = :s,", "<EOF>", ","),
        ("SET a = :s b = :s", "b", ":s b ="),
        ("SET a == :s", "=", "== :s"),
        ("SET :s = a", ":s", "SET :s ="),
        ("SET a = five + one + x", "+", "one + x"),
        ("SET a = (five + one) + x", "+", ") + x"),
        ("SET a = five * :n", "*", "five * :n"),
        ("SET a = -1", "-", "= -1"),
        ("SET (a) = :s", "(", "SET (a"),
        ("SET a = if_not_exists(a, five + one)", "+", "five + one"),
        ("SET SET a = :s", "SET", "SET SET a"),
        ("SET a = set", "set", "= set"),
        ("REMOVE a b", "b", "a b"),
        ("REMOVE a.add.b", "add", ".add."),
        ("ADD five five", "five", "five five"),
        ("ADD five (:n)", "(", "five (:n"),
        ("DELETE ss", "<EOF>", "ss"),
        (", a", ",", ", a"),
    ] {
        check(&[(
            text,
            &format!("Syntax error; token: \"{token}\", near: \"{near}\""),
        )]);
    }
    check(&[("", "The expression can not be empty;")]);
    check(&[(
        &format!("SET {} = :s", "a".repeat(4096)),
        "Expression size has exceeded the maximum allowed size;",
    )]);
}

#[test]
fn parentheses_may_stand_once_around_operands_and_values() {
    for text in [
        "SET a = (five + (one))",
        "SET a = ((five) + one)",
        "SET a = (x)",
        "SET a = (list_append(l, (:l)))",
    ] {
        assert!(update(text).is_ok(), "{text}");
    }
    for text in [
        "SET a = ((x))",
        "SET a = ((five + one))",
        "SET a = five + ((one))",
        "SET a = list_append(((l)), :l)",
    ] {
        check(&[(text, "The expression has redundant parentheses;")]);
    }
}

#[test]
fn functions_have_one_spelling_and_one_place() {
    check(&[
        ("SET a = foo(status)", "Invalid function name; function: foo"),
        (
            "SET a = IF_NOT_EXISTS(a, :s)",
            "Invalid function name; function: IF_NOT_EXISTS",
        ),
        (
            "SET a = size(a)",
            "The function is not allowed in an update expression; function: size",
        ),
        (
            "SET a = list_append(l, :l) + :n",
            "The function is not allowed to be used this way in an expression; function: list_append",
        ),
        (
            "SET a = if_not_exists(a, list_append(l, :l))",
            "The function is not allowed to be used this way in an expression; function: list_append",
        ),
    ]);
}

#[test]
fn each_section_appears_once() {
    check(&[
        (
            "SET a = #undefined SET b = :s",
            "The \"SET\" section can only be used once in an update expression;",
        ),
        (
            "remove a set b = :s remove x",
            "The \"REMOVE\" section can only be used once in an update expression;",
        ),
        (
            "SET a = :s SET status = :s",
            "Attribute name is a reserved keyword; reserved keyword: status",
        ),
        (
            "SET a = :s SET b = :s ADD status :n",
            "The \"SET\" section can only be used once in an update expression;",
        ),
    ]);
}

#[test]
fn targets_are_resolved_before_values_and_from_the_end() {
    check(&[
        (
            "SET #undefined = :s, a = :undefined",
            "An expression attribute name used in the document path is not defined; attribute name: #undefined",
        ),
        (
            "SET a = :undefined, b = if_not_exists(x)",
            "Incorrect number of operands for operator or function; \
             operator or function: if_not_exists, number of operands: 1",
        ),
        (
            "SET b = if_not_exists(x), a = :undefined",
            "An expression attribute value used in expression is not defined; attribute value: :undefined",
        ),
    ]);
}

#[test]
fn paths_neither_overlap_nor_conflict() {
    for (text, relation, one, two) in [
        ("SET a = :s, a = :undefined", "overlap", "[a]", "[a]"),
        ("SET a.b = :s, #a = :s", "overlap", "[a, b]", "[a]"),
        (
            "SET a[0] = :s REMOVE a[0].b",
            "overlap",
            "[a, [0]]",
            "[a, [0], b]",
        ),
        ("SET a[0] = :s, a.b = :s", "conflict", "[a, [0]]", "[a, b]"),
        (
            "SET a[3].#3 = x, a.#3[3] = x",
            "conflict",
            "[a, [3], [3]]",
            "[a, [3], [3]]",
        ),
        (
            "SET a = :s, b.x = :s, b[0] = :s, a.b = :s",
            "conflict",
            "[b, x]",
            "[b, [0]]",
        ),
        (
            "SET b.x = :s, b[0] = :s, a = :s, a.b = :s",
            "overlap",
            "[a]",
            "[a, b]",
        ),
    ] {
        check(&[(
            text,
            &format!(
                "Two document paths {relation} with each other; \
                 must remove or rewrite one of these paths; path one: {one}, path two: {two}"
            ),
        )]);
    }
    assert!(update("SET a[0] = :s, a[1].b = :s, a[1].c = :s REMOVE #dot").is_ok());
}

#[test]
fn constants_of_the_wrong_type_are_refused_without_an_item() {
    const TYPE: &str = "Incorrect operand type for operator or function; operator";
    for (text, rest) in [
        (
            "ADD a :s",
            ": ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND",
        ),
        (
            "ADD a :bool",
            ": ADD, operand type: BOOLEAN, typeSet: ALLOWED_FOR_ADD_OPERAND",
        ),
        (
            "ADD a :b",
            ": ADD, operand type: BINARY, typeSet: ALLOWED_FOR_ADD_OPERAND",
        ),
        (
            "ADD a :l",
            ": ADD, operand type: LIST, typeSet: ALLOWED_FOR_ADD_OPERAND",
        ),
        (
            "DELETE a :n",
            ": DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND",
        ),
        ("SET a = five + :s", " or function: +, operand type: S"),
        ("SET a = :l - five", " or function: -, operand type: L"),
        (
            "SET a = list_append(l, :s)",
            " or function: list_append, operand type: S",
        ),
    ] {
        check(&[(text, &format!("{TYPE}{rest}"))]);
    }
}

#[test]
fn if_not_exists_needs_a_path_and_another_operand() {
    check(&[
        (
            "SET a = if_not_exists(:s, b)",
            "Operator or function requires a document path; operator or function: if_not_exists",
        ),
        (
            "SET a = if_not_exists(a, #a)",
            "The first operand must be distinct from the remaining operands for this operator or function; \
             operator: if_not_exists, first operand: [a]",
        ),
    ]);
}

#[test]
fn operators_are_limited() {
    let sums = |count: usize| {
        format!(
            "SET {}",
            (0..count)
                .map(|at| format!("a{at}=b+x"))
                .collect::<Vec<_>>()
                .join(",")
        )
    };
    assert!(update(&sums(300)).is_ok());
    check(&[(
        &sums(301),
        "The expression contains too many operators; operator count: 301",
    )]);
}

#[test]
fn an_item_can_refuse_an_update_and_stays_as_it_was() {
    const PATH: &str = "The document path provided in the update expression is invalid for update";
    const MISSING: &str = "The provided expression refers to an attribute that does not exist in the item";
    const TYPE: &str = "An operand in the update expression has an incorrect data type";
    for (text, expected) in [
        ("SET a = :s, gone.b = :s", PATH),
        ("SET x.b = :s", PATH),
        ("SET m[0] = :s", PATH),
        ("SET l.b = :s", PATH),
        ("SET m.z.q = :s", PATH),
        ("REMOVE gone.b", PATH),
        ("REMOVE l[0].b", PATH),
        ("ADD gone.b :n", PATH),
        ("DELETE gone.b :ss", PATH),
        ("SET a = gone", MISSING),
        ("SET a = l[9]", MISSING),
        ("SET a = gone + :n", MISSING),
        ("SET a = if_not_exists(gone, gone2)", MISSING),
        ("SET a = if_not_exists(x, gone)", MISSING),
        ("SET a = list_append(gone, :l)", MISSING),
        ("SET a = x + :n", TYPE),
        ("SET a = x + gone", TYPE),
        ("SET a = list_append(x, :l)", TYPE),
        ("SET a = if_not_exists(gone, :s) + :n", TYPE),
        ("ADD x :n", TYPE),
        ("ADD ss :ns", TYPE),
        ("ADD five :ns", TYPE),
        ("DELETE ss :ns", TYPE),
        ("DELETE x :ss", TYPE),
    ] {
        let mut changed = item();
        let error = update(text).unwrap().apply(&mut changed).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
        assert_eq!(changed, item(), "{text}");
    }
}
