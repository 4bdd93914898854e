use proptest::prelude::*;
use trestle_item::{Number, NumberError};

use crate::generate::number;
use crate::oracle::Decimal;

fn n(text: &str) -> Number {
    text.parse().unwrap()
}

#[test]
fn numbers_are_answered_in_plain_decimal_form() {
    let cases = [
        ("0", "0"),
        ("-0.0", "0"),
        ("0E125", "0"),
        ("0.00E-130", "0"),
        ("+5", "5"),
        ("1.", "1"),
        (".5", "0.5"),
        ("00042", "42"),
        ("1.10", "1.1"),
        ("1e5", "100000"),
        ("1E-5", "0.00001"),
        ("-1.5E2", "-150"),
        ("120", "120"),
        ("10000000000000000000", "10000000000000000000"),
        ("9999999999999999999", "9999999999999999999"),
        ("18446744073709551616", "18446744073709551616"),
        (
            "12345678901234567890123456789012345678",
            "12345678901234567890123456789012345678",
        ),
    ];
    for (input, expected) in cases {
        assert_eq!(n(input).to_string(), expected, "{input}");
    }
    assert_eq!(n("1E+100").to_string(), format!("1{}", "0".repeat(100)));
    assert_eq!(n("-1E-130").to_string(), format!("-0.{}1", "0".repeat(129)));
}

#[test]
fn the_longest_number_is_answered_whole() {
    let digits = "12345678901234567890123456789012345678";
    assert_eq!(
        n(&format!("-{digits}E-167")).to_string(),
        format!("-0.{}{digits}", "0".repeat(129))
    );
    let nines = "9".repeat(38);
    assert_eq!(
        n(&format!("{nines}E88")).to_string(),
        format!("{nines}{}", "0".repeat(88))
    );
}

#[test]
fn text_that_is_no_number_is_refused_in_dynamodbs_words() {
    for text in [
        "abc",
        " 5",
        "5 ",
        ".",
        "-",
        "+",
        "--1",
        "1E",
        "1E+",
        "E5",
        "0x1",
        "1_0",
        "NaN",
        "Infinity",
        "１",
        "1.2.3",
        "1E9223372036854775808",
        "0E-9223372036854775808",
    ] {
        let message = text.parse::<Number>().unwrap_err().to_string();
        assert_eq!(
            message,
            format!("The parameter cannot be converted to a numeric value: {text}")
        );
    }
    assert_eq!(
        "".parse::<Number>().unwrap_err().to_string(),
        "The parameter cannot be converted to a numeric value"
    );
}

#[test]
fn bounds_are_dynamodbs() {
    let nines = "9".repeat(37);
    for text in [
        format!("9.{nines}E+125"),
        format!("-9.{nines}E+125"),
        "1E-130".into(),
        "-1E-130".into(),
    ] {
        assert!(text.parse::<Number>().is_ok(), "{text}");
    }
    let zeros = "0".repeat(200);
    let cases = [
        ("1E+126".to_owned(), NumberError::Overflow),
        ("-1E+126".to_owned(), NumberError::Overflow),
        ("1E9223372036854775807".to_owned(), NumberError::Overflow),
        ("0E126".to_owned(), NumberError::Overflow),
        (format!("1{zeros}"), NumberError::Overflow),
        ("1E-131".to_owned(), NumberError::Underflow),
        ("1E-9223372036854775807".to_owned(), NumberError::Underflow),
        ("0.0E-131".to_owned(), NumberError::Underflow),
        (format!("0.{zeros}1"), NumberError::Underflow),
        ("1".repeat(39), NumberError::TooPrecise),
        (format!("-1.{}", "1".repeat(38)), NumberError::TooPrecise),
        (format!("1{}1", "0".repeat(37)), NumberError::TooPrecise),
    ];
    for (text, error) in cases {
        assert_eq!(text.parse::<Number>(), Err(error), "{text}");
    }
}

#[test]
fn errors_have_dynamodbs_words() {
    assert_eq!(
        NumberError::Overflow.to_string(),
        "Number overflow. Attempting to store a number with magnitude larger than supported range"
    );
    assert_eq!(
        NumberError::Underflow.to_string(),
        "Number underflow. Attempting to store a number with magnitude smaller than supported range"
    );
    assert_eq!(
        NumberError::TooPrecise.to_string(),
        "Attempting to store more than 38 significant digits in a Number"
    );
}

#[test]
fn zeros_around_the_digits_do_not_count_as_precision() {
    let zeros = "0".repeat(60);
    assert_eq!(n(&format!("{zeros}42.{zeros}")), n("42"));
    assert_eq!(n(&format!("0.{zeros}42{zeros}")), n("42E-62"));
    assert_eq!(n(&"0".repeat(300)), Number::ZERO);
}

