//! A fault rule, and its text: `throttle,operation=UpdateItem,table=orders,share=0.1`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use trestle_api::OperationName;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is refused as throttled; a batch is carried out in part, and the rest is returned as unprocessed.
    Throttle,
    /// It is answered with status 500 and not carried out.
    Internal,
    /// It is answered with status 503 and not carried out.
    Unavailable,
    /// It is carried out and answered after this time.
    Delay(Duration),
    /// The connection is closed; the request is not carried out.
    CutBefore,
    /// The request is carried out, and the connection is closed instead of an answer.
    CutAfter,
    /// It is answered as if the server did not know the operation.
    Unknown,
}

impl Fault {
    /// The names of all faults, in the order of [`Fault::number`].
    pub(crate) const NAMES: [&'static str; 7] = [
        "throttle",
        "internal",
        "unavailable",
        "delay",
        "cut-before",
        "cut-after",
        "unknown",
    ];

    /// Which of [`Fault::NAMES`] it is.
    pub(crate) fn number(self) -> usize {
        match self {
            Fault::Throttle => 0,
            Fault::Internal => 1,
            Fault::Unavailable => 2,
            Fault::Delay(_) => 3,
            Fault::CutBefore => 4,
            Fault::CutAfter => 5,
            Fault::Unknown => 6,
        }
    }
}

/// Which requests get which fault.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultRule {
    /// The rule as it was written.
    text: String,
    /// The fault.
    pub fault: Fault,
    /// Only these operations; all, if there are none.
    pub operations: Vec<OperationName>,
    /// Only requests that name one of these tables; all, if there are none.
    pub tables: Vec<String>,
    /// The share of those requests, from 0 to 1.
    pub share: f64,
    /// The seed, so that each run selects the same requests.
    pub seed: Option<u64>,
    /// The most requests that get the fault.
    pub times: Option<u64>,
}

impl fmt::Display for FaultRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why a text is not a rule: it names the part and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the fault rule `{rule}` cannot be used: {reason}")]
pub struct FaultRuleError {
    rule: String,
    reason: String,
}

/// The parts of a rule after the fault.
const PARTS: &str = "operation, table, share, seed, times, and ms for a delay";

impl FromStr for FaultRule {
    type Err = FaultRuleError;

    fn from_str(text: &str) -> Result<Self, FaultRuleError> {
        Parts::read(text)
            .and_then(Parts::rule)
            .map_err(|reason| FaultRuleError {
                rule: text.to_owned(),
                reason,
            })
    }
}

/// The parts of a text, before it is checked whether they are compatible.
struct Parts<'a> {
    text: &'a str,
    name: &'a str,
    operations: Vec<OperationName>,
    tables: Vec<String>,
    share: Option<f64>,
    seed: Option<u64>,
    times: Option<u64>,
    ms: Option<u64>,
}

impl<'a> Parts<'a> {
    fn read(text: &'a str) -> Result<Self, String> {
        let mut parts = text.split(',').map(str::trim);
        let mut read = Parts {
            text,
            name: parts.next().unwrap_or_default(),
            operations: Vec::new(),
            tables: Vec::new(),
            share: None,
            seed: None,
            times: None,
            ms: None,
        };
        parts.try_for_each(|part| read.take(part))?;
        Ok(read)
    }

    fn take(&mut self, part: &str) -> Result<(), String> {
        let (name, value) = part.split_once('=').ok_or_else(|| {
            format!("`{part}` is not a part of a rule; write name=value, where the name is {PARTS}")
        })?;
        let (name, value) = (name.trim(), value.trim());
        match name {
            "operation" => self.operations.push(operation(value)?),
            "table" if value.is_empty() => return Err("`table=` lacks the name of a table".to_owned()),
            "table" => self.tables.push(value.to_owned()),
            "share" => once(name, &mut self.share, share(value)?)?,
            "seed" => once(name, &mut self.seed, whole(name, value)?)?,
            "times" => once(name, &mut self.times, whole(name, value)?)?,
            "ms" => once(name, &mut self.ms, whole(name, value)?)?,
            _ => return Err(format!("`{name}` is not a part of a rule; the parts are {PARTS}")),
        }
        Ok(())
    }

