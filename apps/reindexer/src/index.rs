//! The full-text index of a pipeline. One thread writes it: it takes all works that wait, commits them together, and only
//! then says that they are there.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::thread;

use serde::Serialize;
use tantivy::collector::{Count, TopDocs};
use tantivy::directory::MmapDirectory;
use tantivy::query::{BooleanQuery, Query, QueryParser, TermQuery};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value as _,
};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, Searcher, TantivyDocument, TantivyError, Term};
use tokio::sync::{mpsc, oneshot};

use crate::source::Source;
use crate::transform::{Kind, Work};
use crate::{Error, Result};

/// The memory of the writer. It is the least that tantivy takes.
const WRITER_BYTES: usize = 15_000_000;
/// The most works in a commit.
const COMMIT_WORKS_MAX: usize = 2_000;

/// A full-text index.
pub struct SearchIndex {
    adds: mpsc::Sender<Add>,
    reader: IndexReader,
    fields: Fields,
    parser: QueryParser,
}

/// A work on its way into the index.
struct Add {
    work: Work,
    done: oneshot::Sender<Result<()>>,
}

/// Works that a search found.
#[derive(Debug, Serialize)]
pub struct Found {
    /// How many there are in all.
    pub total: usize,
    /// The best of them.
    pub works: Vec<Work>,
}

#[derive(Clone, Copy)]
struct Fields {
    id: Field,
    source: Field,
    kind: Field,
    version: Field,
    title: Field,
    rest: Field,
    /// The work as JSON.
    work: Field,
}

impl From<TantivyError> for Error {
    fn from(error: TantivyError) -> Self {
        Error::Index(error.to_string())
    }
}

impl SearchIndex {
    /// Opens the index in a directory, and makes it if it is missing; without a directory, one in memory.
    pub fn open(directory: Option<&Path>) -> Result<Self> {
        let (schema, fields) = Fields::schema();
        let index = match directory {
            Some(directory) => {
                fs::create_dir_all(directory)?;
                let files = MmapDirectory::open(directory).map_err(TantivyError::from)?;
                Index::open_or_create(files, schema)?
            }
            None => Index::create_in_ram(schema),
        };
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        let writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
        let (adds, waiting) = mpsc::channel(COMMIT_WORKS_MAX);
        let committer = Committer {
            writer,
            reader,
            fields,
        };
        let (reader, fields) = (committer.reader.clone(), committer.fields);
        thread::Builder::new()
            .name("index".to_owned())
            .spawn(move || committer.run(waiting))?;
        let mut parser = QueryParser::for_index(&index, vec![fields.title, fields.rest]);
        parser.set_conjunction_by_default();
        parser.set_field_boost(fields.title, 2.0);
        Ok(Self {
            adds,
            reader,
            fields,
            parser,
        })
    }

    /// Puts a work into the index, in the place of an earlier version. When this returns, it is durable and is found.
    pub async fn put(&self, work: Work) -> Result<()> {
        let gone = || Error::Index("the thread that writes it has ended; the log says why".to_owned());
        let (done, is_done) = oneshot::channel();
        self.adds.send(Add { work, done }).await.map_err(|_| gone())?;
        is_done.await.map_err(|_| gone())?
    }

    /// The version of a record that is in the index.
    pub fn version(&self, id: &str) -> Result<Option<i64>> {
        self.fields.version_in(&self.reader.searcher(), id)
    }

    /// The work of a record, whether it is shown or not.
    pub fn work(&self, id: &str) -> Result<Option<Work>> {
        let found = self
            .fields
            .find(&self.reader.searcher(), &self.fields.with_id(id), 1, 0)?;
        Ok(found.works.into_iter().next())
    }

    /// How many records of a source are in the index, shown or not.
    pub fn count(&self, source: Source) -> Result<usize> {
        let of_source = self.fields.with_source(source);
        Ok(self.reader.searcher().search(&of_source, &Count)?)
    }

    /// The works that are shown and match a query, the best first. Without words, all of them.
    pub fn search(&self, words: &str, source: Option<Source>, most: usize, skip: usize) -> Result<Found> {
        let (query, _) = self.parser.parse_query_lenient(words);
        let mut all: Vec<Box<dyn Query>> = vec![Box::new(self.fields.visible())];
        if !words.trim().is_empty() {
            all.push(query);
        }
        if let Some(source) = source {
            all.push(Box::new(self.fields.with_source(source)));
        }
        let query = BooleanQuery::intersection(all);
        self.fields.find(&self.reader.searcher(), &query, most, skip)
    }
}