#[test]
fn sums_that_do_not_fit_are_refused() {
    let largest = "9".repeat(38);
    assert_eq!(n(&largest).checked_add(&n("1")), Ok(n("1E38")));
    assert_eq!(n(&largest).checked_add(&n("0.5")), Err(NumberError::TooPrecise));
    assert_eq!(n("1E37").checked_add(&n("0.1")), Err(NumberError::TooPrecise));
    assert_eq!(n("1E38").checked_sub(&n("1")), Ok(n(&largest)));
    assert_eq!(n("9E38").checked_sub(&n("1")), Err(NumberError::TooPrecise));
    assert_eq!(n("1E125").checked_add(&n("1E-130")), Err(NumberError::TooPrecise));
    assert_eq!(n("9E125").checked_add(&n("9E125")), Err(NumberError::Overflow));
    assert_eq!(
        n("1.5E-130").checked_sub(&n("1.4E-130")),
        Err(NumberError::Underflow)
    );
}

#[test]
fn integers_convert_both_ways() {
    for integer in [0, 1, -1, 10, -1000, i64::MAX, i64::MIN] {
        assert_eq!(Number::from(integer).to_i64(), Some(integer));
        assert_eq!(Number::from(integer).to_string(), integer.to_string());
    }
    assert_eq!(Number::from(u64::MAX).to_string(), u64::MAX.to_string());
    for text in [
        "0.5",
        "9223372036854775808",
        "-9223372036854775809",
        "1E38",
        "1E125",
    ] {
        assert_eq!(n(text).to_i64(), None, "{text}");
    }
    assert_eq!(n("0.1").to_f64(), 0.1);
    assert_eq!(n("-1E125").to_f64(), -1e125);
}

#[test]
fn a_number_is_small() {
    assert!(size_of::<Number>() <= 24);
    assert!(size_of::<trestle_item::AttributeValue>() <= 32);
}

/// The expected result of an addition: the exact sum, or that it cannot be stored.
fn expected(sum: &Decimal) -> Result<(), NumberError> {
    let Some((first, last)) = sum.span() else {
        return Ok(());
    };
    match (first, first - last + 1) {
        (126.., _) => Err(NumberError::Overflow),
        (..-130, _) => Err(NumberError::Underflow),
        (_, 39..) => Err(NumberError::TooPrecise),
        _ => Ok(()),
    }
}

proptest! {
    #[test]
    fn printing_and_reading_gives_the_same_number(number in number()) {
        prop_assert_eq!(n(&number.to_string()), number);
    }

    #[test]
    fn reading_agrees_with_the_oracle(
        text in "-?[0-9]{1,30}(\\.[0-9]{0,30})?(E[+-]?[0-9]{1,2})?"
    ) {
        let exact = Decimal::read(&text);
        match Number::parse(&text) {
            Ok(number) => prop_assert_eq!(Decimal::read(&number.to_string()), exact),
            Err(error) => prop_assert_eq!(Err(error), expected(&exact)),
        }
    }

    #[test]
    fn order_agrees_with_the_oracle(one in number(), two in number()) {
        let exact = Decimal::read(&one.to_string()).compare(&Decimal::read(&two.to_string()));
        prop_assert_eq!(one.cmp(&two), exact);
        prop_assert_eq!(one == two, exact.is_eq());
    }

    #[test]
    fn sums_agree_with_the_oracle(one in number(), two in number()) {
        let exact = Decimal::read(&one.to_string()).add(&Decimal::read(&two.to_string()));
        match one.checked_add(&two) {
            Ok(sum) => prop_assert_eq!(Decimal::read(&sum.to_string()), exact),
            Err(error) => {
                // For a large distance, only the precision is checked; the sum is refused in any case.
                let wanted = expected(&exact);
                prop_assert!(wanted.is_err());
                prop_assert!(Err(error.clone()) == wanted || error == NumberError::TooPrecise);
            }
        }
    }

    #[test]
    fn differences_agree_with_the_oracle(one in number(), two in number()) {
        let exact = Decimal::read(&one.to_string()).add(&Decimal::read(&two.to_string()).negated());
        match one.checked_sub(&two) {
            Ok(difference) => prop_assert_eq!(Decimal::read(&difference.to_string()), exact),
            Err(_) => prop_assert!(expected(&exact).is_err()),
        }
    }

    #[test]
    fn subtracting_what_was_added_gives_the_number_back(one in number(), two in number()) {
        if let Ok(sum) = one.checked_add(&two) {
            prop_assert_eq!(sum.checked_sub(&two), Ok(one));
        }
    }

    #[test]
    fn reading_anything_never_panics(text in any::<String>(), digits in "[-+.0-9eE]{0,400}") {
        let _ = Number::parse(&text);
        let _ = Number::parse(&digits);
    }
}
