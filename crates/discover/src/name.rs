//! Names for entities and for attributes that only the key has, and the similarity of names.

/// A name that is valid for an entity in a model file: letters, digits, `_` and `-`, a letter first.
pub(crate) fn entity(text: &str) -> String {
    let shouted = !text.chars().any(char::is_lowercase);
    let mut name = String::new();
    for character in text.chars().take(60) {
        let legal = character.is_alphanumeric() || character == '-';
        let character = if legal { character } else { '_' };
        if character == '_' && (name.is_empty() || name.ends_with('_')) {
            continue;
        }
        if shouted {
            name.extend(character.to_lowercase());
        } else {
            name.push(character);
        }
    }
    let name = name.trim_end_matches(['_', '-']);
    match name.chars().next() {
        Some(first) if first.is_alphabetic() => name.to_owned(),
        Some(_) => format!("row_{name}"),
        None => "row".to_owned(),
    }
}

/// The name, with a number appended if it is in use.
pub(crate) fn free(name: String, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(&name) {
        return name;
    }
    let numbered = (2_usize..).map(|number| format!("{name}_{number}"));
    numbered.into_iter().find(|name| !is_taken(name)).unwrap_or(name)
}

/// Whether a template can name the attribute.
pub(crate) fn fits_template(attribute: &str) -> bool {
    !attribute.is_empty() && !attribute.contains(['{', '}', ':', '|'])
}

/// The similarity of two names, from 0 to 3. `lyr` and `layer` are similar, because vowels are often left
/// out.
pub(crate) fn likeness(one: &str, two: &str) -> usize {
    let (one, two) = (bare(one), bare(two));
    if one.is_empty() || two.is_empty() {
        return 0;
    }
    if one == two {
        return 3;
    }
    if one.len() >= 2 && two.len() >= 2 && (one.contains(&two) || two.contains(&one)) {
        return 2;
    }
    usize::from(abbreviates(&one, &two) || abbreviates(&two, &one))
}

fn bare(name: &str) -> String {
    let plain = name.chars().filter(char::is_ascii_alphanumeric);
    plain.map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether the short name is the long one without some letters, but with the first one.
fn abbreviates(short: &str, long: &str) -> bool {
    let same_start = short.chars().next() == long.chars().next();
    let mut rest = long.chars();
    same_start && short.len() >= 3 && short.chars().all(|wanted| rest.any(|c| c == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_gives_a_name_that_loads() {
        for (text, name) in [
            ("USER", "user"),
            ("lyrVrsn#", "lyrVrsn"),
            ("NODE_RUN/", "node_run"),
            ("17", "row_17"),
            ("##", "row"),
            ("", "row"),
            ("all_layers.in region", "all_layers_in_region"),
        ] {
            assert_eq!(entity(text), name);
        }
    }

    #[test]
    fn abbreviations_sound_like_what_they_stand_for() {
        assert_eq!(likeness("lyrVrsn", "lyrVrsn"), 3);
        assert_eq!(likeness("USER", "userId"), 2);
        assert_eq!(likeness("lyr", "layer"), 1);
        assert_eq!(likeness("rgn", "pckg"), 0);
    }
}
