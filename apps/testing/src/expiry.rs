//! Expiry by the clock of a test, at an endpoint.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use trestle::api::{DeleteItem, Scan};
use trestle::remote::Settings;
use trestle::{AttributeValue, Clock, DatabaseExt as _, Item, Number, Remote, Wait as _};

/// How often it checks.
const LOOK: Duration = Duration::from_millis(50);

/// Deletes expired rows directly at the endpoint, without a gateway of this process, like the endpoint's time
/// to live. It ends when this is dropped.
#[derive(Debug)]
pub struct Expiry {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Expiry {
    pub(crate) fn start(
        settings: Settings,
        table: &'static str,
        attribute: &'static str,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let remote = Remote::new(settings).unwrap();
            while !told.load(Ordering::Acquire) {
                expire(&remote, table, attribute, &*clock);
                std::thread::sleep(LOOK);
            }
        });
        Self {
            is_over,
            thread: Some(thread),
        }
    }
}

impl Drop for Expiry {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Deletes expired rows. Failed deletes are tried again at the next check.
fn expire(remote: &Remote, table: &str, attribute: &str, clock: &dyn Clock) {
    let now = AttributeValue::N(Number::from(clock.now().as_secs()));
    let due = Scan {
        table_name: table.to_owned(),
        filter_expression: Some("#at <= :now".to_owned()),
        expression_attribute_names: Some([("#at".to_owned(), attribute.to_owned())].into()),
        expression_attribute_values: Some([(":now".to_owned(), now)].into_iter().collect()),
        consistent_read: Some(true),
        ..Scan::default()
    };
    let Ok(due) = remote.scan(due).wait() else { return };
    for row in due.items.map(|rows| rows.to_vec()).unwrap_or_default() {
        let key: Item = ["pk", "sk"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), row.get(name)?.clone())))
            .collect();
        let _ = remote
            .delete_item(DeleteItem {
                table_name: table.to_owned(),
                key,
                ..DeleteItem::default()
            })
            .wait();
    }
}
