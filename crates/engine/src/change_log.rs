//! The change record: what is stored for each change of a table with a stream, and how it is read back.

use trestle_api::StreamViewType;
use trestle_env::Timestamp;
use trestle_item::{Item, codec};

use crate::catalog::Table;
use crate::image::Image;
use crate::transaction::Actor;

const HAS_NEW: u8 = 1;
const HAS_OLD: u8 = 2;
const BY_TIME_TO_LIVE: u8 = 4;
const BY_MIGRATION: u8 = 8;

/// What happened to the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It did not exist before.
    Insert,
    /// It existed and exists.
    Modify,
    /// It exists no more.
    Remove,
}

/// A change that is to be recorded.
pub(crate) struct Change<'a> {
    pub(crate) table: &'a Table,
    pub(crate) view: StreamViewType,
    pub(crate) old: Option<&'a Image>,
    pub(crate) new: Option<&'a Image>,
    pub(crate) actor: Actor,
    pub(crate) time: Timestamp,
}

/// A change as it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recorded {
    pub(crate) event: Event,
    pub(crate) actor: Actor,
    pub(crate) time: Timestamp,
    pub(crate) keys: Item,
    pub(crate) new: Option<Item>,
    pub(crate) old: Option<Item>,
}

/// The stored form: `event(1) flags(1) time(8)`, then keys, new and old image, each `length(4) bytes`, as far as the
/// view type asks for them.
pub(crate) fn encode(change: &Change<'_>) -> Vec<u8> {
    let event = match (change.old, change.new) {
        (None, _) => Event::Insert,
        (Some(_), Some(_)) => Event::Modify,
        (Some(_), None) => Event::Remove,
    };
    let wants_new = matches!(
        change.view,
        StreamViewType::NewImage | StreamViewType::NewAndOldImages
    );
    let wants_old = matches!(
        change.view,
        StreamViewType::OldImage | StreamViewType::NewAndOldImages
    );
    let new = change.new.filter(|_| wants_new);
    let old = change.old.filter(|_| wants_old);
    let mut flags = 0;
    flags |= if new.is_some() { HAS_NEW } else { 0 };
    flags |= if old.is_some() { HAS_OLD } else { 0 };
    flags |= match change.actor {
        Actor::Client => 0,
        Actor::TimeToLive => BY_TIME_TO_LIVE,
        Actor::Migration => BY_MIGRATION,
    };

    let bytes = [new, old]
        .into_iter()
        .flatten()
        .map(|image| image.bytes().len() + 4)
        .sum::<usize>();
    let mut out = Vec::with_capacity(128 + bytes);
    out.extend_from_slice(&[event as u8, flags]);
    out.extend_from_slice(&change.time.as_millis().to_be_bytes());
    if let Some(image) = change.new.or(change.old) {
        push(&codec::encode(&change.table.key.key_of(image)), &mut out);
    }
    for image in [new, old].into_iter().flatten() {
        push(image.bytes(), &mut out);
    }
    out
}

fn push(item: &[u8], out: &mut Vec<u8>) {
    // Fits: an item has at most a few hundred kilobytes.
    out.extend_from_slice(&(item.len() as u32).to_be_bytes());
    out.extend_from_slice(item);
}

/// Reads a record; `None` when the bytes are damaged.
pub(crate) fn decode(bytes: &[u8]) -> Option<Recorded> {
    let (&[event, flags], rest) = bytes.split_first_chunk()?;
    let (time, mut rest) = rest.split_first_chunk::<8>()?;
    let event = match event {
        0 => Event::Insert,
        1 => Event::Modify,
        2 => Event::Remove,
        _ => return None,
    };
    let keys = pull(&mut rest)?;
    let new = if flags & HAS_NEW != 0 {
        Some(pull(&mut rest)?)
    } else {
        None
    };
    let old = if flags & HAS_OLD != 0 {
        Some(pull(&mut rest)?)
    } else {
        None
    };
    if !rest.is_empty() {
        return None;
    }
    Some(Recorded {
        event,
        actor: match flags & (BY_TIME_TO_LIVE | BY_MIGRATION) {
            0 => Actor::Client,
            BY_TIME_TO_LIVE => Actor::TimeToLive,
            _ => Actor::Migration,
        },
        time: Timestamp::from_millis(u64::from_be_bytes(*time)),
        keys,
        new,
        old,
    })
}

/// When the change happened, without reading its images.
pub(crate) fn time_of(bytes: &[u8]) -> Option<Timestamp> {
    Some(Timestamp::from_millis(u64::from_be_bytes(
        bytes.get(2..10)?.try_into().ok()?,
    )))
}

fn pull(rest: &mut &[u8]) -> Option<Item> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let length = u32::from_be_bytes(*length) as usize;
    let image = after.get(..length)?;
    *rest = after.get(length..)?;
    codec::decode(image).ok()
}
