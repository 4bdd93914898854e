//! Calls about reindexes, on a database in this process or at an endpoint.

use super::collections::values;
use trestle_admin::{
    AdminAnswer, AdminCall, AdminError, DeadLettersDropped, ListReindexDeadLetters, ListReindexGaps,
    ListReindexes, ReindexGapList, ReindexLetter, ReindexLetterList, ReindexList, ReindexReplayed,
    ReindexReport, ReindexStarted, ReindexSummary, ResendReindex, StartReindex,
};
use trestle_reindex::{
    Against, ReindexBudget, ReindexDestination, ReindexScope, ReindexWorkers, Reindexer,
    StartReindex as AskedReindex,
};

/// The default number of reindexes and dead letters on a page.
const PAGE: u32 = 100;
/// The maximum number of reindexes and dead letters on a page.
const PAGE_MAX: u32 = 1_000;
/// The default number of gaps on a page.
const GAPS: u32 = 1_000;
/// The maximum number of gaps on a page, and of ids in a call.
pub(crate) const IDS_MAX: usize = 10_000;

/// Reindexes, and the background workers that process them, if there are any.
#[derive(Clone, Copy)]
pub(crate) struct Reindexes<'r> {
    pub(crate) reindexer: &'r Reindexer,
    pub(crate) workers: Option<&'r ReindexWorkers>,
}

