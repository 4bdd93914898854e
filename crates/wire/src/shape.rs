//! The terms in which [`crate::shapes`] describes requests: members, their types and their constraints.
//!
//! The order of members is the order in which violations are reported and in which a structure is echoed.

/// A request, or a structure inside one.
#[derive(Debug)]
pub(crate) struct Structure {
    /// The name DynamoDB shows in messages.
    pub(crate) name: &'static str,
    pub(crate) members: &'static [Member],
    /// The members DynamoDB prints when it echoes the structure, where these are not just `members`.
    pub(crate) echo: Option<&'static [&'static str]>,
}

/// One member of a structure.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) presence: Presence,
    pub(crate) voice: Voice,
}

/// What a missing member means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Presence {
    Optional,
    /// "Value null at 'x' failed to satisfy constraint: Member must not be null".
    NotNull,
    /// A separate sentence, which is the whole message.
    Demanded(&'static str),
    /// As `NotNull`, and an empty collection has a separate sentence.
    NotEmpty(&'static str),
}

/// The form of DynamoDB's message about a violation at a member; also which violations hide which.
///
/// DynamoDB validates in layers. A request that fails in one layer never reaches the next, so only violations of
/// the first failing layer are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Voice {
    /// `Value at 'Limit' failed …`: wire names, and the value is not echoed.
    Terse,
    /// `Value 'x!' at 'tableName' failed …`, reported without the rest.
    Alone,
    /// As [`Voice::Alone`]; with the rest when a required member is missing.
    AloneIfComplete,
    /// `Value 'x' at 'select' failed …`.
    Full,
}

/// The type of a value, with its constraints.
#[derive(Debug)]
pub(crate) enum Shape {
    Text(&'static Text),
    Integer(Range),
    Long(Range),
    Boolean,
    /// Seconds since 1970.
    Time,
    Blob,
    List(&'static List),
    Map(&'static MapOf),
    Structure(&'static Structure),
    /// Any JSON: the engine refuses the feature whatever the value is.
    Anything,
}

/// A text and its rules, in the order in which they are reported.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) rules: &'static [Rule],
    /// Whether only the first broken rule is reported.
    pub(crate) first_only: bool,
    /// Whether the text names a table and may do so by ARN.
    pub(crate) arn: bool,
}

/// One constraint of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// Only `a-z A-Z 0-9 _ . -`, at least one.
    NamePattern,
    LengthMin(usize),
    LengthMax(usize),
    OneOf(&'static [&'static str]),
}

/// Inclusive bounds of a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) min: i64,
    pub(crate) max: i64,
}

/// A list and its length.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) of: Shape,
    pub(crate) length: Length,
}

/// A map from text.
#[derive(Debug)]
pub(crate) struct MapOf {
    pub(crate) of: Shape,
    pub(crate) key_rules: &'static [Rule],
    /// Whether a key names a table and may do so by ARN.
    pub(crate) arn_keys: bool,
    /// The length each value must have, if the values are lists.
    pub(crate) value_length: Option<Length>,
}

/// Inclusive bounds of a length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    pub(crate) min: usize,
    pub(crate) max: usize,
}

/// Any length.
pub(crate) const ANY: Length = Length {
    min: 0,
    max: usize::MAX,
};

/// Any text.
pub(crate) static FREE: Text = Text {
    rules: &[],
    first_only: false,
    arn: false,
};

/// A structure.
pub(crate) const fn structure(name: &'static str, members: &'static [Member]) -> Structure {
    Structure {
        name,
        members,
        echo: None,
    }
}

/// An optional member.
pub(crate) const fn member(name: &'static str, shape: Shape) -> Member {
    Member {
        name,
        shape,
        presence: Presence::Optional,
        voice: Voice::Full,
    }
}

/// A required member.
pub(crate) const fn required(name: &'static str, shape: Shape) -> Member {
    Member {
        name,
        shape,
        presence: Presence::NotNull,
        voice: Voice::Full,
    }
}

/// An optional text without constraints.
pub(crate) const fn free_text(name: &'static str) -> Member {
    member(name, Shape::Text(&FREE))
}

/// A text with rules.
pub(crate) const fn text(rules: &'static [Rule]) -> Text {
    Text {
        rules,
        first_only: false,
        arn: false,
    }
}

impl Text {
    /// The same text, which may also be the ARN of a table.
    pub(crate) const fn or_arn(self) -> Self {
        Self { arn: true, ..self }
    }
}

/// A list of any length.
pub(crate) const fn list(of: Shape) -> List {
    List { of, length: ANY }
}

/// A map with any values.
pub(crate) const fn map(of: Shape) -> MapOf {
    MapOf {
        of,
        key_rules: &[],
        arn_keys: false,
        value_length: None,
    }
}

impl Structure {
    /// The same structure, echoed with these members.
    pub(crate) const fn echoed(self, names: &'static [&'static str]) -> Self {
        Self {
            echo: Some(names),
            ..self
        }
    }

    /// The member called `name`.
    pub(crate) fn member(&self, name: &str) -> Option<&'static Member> {
        self.members.iter().find(|member| member.name == name)
    }
}

impl Member {
    /// The same member, reported in another voice.
    pub(crate) const fn said(self, voice: Voice) -> Self {
        Self { voice, ..self }
    }

    /// The same member with another answer to its absence.
    pub(crate) const fn when_missing(self, presence: Presence) -> Self {
        Self { presence, ..self }
    }
}

impl List {
    /// The same list with bounds on its length.
    pub(crate) const fn of_length(self, min: usize, max: usize) -> Self {
        Self {
            length: Length { min, max },
            ..self
        }
    }
}

impl Range {
    pub(crate) const ANY: Self = Self {
        min: i64::MIN,
        max: i64::MAX,
    };

    pub(crate) const fn at_least(min: i64) -> Self {
        Self { min, max: i64::MAX }
    }

    pub(crate) const fn between(min: i64, max: i64) -> Self {
        Self { min, max }
    }
}

/// A member's name as DynamoDB shows it in messages: `TableName` is `tableName`.
pub(crate) fn shown(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_ascii_lowercase())
        .into_iter()
        .chain(letters)
        .collect()
}
