//! A function as the target of a route.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use trestle_events::{Batch, Deliver, Delivery, ModelTyper, Outcome, Route, Target};
use trestle_typed::Entity;

use super::Changed;

/// Calls a function with each change of a batch.
pub(super) struct Handler<E, F> {
    function: Arc<F>,
    typer: Arc<ModelTyper>,
    patience: Patience,
    entity: PhantomData<fn() -> E>,
}

/// The time limit of a call, and its failure. Real time, because the function takes it.
#[derive(Clone, Copy)]
struct Patience {
    timeout: Option<Duration>,
    /// Whether the route distinguishes destinations: then it determines whether the change or its destination
    /// is at fault.
    has_destinations: bool,
}

/// Why a change was refused.
enum Failure {
    Failed(String),
    TimedOut(String),
}

impl<E, F> Handler<E, F> {
    pub(super) fn new(function: &Arc<F>, typer: &Arc<ModelTyper>, route: &Route) -> Self {
        Self {
            function: Arc::clone(function),
            typer: Arc::clone(typer),
            patience: Patience {
                timeout: route.target.timeout(),
                has_destinations: route.concurrency.is_some(),
            },
            entity: PhantomData,
        }
    }

    async fn take<R, X>(&self, delivery: &Delivery) -> Result<(), Failure>
    where
        E: Entity + 'static,
        F: Fn(Changed<E>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), X>> + Send,
        X: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let change = Changed::read(delivery, &self.typer);
        let change = change.map_err(|error| Failure::Failed(error.to_string()))?;
        let function = Arc::clone(&self.function);
        // In a separate task, a panic is a failure like any other and does not end the route.
        let mut calls = JoinSet::new();
        calls.spawn(async move {
            let done = function(change).await;
            done.map_err(|error| error.into().to_string())
        });
        // Dropping the set ends the call.
        let call = calls.join_next();
        let called = match self.patience.timeout {
            None => call.await,
            Some(limit) => timeout(limit, call)
                .await
                .map_err(|_| self.patience.over(limit))?,
        };
        match called {
            Some(Ok(done)) => done.map_err(Failure::Failed),
            Some(Err(error)) => Err(Failure::Failed(format!("the handler broke off: {error}"))),
            None => Err(Failure::Failed("the handler was not called".to_owned())),
        }
    }
}

impl Patience {
    fn over(self, limit: Duration) -> Failure {
        let message = format!("the handler did not end within {limit:?}");
        match self.has_destinations {
            true => Failure::TimedOut(message),
            false => Failure::Failed(message),
        }
    }
}

impl<E, F, R, X> Target for Handler<E, F>
where
    E: Entity + 'static,
    F: Fn(Changed<E>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), X>> + Send,
    X: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn deliver<'a>(&'a self, batch: &'a Batch) -> Deliver<'a> {
        Box::pin(async move {
            let mut failed: Vec<(String, String)> = Vec::new();
            let mut waiting = Vec::new();
            for delivery in &batch.deliveries {
                let item = delivery.change.item_key();
                // Later changes of an item must not be handled before the failed one.
                let outcome = if waiting.contains(&item) {
                    let why = "waits behind an earlier change of the same item";
                    Err(Failure::Failed(why.to_owned()))
                } else {
                    self.take(delivery).await
                };
                match outcome {
                    Ok(()) => {}
                    Err(Failure::Failed(reason)) => {
                        waiting.push(item);
                        failed.push((delivery.id.clone(), reason));
                    }
                    // The whole batch is delivered again: after a timeout, changes may be delivered more than
                    // once.
                    Err(Failure::TimedOut(reason)) => return Outcome::Failed(reason),
                }
            }
            if failed.is_empty() {
                Outcome::Done
            } else {
                Outcome::Partly(failed)
            }
        })
    }
}
