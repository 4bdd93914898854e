//! Rows one by one, and page by page.

use std::future::poll_fn;
use std::pin::Pin;

use crate::manhunt::{ZAVIER, search};
use crate::models::manhunt::*;
use crate::models::reindexer::{NewRecord, RecordSourceName, Reindexer};
use crate::support::{Counted, embedded};
use trestle::Wait;
use trestle::typed::{Bookmark, Error, Stream};

/// Seven searches of one contact, every second of which is canceled.
fn seven() -> (Manhunt<Counted>, Counted) {
    let embedded = embedded();
    let db = Manhunt::apply_to(&embedded).unwrap();
    for day in 1..=7 {
        let new = search(&format!("a{day}"), ZAVIER, &format!("2020-01-0{day}T00:00:00Z"));
        let mut search = Search::from(new);
        if day % 2 == 0 {
            search.status = SearchStatus::Canceled;
        }
        db.put(&search).wait().unwrap();
    }
    let database = Counted::new(embedded);
    (Manhunt::on(database.clone()).model_applied(), database)
}

#[test]
fn pages_follow_one_another_by_bookmark_and_the_last_has_none() {
    let (db, _) = seven();
    let mut ids = Vec::new();
    let mut sizes = Vec::new();
    let mut next = None;
    loop {
        // A bookmark is text that can be used in a URL.
        let after = next.map(|bookmark: Bookmark| bookmark.to_string());
        let rows = db.searches_of_contact(ZAVIER).page_size(3).continued(after);
        let page = rows.page().wait().unwrap();
        sizes.push(page.rows.len());
        ids.extend(page.rows.into_iter().map(|search| search.search_id));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [3, 3, 1]);
    assert_eq!(ids, ["a1", "a2", "a3", "a4", "a5", "a6", "a7"]);
}

#[test]
fn a_full_last_page_has_no_bookmark_either() {
    let (db, _) = seven();
    let page = db.searches_of_contact(ZAVIER).page_size(7).page().wait().unwrap();
    assert_eq!((page.rows.len(), page.next), (7, None));
}

#[test]
fn rows_at_once_are_those_of_one_request_and_a_bookmark_leads_on() {
    let (db, database) = seven();
    let list = || db.searches_of_contact(ZAVIER).page_size(4);
    let first = list().at_once().wait().unwrap();
    let second = list().continued(first.next).at_once().wait().unwrap();
    assert_eq!((first.rows.len(), second.rows.len(), second.next), (4, 3, None));
    assert_eq!(database.take(), 2, "a request each");
    let ids: Vec<&str> = second.rows.iter().map(|row| row.search_id.as_str()).collect();
    assert_eq!(ids, ["a5", "a6", "a7"]);
    // Whether a row follows a full page is known only after the next request.
    let all = list().page_size(7).at_once().wait().unwrap();
    let rest = list().continued(all.next).at_once().wait().unwrap();
    assert_eq!((all.rows.len(), rest.rows.len(), rest.next), (7, 0, None));
}

#[test]
fn a_list_stays_in_order_when_rows_before_the_bookmark_change() {
    let (db, _) = seven();
    let list = || db.searches_of_contact(ZAVIER).page_size(2);
    let first = list().page().wait().unwrap();
    db.update_search(SearchKey::new("a1"))
        .set_status(SearchStatus::Failed)
        .wait()
        .unwrap();
    db.delete(SearchKey::new("a2")).wait().unwrap();
    let second = list().after(first.next.unwrap()).page().wait().unwrap();
    let ids: Vec<&str> = second.rows.iter().map(|row| row.search_id.as_str()).collect();
    assert_eq!(ids, ["a3", "a4"], "also when the row at the bookmark is gone");
}

#[test]
fn a_bookmark_leads_nowhere_in_another_list() {
    let (db, database) = seven();
    let page = db.searches_of_contact(ZAVIER).page_size(1).page().wait().unwrap();
    database.take();
    let error = db
        .contacts_of_domain("db3280c")
        .after(page.next.unwrap())
        .page()
        .wait()
        .unwrap_err();
    assert!(
        matches!(
            &error,
            Error::Bookmark {
                access: "contacts_of_domain",
                ..
            }
        ),
        "{error}"
    );
    let error = db.searches_of_contact(ZAVIER).after("nonsense").collect().wait();
    assert!(matches!(error, Err(Error::Bookmark { .. })));
    assert_eq!(database.take(), 0, "nothing was asked");
}

#[test]
fn a_stream_asks_for_a_page_when_the_one_before_is_used_up() {
    let (db, database) = seven();
    let mut stream = db.searches_of_contact(ZAVIER).page_size(3).stream();
    assert_eq!(database.take(), 0);
    for _ in 0..3 {
        stream.next().wait().unwrap().unwrap();
    }
    assert_eq!(database.take(), 1);
    let bookmark = stream.bookmark().unwrap();
    stream.next().wait().unwrap().unwrap();
    assert_eq!(database.take(), 1);
    let rest = db
        .searches_of_contact(ZAVIER)
        .after(bookmark)
        .collect()
        .wait()
        .unwrap();
    assert_eq!(rest.first().unwrap().search_id, "a4");
}

#[test]
fn a_row_stream_is_a_stream_for_any_library() {
    async fn count(mut rows: impl Stream<Item = Result<Search, Error>> + Unpin) -> usize {
        let mut count = 0;
        while let Some(row) = poll_fn(|context| Pin::new(&mut rows).poll_next(context)).await {
            row.unwrap();
            count += 1;
        }
        count
    }
    let (db, _) = seven();
    let rows = db.searches_of_contact(ZAVIER).page_size(2).stream();
    assert_eq!(count(rows).wait(), 7);
}

#[test]
fn rows_are_an_iterator_where_there_is_no_runtime() {
    let (db, _) = seven();
    let mut canceled = 0;
    for search in db.searches_of_contact(ZAVIER).page_size(2).stream().wait() {
        if search.unwrap().status == SearchStatus::Canceled {
            canceled += 1;
        }
    }
    assert_eq!(canceled, 3);
}

#[test]
fn pages_of_a_scan_are_full_and_end() {
    let db = Reindexer::apply_to(&embedded()).unwrap();
    let records: Vec<NewRecord> = (0..30)
        .map(|number| NewRecord {
            id: format!("b{number}"),
            source_name: RecordSourceName::Miro,
            version: 1,
        })
        .collect();
    db.put_many(&records).wait().unwrap();
    let first = db.all_records().page_size(20).page().wait().unwrap();
    assert_eq!(first.rows.len(), 20);
    let second = db
        .all_records()
        .page_size(20)
        .after(first.next.unwrap())
        .page()
        .wait()
        .unwrap();
    assert_eq!((second.rows.len(), second.next), (10, None));
}

#[test]
fn what_is_asked_can_move_to_another_thread_with_its_client() {
    fn spawn<F: Future<Output: Send> + Send + 'static>(future: F) -> F::Output {
        std::thread::spawn(|| future.wait()).join().unwrap()
    }
    let (db, _) = seven();
    let client = db.clone();
    let found = spawn(async move {
        let ended = client
            .update_search(SearchKey::new("a1"))
            .set_status(SearchStatus::Failed)
            .await?;
        client.delete(&ended).await?;
        client.transaction().put(&ended).commit().await?;
        let first = client.searches_of_contact(ZAVIER).first().await?;
        let mut rest = client.searches_of_contact(ZAVIER).stream();
        while let Some(search) = rest.next().await {
            search?;
        }
        Ok::<_, Error>(first)
    });
    assert_eq!(found.unwrap().unwrap().status, SearchStatus::Failed);
}
