//! A step: a run, what changes of it, and one commit.
//!
//! Each step raises the run's revision and holds only if no other step did so meanwhile. So whatever a step has read of
//! the run's rows is still true when they are written, and a step that loses is begun anew.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use trestle::queue::{self, NewMessage};
use trestle::typed::{Held, If, Part, Timestamp, Transaction};

use super::commands::Command;
use super::service::{Due, TIMERS};
use super::spec::Spec;
use super::tags::Getable;
use super::{Error, Result, Service};
use crate::model::*;

/// The one thread of a run.
pub(crate) const THREAD: i64 = 0;

/// How often a step is begun anew because another was faster.
const ATTEMPTS_MAX: usize = 100;

/// The writes of a commit.
pub(crate) type Writes<'s> = Transaction<'s, LittlehorseModel>;
/// A message with its queue.
pub(crate) type Message = (String, NewMessage);

/// A row or a key of the run of a step: `of_run!(step => NodeRunKey { … })`.
macro_rules! of_run {
    ($step:ident => $name:ident { $($fields:tt)* }) => {
        $name { tenant: $step.run.tenant.clone(), wf_run_id: $step.run.wf_run_id.clone(), $($fields)* }
    };
}
pub(crate) use of_run;

/// A run while it changes.
pub(crate) struct Step<'s> {
    pub(crate) service: &'s Service,
    pub(crate) run: WfRun,
    pub(crate) spec: Spec,
    pub(crate) variables: BTreeMap<String, Variable>,
    pub(crate) inventory: Option<Inventory>,
    /// The one message that a step can leave.
    pub(crate) message: Option<Message>,
    /// Variables that changed.
    pub(crate) assigned: BTreeSet<String>,
    /// Events that nodes of this step took.
    pub(crate) taken: BTreeSet<String>,
    is_new: bool,
    writes: Writes<'s>,
}

impl Service {
    /// Lets a command happen to a run, in one commit: what became of it.
    pub(crate) async fn process(&self, tenant: &str, run: &str, command: &Command) -> Result<Value> {
        for _ in 0..ATTEMPTS_MAX {
            if let Some(answer) = self.attempt(tenant, run, command).await? {
                return Ok(answer);
            }
        }
        Err(Error::Busy)
    }

    /// `None`: another step came first.
    async fn attempt(&self, tenant: &str, run: &str, command: &Command) -> Result<Option<Value>> {
        if let Command::Delete = command {
            return self.delete_step(tenant, run).await;
        }
        let mut step = Step::load(self, tenant, run).await?;
        let Some(answer) = step.carry_out(command).await? else {
            return Ok(Some(json!({})));
        };
        Ok(step.commit().await?.then_some(answer))
    }

    pub(crate) async fn wf_run(&self, tenant: &str, run: &str) -> Result<WfRun> {
        let run = self.db.wf_run(WfRunWhere { tenant, wf_run_id: run }).await?;
        run.ok_or(Error::NotFound("run"))
    }

    /// Commits writes together with the message that they leave; says whether their conditions held.
    pub(crate) async fn send(&self, writes: Writes<'_>, message: Option<Message>) -> Result<bool> {
        let done = match message {
            Some((queue, message)) => {
                let enlisted = self.queues.enlist(&queue, vec![message]).await?;
                queue::commit(writes, enlisted).await
            }
            None => writes.commit().await,
        };
        Ok(done.held()?.is_some())
    }
}

/// A message that lets a command happen to a run, in a while.
pub(crate) fn due(queue: &str, run: &WfRun, command: Command, after: Duration) -> Result<Message> {
    let (tenant, run) = (run.tenant.clone(), run.wf_run_id.clone());
    let message = NewMessage::job(&Due { tenant, run, command })?;
    Ok((queue.to_owned(), message.after(after)))
}