impl Reindexes<'_> {
    /// Answers a call about reindexes; `None` if it is about something else.
    pub(crate) async fn answer(self, call: AdminCall) -> Option<Result<AdminAnswer, AdminError>> {
        Some(match call {
            AdminCall::ListReindexes(call) => self.list(&call).await.map(AdminAnswer::ListReindexes),
            AdminCall::ReadReindex(call) => self.report(&call.name).await.map(AdminAnswer::ReadReindex),
            AdminCall::StartReindex(call) => self.start(call).await.map(AdminAnswer::StartReindex),
            AdminCall::PauseReindex(call) => self.pause(&call.name).await.map(AdminAnswer::PauseReindex),
            AdminCall::ResumeReindex(call) => self.resume(&call.name).await.map(AdminAnswer::ResumeReindex),
            AdminCall::CancelReindex(call) => self.cancel(&call.name).await.map(AdminAnswer::CancelReindex),
            AdminCall::ListReindexDeadLetters(call) => {
                let letters = self.dead_letters(&call).await;
                letters.map(AdminAnswer::ListReindexDeadLetters)
            }
            AdminCall::DropReindexDeadLetters(call) => {
                let dropped = self.reindexer.drop_dead_letters(&call.name).await;
                let dropped = dropped.map(|dropped| DeadLettersDropped { dropped });
                dropped
                    .map(AdminAnswer::DropReindexDeadLetters)
                    .map_err(AdminError::from)
            }
            AdminCall::ReplayReindex(call) => self.replay(&call.name).await.map(AdminAnswer::ReplayReindex),
            AdminCall::ListReindexGaps(call) => self.gaps(&call).await.map(AdminAnswer::ListReindexGaps),
            AdminCall::ResendReindex(call) => self.resend(&call).await.map(AdminAnswer::ResendReindex),
            _ => return None,
        })
    }

    async fn list(self, call: &ListReindexes) -> Result<ReindexList, AdminError> {
        let (jobs, next) = match call.running {
            true => (self.reindexer.running().await?, None),
            false => {
                let limit = call.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
                self.reindexer.list_page(call.after.as_deref(), limit).await?
            }
        };
        Ok(ReindexList {
            reindexes: jobs.into_iter().map(ReindexSummary::from).collect(),
            next,
        })
    }

    async fn report(self, name: &str) -> Result<ReindexReport, AdminError> {
        Ok(ReindexReport {
            status: self.reindexer.status(name).await?,
            error: self.workers.and_then(|workers| workers.error(name)),
        })
    }

    async fn start(self, call: StartReindex) -> Result<ReindexStarted, AdminError> {
        let asked = self.asked(call)?;
        let started = self.reindexer.start(asked).await?;
        Ok(ReindexStarted {
            reindex: self.work_on(&started.job.name).await?,
            warnings: started.warnings,
        })
    }

    /// Wakes the workers, if there are any, and returns the status of the reindex.
    async fn work_on(self, name: &str) -> Result<ReindexReport, AdminError> {
        if let Some(workers) = self.workers {
            workers.work_on(name);
        }
        self.report(name).await
    }

    fn asked(self, call: StartReindex) -> Result<AskedReindex, AdminError> {
        let scope = self.scope(&call)?;
        let usual = AskedReindex::touch(call.table);
        Ok(AskedReindex {
            name: call.name,
            to: match (call.send, call.attribute, call.version) {
                (Some(route), None, None) => ReindexDestination::Route(route),
                (None, attribute, version) => ReindexDestination::Stream { attribute, version },
                (Some(_), ..) => {
                    return Err(AdminError::invalid(
                        "rows that are sent are not touched: leave out either `send`, or `version` and `attribute`",
                    ));
                }
            },
            scope,
            budget: ReindexBudget {
                read_units: call.read_units,
                write_units: call.write_units,
                yields: !call.no_yield,
            },
            page_rows: call.page_rows.unwrap_or(usual.page_rows),
            workers: call.workers.unwrap_or(usual.workers),
            attempts: call.attempts.unwrap_or(usual.attempts),
            force: call.force,
            ..usual
        })
    }

    fn scope(self, call: &StartReindex) -> Result<ReindexScope, AdminError> {
        if call.access.is_none() && !call.parameters.is_empty() {
            return Err(AdminError::invalid("`where` needs `access`"));
        }
        match (call.first, &call.ids, &call.entity, &call.access) {
            (None, None, None, None) => Ok(ReindexScope::Complete),
            (Some(rows), None, None, None) => Ok(ReindexScope::First(rows)),
            (None, Some(ids), None, None) => Ok(ReindexScope::Ids(ids.clone())),
            (None, None, Some(entity), None) => Ok(ReindexScope::Entity(entity.clone())),
            (_, None, None, Some(access)) => self.access(call, access),
            _ => Err(AdminError::invalid(
                "say which rows by one of `first`, `ids`, `entity` and `access` at most; only `first` and `access` go together",
            )),
        }
    }

    fn access(self, call: &StartReindex, access: &str) -> Result<ReindexScope, AdminError> {
        let model = self.reindexer.model(&call.table).ok_or_else(|| {
            AdminError::invalid(
                "an access pattern needs the table's model: apply it, or give it with --model",
            )
        })?;
        let given = values(call.parameters.clone())?;
        let parameters = trestle_collection::parameters(&model, access, given);
        Ok(ReindexScope::Access {
            name: access.to_owned(),
            parameters: parameters.map_err(|error| AdminError::invalid(error.message()))?,
            first: call.first,
        })
    }

    async fn pause(self, name: &str) -> Result<ReindexReport, AdminError> {
        self.reindexer.pause(name).await?;
        self.report(name).await
    }

    async fn resume(self, name: &str) -> Result<ReindexReport, AdminError> {
        self.reindexer.resume(name).await?;
        self.work_on(name).await
    }

    async fn cancel(self, name: &str) -> Result<ReindexReport, AdminError> {
        self.reindexer.cancel(name).await?;
        self.report(name).await
    }

    async fn replay(self, name: &str) -> Result<ReindexReplayed, AdminError> {
        let replayed = self.reindexer.replay(name).await?;
        Ok(ReindexReplayed {
            replayed,
            reindex: self.work_on(name).await?,
        })
    }

    async fn resend(self, call: &ResendReindex) -> Result<ReindexReport, AdminError> {
        if !(1..=IDS_MAX).contains(&call.ids.len()) {
            return Err(AdminError::invalid(format!("`ids` has 1 to {IDS_MAX} ids")));
        }
        self.reindexer.resend(&call.name, &call.ids).await?;
        self.work_on(&call.name).await
    }

    async fn dead_letters(self, call: &ListReindexDeadLetters) -> Result<ReindexLetterList, AdminError> {
        let limit = call.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
        let after = call.after.as_deref();
        let (letters, next) = self
            .reindexer
            .dead_letters_page(&call.name, after, Some(limit))
            .await?;
        let letters = letters.into_iter().map(|letter| ReindexLetter {
            id: letter.id(),
            letter,
        });
        Ok(ReindexLetterList {
            dead_letters: letters.collect(),
            next,
        })
    }

    async fn gaps(self, call: &ListReindexGaps) -> Result<ReindexGapList, AdminError> {
        let against = match (call.all, &call.against_table, &call.against_attribute) {
            (false, None, None) => Against::Itself,
            (true, None, None) => Against::Nothing,
            (false, Some(table), attribute) => Against::Table {
                name: table.clone(),
                attribute: attribute.clone(),
            },
            _ => {
                return Err(AdminError::invalid(
                    "compare with `against_table`, with or without `against_attribute`, or name `all`",
                ));
            }
        };
        let limit = call.limit.unwrap_or(GAPS).clamp(1, IDS_MAX as u32);
        let page = self
            .reindexer
            .gap_page(&call.name, &against, call.after.as_deref(), limit as usize)
            .await?;
        Ok(ReindexGapList {
            gaps: page.ids,
            next: page.next,
        })
    }
}
