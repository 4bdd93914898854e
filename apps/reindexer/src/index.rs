//! The full-text index of a pipeline. One thread writes it: it takes all works that wait, commits them together, and only
//! then says that they are there.

use std::collections::HashMap;
use std::path::Path;
use std::{fs, thread};

use serde::Serialize;
use tantivy::collector::{Count, TopDocs};
use tantivy::directory::MmapDirectory;
use tantivy::query::{BooleanQuery, Query, QueryParser, TermQuery};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value as _,
};
use tantivy::{
    Index, IndexReader, IndexWriter, ReloadPolicy, Result, Searcher, TantivyDocument, TantivyError, Term,
};
use tokio::sync::{mpsc, oneshot};

use crate::source::Source;
use crate::transform::{Kind, Work};

/// The memory of the writer. It is the least that tantivy takes.
const WRITER_BYTES: usize = 15_000_000;
/// The most works in a commit.
const COMMIT_WORKS_MAX: usize = 2_000;
// The fields, in the order in which `schema` adds them. `SHOWN` is there if the work is found by searches, and `WORK` is the
// work as JSON.
const ID: Field = Field::from_field_id(0);
const SOURCE: Field = Field::from_field_id(1);
const SHOWN: Field = Field::from_field_id(2);
const VERSION: Field = Field::from_field_id(3);
const WORK: Field = Field::from_field_id(4);
const TITLE: Field = Field::from_field_id(5);
const REST: Field = Field::from_field_id(6);

/// A full-text index.
pub struct SearchIndex {
    adds: mpsc::Sender<Add>,
    reader: IndexReader,
    parser: QueryParser,
}

/// A work on its way into the index, and who is told that it is there.
type Add = (Work, oneshot::Sender<Result<()>>);

/// Works that a search found.
#[derive(Debug, Serialize)]
pub struct Found {
    /// How many there are in all.
    pub total: usize,
    /// The best of them.
    pub works: Vec<Work>,
}

impl SearchIndex {
    /// Opens the index in a directory, and makes it if it is missing; without a directory, one in memory.
    pub fn open(directory: Option<&Path>) -> Result<Self> {
        let index = match directory {
            Some(directory) => {
                fs::create_dir_all(directory)?;
                let files = MmapDirectory::open(directory).map_err(TantivyError::from)?;
                Index::open_or_create(files, schema())?
            }
            None => Index::create_in_ram(schema()),
        };
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let reader: IndexReader = reader.try_into()?;
        let writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
        let (adds, waiting) = mpsc::channel(COMMIT_WORKS_MAX);
        let (thread, its) = (thread::Builder::new().name("index".to_owned()), reader.clone());
        thread.spawn(move || write(writer, &its, waiting))?;
        let mut parser = QueryParser::for_index(&index, vec![TITLE, REST]);
        parser.set_conjunction_by_default();
        parser.set_field_boost(TITLE, 2.0);
        Ok(Self { adds, reader, parser })
    }

    /// Puts a work into the index, in the place of an earlier version. When this returns, it is durable and is found.
    pub async fn put(&self, work: Work) -> Result<()> {
        let gone = || TantivyError::ErrorInThread("it has ended; the log says why".to_owned());
        let (done, is_done) = oneshot::channel();
        self.adds.send((work, done)).await.map_err(|_| gone())?;
        is_done.await.map_err(|_| gone())?
    }

    /// The version of a record that is in the index.
    pub fn version(&self, id: &str) -> Result<Option<i64>> {
        version_in(&self.reader.searcher(), id)
    }

    /// A work by the id of its record.
    pub fn work(&self, id: &str) -> Result<Option<Work>> {
        Ok(self.find(&term(ID, id), 1, 0)?.works.pop())
    }

    /// How many records of a source are in the index, shown or not.
    pub fn count(&self, source: Source) -> Result<usize> {
        let of_source = term(SOURCE, &source.to_string());
        self.reader.searcher().search(&of_source, &Count)
    }

