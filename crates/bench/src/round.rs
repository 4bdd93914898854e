//! One turn of all servers, and the choice among several.

use crate::report::{Limit, Outcome, Report};
use crate::target::Target;

/// The results of all servers and limits in one turn, within seconds of each other.
#[derive(Debug, Default)]
pub(crate) struct Round {
    pub(crate) outcomes: Vec<(Target, Outcome)>,
    pub(crate) limits: Vec<Limit>,
}

impl Round {
    /// Processors used by other programs, at the maximum.
    fn disturbance(&self) -> f64 {
        let outcomes = self
            .outcomes
            .iter()
            .filter_map(|(_, outcome)| outcome.figures.as_ref());
        let limits = self.limits.iter().map(|limit| &limit.figures);
        outcomes
            .chain(limits)
            .filter_map(|figures| figures.others_cpu)
            .fold(0.0, f64::max)
    }
}

/// Of several rounds, the least disturbed one counts, for all servers: a ratio of figures from two rounds
/// would compare a quiet minute with a busy one.
pub(crate) fn calmest(rounds: Vec<Round>) -> Option<Round> {
    rounds
        .into_iter()
        .min_by(|a, b| a.disturbance().total_cmp(&b.disturbance()))
}

impl Report {
    /// Adds the results of a round to the servers that still run.
    pub(crate) fn note(&mut self, round: Round) {
        for (target, outcome) in round.outcomes {
            if let Some(report) = self.targets.iter_mut().find(|report| report.target == target) {
                report.outcomes.push(outcome);
            }
        }
        self.limits.extend(round.limits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn round(others: [f64; 2], per_second: f64) -> Round {
        let sample = sample::report();
        let outcomes = sample.targets.iter().zip(others).map(|(target, others)| {
            let mut outcome = target.outcomes[0].clone();
            if let Some(figures) = &mut outcome.figures {
                (figures.others_cpu, figures.per_second) = (Some(others), per_second);
            }
            (target.target, outcome)
        });
        Round {
            outcomes: outcomes.collect(),
            limits: Vec::new(),
        }
    }

    #[test]
    fn one_disturbed_server_spoils_the_round() {
        let rounds = vec![
            round([0.0, 0.9], 9.0),
            round([0.2, 0.2], 7.0),
            round([0.5, 0.1], 8.0),
        ];
        let kept = calmest(rounds).unwrap();
        assert!(
            kept.outcomes
                .iter()
                .all(|(_, outcome)| outcome.figures.unwrap().per_second == 7.0)
        );
        assert!(calmest(Vec::new()).is_none());
    }

    #[test]
    fn every_server_gets_its_own_outcome() {
        let mut report = sample::report();
        report
            .targets
            .iter_mut()
            .for_each(|target| target.outcomes.clear());
        report.note(round([0.1, 0.1], 5.0));
        assert!(report.targets.iter().all(|target| target.outcomes.len() == 1));
    }
}
