//! The change record: what is stored for each change of a table with a stream, and how it is decoded.

mod difference;

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
/// The old image is stored as its difference from the new one.
const OLD_DIFFERS: u8 = 16;
const BY_TOUCH: u8 = 32;

/// The kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It did not exist before.
    Insert,
    /// It existed and exists.
    Modify,
    /// It does not exist any more.
    Remove,
}

/// A change to be recorded.
pub(crate) struct Change<'a> {
    pub(crate) table: &'a Table,
    pub(crate) view: StreamViewType,
    pub(crate) old: Option<&'a Image>,
    pub(crate) new: Option<&'a Image>,
    pub(crate) actor: Actor,
    pub(crate) time: Timestamp,
}

/// A change that was recorded.
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
/// view type asks for them. Where both images are asked for, the old one is stored as its [`difference`] from the new one.
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
    flags |= match (new, old) {
        (_, None) => 0,
        (None, Some(_)) => HAS_OLD,
        (Some(_), Some(_)) => HAS_OLD | OLD_DIFFERS,
    };
    flags |= match change.actor {
        Actor::Client => 0,
        Actor::TimeToLive => BY_TIME_TO_LIVE,
        Actor::Migration => BY_MIGRATION,
        Actor::Touch => BY_TOUCH,
    };

    let image_bytes = new.or(old).map_or(0, |image| image.bytes().len());
    let mut out = Vec::with_capacity(256 + image_bytes);
    out.extend_from_slice(&[event as u8, flags]);
    out.extend_from_slice(&change.time.as_millis().to_be_bytes());
    if let Some(image) = change.new.or(change.old) {
        push(&mut out, |out| {
            codec::encode_into(&change.table.key.key_of(image), out)
        });
    }
    if let Some(image) = new.or(old) {
        push(&mut out, |out| out.extend_from_slice(image.bytes()));
    }
    if let (Some(new), Some(old)) = (new, old) {
        push(&mut out, |out| difference::encode(old, new, out));
    }
    out
}

/// Appends what `write` writes, with its length before it.
fn push(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    // Fits: an item has at most a few hundred kilobytes.
    let length = (out.len() - at - 4) as u32;
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
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
    let item = |part: &[u8]| codec::decode(part).ok();
    let keys = item(pull(&mut rest)?)?;
    let new = if flags & HAS_NEW != 0 {
        Some(item(pull(&mut rest)?)?)
    } else {
        None
    };
    let old = match (flags & (HAS_OLD | OLD_DIFFERS), &new) {
        (0, _) => None,
        (HAS_OLD, _) => Some(item(pull(&mut rest)?)?),
        (_, Some(new)) => Some(difference::decode(pull(&mut rest)?, new)?),
        (_, None) => return None,
    };
    if !rest.is_empty() {
        return None;
    }
    Some(Recorded {
        event,
        actor: match flags & (BY_TIME_TO_LIVE | BY_MIGRATION | BY_TOUCH) {
            0 => Actor::Client,
            BY_TIME_TO_LIVE => Actor::TimeToLive,
            BY_TOUCH => Actor::Touch,
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

fn pull<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (part, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    *rest = after;
    Some(part)
}
