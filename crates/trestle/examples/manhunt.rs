//! An application on a model: finds a person by trying contact methods one after another. The application
//! builds no keys and needs no retry loops.
//!
//! ```sh
//! cargo run -p trestle --example manhunt             # in memory
//! cargo run -p trestle --example manhunt -- ./hunt   # in a directory that stays
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use trestle::typed::{self, Held, Timestamp};
use trestle::{Database, Embedded, Options, Wait};

use model::{
    Contact, ContactMethod, ContactMethodType, Manhunt, NewContact, NewContactMethod, NewSearch,
    NewSearchAttempt, Search, SearchAttempt, SearchAttemptKey, SearchKey, SearchStatus,
};

mod model {
    trestle::model!("../../models/manhunt.toml");
}

fn main() -> Result<(), Box<dyn Error>> {
    let database = match std::env::args_os().nth(1) {
        Some(directory) => Embedded::open(directory, Options::default())?,
        None => Embedded::in_memory(Options::default())?,
    };
    // Creates the table and its indexes, or checks that they are right.
    let db = Manhunt::apply_to(&database)?;
    hunt(&db).wait()
}

/// One search, from the call for help to the answer.
async fn hunt(db: &Manhunt<impl Database>) -> Result<(), Box<dyn Error>> {
    register(db).await?;
    let search = begin(db, "a271244").await?;
    let first = attempt(db, &search, 0).await?;
    // A message that is delivered twice does not contact a person twice.
    assert_eq!(attempt(db, &search, 0).await?, first);
    let second = attempt(db, &search, 1).await?.ok_or("there are two methods")?;
    println!("answered: {}", answer(db, &second, "1").await?);
    println!("answered again: {}", answer(db, &second, "1").await?);
    println!("canceled: {}", cancel(db, &search).await?);
    report(db, &search.contact_id).await?;
    Ok(())
}

/// A contact with two methods: all of it is written, or nothing.
async fn register(db: &Manhunt<impl Database>) -> Result<(), typed::Error> {
    let contact = NewContact {
        contact_id: "89fa8f8".into(),
        domain_id: "db3280c".into(),
        name: "Zavier Curtis".into(),
    };
    let method = |id: &str, kind, destination: &str| NewContactMethod {
        contact_id: contact.contact_id.clone(),
        method_id: id.into(),
        domain_id: contact.domain_id.clone(),
        r#type: kind,
        destination: destination.into(),
    };
    db.transaction()
        .put(&contact)
        .put(&method("538235b", ContactMethodType::Text, "+1 555 0100"))
        .put(&method("800e613", ContactMethodType::Call, "+1 555 0101"))
        .commit()
        .await
}

async fn begin(db: &Manhunt<impl Database>, id: &str) -> Result<Search, Box<dyn Error>> {
    let contact: Contact = db
        .contact("89fa8f8")
        .first()
        .await?
        .ok_or("there is no such contact")?;
    let search = NewSearch {
        search_id: id.into(),
        contact_id: contact.contact_id,
        domain_id: contact.domain_id,
        started_datetime: Timestamp::parse("2019-12-30T19:32:14Z")?,
    };
    db.put(&search).await?;
    Ok(search.into())
}

/// Tries the method at this position; `None` when there are no more. A second call returns the result of the
/// first one.
async fn attempt(
    db: &Manhunt<impl Database>,
    search: &Search,
    position: usize,
) -> Result<Option<SearchAttempt>, typed::Error> {
    let found = db.contact_with_methods(&search.contact_id).gather().await?;
    let mut enabled = found.contact_method.iter().filter(|method| method.enabled);
    let Some(method) = enabled.nth(position) else {
        return Ok(None);
    };
    let new = new_attempt(search, method, position);
    match db.put(&new).if_not_exists().await.held()? {
        Some(()) => println!("tried {}: {}", method.r#type, method.destination),
        None => println!("{} was tried already", method.r#type),
    }
    // The database copied type and destination from the method, in the same commit.
    db.get(new.key()).await
}

fn new_attempt(search: &Search, method: &ContactMethod, position: usize) -> NewSearchAttempt {
    NewSearchAttempt {
        search_id: search.search_id.clone(),
        attempt_id: format!("{}-{position}", search.search_id),
        contact_id: search.contact_id.clone(),
        domain_id: search.domain_id.clone(),
        method_id: method.method_id.clone(),
        attempted_at: search.started_datetime.clone(),
    }
}

/// Writes an answer and ends the search in one transaction, only if the search is still active.
async fn answer(
    db: &Manhunt<impl Database>,
    attempt: &SearchAttempt,
    response: &str,
) -> Result<bool, typed::Error> {
    let key: SearchAttemptKey = attempt.key();
    let done = db
        .transaction()
        .with(
            db.update_search_attempt(key)
                .set_responded(true)
                .set_response(response),
        )
        .with(ending(db, &attempt.search_id, SearchStatus::Successful))
        .commit()
        .await;
    Ok(done.held()?.is_some())
}

async fn cancel(db: &Manhunt<impl Database>, search: &Search) -> Result<bool, typed::Error> {
    match ending(db, &search.search_id, SearchStatus::Canceled).await {
        Ok(_) => Ok(true),
        Err(typed::Error::ConditionFailed(failed)) => {
            if let Some(there) = failed.row::<Search>()? {
                println!("too late to cancel: the search is {}", there.status);
            }
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// The end of an active search. Its row in the index of statuses moves in the same commit.
fn ending<'d>(db: &'d Manhunt<impl Database>, id: &str, status: SearchStatus) -> model::UpdateSearch<'d> {
    db.update_search(SearchKey::new(id))
        .set_status(status)
        .only_if(Search::STATUS.equals(SearchStatus::Active))
}

/// All searches of a contact, page by page as they are needed.
async fn report(db: &Manhunt<impl Database>, contact: &str) -> Result<(), typed::Error> {
    for status in SearchStatus::ALL {
        let mut searches = db.searches_by_status(contact, *status).stream();
        while let Some(search) = searches.next().await {
            println!("{status}: {}", search?.search_id);
        }
    }
    Ok(())
}
