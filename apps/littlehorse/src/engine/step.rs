//! A step: a run, its changes, and one commit. It raises the run's revision and succeeds only if no other
//! step did so meanwhile: the rows that it has read are unchanged when it writes. A step that loses is
//! repeated.

use trestle::queue::{self, NewMessage};
use trestle::typed::{If, Timestamp, Transaction};

use super::*;

/// The one thread of a run.
pub(crate) const THREAD: i64 = 0;
/// How often a step is repeated because another was faster.
const ATTEMPTS_MAX: usize = 100;

/// A message with its queue.
pub(crate) type Message = (String, NewMessage);

/// A command for a run; the body of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Due {
    pub(crate) tenant: String,
    pub(crate) run: String,
    /// If given, the message is meant for the run that began then, and for no later one with the same id.
    pub(crate) start_time: Option<String>,
    pub(crate) command: Command,
}

impl Due {
    pub(crate) fn of(tenant: &str, run: &str, command: Command) -> Self {
        Due {
            tenant: tenant.to_owned(),
            run: run.to_owned(),
            start_time: None,
            command,
        }
    }

    /// The run, if it exists and is the intended one.
    pub(crate) fn meant(&self, run: Option<WfRun>) -> Result<WfRun> {
        let begun = self.start_time.as_deref();
        let is_meant = |run: &WfRun| begun.is_none_or(|begun| begun == run.start_time.as_str());
        run.filter(is_meant).ok_or_else(|| Error::not_found("such run"))
    }

    /// The message that applies a command to this run so many seconds later.
    pub(crate) fn message(queue: &str, run: &WfRun, command: Command, seconds: u64) -> Result<Message> {
        let mut due = Due::of(&run.tenant, &run.wf_run_id, command);
        due.start_time = Some(run.start_time.to_string());
        let message = NewMessage::job(&due)?.after(Duration::from_secs(seconds));
        Ok((queue.to_owned(), message))
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
    message: Option<Message>,
    pub(crate) writes: Transaction<'s, LittlehorseModel>,
}

impl Service {
    /// Applies a command to a run, in one commit; returns the result.
    pub(crate) async fn process(&self, due: &Due) -> Result<Value> {
        for _ in 0..ATTEMPTS_MAX {
            let answer = match due.command {
                Command::Delete => self.delete_step(due).await?,
                _ => Step::load(self, due).await?.carry_out(&due.command).await?,
            };
            if let Some(answer) = answer {
                return Ok(answer);
            }
        }
        Err(busy())
    }

    /// The same. `None` if the run advanced without it, or no longer exists.
    pub(crate) async fn attempt(&self, due: &Due) -> Result<Option<Value>> {
        match self.process(due).await {
            Err(Error::NotFound(_) | Error::Conflict(_)) => Ok(None),
            done => done.map(Some),
        }
    }

    pub(crate) async fn wf_run(&self, due: &Due) -> Result<WfRun> {
        let (tenant, wf_run_id) = (due.tenant.as_str(), due.run.as_str());
        let run = self.db.wf_run(WfRunWhere { tenant, wf_run_id }).await;
        due.meant(run.or_nothing()?)
    }
}

/// The condition that no other step has changed the run, and that it is not another run with the same id.
pub(crate) fn unchanged(run: &WfRun) -> If<WfRun> {
    let is_same = WfRun::START_TIME.equals(run.start_time.clone());
    WfRun::REVISION.equals(run.revision).and(is_same)
}

impl<'s> Step<'s> {
    async fn load(service: &'s Service, due: &Due) -> Result<Self> {
        let run = service.wf_run(due).await?;
        if run.deleting {
            return Err(Error::not_found("such run"));
        }
        let (db, tenant, wf_run_id) = (&service.db, due.tenant.as_str(), due.run.as_str());
        let spec = WfSpecWhere {
            tenant,
            name: &run.wf_spec_name,
            version: run.wf_spec_version,
        };
        let spec = db
            .wf_spec(spec)
            .await?
            .ok_or_else(|| Error::not_found("such workflow"))?;
        let spec = serde_json::from_str(&spec.definition)?;
        let rows = db.variables(VariablesWhere { tenant, wf_run_id });
        let rows = rows.collect().await?.into_iter();
        let mut step = Self::of(service, run, spec);
        step.variables = rows.map(|row| (row.name.clone(), row)).collect();
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
            writes: service.db.transaction(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.service.db.now()
    }

    /// The node at a position; none at the entrypoint and at the exit.
    pub(crate) fn spec_at(&self, position: i64) -> Option<&Node> {
        self.spec.nodes.get(usize::try_from(position - 1).ok()?)
    }

    /// Writes a row with its search tags, and shows it. Once for each row in a step.
    pub(crate) fn put<G: Getable>(&mut self, mut row: G) -> Value {
        row.retag();
        self.writes.add(self.service.db.put(&row));
        json!(row)
    }

    pub(crate) async fn node(&self, position: i64) -> Result<NodeRun> {
        let key = of_run!(self => NodeRunKey { thread_run_number: THREAD, position });
        self.service
            .db
            .get(key)
            .await?
            .ok_or_else(|| Error::not_found("such node"))
    }

    /// Leaves the only message of the step.
    pub(crate) fn leave(&mut self, queue: &str, command: Command, seconds: u64) -> Result<()> {
        self.message = Some(Due::message(queue, &self.run, command, seconds)?);
        Ok(())
    }

    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).and_then(|row| row.value.clone())
    }

    pub(crate) fn assign(&mut self, name: &str, value: Option<String>) {
        let (thread_run_number, created_at) = (THREAD, self.now());
        let new = of_run!(self => NewVariable { thread_run_number, name: name.to_owned(), created_at });
        let row = self.variables.entry(name.to_owned());
        row.or_insert_with(|| new.into()).value = value;
        self.assigned.insert(name.to_owned());
    }

    /// The list of the run's events, which is written with the step.
    pub(crate) async fn inventory(&mut self) -> Result<&mut Inventory> {
        let new = of_run!(self => NewInventory {});
        if self.inventory.is_none() {
            self.inventory = self.service.db.get(new.key()).await?;
        }
        Ok(self.inventory.get_or_insert_with(|| new.into()))
    }

    /// Writes everything and returns the run, or finds that another step was first.
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
        let done = match self.message {
            Some((queue, message)) => {
                let enlisted = self.service.queues.enlist(&queue, vec![message]).await?;
                queue::commit(self.writes, enlisted).await
            }
            None => self.writes.commit().await,
        };
        Ok(done.held()?.map(|()| self.run))
    }
}

/// Other steps were faster each time.
pub(crate) fn busy() -> Error {
    Error::Busy("there is too much to do; try again".to_owned())
}
