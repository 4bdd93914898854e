//! The full-text index of a pipeline.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tantivy::collector::{Count, TopDocs};
use tantivy::directory::MmapDirectory;
use tantivy::query::{BooleanQuery, Query, QueryParser, TermQuery};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value as _,
};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, Result, TantivyDocument, TantivyError, Term};

use crate::source::Source;
use crate::transform::Work;

/// The memory of the writer: tantivy's minimum.
const WRITER_BYTES: usize = 15_000_000;
// The fields, in the order in which `schema` adds them. Most are those of a work; the last one is the whole work as JSON.
const ID: Field = Field::from_field_id(0);
const SOURCE: Field = Field::from_field_id(1);
const KIND: Field = Field::from_field_id(2);
const TITLE: Field = Field::from_field_id(3);
const WORK: Field = Field::from_field_id(8);

/// A full-text index.
pub struct SearchIndex {
    writer: Mutex<IndexWriter>,
    reader: IndexReader,
    parser: QueryParser,
}

impl SearchIndex {
    /// Opens the index in a directory, and creates it if it is missing.
    pub fn open(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory)?;
        let files = MmapDirectory::open(directory).map_err(TantivyError::from)?;
        let index = Index::open_or_create(files, schema())?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let searched = [0, 3, 4, 5, 6].map(Field::from_field_id);
        let mut parser = QueryParser::for_index(&index, searched.into());
        parser.set_conjunction_by_default();
        parser.set_field_boost(TITLE, 2.0);
        Ok(Self {
            writer: Mutex::new(index.writer_with_num_threads(1, WRITER_BYTES)?),
            reader: reader.try_into()?,
            parser,
        })
    }

    /// Puts works into the index in one commit, each in the place of an earlier version. When this returns,
    /// they are durable and can be found. A later version in the index stays, because messages can be late or
    /// repeated.
    pub fn put(&self, works: Vec<Work>) -> Result<()> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let put = self.commit(&mut writer, works);
        if put.is_err() {
            // Uncommitted additions would be part of the next commit.
            writer.rollback()?;
        }
        put
    }

    fn commit(&self, writer: &mut IndexWriter, mut works: Vec<Work>) -> Result<()> {
        works.sort_by_key(|work| work.version);
        for work in works {
            if self.version(&work.id)? <= Some(work.version) {
                writer.delete_term(Term::from_field_text(ID, &work.id));
                writer.add_document(document(&work)?)?;
            }
        }
        writer.commit()?;
        self.reader.reload()
    }

    /// The version of a record that is in the index.
    pub fn version(&self, id: &str) -> Result<Option<i64>> {
        let (searcher, best) = (self.reader.searcher(), TopDocs::with_limit(1).order_by_score());
        let Some((_, address)) = searcher.search(&term(ID, id), &best)?.pop() else {
            return Ok(None);
        };
        let segment = searcher.segment_reader(address.segment_ord);
        Ok(segment.fast_fields().i64("version")?.first(address.doc_id))
    }

    /// A work by the id of its record.
    pub fn work(&self, id: &str) -> Result<Option<Work>> {
        Ok(self.find(&term(ID, id), 1, 0)?.1.pop())
    }

    /// How many records of a source are in the index, shown or not.
    pub fn count(&self, source: Source) -> Result<usize> {
        let of_source = term(SOURCE, source.as_str());
        self.reader.searcher().search(&of_source, &Count)
    }

    /// How many visible works match a query, and the best of them. Without words, all of them match.
    pub fn search(
        &self,
        words: &str,
        source: Option<Source>,
        most: usize,
        skip: usize,
    ) -> Result<(usize, Vec<Work>)> {
        let mut all: Vec<Box<dyn Query>> = vec![Box::new(term(KIND, "visible"))];
        if !words.trim().is_empty() {
            all.push(self.parser.parse_query_lenient(words).0);
        }
        if let Some(source) = source {
            all.push(Box::new(term(SOURCE, source.as_str())));
        }
        self.find(&BooleanQuery::intersection(all), most, skip)
    }

    fn find(&self, query: &dyn Query, most: usize, skip: usize) -> Result<(usize, Vec<Work>)> {
        let searcher = self.reader.searcher();
        let best = TopDocs::with_limit(most.max(1)).and_offset(skip);
        let (total, best) = searcher.search(query, &(Count, best.order_by_score()))?;
        let mut works = Vec::new();
        for (_, address) in best {
            let document: TantivyDocument = searcher.doc(address)?;
            let body = document.get_first(WORK).and_then(|value| value.as_str());
            works.push(serde_json::from_str(body.unwrap_or_default())?);
        }
        Ok((total, works))
    }
}

fn term(field: Field, text: &str) -> TermQuery {
    TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::Basic)
}

fn schema() -> Schema {
    let stemmed = TextFieldIndexing::default().set_tokenizer("en_stem");
    let stemmed = stemmed.set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let text = TextOptions::default().set_indexing_options(stemmed);
    let mut schema = Schema::builder();
    for name in ["id", "source", "kind"] {
        schema.add_text_field(name, STRING);
    }
    for name in ["title", "description", "contributors", "subjects"] {
        schema.add_text_field(name, text.clone());
    }
    schema.add_i64_field("version", FAST);
    schema.add_text_field("work", STORED);
    schema.build()
}

fn document(work: &Work) -> Result<TantivyDocument> {
    let json = serde_json::to_string(work)?;
    let mut document = TantivyDocument::parse_json(&schema(), &json)?;
    document.add_text(WORK, json);
    Ok(document)
}
