//! This build and an earlier one: the ratios of each round, because a ratio of two medians would compare
//! different minutes.

use super::Figures;
use crate::round::Round;
use crate::target::Target;
use crate::workload::Workload;
use serde::Serialize;

/// One workload on this build and on an earlier one.
#[derive(Clone, Debug, Serialize)]
pub struct BuildComparison {
    /// The workload.
    pub workload: Workload,
    /// The number of connections.
    pub connections: usize,
    /// Every round with results of both builds.
    pub rounds: Vec<BuildRound>,
}

/// Both builds within seconds of each other.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BuildRound {
    /// This build.
    pub now: Figures,
    /// The earlier one.
    pub before: Figures,
}

/// The distribution over several rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The lowest.
    pub lowest: f64,
    /// Half of the rounds are lower.
    pub median: f64,
    /// The highest.
    pub highest: f64,
}

impl Spread {
    /// The distribution of some figures; `None` if there are none.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let upper = *sorted.get(middle)?;
        let median = match sorted.len().is_multiple_of(2) {
            true => (sorted.get(middle - 1)? + upper) / 2.0,
            false => upper,
        };
        Some(Spread {
            lowest: *sorted.first()?,
            median,
            highest: *sorted.last()?,
        })
    }
}

impl BuildComparison {
    /// The rounds of one workload; `None` if no round has both builds.
    pub(crate) fn of(rounds: &[Round]) -> Option<Self> {
        let outcome = |round: &Round, target: Target| {
            let mut outcomes = round.outcomes.iter();
            outcomes
                .find(|(found, _)| *found == target)
                .map(|(_, outcome)| outcome.clone())
        };
        let (workload, connections) = rounds.iter().find_map(|round| {
            let before = outcome(round, Target::Before)?;
            Some((before.workload, before.connections))
        })?;
        let both = rounds.iter().filter_map(|round| {
            Some(BuildRound {
                now: outcome(round, Target::Trestle)?.figures?,
                before: outcome(round, Target::Before)?.figures?,
            })
        });
        Some(BuildComparison {
            workload,
            connections,
            rounds: both.collect(),
        })
    }

    /// Operations per second of this build, as a share of those of the earlier one.
    pub fn per_second(&self) -> Option<Spread> {
        self.shares(|figures| Some(figures.per_second))
    }

    /// Processor time per operation of this build, as a share of that of the earlier one.
    pub fn cpu(&self) -> Option<Spread> {
        self.shares(Figures::cpu_us_per_operation)
    }

    fn shares(&self, figure: impl Fn(&Figures) -> Option<f64>) -> Option<Spread> {
        let shares = self.rounds.iter().filter_map(|round| {
            let before = figure(&round.before).filter(|before| *before > 0.0)?;
            Some(figure(&round.now)? / before)
        });
        Spread::of(shares)
    }

    /// Whether other programs disturbed most of the rounds.
    pub fn is_disturbed(&self) -> bool {
        let disturbed = |round: &&BuildRound| round.now.is_disturbed() || round.before.is_disturbed();
        self.rounds.iter().filter(disturbed).count() * 2 > self.rounds.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Outcome;

    fn figures(per_second: f64, cpu: f64) -> Figures {
        Figures {
            per_second,
            cpu: Some(cpu),
            ..Figures::default()
        }
    }

    fn round(now: Option<Figures>, before: Option<Figures>) -> Round {
        let outcome = |figures| Outcome {
            workload: Workload::Put,
            connections: 16,
            figures,
            refusal: None,
        };
        Round {
            outcomes: vec![(Target::Before, outcome(before)), (Target::Trestle, outcome(now))],
            limits: Vec::new(),
        }
    }

    #[test]
    fn the_median_is_that_of_the_ratios_of_each_round() {
        // A minute in which everything takes twice as long changes no ratio.
        let rounds = [
            round(Some(figures(110.0, 1.1)), Some(figures(100.0, 2.0))),
            round(Some(figures(55.0, 1.1)), Some(figures(50.0, 2.0))),
            round(Some(figures(90.0, 0.9)), Some(figures(100.0, 0.5))),
            round(None, Some(figures(100.0, 1.0))),
        ];
        let compared = BuildComparison::of(&rounds).unwrap();
        assert_eq!((compared.rounds.len(), compared.connections), (3, 16));
        let percent = |spread: Spread| {
            [spread.lowest, spread.median, spread.highest].map(|share| (share * 100.0).round())
        };
        assert_eq!(percent(compared.per_second().unwrap()), [90.0, 110.0, 110.0]);
        assert_eq!(percent(compared.cpu().unwrap()), [50.0, 50.0, 200.0]);
        assert!(!compared.is_disturbed());
    }

    #[test]
    fn without_an_earlier_build_there_is_nothing_to_compare() {
        let mut alone = round(Some(figures(1.0, 1.0)), None);
        alone.outcomes.remove(0);
        assert!(BuildComparison::of(&[alone]).is_none());
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn the_median_of_two_lies_between_them() {
        let spread = Spread::of([3.0, 1.0]).unwrap();
        assert_eq!((spread.lowest, spread.median, spread.highest), (1.0, 2.0, 3.0));
    }

    #[test]
    fn most_rounds_decide_whether_something_else_was_at_work() {
        let busy = Figures {
            others_cpu: Some(1.0),
            ..figures(1.0, 1.0)
        };
        let (calm, busy) = (round(Some(figures(1.0, 1.0)), Some(figures(1.0, 1.0))), || {
            round(Some(busy), Some(figures(1.0, 1.0)))
        });
        let disturbed = |rounds: &[Round]| BuildComparison::of(rounds).unwrap().is_disturbed();
        assert!(disturbed(&[busy(), busy(), calm]));
        assert!(!disturbed(&[
            busy(),
            round(Some(figures(1.0, 1.0)), Some(figures(1.0, 1.0)))
        ]));
    }
}
