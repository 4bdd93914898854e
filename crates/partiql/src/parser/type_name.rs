//! Type names after `IS`.

use super::Parser;
use crate::error::{Result, StatementError};
use crate::syntax::TypeName;
use crate::token::{Kind, Sign};

impl Parser {
    pub(super) fn type_name(&mut self) -> Result<TypeName> {
        let expected = || StatementError::not_well_formed("Expected type name");
        let Kind::Word(word) = &self.head().kind else {
            return Err(expected());
        };
        let word = word.to_ascii_lowercase();
        let two_words = match word.as_str() {
            "double" => self.second().is_word("precision"),
            "character" => self.second().is_word("varying"),
            _ => false,
        };
        let class = if two_words && word == "character" {
            TypeName::Foreign("CharacterVaryingType")
        } else if two_words {
            TypeName::Foreign("DoublePrecisionType")
        } else {
            class_of(&word).ok_or_else(expected)?
        };
        self.advance();
        if two_words {
            self.advance();
        }
        self.type_arguments()?;
        Ok(class)
    }

    /// `(10)` or `(10, 2)` after the name; DynamoDB parses and ignores them.
    fn type_arguments(&mut self) -> Result<()> {
        if self.take_sign(Sign::LeftParen) {
            self.comma_separated(Self::expression)?;
            self.expect_sign(Sign::RightParen)?;
        }
        Ok(())
    }
}

fn class_of(word: &str) -> Option<TypeName> {
    use TypeName::{Attribute, Foreign, Missing};
    Some(match word {
        "missing" => Missing,
        "null" => Attribute("NULL"),
        "bool" | "boolean" => Attribute("BOOL"),
        "blob" => Attribute("B"),
        "string" => Attribute("S"),
        "numeric" => Attribute("N"),
        "struct" | "tuple" => Attribute("M"),
        "list" => Attribute("L"),
        "smallint" | "int2" | "integer2" => Foreign("SmallintType"),
        "int4" | "integer4" => Foreign("Integer4Type"),
        "int8" | "integer8" | "bigint" => Foreign("Integer8Type"),
        "int" | "integer" => Foreign("IntegerType"),
        "float" => Foreign("FloatType"),
        "real" => Foreign("RealType"),
        "decimal" | "dec" => Foreign("DecimalType"),
        "timestamp" => Foreign("TimestampType"),
        "date" => Foreign("DateType"),
        "time" => Foreign("TimeType"),
        "char" | "character" => Foreign("CharacterType"),
        "varchar" => Foreign("CharacterVaryingType"),
        "symbol" => Foreign("SymbolType"),
        "clob" => Foreign("ClobType"),
        "sexp" => Foreign("SexpType"),
        "bag" => Foreign("BagType"),
        "any" => Foreign("AnyType"),
        _ => return None,
    })
}
