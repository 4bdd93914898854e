//! The step with a route: one gateway delivers the changes of the table, then the other one continues where the first one ended.

use super::steps::{Hitch, STREAM_MAX, Stage, TABLE, delete, put, row, set};
use crate::serve::{ROUTES_TABLE, ROUTES_TABLE_THERE};
use parking_lot::Mutex;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use trestle_api::Database;
use trestle_env::{Clock, SystemClock};
use trestle_events::{
    Batch, Change, ChangeEvent, Deliver, Destination, Door, ModelTyper, Outcome, Route, Router, RowReading,
    ScanSettings, Setup, Target, UnknownClock,
};
use trestle_gateway::{Duty, DutyHolder, Gateway};
use trestle_item::AttributeValue;

/// The number of rows whose changes each gateway delivers.
const ROWS: usize = 4;
/// The maximum time until a gateway runs the routes: longer than the lease of another one.
const DUTY_MAX: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(500);

/// The delivered events of each club. A change may be delivered more than once.
#[derive(Default)]
struct Taken(Mutex<BTreeMap<String, Vec<ChangeEvent>>>);

impl Taken {
    fn take(&self, change: &Change) {
        let pk = change
            .keys
            .get("pk")
            .and_then(AttributeValue::as_s)
            .unwrap_or_default();
        if let Some(club) = pk.strip_prefix("club#") {
            let mut taken = self.0.lock();
            let events = taken.entry(club.to_owned()).or_default();
            if !events.contains(&change.event) {
                events.push(change.event);
            }
        }
    }
}

impl Target for Taken {
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        batch
            .deliveries
            .iter()
            .for_each(|delivery| self.take(&delivery.change));
        Box::pin(async { Outcome::Done })
    }
}

pub(super) fn routes(stage: &Stage) -> Result<(), Hitch> {
    stage.needs(stage.capabilities.streams, "streams")?;
    stage.needs(stage.capabilities.transactions, "transactions")?;
    stage.needs(
        stage.capabilities.exact_event_names,
        "exact event names in streams",
    )?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let taken = Arc::new(Taken::default());
    for (number, gateway) in stage.gateways.iter().enumerate() {
        let duty = gateway.duty();
        let mut held = None;
        stage.wait_until(DUTY_MAX, "the gateway did not get the routes", || {
            if let DutyHolder::This { epoch, .. } = runtime.block_on(duty.look())? {
                held = Some(epoch);
            }
            Ok(held.is_some())
        })?;
        let epoch = held.unwrap_or_default();
        let router = router(stage, gateway, (&duty, epoch), &runtime, &taken)?;
        let route = Route::new("check", TABLE, Destination::new("handler", "check"));
        runtime.block_on(router.apply(vec![route]))?;
        let delivered = deliver(stage, number, &taken);
        runtime.block_on(router.stop());
        runtime.block_on(duty.give_up(epoch, None))?;
        delivered?;
    }
    Ok(())
}

fn router(
    stage: &Stage,
    gateway: &Gateway,
    (duty, epoch): (&Duty, u64),
    runtime: &Runtime,
    taken: &Arc<Taken>,
) -> Result<Router, Hitch> {
    let models = gateway.models();
    let names = models.list().into_iter();
    let models: Result<Vec<_>, _> = names.map(|listed| models.model(&listed.name)).collect();
    let taken = Arc::clone(taken);
    Ok(Router::start(Setup {
        database: Arc::clone(&stage.scratch) as Arc<dyn Database>,
        state: Arc::new(duty.fence(epoch, ROUTES_TABLE, ROUTES_TABLE_THERE)),
        clock: Arc::new(SystemClock::new()) as Arc<dyn Clock>,
        bell: None,
        typer: Arc::new(ModelTyper::new(models?)),
        doors: Arc::new(move |_: &Route| Ok(Door::Target(Arc::clone(&taken) as Arc<dyn Target>))),
        rows: RowReading::Scanned(ScanSettings {
            clock: Arc::new(UnknownClock),
            stream_delay: Duration::from_secs(15),
        }),
        poll: POLL,
        runtime: runtime.handle().clone(),
        held: None,
        parked_max: Setup::PARKED_MAX,
    }))
}

/// Inserts, changes and removes rows, and waits until these events were delivered in this order.
fn deliver(stage: &Stage, number: usize, taken: &Taken) -> Result<(), Hitch> {
    let names: Vec<String> = (0..ROWS).map(|at| format!("route-{number}-{at}")).collect();
    for name in &names {
        let club = || row("club", &[("club", name)]);
        stage.all([
            put(club())?,
            set(club(), "note", json!({"S": "weekly"}))?,
            delete(club())?,
        ])?;
    }
    let wanted = [ChangeEvent::Insert, ChangeEvent::Modify, ChangeEvent::Remove];
    let is_delivered = || {
        let taken = taken.0.lock();
        let mut events = names.iter().map(|name| taken.get(name));
        Ok(events.all(|events| events.is_some_and(|events| *events == wanted)))
    };
    let waited = stage.wait_until(
        STREAM_MAX,
        "not every change was delivered in order",
        is_delivered,
    );
    waited.map_err(|hitch| match hitch {
        Hitch::Failed(why) => Hitch::Failed(format!("{why}: {:?}", taken.0.lock())),
        lacks => lacks,
    })
}
