//! A step: a run, what changes of it, and one commit.
//!
//! Each step raises the run's revision and holds only if no other step did so meanwhile. So whatever a step has read of
//! the run's rows is still true when they are written, and a step that loses is begun anew. A delete is several commits;
//! the first of them lets all other commands refuse the run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trestle::queue::{self, NewMessage};
use trestle::typed::{Held, If, Timestamp, Transaction};

use super::commands::Happening;
use super::service::TIMERS;
use super::spec::{Node, Spec};
use super::tags::Getable;
use super::{Error, Result, Service};
use crate::model::*;

/// The one thread of a run.
pub(crate) const THREAD: i64 = 0;

/// How often a step is begun anew because another was faster.
const ATTEMPTS_MAX: usize = 100;

/// A message with its queue.
pub(crate) type Message = (String, NewMessage);

/// Which run is meant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Target {
    pub(crate) tenant: String,
    pub(crate) run: String,
    /// Given, it is the run that began then, and no later one with the same id.
    start_time: Option<String>,
}

/// What is to happen to a run: the body of a message.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Due {
    pub(crate) target: Target,
    pub(crate) what: Happening,
}

impl Target {
    pub(crate) fn named(tenant: &str, run: &str) -> Self {
        Target {
            tenant: tenant.to_owned(),
            run: run.to_owned(),
            start_time: None,
        }
    }
}

impl Due {
    /// The message that lets something happen to this run, and no other, in a while.
    pub(crate) fn message(queue: &str, run: &WfRun, what: Happening, after: Duration) -> Result<Message> {
        let start_time = Some(run.start_time.to_string());
        let target = Target {
            start_time,
            ..Target::named(&run.tenant, &run.wf_run_id)
        };
        let message = NewMessage::job(&Due { target, what })?;
        Ok((queue.to_owned(), message.after(after)))
    }
}

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
    /// Variables that changed.
    assigned: BTreeSet<String>,
    inventory: Option<Inventory>,
    /// Events that nodes of this step took.
    pub(crate) taken: BTreeSet<String>,
    /// The one message that a step can leave.
    pub(crate) message: Option<Message>,
    /// There is nothing to do any more.
    pub(crate) is_idle: bool,
    writes: Transaction<'s, LittlehorseModel>,
}

impl Service {
    /// Lets something happen to a run, in one commit: what became of it.
    pub(crate) async fn process(&self, target: &Target, what: &Happening) -> Result<Value> {
        for _ in 0..ATTEMPTS_MAX {
            let answer = match what {
                Happening::Delete => self.delete_step(target).await?,
                _ => Step::load(self, target).await?.carry_out(what).await?,
            };
            if let Some(answer) = answer {
                return Ok(answer);
            }
        }
        Err(Error::Busy)
    }

    pub(crate) async fn wf_run(&self, target: &Target) -> Result<WfRun> {
        let (tenant, wf_run_id) = (target.tenant.as_str(), target.run.as_str());
        let run = self.db.wf_run(WfRunWhere { tenant, wf_run_id }).await?;
        let is_meant = |run: &WfRun| {
            target
                .start_time
                .as_deref()
                .is_none_or(|start| start == run.start_time.as_str())
        };
        run.filter(is_meant).ok_or(Error::NotFound("run"))
    }

    /// Commits writes together with the message that they leave; says whether their conditions held.
    pub(crate) async fn send(
        &self,
        writes: Transaction<'_, LittlehorseModel>,
        message: Option<Message>,
    ) -> Result<bool> {
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

/// That no other step has changed the run, and that it is not another run with the same id.
pub(crate) fn unchanged(run: &WfRun) -> If<WfRun> {
    let is_same = WfRun::START_TIME.equals(run.start_time.clone());
    WfRun::REVISION.equals(run.revision).and(is_same)
}

impl<'s> Step<'s> {
    async fn load(service: &'s Service, target: &Target) -> Result<Self> {
        let run = service.wf_run(target).await?;
        if run.deleting {
            return Err(Error::NotFound("run"));
        }
        let tenant = target.tenant.as_str();
        let (name, version) = (run.wf_spec_name.as_str(), run.wf_spec_version);
        let spec = service
            .db
            .wf_spec(WfSpecWhere {
                tenant,
                name,
                version,
            })
            .await?;
        let spec = serde_json::from_str(&spec.ok_or(Error::NotFound("workflow"))?.definition)?;
        let variables = VariablesWhere {
            tenant,
            wf_run_id: &target.run,
        };
        let rows = service.db.variables(variables).collect().await?;
        let mut step = Self::of(service, run, spec);
        step.variables = rows.into_iter().map(|row| (row.name.clone(), row)).collect();
        Ok(step)
    }

    pub(crate) fn of(service: &'s Service, run: WfRun, spec: Spec) -> Self {
        Step {
            service,
            run,
            spec,
            variables: BTreeMap::new(),
            assigned: BTreeSet::new(),
            inventory: None,
            taken: BTreeSet::new(),
            message: None,
            is_idle: false,
            writes: service.db.transaction(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.service.db.now()
    }

    /// What the workflow has at a position: nothing at the entrypoint, and nothing at the exit.
    pub(crate) fn spec_at(&self, position: i64) -> Option<&Node> {
        self.spec.nodes.get(usize::try_from(position - 1).ok()?)
    }

    /// Writes a row with the tags that it is found by, and shows it. Once for each row in a step.
    pub(crate) fn put<G: Getable>(&mut self, mut row: G) -> Value {
        row.retag();
        self.writes.add(self.service.db.put(&row));
        json!(row)
    }

    pub(crate) async fn node(&self, position: i64) -> Result<NodeRun> {
        let key = of_run!(self => NodeRunKey { thread_run_number: THREAD, position });
        self.service.db.get(key).await?.ok_or(Error::NotFound("node"))
    }

    pub(crate) fn later(&mut self, what: Happening, after: Duration) -> Result<()> {
        self.message = Some(Due::message(TIMERS, &self.run, what, after)?);
        Ok(())
    }

    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).and_then(|row| row.value.clone())
    }

    pub(crate) fn assign(&mut self, name: &str, value: Option<String>) {
        let (thread_run_number, created_at) = (THREAD, self.now());
        let new = of_run!(self => NewVariable { thread_run_number, name: name.to_owned(), created_at });
        let row = self
            .variables
            .entry(name.to_owned())
            .or_insert_with(|| new.into());
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

    /// Writes everything and answers with the run, or finds that another step came first.
    pub(crate) async fn commit(mut self) -> Result<Option<WfRun>> {
        for name in std::mem::take(&mut self.assigned) {
            if let Some(row) = self.variables.remove(&name) {
                self.put(row);
            }
        }
        if let Some(inventory) = self.inventory.take() {
            self.writes.add(self.service.db.put(&inventory));
        }
        let is_unchanged = unchanged(&self.run);
        self.run.revision += 1;
        self.run.retag();
        let put = self.service.db.put(&self.run);
        self.writes.add(match self.run.revision {
            1 => put.if_not_exists(),
            _ => put.only_if(is_unchanged),
        });
        let is_done = self.service.send(self.writes, self.message).await?;
        Ok(is_done.then_some(self.run))
    }
}
