//! Words that cannot name an attribute or table unless they stand in double quotes.
//!
//! PartiQL reserves SQL-92's words and a few of its own. They differ from the reserved words of DynamoDB's
//! expressions: `status` and `name` are free here, `key` and `value` are not.

/// Whether `word`, in any case, is reserved.
pub(crate) fn is_reserved(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    RESERVED.binary_search(&lower.as_str()).is_ok()
}

/// Sorted, lower case.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "absolute", "action", "add", "all", "allocate", "alter", "and", "any", "are", "as", "asc", "assertion", "at",
    "authorization", "avg", "bag", "begin", "between", "bit", "bit_length", "blob", "bool", "boolean", "by",
    "cascade", "cascaded", "case", "cast", "catalog", "char", "char_length", "character", "character_length",
    "check", "clob", "close", "coalesce", "collate", "collation", "column", "commit", "conflict", "connect",
    "connection", "constraint", "constraints", "continue", "convert", "corresponding", "count", "create", "cross",
    "current", "current_date", "current_time", "current_timestamp", "current_user", "cursor", "date", "date_add",
    "date_diff", "deallocate", "dec", "decimal", "declare", "default", "deferrable", "deferred", "delete", "desc",
    "describe", "descriptor", "diagnostics", "disconnect", "distinct", "do", "domain", "double", "drop", "else",
    "end", "escape", "except", "exception", "exec", "execute", "exists", "external", "extract", "false", "fetch",
    "first", "float", "for", "foreign", "found", "from", "full", "get", "global", "go", "goto", "grant", "group",
    "having", "identity", "immediate", "in", "index", "indicator", "initially", "inner", "input", "insensitive",
    "insert", "int", "integer", "intersect", "interval", "into", "is", "isolation", "join", "key", "language",
    "last", "left", "let", "level", "like", "limit", "list", "local", "lower", "match", "max", "min", "missing",
    "modified", "module", "names", "national", "natural", "nchar", "new", "next", "no", "not", "nothing", "null",
    "nullif", "numeric", "octet_length", "of", "old", "on", "only", "open", "option", "or", "order", "outer",
    "output", "overlaps", "pad", "partial", "pivot", "position", "precision", "prepare", "preserve", "primary",
    "prior", "privileges", "procedure", "public", "read", "real", "references", "relative", "remove", "restrict",
    "returning", "revoke", "right", "rollback", "rows", "schema", "scroll", "section", "select", "session",
    "session_user", "set", "sexp", "size", "smallint", "some", "space", "sql", "sqlcode", "sqlerror", "sqlstate",
    "string", "struct", "substring", "sum", "symbol", "system_user", "table", "temporary", "then", "time",
    "timestamp", "to", "transaction", "translate", "translation", "trim", "true", "tuple", "union", "unique",
    "unknown", "unpivot", "update", "upper", "usage", "user", "using", "value", "values", "varchar", "varying",
    "view", "when", "whenever", "where", "with", "work", "write", "zone",
];

/// Whether a reserved word is a function when a parenthesis follows.
pub(crate) fn names_function(word: &str) -> bool {
    FUNCTIONS
        .iter()
        .any(|function| word.eq_ignore_ascii_case(function))
}

#[rustfmt::skip]
const FUNCTIONS: &[&str] = &[
    "avg", "bit_length", "cast", "char_length", "character_length", "coalesce", "count", "date_add", "date_diff",
    "exists", "extract", "lower", "max", "min", "nullif", "octet_length", "position", "size", "substring", "sum",
    "trim", "upper",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_so_that_it_can_be_searched() {
        assert!(RESERVED.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn sql_words_are_reserved_in_any_case_and_common_attribute_names_are_free() {
        for word in ["KEY", "Value", "date", "inner", "order"] {
            assert!(is_reserved(word), "{word}");
        }
        for word in ["status", "name", "data", "pk", "type", "ttl", "year"] {
            assert!(!is_reserved(word), "{word}");
        }
    }
}