    /// The works that are shown and match a query, the best first. Without words, all of them.
    pub fn search(&self, words: &str, source: Option<Source>, most: usize, skip: usize) -> Result<Found> {
        let mut all: Vec<Box<dyn Query>> = vec![Box::new(term(SHOWN, "true"))];
        if !words.trim().is_empty() {
            all.push(self.parser.parse_query_lenient(words).0);
        }
        if let Some(source) = source {
            all.push(Box::new(term(SOURCE, &source.to_string())));
        }
        self.find(&BooleanQuery::intersection(all), most, skip)
    }

    fn find(&self, query: &dyn Query, most: usize, skip: usize) -> Result<Found> {
        let searcher = self.reader.searcher();
        let best = TopDocs::with_limit(most.max(1)).and_offset(skip);
        let (total, best) = searcher.search(query, &(Count, best.order_by_score()))?;
        let mut works = Vec::new();
        for (_, address) in best {
            let document: TantivyDocument = searcher.doc(address)?;
            let body = document.get_first(WORK).and_then(|value| value.as_str());
            works.push(serde_json::from_str(body.unwrap_or_default())?);
        }
        Ok(Found { total, works })
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
    for name in ["id", "source", "shown"] {
        schema.add_text_field(name, STRING);
    }
    schema.add_i64_field("version", FAST | STORED);
    schema.add_text_field("work", STORED);
    for name in ["title", "rest"] {
        schema.add_text_field(name, text.clone());
    }
    schema.build()
}

fn document(work: &Work) -> Result<TantivyDocument> {
    let text = &work.text;
    let mut document = TantivyDocument::new();
    document.add_text(ID, &work.id);
    document.add_text(SOURCE, work.source.to_string());
    document.add_text(SHOWN, (work.kind == Kind::Visible).to_string());
    document.add_i64(VERSION, work.version);
    document.add_text(WORK, serde_json::to_string(work)?);
    document.add_text(TITLE, &text.title);
    let rest = text.contributors.iter().chain(&text.subjects);
    for part in rest.chain([&text.description, &work.id]) {
        document.add_text(REST, part);
    }
    Ok(document)
}

fn version_in(searcher: &Searcher, id: &str) -> Result<Option<i64>> {
    let best = TopDocs::with_limit(1).order_by_score();
    let Some((_, address)) = searcher.search(&term(ID, id), &best)?.pop() else {
        return Ok(None);
    };
    let segment = searcher.segment_reader(address.segment_ord);
    Ok(segment.fast_fields().i64("version")?.first(address.doc_id))
}

fn write(mut writer: IndexWriter, reader: &IndexReader, mut waiting: mpsc::Receiver<Add>) {
    let mut batch = Vec::new();
    while waiting.blocking_recv_many(&mut batch, COMMIT_WORKS_MAX) > 0 {
        let failed = commit(&mut writer, reader, &batch).err();
        if let Some(error) = &failed {
            tracing::error!(%error, works = batch.len(), "works were not indexed");
            // What was added and not committed would be part of the next commit.
            let _ = writer.rollback();
        }
        for (_, done) in batch.drain(..) {
            // A worker that was stopped does not wait; its message comes again.
            let _ = done.send(failed.clone().map_or(Ok(()), Err));
        }
    }
}

/// Commits the newest version of each work, unless the index has a later one: messages come late, and come again.
fn commit(writer: &mut IndexWriter, reader: &IndexReader, batch: &[Add]) -> Result<()> {
    let mut newest: HashMap<&str, &Work> = HashMap::new();
    for (work, _) in batch {
        let known = newest.entry(&work.id).or_insert(work);
        if work.version >= known.version {
            *known = work;
        }
    }
    let searcher = reader.searcher();
    for work in newest.into_values() {
        if version_in(&searcher, &work.id)? <= Some(work.version) {
            writer.delete_term(Term::from_field_text(ID, &work.id));
            writer.add_document(document(work)?)?;
        }
    }
    writer.commit()?;
    reader.reload()
}
