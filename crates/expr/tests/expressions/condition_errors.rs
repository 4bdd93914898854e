//! Conditions that DynamoDB refuses, with its messages.

use trestle_expr::{Condition, Kind, Placeholders};

use crate::cases::{check_errors, condition};

const PREFIX: &str = "Invalid ConditionExpression: ";

fn check(table: &[(&str, &str)]) {
    check_errors(PREFIX, condition, table);
}

/// Each text fails at a token, with the text near it.
fn check_syntax(table: &[(&str, &str, &str)]) {
    for (text, token, near) in table {
        let error = condition(text).expect_err(text).to_string();
        assert_eq!(
            error,
            format!("{PREFIX}Syntax error; token: \"{token}\", near: \"{near}\""),
            "{text:?}"
        );
    }
}

#[test]
fn a_syntax_error_shows_the_token_and_its_neighbours_as_written() {
    check_syntax(&[
        ("   ", "<EOF>", "   "),
        ("a", "<EOF>", "a"),
        (" a", "<EOF>", "a"),
        ("a =", "<EOF>", "="),
        ("a = ", "<EOF>", "= "),
        ("a = :s =", "=", ":s ="),
        ("a = :s AND", "<EOF>", "AND"),
        ("a = :s b", "b", ":s b"),
        ("a  b  ", "b", "a  b  "),
        ("a\n\nb  c", "b", "a\n\nb  c"),
        ("  ! a", "!", "  ! a"),
        ("a ! b", "!", "a ! b"),
        ("a = :s)", ")", ":s)"),
        ("(a = :s", "<EOF>", ":s"),
        ("NOT", "<EOF>", "NOT"),
        ("a = :s AND OR x = :s", "OR", "AND OR x"),
    ]);
}

#[test]
fn literals_and_foreign_operators_are_syntax_errors() {
    check_syntax(&[
        ("a = \"x\"", "\"", "= \"x"),
        ("a = 1", "1", "= 1"),
        ("a == :s", "=", "== :s"),
        ("a != :s", "!", "a !="),
        ("a < > :s", ">", "< > :s"),
        ("a + :n = :n", "+", "a + :n"),
        ("a IS NULL", "IS", "a IS NULL"),
        ("a NOT IN (:s)", "NOT", "a NOT IN"),
        ("é = :s", "é", "é ="),
        ("a = 😀", "😀", "= 😀"),
        ("_a = :s", "_", "_a"),
        ("# = :s", "#", "# ="),
        ("a = :", ":", "= :"),
    ]);
}

#[test]
fn keywords_cannot_name_attributes() {
    check_syntax(&[
        ("AND = :s", "AND", "AND ="),
        ("a.and = :s", "and", ".and ="),
        ("a = between", "between", "= between"),
        ("set = :s", "set", "set ="),
        ("not = :s", "=", "not = :s"),
    ]);
}

#[test]
fn paths_have_names_and_whole_indexes() {
    check_syntax(&[
        ("a. = :s", "=", ". = :s"),
        ("a..b = :s", ".", "..b"),
        ("a.1 = :s", "1", ".1 ="),
        ("a[] = :s", "]", "[] ="),
        ("a[x] = :s", "x", "[x]"),
        ("a[-1] = :s", "-", "[-1"),
        ("a[1.5] = :s", ".", "1.5"),
        ("a[00] = :s", "0", "00]"),
        ("a[0 = :s", "=", "0 = :s"),
        (":s.a = :s", ".", ":s.a"),
        ("(a.b).c = :s", ".", ").c"),
        ("(size(a))[0] = :n", "[", ")[0"),
    ]);
}

#[test]
fn functions_and_lists_need_operands() {
    check_syntax(&[
        ("size() = :n", ")", "() ="),
        ("attribute_exists(a", "<EOF>", "a"),
        ("attribute_exists(a,)", ")", ",)"),
        ("attribute_exists a", "a", "attribute_exists a"),
        ("a IN ()", ")", "()"),
        ("a IN :n", ":n", "IN :n"),
        ("a IN (:n,)", ")", ",)"),
        ("a BETWEEN :n", "<EOF>", ":n"),
        ("a BETWEEN (:n AND :n2)", "AND", ":n AND :n2"),
        ("(a)", "<EOF>", ")"),
        ("()", ")", "()"),
        ("a AND x = :s", "AND", "a AND x"),
    ]);
}

