//! The template language: text, `{attribute}`, `{attribute:08}`, `{attribute|escape}`, `{{` and `}}`.

/// A part of a template as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RawPart {
    Literal(String),
    Field(Field),
}

/// What stands between braces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) attribute: String,
    /// Digits to pad to with zeros.
    pub(crate) width: Option<usize>,
    pub(crate) escape: bool,
    pub(crate) lower: bool,
}

const WIDTH_MAX: usize = 38;

/// Reads a template. The error completes a sentence about it.
pub(crate) fn parse(text: &str) -> Result<Vec<RawPart>, String> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '{' | '}' if characters.peek() == Some(&character) => {
                characters.next();
                literal.push(character);
            }
            '}' => return Err("has a `}` that closes nothing; write `}}` for a brace".to_owned()),
            '{' => {
                let mut inside = String::new();
                loop {
                    match characters.next() {
                        Some('}') => break,
                        Some('{') | None => {
                            return Err(format!(
                                "has a `{{` that is not closed, before `{inside}`; write `{{{{` for a brace"
                            ));
                        }
                        Some(other) => inside.push(other),
                    }
                }
                if !literal.is_empty() {
                    parts.push(RawPart::Literal(std::mem::take(&mut literal)));
                }
                parts.push(RawPart::Field(field(&inside)?));
            }
            other => literal.push(other),
        }
    }
    if !literal.is_empty() {
        parts.push(RawPart::Literal(literal));
    }
    if parts.is_empty() {
        return Err("is empty, and no key may be".to_owned());
    }
    Ok(parts)
}

fn field(inside: &str) -> Result<Field, String> {
    let mut pieces = inside.split('|');
    let head = pieces.next().unwrap_or_default();
    let (attribute, width) = match head.split_once(':') {
        Some((attribute, format)) => (attribute, Some(width(inside, format)?)),
        None => (head, None),
    };
    if attribute.is_empty() {
        return Err(format!("has `{{{inside}}}`, which names no attribute"));
    }
    let mut field = Field {
        attribute: attribute.to_owned(),
        width,
        ..Field::default()
    };
    for option in pieces {
        match option {
            "escape" => field.escape = true,
            "lower" => field.lower = true,
            other => {
                return Err(format!(
                    "has `|{other}`, but there is only `|escape` and `|lower`"
                ));
            }
        }
    }
    if field.width.is_some() && (field.escape || field.lower) {
        return Err(format!(
            "has `{{{inside}}}`: a padded number needs no `|escape` and no `|lower`"
        ));
    }
    Ok(field)
}

fn width(inside: &str, format: &str) -> Result<usize, String> {
    let digits = format
        .strip_prefix('0')
        .and_then(|digits| digits.parse::<usize>().ok());
    digits
        .filter(|width| (1..=WIDTH_MAX).contains(width))
        .ok_or_else(|| {
            format!("has `{{{inside}}}`, whose width must be written as `:08`, from `:01` to `:0{WIDTH_MAX}`")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> RawPart {
        RawPart::Literal(text.to_owned())
    }

    fn plain(attribute: &str) -> Field {
        Field {
            attribute: attribute.to_owned(),
            ..Field::default()
        }
    }

    #[test]
    fn literals_fields_widths_and_options_are_read() {
        assert_eq!(
            parse("lyr#{rgn}:{n:08}{p|escape}").unwrap(),
            vec![
                literal("lyr#"),
                RawPart::Field(plain("rgn")),
                literal(":"),
                RawPart::Field(Field {
                    width: Some(8),
                    ..plain("n")
                }),
                RawPart::Field(Field {
                    escape: true,
                    ..plain("p")
                }),
            ]
        );
        assert_eq!(parse("a{{b}}").unwrap(), vec![literal("a{b}")]);
        assert_eq!(
            parse("{rgn#PyVrsn}").unwrap(),
            vec![RawPart::Field(plain("rgn#PyVrsn"))]
        );
    }

    #[test]
    fn every_slip_is_named() {
        for (text, says) in [
            ("", "is empty"),
            ("a}", "closes nothing"),
            ("{a", "not closed"),
            ("{a{b}}", "not closed"),
            ("{}", "names no attribute"),
            ("{:08}", "names no attribute"),
            ("{n:8}", "`:08`"),
            ("{n:00}", "`:08`"),
            ("{n:099}", "`:08`"),
            ("{n:0999999999999999999999}", "`:08`"),
            ("{n|upper}", "`|upper`"),
            ("{n:08|lower}", "padded number"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