impl Fields {
    fn schema() -> (Schema, Self) {
        let stemmed = TextFieldIndexing::default()
            .set_tokenizer("en_stem")
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let text = TextOptions::default().set_indexing_options(stemmed);
        let mut schema = Schema::builder();
        let fields = Self {
            id: schema.add_text_field("id", STRING),
            source: schema.add_text_field("source", STRING),
            kind: schema.add_text_field("kind", STRING),
            version: schema.add_i64_field("version", FAST | STORED),
            title: schema.add_text_field("title", text.clone()),
            rest: schema.add_text_field("rest", text),
            work: schema.add_text_field("work", STORED),
        };
        (schema.build(), fields)
    }

    fn document(&self, work: &Work) -> Result<TantivyDocument> {
        let mut document = TantivyDocument::new();
        document.add_text(self.id, &work.id);
        document.add_text(self.source, work.source.to_string());
        document.add_text(self.kind, kind(work.kind));
        document.add_i64(self.version, work.version);
        document.add_text(self.title, &work.text.title);
        let (text, body) = (&work.text, serde_json::to_string(work));
        for part in text
            .contributors
            .iter()
            .chain(&text.subjects)
            .chain([&text.description, &work.id])
        {
            document.add_text(self.rest, part);
        }
        document.add_text(self.work, body.map_err(|error| Error::Index(error.to_string()))?);
        Ok(document)
    }

    fn with_id(&self, id: &str) -> TermQuery {
        TermQuery::new(Term::from_field_text(self.id, id), IndexRecordOption::Basic)
    }

    fn with_source(&self, source: Source) -> TermQuery {
        let term = Term::from_field_text(self.source, &source.to_string());
        TermQuery::new(term, IndexRecordOption::Basic)
    }

    fn visible(&self) -> TermQuery {
        let term = Term::from_field_text(self.kind, kind(Kind::Visible));
        TermQuery::new(term, IndexRecordOption::Basic)
    }

    fn find(&self, searcher: &Searcher, query: &dyn Query, most: usize, skip: usize) -> Result<Found> {
        let best = TopDocs::with_limit(most.max(1)).and_offset(skip).order_by_score();
        let (total, best) = searcher.search(query, &(Count, best))?;
        let mut works = Vec::with_capacity(best.len());
        for (_, address) in best {
            let document: TantivyDocument = searcher.doc(address)?;
            let body = document.get_first(self.work).and_then(|value| value.as_str());
            let work = serde_json::from_str(body.unwrap_or_default());
            works.push(work.map_err(|error| Error::Index(format!("a stored work: {error}")))?);
        }
        Ok(Found { total, works })
    }

    fn version_in(&self, searcher: &Searcher, id: &str) -> Result<Option<i64>> {
        let best = TopDocs::with_limit(1).order_by_score();
        let Some((_, address)) = searcher.search(&self.with_id(id), &best)?.pop() else {
            return Ok(None);
        };
        let versions = searcher
            .segment_reader(address.segment_ord)
            .fast_fields()
            .i64("version")?;
        Ok(versions.first(address.doc_id))
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Visible => "visible",
        Kind::Invisible => "invisible",
        Kind::Deleted => "deleted",
    }
}

/// What the writing thread has.
struct Committer {
    writer: IndexWriter,
    reader: IndexReader,
    fields: Fields,
}

impl Committer {
    fn run(mut self, mut waiting: mpsc::Receiver<Add>) {
        let mut batch = Vec::new();
        while waiting.blocking_recv_many(&mut batch, COMMIT_WORKS_MAX) > 0 {
            let committed = self.commit(&batch);
            if let Err(error) = &committed {
                tracing::error!(%error, works = batch.len(), "works were not indexed");
                // What was added and not committed would be part of the next commit.
                let _ = self.writer.rollback();
            }
            for add in batch.drain(..) {
                let told = match &committed {
                    Ok(()) => Ok(()),
                    Err(error) => Err(Error::Index(error.to_string())),
                };
                // A worker that was stopped does not wait; its message comes again.
                let _ = add.done.send(told);
            }
        }
    }

    /// Commits the newest version of each work, unless the index has a later one: messages come late, and come again.
    fn commit(&mut self, batch: &[Add]) -> Result<()> {
        let mut newest: HashMap<&str, &Work> = HashMap::new();
        for Add { work, .. } in batch {
            let known = newest.entry(&work.id).or_insert(work);
            if work.version >= known.version {
                *known = work;
            }
        }
        let searcher = self.reader.searcher();
        for work in newest.into_values() {
            if self.fields.version_in(&searcher, &work.id)? > Some(work.version) {
                continue;
            }
            self.writer
                .delete_term(Term::from_field_text(self.fields.id, &work.id));
            self.writer.add_document(self.fields.document(work)?)?;
        }
        self.writer.commit()?;
        Ok(self.reader.reload()?)
    }
}
