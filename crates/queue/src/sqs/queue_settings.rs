//! `CreateQueue`, `ListQueues` and other operations on queues rather than messages.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Door, Nothing, OfQueue, named, required, within};
use crate::attributes::{self, QueueAttributes};
use crate::error::{ErrorCode, QueueError};
use crate::name;

/// Queues on a page.
const PAGE_MAX: i64 = 1000;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct CreateQueue {
    queue_name: Option<String>,
    attributes: Option<QueueAttributes>,
    #[serde(rename = "tags", alias = "Tags")]
    tags: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct QueueUrl {
    queue_url: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct GetQueueUrl {
    queue_name: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListQueues {
    queue_name_prefix: Option<String>,
    next_token: Option<String>,
    max_results: Option<i64>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct QueueUrls {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queue_urls: Vec<String>,
    next_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListDeadLetterSourceQueues {
    queue_url: Option<String>,
    next_token: Option<String>,
    max_results: Option<i64>,
}

/// Like [`QueueUrls`], but SQS writes this name in lower case, and always.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub(super) struct SourceUrls {
    #[serde(rename = "queueUrls")]
    queue_urls: Vec<String>,
    #[serde(rename = "NextToken")]
    next_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct GetQueueAttributes {
    queue_url: Option<String>,
    attribute_names: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Attributes {
    #[serde(skip_serializing_if = "QueueAttributes::is_empty")]
    attributes: QueueAttributes,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SetQueueAttributes {
    queue_url: Option<String>,
    attributes: Option<QueueAttributes>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct TagQueue {
    queue_url: Option<String>,
    tags: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct UntagQueue {
    queue_url: Option<String>,
    tag_keys: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct AddPermission {
    queue_url: Option<String>,
    label: Option<String>,
    #[serde(rename = "AWSAccountIds")]
    aws_account_ids: Option<Vec<String>>,
    actions: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct RemovePermission {
    queue_url: Option<String>,
    label: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Tags {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, String>,
}

impl Door<'_> {
    pub(super) async fn create_queue(&self, request: CreateQueue) -> Result<QueueUrl, QueueError> {
        let name = required(request.queue_name, "QueueName")?;
        let attributes = request.attributes.unwrap_or_default();
        let tags = request.tags.unwrap_or_default();
        self.queues.create(&name, &attributes, &tags).await?;
        Ok(QueueUrl {
            queue_url: self.url(&name),
        })
    }

    pub(super) async fn get_queue_url(&self, request: GetQueueUrl) -> Result<QueueUrl, QueueError> {
        let name = required(request.queue_name, "QueueName")?;
        match self.queues.exists(&name).await? {
            true => Ok(QueueUrl {
                queue_url: self.url(&name),
            }),
            false => Err(QueueError::no_such_queue()),
        }
    }

    pub(super) async fn list_queues(&self, request: ListQueues) -> Result<QueueUrls, QueueError> {
        let prefix = request.queue_name_prefix.unwrap_or_default();
        let page = Page::read(request.max_results, request.next_token.as_deref())?;
        let names = self
            .queues
            .list(&prefix, page.after.as_deref(), page.limit + 1)
            .await?;
        let (queue_urls, next_token) = page.cut(names, self);
        Ok(QueueUrls {
            queue_urls,
            next_token,
        })
    }

    pub(super) async fn list_dead_letter_source_queues(
        &self,
        request: ListDeadLetterSourceQueues,
    ) -> Result<SourceUrls, QueueError> {
        let queue = named(request.queue_url.as_ref())?;
        let page = Page::read(request.max_results, request.next_token.as_deref())?;
        let mut names = self.queues.dead_letter_sources(queue).await?;
        names.retain(|name| page.after.as_ref().is_none_or(|after| name > after));
        let (queue_urls, next_token) = page.cut(names, self);
        Ok(SourceUrls {
            queue_urls,
            next_token,
        })
    }

    pub(super) async fn delete_queue(&self, request: OfQueue) -> Result<Nothing, QueueError> {
        self.queues
            .delete_queue(named(request.queue_url.as_ref())?)
            .await?;
        Ok(Nothing {})
    }

    pub(super) async fn purge_queue(&self, request: OfQueue) -> Result<Nothing, QueueError> {
        self.queues.purge(named(request.queue_url.as_ref())?).await?;
        Ok(Nothing {})
    }

    pub(super) async fn get_queue_attributes(
        &self,
        request: GetQueueAttributes,
    ) -> Result<Attributes, QueueError> {
        let queue = named(request.queue_url.as_ref())?;
        let asked = request.attribute_names.unwrap_or_default();
        let known = |name: &&String| *name == "All" || attributes::can_be_asked_for(name);
        if let Some(unknown) = asked.iter().find(|name| !known(name)) {
            self.queues.queue(queue).await?;
            return Err(attributes::unknown(unknown));
        }
        let mut attributes = self.queues.attributes(queue).await?;
        if !asked.iter().any(|name| name == "All") {
            attributes.retain(|name, _| asked.contains(name));
        }
        Ok(Attributes { attributes })
    }

    pub(super) async fn set_queue_attributes(
        &self,
        request: SetQueueAttributes,
    ) -> Result<Nothing, QueueError> {
        let queue = named(request.queue_url.as_ref())?;
        let attributes = required(request.attributes, "Attributes")?;
        self.queues.set_attributes(queue, &attributes).await?;
        Ok(Nothing {})
    }

    pub(super) async fn tag_queue(&self, request: TagQueue) -> Result<Nothing, QueueError> {
        let queue = named(request.queue_url.as_ref())?;
        let tags = required(request.tags.filter(|tags| !tags.is_empty()), "Tags")?;
        self.queues.tag(queue, &tags).await?;
        Ok(Nothing {})
    }

    pub(super) async fn untag_queue(&self, request: UntagQueue) -> Result<Nothing, QueueError> {
        let queue = named(request.queue_url.as_ref())?;
        let keys = required(request.tag_keys, "TagKeys")?;
        self.queues.untag(queue, &keys).await?;
        Ok(Nothing {})
    }

    pub(super) async fn list_queue_tags(&self, request: OfQueue) -> Result<Tags, QueueError> {
        let tags = self.queues.tags(named(request.queue_url.as_ref())?).await?;
        Ok(Tags { tags })
    }
}

impl Door<'_> {
    pub(super) async fn add_permission(&self, request: AddPermission) -> Result<Nothing, QueueError> {
        let queue = named(request.queue_url.as_ref())?;
        let label = required(request.label, "Label")?;
        let accounts = required(request.aws_account_ids, "AWSAccountIds")?;
        let actions = required(request.actions, "Actions")?;
        self.queues
            .add_permission(queue, &label, &accounts, &actions)
            .await?;
        Ok(Nothing {})
    }

    pub(super) async fn remove_permission(&self, request: RemovePermission) -> Result<Nothing, QueueError> {
        let queue = named(request.queue_url.as_ref())?;
        let label = required(request.label, "Label")?;
        self.queues.remove_permission(queue, &label).await?;
        Ok(Nothing {})
    }
}

/// The requested part of a list.
struct Page {
    after: Option<String>,
    limit: usize,
    /// The next page is given only to callers that ask for pages.
    paged: bool,
}

impl Page {
    fn read(max: Option<i64>, token: Option<&str>) -> Result<Self, QueueError> {
        let reason = "Value must be between 1 and 1000.";
        let limit = within(max.unwrap_or(PAGE_MAX), (1, PAGE_MAX), "MaxResults", reason)?;
        let after = match token {
            None => None,
            Some(token) => Some(read_token(token)?),
        };
        Ok(Self {
            after,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            paged: max.is_some(),
        })
    }

    /// The URLs of a page, and where the next one begins.
    fn cut(&self, mut names: Vec<String>, door: &Door<'_>) -> (Vec<String>, Option<String>) {
        let more = names.len() > self.limit;
        names.truncate(self.limit);
        let token = names
            .last()
            .filter(|_| more && self.paged)
            .map(|last| URL_SAFE_NO_PAD.encode(last));
        (names.iter().map(|name| door.url(name)).collect(), token)
    }
}

fn read_token(token: &str) -> Result<String, QueueError> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.filter(|text| name::check(text).is_ok())
        .ok_or_else(|| QueueError::new(ErrorCode::InvalidParameterValue, "Invalid or expired next token."))
}
