//! Quiet hours of a contact, in its time zone.

use std::time::Duration;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use trestle::Timestamp;

use crate::model::{Contact, ContactMethodType, Search};
use crate::{Error, Result};

const NO_HOURS: &str = "quietFrom and quietUntil belong together, and differ";

/// Whether methods of this type wait for the end of quiet hours.
pub(crate) fn are_for(kind: ContactMethodType) -> bool {
    matches!(kind, ContactMethodType::Call | ContactMethodType::Text)
}

/// The end of the present quiet hours; `None` outside of them, and for an urgent search.
pub(crate) fn end(search: &Search, contact: &Contact, now: Timestamp) -> Result<Option<Timestamp>> {
    let zone = zone(contact)?;
    let Some((from, until)) = hours(contact)?.filter(|_| search.urgent != Some(true)) else {
        return Ok(None);
    };
    let seconds = i64::try_from(now.as_secs()).map_err(Error::failed)?;
    let local = jiff::Timestamp::from_second(seconds).map_err(Error::failed)?;
    let local = local.to_zoned(zone.clone());
    let (today, time) = (local.date(), local.time());
    let (day, is_quiet) = match from < until {
        true => (today, time >= from && time < until),
        false if time >= from => (today.tomorrow().map_err(Error::failed)?, true),
        false => (today, time < until),
    };
    if !is_quiet {
        return Ok(None);
    }
    let end = day.to_datetime(until).to_zoned(zone).map_err(Error::failed)?;
    let end = Timestamp::from_secs(u64::try_from(end.timestamp().as_second()).map_err(Error::failed)?);
    // When clocks are set back, a time occurs twice: the first one may be over.
    let soon = now.plus(Duration::from_secs(60));
    Ok(Some(if end > now { end } else { soon }))
}

/// Refuses an invalid time zone or quiet hours.
pub(crate) fn check(contact: &Contact) -> Result<()> {
    zone(contact)?;
    hours(contact).map(|_| ())
}

fn zone(contact: &Contact) -> Result<TimeZone> {
    let name = contact.time_zone.as_deref().unwrap_or("UTC");
    let why = || format!("timeZone: {name:?} is no time zone; Europe/Berlin is one");
    TimeZone::get(name).map_err(|_| Error::Invalid(why()))
}

fn hours(contact: &Contact) -> Result<Option<(Time, Time)>> {
    let time = |what: &str, text: &str| {
        let wrong = |_| Error::Invalid(format!("{what}: {text:?} is no time of day; 22:00 is one"));
        Time::strptime("%H:%M", text).map_err(wrong)
    };
    match (&contact.quiet_from, &contact.quiet_until) {
        (None, None) => Ok(None),
        (Some(from), Some(until)) if from != until => {
            Ok(Some((time("quietFrom", from)?, time("quietUntil", until)?)))
        }
        _ => Err(Error::invalid(NO_HOURS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NewContact, NewSearch};

    fn contact(zone: Option<&str>, from: &str, until: &str) -> Contact {
        let mut contact = Contact::from(NewContact {
            contact_id: "c".to_owned(),
            domain_id: "d".to_owned(),
            name: "N".to_owned(),
        });
        contact.time_zone = zone.map(str::to_owned);
        contact.quiet_from = Some(from.to_owned());
        contact.quiet_until = Some(until.to_owned());
        contact
    }

    fn ends(contact: &Contact, now: &str) -> Option<String> {
        let now = trestle::typed::Timestamp::parse(now).unwrap().moment();
        let search = Search::from(NewSearch {
            search_id: "s".to_owned(),
            contact_id: "c".to_owned(),
            domain_id: "d".to_owned(),
            started_datetime: now.into(),
        });
        let end = end(&search, contact, now).unwrap()?;
        Some(trestle::typed::Timestamp::from(end).as_str()[..19].to_owned())
    }

    #[test]
    fn quiet_hours_end_by_the_clock_of_the_contact() {
        let berlin = contact(Some("Europe/Berlin"), "22:00", "07:00");
        for (now, end) in [
            ("2026-01-10T20:59:59Z", None),
            ("2026-01-10T21:00:00Z", Some("2026-01-11T06:00:00")),
            ("2026-01-11T05:59:59Z", Some("2026-01-11T06:00:00")),
            ("2026-01-11T06:00:00Z", None),
            // In summer an hour earlier; and the night in which it begins is an hour shorter.
            ("2026-07-10T20:00:00Z", Some("2026-07-11T05:00:00")),
            ("2026-03-28T21:00:00Z", Some("2026-03-29T05:00:00")),
        ] {
            assert_eq!(ends(&berlin, now).as_deref(), end, "{now}");
        }
        let siesta = contact(None, "13:00", "15:00");
        assert_eq!(ends(&siesta, "2026-01-10T12:59:59Z"), None);
        assert_eq!(
            ends(&siesta, "2026-01-10T13:00:00Z").as_deref(),
            Some("2026-01-10T15:00:00")
        );
        assert_eq!(ends(&siesta, "2026-01-10T15:00:00Z"), None);
    }

    #[test]
    fn an_hour_that_comes_twice_is_waited_for() {
        let berlin = contact(Some("Europe/Berlin"), "22:00", "02:30");
        // 02:15 for the second time: the first 02:30 is over.
        let end = ends(&berlin, "2026-10-25T01:15:00Z");
        assert_eq!(end.as_deref(), Some("2026-10-25T01:16:00"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (zone, from, until, why) in [
            (Some("Mars/Base"), "22:00", "07:00", "is no time zone"),
            (None, "25:00", "07:00", "is no time of day"),
            (None, "22:00", "22:00", "and differ"),
        ] {
            let refused = check(&contact(zone, from, until)).unwrap_err();
            assert!(refused.to_string().contains(why), "{refused}");
        }
        let mut half = contact(None, "22:00", "07:00");
        half.quiet_until = None;
        assert!(check(&half).unwrap_err().to_string().contains("belong together"));
    }
}
