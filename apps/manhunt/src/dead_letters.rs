//! Dead letters: shown to the domain of their search, and replayed.

use serde_json::{Value, json};
use trestle::queue::{Message, NewMessage};
use trestle::typed::Timestamp;

use crate::hunt::Step;
use crate::model::SearchKey;
use crate::{Result, STEPS, Service};

/// The most dead letters that are read.
const LETTERS_MAX: usize = 1_000;

impl Service {
    /// The dead letters of a domain's searches, newest first: the step, and why it failed.
    pub async fn dead_letters(&self, domain: &str) -> Result<Vec<Value>> {
        let _looking = self.letters.lock().await;
        let mut own = self.letters_of(domain).await?;
        own.sort_by_key(|(message, _)| std::cmp::Reverse(message.sent));
        let letters = own.into_iter().map(|(message, step)| {
            let verb = step.failures.map_or("make", |_| "send");
            json!({
                "id": message.id,
                "searchId": step.attempt.search,
                "what": format!("{verb} attempt {}", step.attempt.number),
                "reason": message.dead_letter_reason,
                "sentAt": Timestamp::from(message.sent).as_str(),
            })
        });
        Ok(letters.collect())
    }

    /// Retries dead letters of a domain: those with these ids, or all. Returns how many.
    pub async fn replay(&self, domain: &str, ids: Option<&[String]>) -> Result<usize> {
        let _looking = self.letters.lock().await;
        let mut letters = self.letters_of(domain).await?;
        letters.retain(|(message, _)| ids.is_none_or(|ids| ids.contains(&message.id)));
        let dead = format!("{STEPS}-dead");
        for (message, _) in &letters {
            // Sent first: if the program dies in between, the step is repeated, which changes nothing.
            let again = NewMessage::from(message.body.as_str());
            self.queues.send(STEPS, again).await?;
            self.queues.delete(&dead, &message.receipt_handle).await?;
        }
        Ok(letters.len())
    }

    async fn letters_of(&self, domain: &str) -> Result<Vec<(Message, Step)>> {
        let letters = self.queues.given_up(STEPS, LETTERS_MAX).await?;
        // An unreadable letter names no search, and belongs to no domain.
        let read = |message: Message| Some((serde_json::from_str(&message.body).ok()?, message));
        let letters: Vec<(Step, Message)> = letters.into_iter().filter_map(read).collect();
        let search_of = |(step, _): &(Step, Message)| SearchKey::new(&step.attempt.search);
        let searches = self.db.get_many(letters.iter().map(search_of)).await?;
        let letters = letters.into_iter().zip(searches);
        let own =
            letters.filter(|(_, search)| search.as_ref().is_some_and(|search| search.domain_id == domain));
        Ok(own.map(|((step, message), _)| (message, step)).collect())
    }
}
