//! A function as the target of a route.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use trestle_events::{Batch, Deliver, Delivery, ModelTyper, Outcome, Target};
use trestle_typed::Entity;

use super::Changed;

/// Calls a function with each change of a batch.
pub(super) struct Handler<E, F> {
    function: Arc<F>,
    typer: Arc<ModelTyper>,
    entity: PhantomData<fn() -> E>,
}

impl<E, F> Handler<E, F> {
    pub(super) fn new(function: F, typer: &Arc<ModelTyper>) -> Self {
        Self {
            function: Arc::new(function),
            typer: Arc::clone(typer),
            entity: PhantomData,
        }
    }

    async fn take<R, X>(&self, delivery: &Delivery) -> Result<(), String>
    where
        E: Entity + 'static,
        F: Fn(Changed<E>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), X>> + Send,
        X: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let change = Changed::read(delivery, &self.typer).map_err(|error| error.to_string())?;
        let function = Arc::clone(&self.function);
        // In a task of its own, a panic is a failure like any other and does not end the route.
        let done = tokio::spawn(async move {
            let done = function(change).await;
            done.map_err(|error| error.into().to_string())
        });
        done.await
            .unwrap_or_else(|error| Err(format!("the handler broke off: {error}")))
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
                // What happened to an item later must not be handled before what failed.
                let outcome = if waiting.contains(&item) {
                    Err("waits behind an earlier change of the same item".to_owned())
                } else {
                    self.take(delivery).await
                };
                if let Err(reason) = outcome {
                    waiting.push(item);
                    failed.push((delivery.id.clone(), reason));
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