    fn rule(self) -> Result<FaultRule, String> {
        Ok(FaultRule {
            fault: fault(self.name, self.ms)?,
            text: self.text.to_owned(),
            operations: self.operations,
            tables: self.tables,
            share: self.share.unwrap_or(1.0),
            seed: self.seed,
            times: self.times,
        })
    }
}

fn fault(name: &str, ms: Option<u64>) -> Result<Fault, String> {
    let fault = match (name, ms) {
        ("delay", Some(ms)) => return Ok(Fault::Delay(Duration::from_millis(ms))),
        ("delay", None) => return Err("a delay needs `ms`, such as delay,ms=500".to_owned()),
        ("throttle", _) => Fault::Throttle,
        ("internal", _) => Fault::Internal,
        ("unavailable", _) => Fault::Unavailable,
        ("cut-before", _) => Fault::CutBefore,
        ("cut-after", _) => Fault::CutAfter,
        ("unknown", _) => Fault::Unknown,
        _ => {
            let names = Fault::NAMES.join(", ");
            return Err(format!(
                "`{name}` is not a fault; a rule begins with one of {names}"
            ));
        }
    };
    match ms {
        Some(_) => Err(format!("`ms` is for a delay, and {name} has none")),
        None => Ok(fault),
    }
}

fn operation(name: &str) -> Result<OperationName, String> {
    name.parse().map_err(|_| {
        format!("`operation={name}` is not an operation; write it as DynamoDB does, such as UpdateItem")
    })
}

fn share(value: &str) -> Result<f64, String> {
    let share = value.parse().ok();
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("`share={value}` is not a share from 0 (none) to 1 (all), such as 0.1"))
}

fn whole(name: &str, value: &str) -> Result<u64, String> {
    let number = value.parse();
    number.map_err(|_| format!("`{name}={value}` is not a whole number of 0 or more"))
}

fn once<T>(name: &str, slot: &mut Option<T>, value: T) -> Result<(), String> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!(
            "`{name}` is there twice; only operation and table may be repeated"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_says_which_requests_and_how_many_of_them() {
        let text = "throttle,operation=UpdateItem, operation=PutItem,table=orders,share=0.1,seed=7,times=3";
        let rule: FaultRule = text.parse().unwrap();
        assert_eq!(rule.fault, Fault::Throttle);
        assert_eq!(
            rule.operations,
            [OperationName::UpdateItem, OperationName::PutItem]
        );
        assert_eq!(rule.tables, ["orders"]);
        assert_eq!((rule.share, rule.seed, rule.times), (0.1, Some(7), Some(3)));
        assert_eq!(rule.to_string(), text);
        let rule: FaultRule = "delay,ms=20".parse().unwrap();
        assert_eq!(rule.fault, Fault::Delay(Duration::from_millis(20)));
        assert_eq!((rule.share, rule.seed, rule.times), (1.0, None, None));
    }

    #[test]
    fn every_fault_has_its_name() {
        for (number, name) in Fault::NAMES.iter().enumerate() {
            let text = if *name == "delay" { "delay,ms=1" } else { name };
            assert_eq!(text.parse::<FaultRule>().unwrap().fault.number(), number);
        }
    }

    #[test]
    fn an_error_names_the_part_and_what_is_allowed() {
        for (text, part, allowed) in [
            (
                "",
                "``",
                "throttle, internal, unavailable, delay, cut-before, cut-after",
            ),
            ("throtle", "`throtle`", "throttle, internal"),
            ("throttle,UpdateItem", "`UpdateItem`", "operation, table, share"),
            (
                "throttle,operation=Update",
                "`operation=Update`",
                "such as UpdateItem",
            ),
            ("throttle,rate=3", "`rate`", "operation, table, share"),
            ("throttle,share=1.5", "`share=1.5`", "from 0 (none) to 1 (all)"),
            ("throttle,share=NaN", "`share=NaN`", "from 0 (none) to 1 (all)"),
            ("throttle,times=-1", "`times=-1`", "whole number"),
            ("throttle,seed=1,seed=2", "`seed`", "only operation and table"),
            ("throttle,table=", "`table=`", "name of a table"),
            ("throttle,ms=5", "`ms`", "for a delay"),
            ("delay", "`ms`", "delay,ms=500"),
        ] {
            let refused = text.parse::<FaultRule>().unwrap_err().to_string();
            assert!(refused.contains(&format!("`{text}`")), "{refused}");
            assert!(refused.contains(part) && refused.contains(allowed), "{refused}");
        }
    }
}
