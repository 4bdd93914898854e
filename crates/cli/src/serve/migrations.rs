//! The migrations of a server, as its callers steer them. The database moves rows by itself.

use super::routes::Routes;
use std::sync::Arc;
use trestle_server::{MigrationCall, MigrationFigures, MigrationKeeper, ModelAnswer};

/// The migrations of a server that has routes: a version that takes effect takes its routes along.
#[derive(Debug)]
pub(super) struct RoutedMigrations(pub(super) Arc<Routes>);

impl MigrationKeeper for RoutedMigrations {
    fn answer(&self, call: MigrationCall) -> ModelAnswer {
        let routes = &self.0;
        let changes = match &call {
            MigrationCall::Plan { text, .. } | MigrationCall::Start { text: Some(text), .. } => {
                if let Some(why) = routes.unsound(text) {
                    return ModelAnswer::Unsound(why);
                }
                matches!(call, MigrationCall::Start { .. })
            }
            MigrationCall::Start { .. } | MigrationCall::Rollback { .. } => true,
            MigrationCall::Status { .. }
            | MigrationCall::Pause { .. }
            | MigrationCall::Resume { .. }
            | MigrationCall::Finish { .. } => false,
        };
        if let MigrationCall::Start { text, .. } = &call {
            let planned = || routes.models().models().planned_model(None);
            let upcoming = text.clone().map_or_else(planned, Ok);
            // What stands in the way of this stands in the way of starting, and is said there.
            let _ = upcoming.and_then(|text| routes.expect(&text));
        }
        let asked = asked(&call);
        let answered = MigrationKeeper::answer(routes.models(), call);
        if let (Some(asked), ModelAnswer::Done(_)) = (asked, &answered) {
            tracing::info!("migrations: {asked}, as asked");
        }
        // Also after a refusal: a version that was expected does not come.
        if changes {
            routes.follow_models();
        }
        answered
    }

    fn figures(&self) -> Vec<MigrationFigures> {
        self.0.models().figures()
    }
}

/// What is asked for, if it changes anything.
fn asked(call: &MigrationCall) -> Option<&'static str> {
    match call {
        MigrationCall::Status { .. } => None,
        MigrationCall::Plan { .. } => Some("plan"),
        MigrationCall::Start { .. } => Some("start"),
        MigrationCall::Pause { .. } => Some("pause"),
        MigrationCall::Resume { .. } => Some("resume"),
        MigrationCall::Finish { .. } => Some("finish"),
        MigrationCall::Rollback { .. } => Some("rollback"),
    }
}
