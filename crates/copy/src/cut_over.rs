//! The cut-over, after which the target is in use.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trestle_admin::{
    AdminErrorCode, ApplyModel, ListMigrations, ListModels, PauseWrites, ResumeWrites, StartMigration,
};

use crate::follow::Followed;
use crate::job::CopyJob;
use crate::side::SideKind;
use crate::{CopyError, CopyPhase, CopyPlan, StateFile};

/// How long writes are paused at first: if the copy is killed meanwhile, they resume after this time.
const PAUSE: Duration = Duration::from_secs(60);
/// The time within which the remaining changes must be at the target.
const DRAIN_MAX: Duration = Duration::from_secs(45);

impl CopyJob {
    /// Copies the last changes while writes are paused. Returns when the pause began. [`CopyJob::take_over`]
    /// does the rest.
    pub(crate) async fn freeze(
        &self,
        plan: &CopyPlan,
        state: &StateFile,
        followed: &[Arc<Followed>],
    ) -> Result<Instant, CopyError> {
        self.progress.enter("cutting-over");
        // So that few changes are left when writes are paused.
        for followed in followed {
            followed.kept_up().await;
        }
        if self.to.kind == SideKind::Endpoint {
            // At endpoints this takes long, and the expiry of a row has no effects there.
            self.begin_to_act(plan, state).await?;
        }
        let began = Instant::now();
        match self.from.kind {
            SideKind::Directory => {}
            SideKind::Server => self.pause(plan, followed).await?,
            SideKind::Endpoint => {
                for followed in followed {
                    followed.quiet_for(self.settings.settle).await;
                }
            }
        }
        state.change(|state| state.phase = CopyPhase::Frozen);
        state.save()?;
        Ok(began)
    }

    /// Pauses writes at the source, and waits until everything that was written is at the target.
    async fn pause(&self, plan: &CopyPlan, followed: &[Arc<Followed>]) -> Result<(), CopyError> {
        let tables: Vec<String> = plan.tables.iter().map(|table| table.table.clone()).collect();
        let pause = |seconds: Option<f64>| PauseWrites {
            tables: tables.clone(),
            seconds,
        };
        let what = format!("pausing writing at {}", self.from.name);
        self.from
            .administer(&what, pause(Some(PAUSE.as_secs_f64())))
            .await?;
        let drained = async {
            for followed in followed {
                followed.caught_up().await;
            }
        };
        if tokio::time::timeout(DRAIN_MAX, drained).await.is_err() {
            let resume = ResumeWrites { tables };
            self.from
                .administer("resuming writes at the source", resume)
                .await?;
            return Err(CopyError::refused(format!(
                "the last changes were not copied within {} s; writes continue at {}. Try again when there is less load",
                DRAIN_MAX.as_secs(),
                self.from.name
            )));
        }
        // From here on the source stays unchanged, even if this process ends.
        self.from.administer(&what, pause(None)).await?;
        // If this process was suspended for long, the pause had ended, and rows were written since.
        for followed in followed {
            followed.caught_up().await;
        }
        Ok(())
    }

    /// The target has everything: models take effect, rows expire, changes are recorded.
    pub(crate) async fn take_over(
        &self,
        plan: &CopyPlan,
        state: &StateFile,
        began: Option<Instant>,
    ) -> Result<(), CopyError> {
        self.progress.enter("cutting-over");
        for text in &plan.texts {
            let call = ApplyModel {
                text: text.clone(),
                adopt: true,
                ..ApplyModel::default()
            };
            self.to
                .administer("putting a model in force at the target", call)
                .await?;
        }
        if self.to.kind != SideKind::Endpoint {
            self.begin_to_act(plan, state).await?;
        }
        let paused = began.map(|began| began.elapsed().as_millis() as u64);
        state.change(|state| {
            state.phase = CopyPhase::TakenOver;
            state.paused_ms = paused.filter(|_| plan.follows);
        });
        state.save()?;
        self.finish(state).await
    }

    /// The last steps after the target has taken over.
    pub(crate) async fn finish(&self, state: &StateFile) -> Result<(), CopyError> {
        self.progress.enter("cutting-over");
        self.clear_up(state).await?;
        self.change_layout().await?;
        state.change(|state| state.phase = CopyPhase::Done);
        state.save()?;
        self.progress.enter("done");
        Ok(())
    }

    /// Enables expiry and streams at the target, as at the source.
    async fn begin_to_act(&self, plan: &CopyPlan, state: &StateFile) -> Result<(), CopyError> {
        let target = self.target();
        for table in &plan.tables {
            if let Some(attribute) = &table.expiry {
                target.set_expiry(&table.table, attribute).await?;
            }
            let was_made = state.change_table(&table.table, |table| table.stream_made);
            if let Some(view) = table.stream(was_made) {
                target.set_stream(&table.table, Some(view)).await?;
            }
        }
        Ok(())
    }

    /// Removes the streams that were enabled for the copy.
    async fn clear_up(&self, state: &StateFile) -> Result<(), CopyError> {
        for table in state.look(|state| state.tables.keys().cloned().collect::<Vec<_>>()) {
            if state.change_table(&table, |table| table.stream_made) {
                self.source().set_stream(&table, None).await?;
                state.change_table(&table, |table| table.stream_made = false);
            }
        }
        state.save()
    }

    async fn is_moving(&self, model: Option<&String>) -> Result<bool, CopyError> {
        let listed = self
            .to
            .administer("listing the migrations", ListMigrations::default())
            .await?;
        let mut of_model = listed
            .migrations
            .iter()
            .filter(|status| Some(&status.model) == model);
        Ok(of_model.any(|status| status.state.is_under_way()))
    }

    /// Starts the migration to another layout at the target, if one was requested.
    async fn change_layout(&self) -> Result<(), CopyError> {
        let Some(text) = &self.settings.model else {
            return Ok(());
        };
        let name = trestle_model::load(text)
            .model
            .map(|model| model.name().to_owned());
        let models = self
            .to
            .administer("listing the models", ListModels::default())
            .await?
            .models;
        let is_there = models.iter().any(|model| Some(&model.name) == name.as_ref());
        if is_there && self.is_moving(name.as_ref()).await? {
            // An earlier run of this copy, which was killed, has started it.
            return Ok(());
        }
        if is_there {
            let call = StartMigration {
                text: Some(text.clone()),
                finish: true,
                ..StartMigration::default()
            };
            match self
                .to
                .administer("starting the migration at the target", call)
                .await
            {
                Ok(_) => return Ok(()),
                // If no key changes, the version is applied without a migration.
                Err(CopyError::Administration { error, .. }) if error.code == AdminErrorCode::Refused => {}
                Err(error) => return Err(error),
            }
        }
        let call = ApplyModel {
            text: text.clone(),
            fill: true,
            ..ApplyModel::default()
        };
        let what = "applying the model at the target";
        self.to.administer(what, call).await.map(|_| ())
    }
}
