//! Unfinished intents of this gateway or of an expired one: the writes are completed or dropped, and rows are looked for again.

use std::time::{Duration, Instant};

use trestle_api::{DatabaseExt, Error, ErrorKind, Scan, UpdateItem};
use trestle_item::{AttributeValue, Item, Map};

use crate::endpoint::Endpoint;
use crate::intent::{GATEWAY, INTENT, INTENTS, Intent, PLAN, UNDONE, names, put_off, unreadable};

/// How long a gateway works on intents before it renews its row again.
const SWEEP_MAX: Duration = Duration::from_secs(1);

impl Endpoint {
    /// Takes an intent over from another gateway, and finishes it.
    pub(crate) async fn take_over(&self, intent: &Intent) -> Result<(), Error> {
        let under_way = self.begin_intent(&intent.id);
        let one_at_a_time = self.finishing.lock().await;
        let written = match self.take(intent).await? {
            true => self.finish_plan(&intent.id).await?,
            false => None,
        };
        // Released, because a look may find a lock of another expired intent, and take that intent over.
        drop(one_at_a_time);
        if let Some(written) = written {
            self.look_and_remove(&written).await?;
        }
        under_way.end();
        Ok(())
    }

    /// Makes this gateway the owner of an intent. `false` if the intent is removed, or a third gateway has taken it over.
    async fn take(&self, intent: &Intent) -> Result<bool, Error> {
        let name = |name: &String| AttributeValue::S(name.clone());
        let update = UpdateItem {
            table_name: INTENTS.name.to_owned(),
            key: Intent::key(&intent.id),
            update_expression: Some("SET #g = :own".to_owned()),
            condition_expression: Some("#g = :seen".to_owned()),
            expression_attribute_names: Some(names([("#g", GATEWAY)])),
            expression_attribute_values: Some(Map::from_iter([
                (":own".to_owned(), name(&self.member.id)),
                (":seen".to_owned(), name(&intent.gateway)),
            ])),
            ..UpdateItem::default()
        };
        match self.database.update_item(update).await {
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    /// Finishes an intent of this gateway that has a plan, and drops one that has none. Does nothing if another gateway has taken the
    /// intent over.
    pub(crate) async fn finish_intent(&self, id: &str) -> Result<(), Error> {
        match self.finish_plan(id).await? {
            Some(written) => self.look_and_remove(&written).await,
            None => Ok(()),
        }
    }

    /// The same without the repeated looks. Returns the intent if its rows are written; its looks are then still to be repeated.
    async fn finish_plan(&self, id: &str) -> Result<Option<Intent>, Error> {
        let Some(mut intent) = self.own_intent(id).await? else {
            return Ok(None);
        };
        if intent.plan.is_none() && !self.undo(id).await? {
            // It was decided just now, or is removed.
            match self.own_intent(id).await? {
                Some(decided) => intent = decided,
                None => return Ok(None),
            }
        }
        match intent.plan.take() {
            Some(plan) => {
                let is_written = self.write_plan(&intent, plan).await?;
                Ok(is_written.then_some(intent))
            }
            None => {
                self.unlock_all(&intent).await?;
                self.remove(id).await?;
                Ok(None)
            }
        }
    }

    /// Finishes an intent of this gateway that it abandoned.
    async fn finish_abandoned(&self, id: &str) -> Result<(), Error> {
        let under_way = self.begin_intent(id);
        let written = {
            let _one_at_a_time = self.finishing.lock().await;
            self.finish_plan(id).await?
        };
        if let Some(written) = written {
            self.look_and_remove(&written).await?;
        }
        under_way.end();
        Ok(())
    }

    /// Prevents that an intent is decided. `false` if it is decided already, or is removed.
    async fn undo(&self, id: &str) -> Result<bool, Error> {
        let update = UpdateItem {
            table_name: INTENTS.name.to_owned(),
            key: Intent::key(id),
            update_expression: Some("SET #u = :true".to_owned()),
            condition_expression: Some("attribute_exists(#i) AND attribute_not_exists(#p)".to_owned()),
            expression_attribute_names: Some(names([("#p", PLAN), ("#i", INTENT), ("#u", UNDONE)])),
            expression_attribute_values: Some(Map::from_iter([(
                ":true".to_owned(),
                AttributeValue::from(true),
            )])),
            ..UpdateItem::default()
        };
        match self.database.update_item(update).await {
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    /// Finishes abandoned intents of this gateway and intents of expired gateways, until [`SWEEP_MAX`] has passed. `false` if some may
    /// remain.
    pub(crate) async fn sweep_abandoned(&self) -> Result<bool, Error> {
        let began = Instant::now();
        let abandoned = std::mem::take(&mut self.own_intents.lock().abandoned);
        let mut abandoned = abandoned.into_iter();
        while let Some(id) = abandoned.next() {
            if let Err(error) = self.finish_abandoned(&id).await {
                put_off(&error);
            }
            if began.elapsed() > SWEEP_MAX {
                self.own_intents.lock().abandoned.extend(abandoned);
                return Ok(false);
            }
        }
        let mut start = None;
        loop {
            let (intents, next) = self.page_of_intents(start).await?;
            for intent in intents {
                if let Err(error) = self.finish_if_left(&intent).await {
                    put_off(&error);
                }
                if began.elapsed() > SWEEP_MAX {
                    return Ok(false);
                }
            }
            start = next;
            if start.is_none() {
                return Ok(true);
            }
        }
    }

    /// Finishes an intent on which no gateway works any more.
    async fn finish_if_left(&self, intent: &Intent) -> Result<(), Error> {
        if intent.gateway == self.member.id {
            let is_under_way = self.own_intents.lock().under_way.contains(&intent.id);
            return match is_under_way {
                true => Ok(()),
                false => self.finish_abandoned(&intent.id).await,
            };
        }
        match self.is_over(&intent.gateway).await? {
            true => self.take_over(intent).await,
            false => Ok(()),
        }
    }

    /// Finishes all intents while no gateway writes, because later writes are made under another version, or belong to another moment.
    pub(crate) async fn finish_intents(&self) -> Result<(), Error> {
        let mut start = None;
        loop {
            let (intents, next) = self.page_of_intents(start).await?;
            for intent in intents {
                match intent.gateway == self.member.id {
                    true => self.finish_abandoned(&intent.id).await?,
                    false => self.take_over(&intent).await?,
                }
            }
            start = next;
            if start.is_none() {
                return Ok(());
            }
        }
    }

    /// One page of intents, and the start of the next one.
    async fn page_of_intents(&self, start: Option<Item>) -> Result<(Vec<Intent>, Option<Item>), Error> {
        let asked = Scan {
            table_name: INTENTS.name.to_owned(),
            consistent_read: Some(true),
            exclusive_start_key: start,
            ..Scan::default()
        };
        let page = match self.database.scan(asked).await {
            // No write has needed an intent yet, so the table does not exist.
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => return Ok((Vec::new(), None)),
            page => page?,
        };
        let rows = page.items.iter().flat_map(|rows| rows.iter());
        let intents = rows.map(|row| Intent::from_item(&row).ok_or_else(|| unreadable(&row)));
        Ok((intents.collect::<Result<_, Error>>()?, page.last_evaluated_key))
    }
}
