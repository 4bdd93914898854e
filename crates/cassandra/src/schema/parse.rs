//! Parses `CREATE TABLE` and `CREATE TYPE` statements.

use std::sync::Arc;

use super::lexer::{PlacedToken, Token, error_at, tokens};
use super::{Column, ColumnKind, CqlTable, CqlType, Native, Schema, SchemaError};

/// The maximum nesting of types.
const DEPTH_MAX: usize = 32;

pub(super) fn schema(text: &str) -> Result<Schema, SchemaError> {
    let mut parser = Parser {
        text,
        tokens: tokens(text)?,
        next: 0,
        keyspace: None,
        types: Vec::new(),
        schema: Schema::default(),
    };
    while parser.next < parser.tokens.len() {
        parser.statement()?;
    }
    Ok(parser.schema)
}

/// The fields of a user-defined type.
type Fields = Arc<Vec<(String, CqlType)>>;

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<PlacedToken>,
    next: usize,
    /// Set by `USE`.
    keyspace: Option<String>,
    /// The types so far: keyspace, name, fields.
    types: Vec<(Option<String>, String, Fields)>,
    schema: Schema,
}

impl Parser<'_> {
    fn statement(&mut self) -> Result<(), SchemaError> {
        if self.sign(';') {
            return Ok(());
        }
        let line = error_at(self.text, self.at(), "").line;
        if self.keyword("use") {
            self.keyspace = Some(self.name("the name of a keyspace")?);
            return self.end_of_statement();
        }
        if self.keyword("alter") {
            return Err(self.error_before(
                "ALTER statements are not read; give the schema as `DESCRIBE KEYSPACE` prints it, with all columns in \
                 CREATE TABLE",
            ));
        }
        if self.keyword("create") {
            if self.keyword("table") || self.keyword("columnfamily") {
                return self.table();
            }
            if self.keyword("type") {
                return self.user_type();
            }
            if self.keyword("keyspace") || self.keyword("schema") {
                return self.pass_over();
            }
        }
        self.schema.passed_over.push(self.told(line));
        self.pass_over()
    }

    /// A short description of a statement that is ignored.
    fn told(&self, line: usize) -> String {
        let words = self.tokens.iter().skip(self.next.saturating_sub(1)).take(4);
        let words: Vec<&str> = words
            .filter_map(|placed| match &placed.token {
                Token::Word { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        format!("line {line}: {} …", words.join(" "))
    }

    fn pass_over(&mut self) -> Result<(), SchemaError> {
        while self.next < self.tokens.len() {
            if self.sign(';') {
                return Ok(());
            }
            self.next += 1;
        }
        Ok(())
    }

    fn end_of_statement(&mut self) -> Result<(), SchemaError> {
        if self.next == self.tokens.len() || self.sign(';') {
            return Ok(());
        }
        Err(self.error("here the statement should end with `;`"))
    }

    fn if_not_exists(&mut self) -> Result<(), SchemaError> {
        if self.keyword("if") && !(self.keyword("not") && self.keyword("exists")) {
            return Err(self.error("after IF come NOT EXISTS"));
        }
        Ok(())
    }

    fn user_type(&mut self) -> Result<(), SchemaError> {
        self.if_not_exists()?;
        let (keyspace, name) = self.qualified("the name of a type")?;
        self.expect('(')?;
        let mut fields = Vec::new();
        loop {
            let field = self.name("the name of a field")?;
            fields.push((field, self.cql_type(0)?));
            if !self.sign(',') {
                break;
            }
        }
        self.expect(')')?;
        self.types.push((keyspace, name, Arc::new(fields)));
        self.end_of_statement()
    }

    fn table(&mut self) -> Result<(), SchemaError> {
        self.if_not_exists()?;
        let at = self.at();
        let (keyspace, name) = self.qualified("the name of a table")?;
        let mut table = CqlTable {
            keyspace,
            name,
            columns: Vec::new(),
        };
        self.expect('(')?;
        let mut has_key = false;
        loop {
            if self.starts_primary_key() {
                has_key = true;
                self.primary_key(&mut table)?;
            } else {
                has_key |= self.column(&mut table)?;
            }
            if !self.sign(',') {
                break;
            }
        }
        self.expect(')')?;
        if !has_key {
            let message = format!("table {} has no PRIMARY KEY", table.name);
            return Err(error_at(self.text, at, message));
        }
        let known = self.schema.tables.iter();
        if known
            .map(CqlTable::full_name)
            .any(|known| known == table.full_name())
        {
            let message = format!("table {} is here a second time", table.full_name());
            return Err(error_at(self.text, at, message));
        }
        self.schema.tables.push(table);
        if self.keyword("with") {
            return self.pass_over();
        }
        self.end_of_statement()
    }

    /// Whether the key follows; a column may also be called `primary`.
    fn starts_primary_key(&mut self) -> bool {
        let start = self.next;
        let starts = self.keyword("primary") && self.keyword("key") && self.is_sign('(');
        if !starts {
            self.next = start;
        }
        starts
    }

    /// Parses a column; returns whether it is also the primary key.
    fn column(&mut self, table: &mut CqlTable) -> Result<bool, SchemaError> {
        let at = self.at();
        let name = self.name("the name of a column")?;
        if table.column(&name).is_some() {
            let message = format!("table {} has the column {name} already", table.name);
            return Err(error_at(self.text, at, message));
        }
        let cql_type = self.cql_type(0)?;
        let mut kind = ColumnKind::Regular;
        if self.keyword("static") {
            kind = ColumnKind::Static;
        }
        if self.keyword("primary") {
            if !self.keyword("key") {
                return Err(self.error("after PRIMARY comes KEY"));
            }
            kind = ColumnKind::Partition(0);
        }
        table.columns.push(Column { name, cql_type, kind });
        Ok(kind == ColumnKind::Partition(0))
    }

    /// `PRIMARY KEY ((a, b), c)`, from its parenthesis.
    fn primary_key(&mut self, table: &mut CqlTable) -> Result<(), SchemaError> {
        self.expect('(')?;
        if self.sign('(') {
            let mut position = 0;
            loop {
                self.key_column(table, ColumnKind::Partition(position))?;
                position += 1;
                if !self.sign(',') {
                    break;
                }
            }
            self.expect(')')?;
        } else {
            self.key_column(table, ColumnKind::Partition(0))?;
        }
        let mut position = 0;
        while self.sign(',') {
            self.key_column(table, ColumnKind::Clustering(position))?;
            position += 1;
        }
        self.expect(')')
    }

    fn key_column(&mut self, table: &mut CqlTable, kind: ColumnKind) -> Result<(), SchemaError> {
        let at = self.at();
        let name = self.name("the name of a column")?;
        let column = table.columns.iter_mut().find(|column| column.name == name);
        let Some(column) = column else {
            let message = format!("table {} has no column {name} above its PRIMARY KEY", table.name);
            return Err(error_at(self.text, at, message));
        };
        if column.kind != ColumnKind::Regular {
            let message = format!("column {name} cannot be a part of the key here");
            return Err(error_at(self.text, at, message));
        }
        column.kind = kind;
        Ok(())
    }

    fn cql_type(&mut self, depth: usize) -> Result<CqlType, SchemaError> {
        if depth > DEPTH_MAX {
            return Err(self.error("types stand too deep inside each other here"));
        }
        let at = self.at();
        let (keyspace, name) = self.type_name()?;
        if !self.is_sign('<') {
            return self.simple_type(keyspace, &name, at);
        }
        self.expect('<')?;
        let mut of = self.parameters(depth, name == "vector")?;
        let count = of.len();
        let mut take = || of.remove(0);
        Ok(match (name.as_str(), count) {
            ("frozen", 1) => take(),
            ("list" | "vector", 1) => CqlType::List(Box::new(take())),
            ("set", 1) => CqlType::Set(Box::new(take())),
            ("map", 2) => CqlType::Map(Box::new(take()), Box::new(take())),
            ("tuple", _) => CqlType::Tuple(of),
            _ => {
                let message = format!("{name} is no type with {count} of <…>");
                return Err(error_at(self.text, at, message));
            }
        })
    }

    /// `float, 3>`: the dimension of a vector is ignored.
    fn parameters(&mut self, depth: usize, is_vector: bool) -> Result<Vec<CqlType>, SchemaError> {
        let mut of = vec![self.cql_type(depth + 1)?];
        while self.sign(',') {
            if is_vector {
                self.name("the size of the vector")?;
            } else {
                of.push(self.cql_type(depth + 1)?);
            }
        }
        self.expect('>')?;
        Ok(of)
    }

    fn simple_type(&self, keyspace: Option<String>, name: &str, at: usize) -> Result<CqlType, SchemaError> {
        if keyspace.is_none()
            && let Some(native) = Native::from_name(name)
        {
            return Ok(CqlType::Native(native));
        }
        // Without a keyspace, the nearest type with the name is used.
        let mut known = self.types.iter().rev();
        let found = known.find(|(of, known, _)| known == name && (keyspace.is_none() || *of == keyspace));
        match found {
            Some((_, _, fields)) => Ok(CqlType::User(Arc::clone(fields))),
            None => Err(error_at(
                self.text,
                at,
                format!("type {name} is not known here; CREATE TYPE {name} must stand above"),
            )),
        }
    }

    fn type_name(&mut self) -> Result<(Option<String>, String), SchemaError> {
        if let Some(Token::Text(_)) = self.token() {
            return Err(self.error("custom types of Java classes cannot be imported"));
        }
        let first = self.name("a type")?;
        if self.sign('.') {
            return Ok((Some(first), self.name("a type")?));
        }
        Ok((None, first))
    }

    fn qualified(&mut self, wanted: &str) -> Result<(Option<String>, String), SchemaError> {
        let first = self.name(wanted)?;
        if self.sign('.') {
            return Ok((Some(first), self.name(wanted)?));
        }
        Ok((self.keyspace.clone(), first))
    }

    fn token(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|placed| &placed.token)
    }

    /// The position of the next token.
    fn at(&self) -> usize {
        self.tokens
            .get(self.next)
            .map_or(self.text.len(), |placed| placed.at)
    }

    fn error(&self, message: &str) -> SchemaError {
        error_at(self.text, self.at(), message)
    }

    /// An error at the token that was just taken.
    fn error_before(&self, message: &str) -> SchemaError {
        let before = self
            .next
            .checked_sub(1)
            .and_then(|before| self.tokens.get(before));
        error_at(self.text, before.map_or(0, |placed| placed.at), message)
    }

    fn keyword(&mut self, keyword: &str) -> bool {
        let is_it = matches!(self.token(), Some(Token::Word { text, quoted: false }) if text == keyword);
        self.next += usize::from(is_it);
        is_it
    }

    fn is_sign(&self, sign: char) -> bool {
        self.token() == Some(&Token::Sign(sign))
    }

    fn sign(&mut self, sign: char) -> bool {
        let is_it = self.is_sign(sign);
        self.next += usize::from(is_it);
        is_it
    }

    fn expect(&mut self, sign: char) -> Result<(), SchemaError> {
        if self.sign(sign) {
            return Ok(());
        }
        Err(self.error(&format!("here should be `{sign}`")))
    }

    fn name(&mut self, wanted: &str) -> Result<String, SchemaError> {
        match self.token() {
            Some(Token::Word { text, .. }) => {
                let text = text.clone();
                self.next += 1;
                Ok(text)
            }
            _ => Err(self.error(&format!("here should be {wanted}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Schema {
        schema(text).unwrap()
    }

    #[test]
    fn keys_types_and_static_columns_are_read() {
        let schema = read(
            r#"
            CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy'};
            USE shop;
            CREATE TYPE IF NOT EXISTS address (street text, codes frozen<list<int>>);
            -- a comment; with a semicolon
            CREATE TABLE orders (
                customer text, "Region" ascii, number timeuuid,
                owner text static,
                address frozen<address>, pair tuple<int, text>, tags map<text, frozen<set<int>>>,
                embedding vector<float, 3>,
                PRIMARY KEY ((customer, "Region"), number)
            ) WITH CLUSTERING ORDER BY (number DESC) AND comment = 'a;b';
            CREATE INDEX by_owner ON orders (owner);
            "#,
        );
        let [table] = &schema.tables[..] else {
            panic!("{schema:?}")
        };
        assert_eq!(table.full_name(), "shop.orders");
        let names = |columns: Vec<&Column>| {
            columns
                .iter()
                .map(|column| column.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(table.partition_key()), ["customer", "Region"]);
        assert_eq!(names(table.clustering()), ["number"]);
        assert!(table.has_static());
        assert_eq!(
            table.column("tags").unwrap().cql_type.to_string(),
            "map<text, set<integer>>"
        );
        assert!(matches!(
            table.column("address").unwrap().cql_type,
            CqlType::User(_)
        ));
        assert_eq!(schema.passed_over.len(), 1);
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_column() {
        for (text, line, column, word) in [
            (
                "CREATE TABLE t (\n  a text,\n  b nothing,\n  PRIMARY KEY (a));",
                3,
                5,
                "nothing",
            ),
            (
                "CREATE TABLE t (a text, a int, PRIMARY KEY (a));",
                1,
                25,
                "already",
            ),
            ("CREATE TABLE t (a text);", 1, 14, "PRIMARY KEY"),
            ("CREATE TABLE t (a text, PRIMARY KEY (b));", 1, 38, "no column b"),
            ("CREATE TABLE t (a 'org.x', PRIMARY KEY (a));", 1, 19, "Java"),
            ("\nALTER TABLE t ADD b int;", 2, 1, "ALTER"),
            ("CREATE TABLE t (a map<text>, PRIMARY KEY (a));", 1, 19, "map"),
            ("CREATE TABLE t (a text PRIMARY KEY", 1, 35, "`)`"),
            ("/* open", 1, 1, "comment"),
        ] {
            let error = schema(text).unwrap_err();
            assert_eq!((error.line, error.column), (line, column), "{text}: {error}");
            assert!(error.message.contains(word), "{text}: {error}");
        }
    }
}
