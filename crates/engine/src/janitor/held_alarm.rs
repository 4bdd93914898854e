//! Logs that much is held beyond the retention: once when it approaches the limit, and once when it exceeds
//! it.

use crate::held_changes::HeldChanges;
use crate::holds::StreamHold;

/// The first alarm, in percent of the limit.
const NEAR: u64 = 80;
/// Below this percentage of the limit, the alarm is armed again.
const FAR: u64 = 70;

/// The last alarm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Said {
    #[default]
    Nothing,
    Near,
    Over,
}

impl Said {
    /// The next alarm, given the held changes and the last alarm.
    fn next(self, held: &HeldChanges) -> Self {
        let hundredths = |part: u64| held.bytes_max / 100 * part;
        match held.bytes() {
            bytes if bytes > held.bytes_max => Self::Over,
            bytes if bytes >= hundredths(NEAR) => self.max(Self::Near),
            bytes if bytes < hundredths(FAR) => Self::Nothing,
            _ => self,
        }
    }

    /// Logs an alarm that has not been logged yet.
    pub(crate) fn tell(&mut self, held: &HeldChanges, holds: &[StreamHold]) {
        let next = self.next(held);
        if next > *self {
            let tables: Vec<&str> = held.tables.iter().map(|table| &*table.table).collect();
            let is_of_held = |hold: &&StreamHold| tables.contains(&&*hold.table);
            let routes: Vec<&str> = holds.iter().filter(is_of_held).map(|hold| &*hold.route).collect();
            let (bytes, bytes_max) = (held.bytes(), held.bytes_max);
            let (tables, routes) = (tables.join(", "), routes.join(", "));
            match next {
                Self::Over => tracing::error!(
                    bytes,
                    bytes_max,
                    tables,
                    routes,
                    "changes that routes have not delivered take more space than held_changes_gb allows; the oldest become \
                     dead letters of the routes that still need them. See to their targets, raise held_changes_gb, or \
                     switch off or remove the routes"
                ),
                _ => tracing::warn!(
                    bytes,
                    bytes_max,
                    tables,
                    routes,
                    "changes that routes have not delivered take most of the space that held_changes_gb allows; beyond it \
                     the oldest become dead letters. See to the targets of these routes"
                ),
            }
        }
        *self = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held_changes::HeldTable;

    #[test]
    fn each_alarm_is_said_once_until_the_space_is_free_again() {
        let mut said = Said::default();
        for (bytes, expected) in [
            (799, Said::Nothing),
            (800, Said::Near),
            (1001, Said::Over),
            (900, Said::Over),
            (750, Said::Over),
            (699, Said::Nothing),
        ] {
            let held = HeldChanges {
                tables: vec![HeldTable {
                    bytes,
                    ..HeldTable::default()
                }],
                is_counted: true,
                bytes_max: 1000,
            };
            said.tell(&held, &[]);
            assert_eq!(said, expected, "{bytes}");
        }
    }
}