#[test]
fn parentheses_around_parentheses_are_redundant() {
    const REDUNDANT: &str = "The expression has redundant parentheses;";
    for text in [
        "((a = :s))",
        "(((a = :s) AND b = :s))",
        "NOT ((a = :s))",
        "((a)) = :s",
        "a = ((b))",
        "a IN (((b)))",
        "attribute_exists(((a)))",
        "a = :s AND ((b = :s OR a = :n)) AND a = :n",
        "((a = :s)) b !",
        "foo(a) AND ((status = :undefined))",
    ] {
        check(&[(text, REDUNDANT)]);
    }
    for text in [
        "((a = :s) AND (b = :s))",
        "(a) = (b)",
        "a IN ((b))",
        "((a) = :s)",
        "NOT (NOT (a = :s))",
    ] {
        assert!(condition(text).is_ok(), "{text}");
    }
}

#[test]
fn a_syntax_error_comes_before_redundant_parentheses_that_stand_around_nothing_sensible() {
    check_syntax(&[
        ("((:l))", "<EOF>", ")"),
        ("begins_with(((a)), )", ")", ", )"),
        ("((a = :s) !", "!", ") !"),
    ]);
}

#[test]
fn functions_have_one_spelling_and_one_place() {
    check(&[
        ("foo(a)", "Invalid function name; function: foo"),
        ("Size(a) = :n", "Invalid function name; function: Size"),
        (
            "NOTattribute_exists(a)",
            "Invalid function name; function: NOTattribute_exists",
        ),
        (
            "list_append(a, :l) = :l",
            "The function is not allowed in a condition expression; function: list_append",
        ),
        (
            "size(a)",
            "The function is not allowed to be used this way in an expression; function: size",
        ),
        (
            "attribute_exists(a) = :s",
            "The function is not allowed to be used this way in an expression; function: attribute_exists",
        ),
        (
            "size(contains(a, b)) > a",
            "The function is not allowed to be used this way in an expression; function: contains",
        ),
    ]);
}

#[test]
fn mistakes_in_words_are_reported_in_the_order_written() {
    check(&[
        (
            "status = :undefined AND foo(b)",
            "Attribute name is a reserved keyword; reserved keyword: status",
        ),
        (
            "attribute_exists(a) AND foo(status)",
            "Invalid function name; function: foo",
        ),
        (
            "a.b.abOrT = :s",
            "Attribute name is a reserved keyword; reserved keyword: abOrT",
        ),
        (
            "a[2147483648] = :undefined",
            "List index is not within the allowable range; index: [2147483648]",
        ),
        (
            "a = :undefined AND foo(a)",
            "Invalid function name; function: foo",
        ),
    ]);
    assert!(condition("a[2147483647] = :s AND #status = :s").is_ok());
}

#[test]
fn placeholders_must_be_defined() {
    check(&[
        (
            "#undefined = :undefined",
            "An expression attribute name used in the document path is not defined; attribute name: #undefined",
        ),
        (
            "a = :undefined AND #undefined = :s",
            "An expression attribute value used in expression is not defined; attribute value: :undefined",
        ),
        (
            "begins_with(:undefined, a, b)",
            "An expression attribute value used in expression is not defined; attribute value: :undefined",
        ),
    ]);
}

#[test]
fn functions_take_a_fixed_number_of_operands() {
    const COUNT: &str = "Incorrect number of operands for operator or function; operator or function: ";
    for (text, function, given) in [
        ("attribute_exists(a, b)", "attribute_exists", 2),
        ("attribute_type(a)", "attribute_type", 1),
        ("begins_with(a, b, x)", "begins_with", 3),
        ("contains(a)", "contains", 1),
        ("size(a, b) = :undefined", "size", 2),
    ] {
        check(&[(text, &format!("{COUNT}{function}, number of operands: {given}"))]);
    }
}