/// That no other step has changed the run, and that it is not another run with the same id.
pub(crate) fn unchanged(run: &WfRun) -> If<WfRun> {
    let is_same = WfRun::START_TIME.equals(run.start_time.clone());
    WfRun::REVISION.equals(run.revision).and(is_same)
}

impl<'s> Step<'s> {
    async fn load(service: &'s Service, tenant: &str, run: &str) -> Result<Self> {
        let (db, run) = (&service.db, service.wf_run(tenant, run).await?);
        if run.deleting {
            return Err(Error::NotFound("run"));
        }
        let (name, version) = (run.wf_spec_name.as_str(), run.wf_spec_version);
        let spec = db.wf_spec(WfSpecWhere { tenant, name, version }).await?;
        let spec = serde_json::from_str(&spec.ok_or(Error::NotFound("workflow"))?.definition)?;
        let wf_run_id = run.wf_run_id.as_str();
        let rows = db.variables(VariablesWhere { tenant, wf_run_id }).collect().await?;
        let mut step = Self::of(service, run, spec, false);
        step.variables = rows.into_iter().map(|row| (row.name.clone(), row)).collect();
        Ok(step)
    }

    pub(crate) fn of(service: &'s Service, run: WfRun, spec: Spec, is_new: bool) -> Self {
        Step {
            service,
            run,
            spec,
            variables: BTreeMap::new(),
            inventory: None,
            message: None,
            assigned: BTreeSet::new(),
            taken: BTreeSet::new(),
            is_new,
            writes: service.db.transaction(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.service.now()
    }

    fn add(&mut self, part: impl Part<LittlehorseModel>) {
        let writes = std::mem::replace(&mut self.writes, self.service.db.transaction());
        self.writes = writes.with(part);
    }

    /// Writes a row with the tags that it is found by. Once for each row in a step.
    pub(crate) fn put<G: Getable>(&mut self, mut row: G) {
        row.retag();
        self.add(self.service.db.put(&row));
    }

    pub(crate) async fn node(&self, position: i64) -> Result<NodeRun> {
        let key = of_run!(self => NodeRunKey { thread_run_number: THREAD, position });
        self.service.db.get(key).await?.ok_or(Error::NotFound("node"))
    }

    pub(crate) fn later(&mut self, command: Command, after: Duration) -> Result<()> {
        self.message = Some(due(TIMERS, &self.run, command, after)?);
        Ok(())
    }

    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).and_then(|row| row.value.clone())
    }

    pub(crate) fn assign(&mut self, name: &str, value: Option<String>) {
        let (thread_run_number, created_at) = (THREAD, self.now());
        let new = of_run!(self => NewVariable { thread_run_number, name: name.to_owned(), created_at });
        let row = self.variables.entry(name.to_owned()).or_insert_with(|| new.into());
        row.value = value;
        self.assigned.insert(name.to_owned());
    }

    /// The list of the run's events, which is written with the step.
    pub(crate) async fn inventory(&mut self) -> Result<&mut Inventory> {
        let new = of_run!(self => NewInventory {});
        let inventory = match self.inventory.take() {
            Some(inventory) => Some(inventory),
            None => self.service.db.get(new.key()).await?,
        };
        Ok(self.inventory.insert(inventory.unwrap_or_else(|| new.into())))
    }

    /// Writes everything, or finds that another step came first.
    pub(crate) async fn commit(mut self) -> Result<bool> {
        for name in std::mem::take(&mut self.assigned) {
            if let Some(row) = self.variables.remove(&name) {
                self.put(row);
            }
        }
        if let Some(inventory) = self.inventory.take() {
            self.add(self.service.db.put(&inventory));
        }
        let mut run = self.run.clone();
        run.retag();
        run.revision += 1;
        let put = self.service.db.put(&run);
        self.add(match self.is_new {
            true => put.if_not_exists(),
            false => put.only_if(unchanged(&self.run)),
        });
        self.service.send(self.writes, self.message).await
    }
}