#[test]
fn a_path_is_not_compared_with_itself() {
    const DISTINCT: &str = "The first operand must be distinct from the remaining operands for this operator or function; operator: ";
    for (text, operator, path) in [
        ("a = #a", "=", "[a]"),
        ("a.b[1] <> a.#b[1]", "<>", "[a, b, [1]]"),
        ("a BETWEEN :s AND a", "BETWEEN", "[a]"),
        ("a IN (:s, a)", "IN", "[a]"),
        ("contains(a, a)", "contains", "[a]"),
        ("attribute_type(a, a)", "attribute_type", "[a]"),
    ] {
        check(&[(text, &format!("{DISTINCT}{operator}, first operand: {path}"))]);
    }
    for text in [":n = :n", "size(a) = a", "a BETWEEN b AND b", "#dot = a.b"] {
        assert!(condition(text).is_ok(), "{text}");
    }
}

#[test]
fn operands_of_known_type_must_fit_the_operator() {
    const TYPE: &str = "Incorrect operand type for operator or function; operator or function: ";
    for (text, operator, operand_type) in [
        ("a < :l", "<", "L"),
        (":m <= a", "<=", "M"),
        ("a > :null", ">", "NULL"),
        ("a >= :bs", ">=", "BS"),
        ("a BETWEEN :bool AND :bool", "BETWEEN", "BOOL"),
        (":ss BETWEEN a AND b", "BETWEEN", "SS"),
        ("a BETWEEN a AND :l", "BETWEEN", "L"),
        ("begins_with(a, :n)", "begins_with", "N"),
        ("begins_with(:null, a)", "begins_with", "NULL"),
        ("begins_with(a, size(b))", "begins_with", "N"),
        ("size(:n) = :n", "size", "N"),
        ("size(size(a)) = :n", "size", "N"),
        ("attribute_type(a, :n)", "attribute_type", "N"),
        ("attribute_type(a, size(b))", "attribute_type", "N"),
    ] {
        check(&[(text, &format!("{TYPE}{operator}, operand type: {operand_type}"))]);
    }
}

#[test]
fn attribute_type_needs_a_type_and_existence_a_path() {
    check(&[
        (
            "attribute_type(a, :s)",
            "Invalid attribute type name found; type: x, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
        ),
        (
            "attribute_exists(:s)",
            "Operator or function requires a document path; operator or function: attribute_exists",
        ),
        (
            "attribute_not_exists(size(a))",
            "Operator or function requires a document path; operator or function: attribute_not_exists",
        ),
    ]);
}

#[test]
fn constant_bounds_must_be_of_one_type_and_in_order() {
    check(&[
        (
            "a BETWEEN :n2 AND :n",
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; \
             lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
        ),
        (
            "a BETWEEN :n AND :s",
            "The BETWEEN operator requires same data type for lower and upper bounds; \
             lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:x}",
        ),
    ]);
    assert!(condition("a BETWEEN :s AND :s").is_ok());
}

#[test]
fn expressions_have_limits() {
    let list = |len| format!("a IN ({})", vec![":s"; len].join(","));
    assert!(condition(&list(100)).is_ok());
    check(&[(
        &list(101),
        "The IN operator is provided with too many operands; number of operands: 101",
    )]);

    let path = |len| format!("{} = :s", vec!["a"; len].join("."));
    assert!(condition(&path(32)).is_ok());
    check(&[(
        &path(33),
        "The document path has too many nesting levels; nesting levels: 33",
    )]);

    let operators = |comparisons| vec!["a<:s"; comparisons].join(" OR ");
    assert!(condition(&operators(150)).is_ok(), "150 comparisons and 149 ORs");
    check(&[(
        &operators(151),
        "The expression contains too many operators; operator count: 301",
    )]);

    let size = |bytes: usize| format!("{} = :s", "a".repeat(bytes - 5));
    assert!(condition(&size(4096)).is_ok());
    check(&[(
        &size(4097),
        "Expression size has exceeded the maximum allowed size; expression size: 4097",
    )]);
    check(&[("", "The expression can not be empty;")]);
}

#[test]
fn messages_name_the_parameter() {
    for kind in [Kind::Condition, Kind::Filter, Kind::KeyCondition] {
        let error = Condition::parse(kind, "", &mut Placeholders::none()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("Invalid {kind}: The expression can not be empty;")
        );
    }
}
