//! Advice on the fastest class: a few rules, each with its gain.
//!
//! In: the rules of all classes, and the measured schedules. Out: [`Advice`].

use serde::Serialize;

use super::ruleset::{Rules, Ruleset};
use crate::design_rules::learn::features::{Rule, heed};
use crate::design_rules::learn::labels::Class;
use crate::design_rules::learn::table::TraversalTable;

/// Maximum number of alternatives.
const ALTERNATIVES: usize = 3;
/// Support that an alternative must have: a share of the fastest class, and a number of runs.
const SUPPORT: (f64, usize) = (0.05, 3);
/// A rule is needless if, without it, the share of the class among the runs that follow the others
/// decreases by at most this.
const NEEDLESS: f64 = 0.005;

/// Measured schedules: rows of a table, with their times.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredRows<'a> {
    table: &'a TraversalTable,
    rows: &'a [usize],
    /// Times in seconds, in the order of the rows.
    times: &'a [f64],
}

impl<'a> MeasuredRows<'a> {
    /// Creates the measured schedules from rows of a table and their times in seconds.
    ///
    /// # Panics
    /// Unless there is a time for each, and each is in the table.
    pub fn new(table: &'a TraversalTable, rows: &'a [usize], times: &'a [f64]) -> Self {
        assert_eq!(rows.len(), times.len());
        assert!(rows.iter().all(|&row| row < table.len()), "there are {} schedules", table.len());
        MeasuredRows { table, rows, times }
    }

    fn heed<'r>(&self, rules: impl IntoIterator<Item = &'r Rule>) -> Vec<bool> {
        heed(self.table, self.rows, rules)
    }
}

/// The speedup of the runs that follow a rule over those that don't.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Gain {
    /// Relative decrease of the geometric mean of the times; negative for an increase.
    pub share: f64,
    /// 95 % confidence interval of the share (Welch's).
    pub interval: [f64; 2],
    /// Difference of the geometric means, in seconds.
    pub seconds: f64,
    /// Number of compared runs that follow the rule, and of those that don't.
    pub runs: [usize; 2],
}

impl Gain {
    /// Computes the gain from times in seconds. Returns `None` unless there are two times on either
    /// side. A time of 0 counts as the least positive number.
    pub fn of(heeding: &[f64], others: &[f64]) -> Option<Self> {
        let moments = |times: &[f64]| {
            let n = times.len() as f64;
            let logarithms = times.iter().map(|time| time.max(f64::MIN_POSITIVE).ln());
            let mean = logarithms.clone().sum::<f64>() / n;
            let squares: f64 = logarithms.map(|logarithm| (logarithm - mean).powi(2)).sum();
            (n, mean, squares / (n - 1.0) / n)
        };
        if heeding.len() < 2 || others.len() < 2 {
            return None;
        }
        let ((n, mean, variance), (m, other, their)) = (moments(heeding), moments(others));
        let sum = variance + their;
        // Welch's and Satterthwaite's degrees of freedom.
        let freedom = if sum > 0.0 { sum * sum / (variance * variance / (n - 1.0) + their * their / (m - 1.0)) } else { 1.0 };
        let (difference, half) = (mean - other, student(freedom) * sum.sqrt());
        // Finite, however far 0 is from other times.
        let share = |logarithm: f64| (1.0 - logarithm.exp()).max(f64::MIN);
        Some(Gain {
            share: share(difference),
            interval: [share(difference + half), share(difference - half)],
            seconds: other.exp() - mean.exp(),
            runs: [heeding.len(), others.len()],
        })
    }

    /// Returns true if the interval has only gains.
    pub fn is_certain(&self) -> bool {
        self.interval[0] > 0.0
    }
}

impl Effect {
    /// Returns true if the gain is known, and its interval has only gains.
    pub fn is_certain(&self) -> bool {
        self.gain.is_some_and(|gain| gain.is_certain())
    }
}

/// Returns the 97.5th percentile of Student's t-distribution with at least one degree of freedom:
/// the expansion of Cornish and Fisher, accurate to 1 % from 3 degrees on. Below that, the values
/// of tables.
fn student(freedom: f64) -> f64 {
    match freedom {
        ..2.0 => 12.706,
        ..3.0 => 4.303,
        _ => {
            let z: f64 = 1.959_964;
            let terms = [
                z,
                (z.powi(3) + z) / 4.0,
                (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
                (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
            ];
            terms.iter().rev().fold(0.0, |sum, term| sum / freedom + term)
        }
    }
}

/// The gain of some rules, and the runs that follow them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Effect {
    /// The gain, or `None` if there are too few runs.
    pub gain: Option<Gain>,
    /// Number of runs of the class that follow the rules, and number of all runs of the class.
    pub members: [usize; 2],
    /// The same two numbers for the runs of other classes.
    pub others: [usize; 2],
}

/// A recommendation: rules that belong together, and their effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Recommendation {
    /// The rules.
    pub rules: Vec<Rule>,
    /// Their effect. All runs that follow these rules are counted, whatever else they follow. The gain
    /// of a shared recommendation is measured among runs that follow those before it. An alternative is
    /// compared with runs that follow the shared ones but no alternative.
    #[serde(flatten)]
    pub effect: Effect,
}

/// Properties that the schedules of the fastest class share and others lack.
///
/// The advice is made from the tree's three largest rulesets of the class, without those that hold
/// for less than a twentieth of it. Rules that all runs of all these rulesets follow come first, and
/// needless rules are left out. Each recommendation is faster with 95 % confidence: a shared rule
/// without a certain gain is joined with the next ones until their common gain is certain, and is
/// not shared otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// The class.
    pub class: Class,
    /// Shared recommendations, each measured among runs that follow those before it.
    pub shared: Vec<Recommendation>,
    /// Alternatives, of which one is to be followed in addition. May be empty.
    pub alternatives: Vec<Recommendation>,
    /// The effect of following all shared recommendations and, if there are alternatives, one of them.
    pub all: Effect,
}

impl Advice {
    /// Derives the advice from the rules. `classes` has the class of each measured schedule. Returns `None`
    /// if all are of one class, and if no rules that lead to the fastest are certain to be faster.
    pub fn of(rules: &Rules, classes: &[Class], measured: &MeasuredRows) -> Option<Self> {
        let class = Class::from_index(0);
        let members: Vec<bool> = classes.iter().map(|&other| other == class).collect();
        let fastest = members.iter().filter(|&&member| member).count();
        if fastest == members.len() {
            return None;
        }
        let enough = SUPPORT.1.max((SUPPORT.0 * fastest as f64).ceil() as usize);
        let large = |set: &&Ruleset| set.counts[0] >= enough && !set.rules.is_empty();
        let sets: Vec<&[Rule]> = rules.of_class(class).filter(large).take(ALTERNATIVES).map(|set| &*set.rules).collect();
        if sets.is_empty() {
            return None;
        }
        let followers: Vec<Vec<bool>> = sets.iter().map(|set| measured.heed(*set)).collect();
        let all_hold = |follow: &[bool], holds: &[bool]| follow.iter().zip(holds).all(|(follows, holds)| !follows || *holds);
        let mut common = Vec::new();
        for rule in sets.iter().copied().flatten() {
            let holds = measured.heed([rule]);
            if followers.iter().all(|follow| all_hold(follow, &holds)) && !all_hold(&measured.heed(&common), &holds) {
                common.push(rule.clone());
            }
        }
        let measure =
            |shared: &[Vec<Rule>], alternatives: &[Vec<Rule>]| Self::measured(class, shared, alternatives, &members, measured);
        let (mut shared, mut pending) = (Vec::new(), Vec::new());
        for rule in simplified(&common, &[], &members, measured) {
            pending.push(rule);
            let joined = [&shared[..], &[pending.clone()]].concat();
            if measure(&joined, &[]).shared.last().is_some_and(|point| point.effect.is_certain()) {
                (shared, pending) = (joined, Vec::new());
            }
        }
        let mut alternatives: Vec<Vec<Rule>> = Vec::new();
        for set in sets {
            let rest = simplified(set, &shared.concat(), &members, measured);
            if !alternatives.contains(&rest) {
                alternatives.push(rest);
            }
        }
        // An alternative without rules contains all others.
        if alternatives.iter().any(Vec::is_empty) {
            alternatives.clear();
        }
        loop {
            let advice = measure(&shared, &alternatives);
            let certain = advice.alternatives.iter().filter(|point| point.effect.is_certain());
            let certain: Vec<Vec<Rule>> = certain.map(|point| point.rules.clone()).collect();
            if certain.len() < alternatives.len() {
                alternatives = certain;
            } else if certain.len() == 1 {
                // A single alternative is shared, with the same gain.
                shared.append(&mut alternatives);
            } else {
                return (advice.points().next().is_some() && advice.all.is_certain()).then_some(advice);
            }
        }
    }

    /// Measures the same advice by other runs of the program, with the class of each.
    pub fn again(&self, classes: &[Class], measured: &MeasuredRows) -> Self {
        let members: Vec<bool> = classes.iter().map(|&class| class == self.class).collect();
        let [shared, alternatives] =
            [&self.shared, &self.alternatives].map(|points| points.iter().map(|point| point.rules.clone()).collect::<Vec<_>>());
        Self::measured(self.class, &shared, &alternatives, &members, measured)
    }

    fn measured(
        class: Class,
        shared: &[Vec<Rule>],
        alternatives: &[Vec<Rule>],
        members: &[bool],
        measured: &MeasuredRows,
    ) -> Self {
        let n = members.len();
        // Counts the runs that `follow`. Compares the runs `with` the rules with those `beside`.
        let effect = |follow: &[bool], with: &[bool], beside: &[bool]| {
            let times =
                |which: &[bool]| -> Vec<f64> { (0..n).filter(|&run| which[run]).map(|run| measured.times[run]).collect() };
            let count = |of: bool| {
                let all = (0..n).filter(|&run| members[run] == of);
                [all.clone().filter(|&run| follow[run]).count(), all.count()]
            };
            Effect { gain: Gain::of(&times(with), &times(beside)), members: count(true), others: count(false) }
        };
        let and =
            |a: &[bool], b: &[bool], value: bool| -> Vec<bool> { a.iter().zip(b).map(|(a, b)| *a && *b == value).collect() };
        let mut among = vec![true; n];
        let mut points = Vec::new();
        for rules in shared {
            let follow = measured.heed(rules);
            let (with, beside) = (and(&among, &follow, true), and(&among, &follow, false));
            points.push(Recommendation { rules: rules.clone(), effect: effect(&follow, &with, &beside) });
            among = with;
        }
        let each: Vec<Vec<bool>> = alternatives.iter().map(|rules| measured.heed(rules)).collect();
        let any: Vec<bool> = (0..n).map(|run| each.iter().any(|follow| follow[run])).collect();
        let none = and(&among, &any, false);
        let alternative = |(rules, follow): (&Vec<Rule>, &Vec<bool>)| Recommendation {
            rules: rules.clone(),
            effect: effect(follow, &and(&among, follow, true), &none),
        };
        let alternatives: Vec<Recommendation> = alternatives.iter().zip(&each).map(alternative).collect();
        let all = if alternatives.is_empty() { among } else { and(&among, &any, true) };
        let rest: Vec<bool> = all.iter().map(|follows| !follows).collect();
        Advice { class, shared: points, alternatives, all: effect(&all, &all, &rest) }
    }

    /// Returns the shared recommendations, then the alternatives.
    pub fn points(&self) -> impl Iterator<Item = &Recommendation> {
        self.shared.iter().chain(&self.alternatives)
    }
}

/// Removes rules that are needless beside the `given` ones, from the last on. One stays if none are given.
fn simplified(rules: &[Rule], given: &[Rule], members: &[bool], measured: &MeasuredRows) -> Vec<Rule> {
    let purity = |rules: &[Rule]| {
        let heed = measured.heed(given.iter().chain(rules));
        let heeding = heed.iter().filter(|&&heeds| heeds).count();
        let both = heed.iter().zip(members).filter(|&(heeds, member)| *heeds && *member).count();
        both as f64 / heeding.max(1) as f64
    };
    let (mut kept, least) = (rules.to_vec(), purity(rules) - NEEDLESS);
    for rule in rules.iter().rev() {
        let without: Vec<Rule> = kept.iter().filter(|other| *other != rule).cloned().collect();
        if !(without.is_empty() && given.is_empty()) && purity(&without) >= least {
            kept = without;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_student() {
        // scipy.stats.t.ppf(0.975, [1, 2, 3, 5, 10, 100, 1e6])
        let wanted = [(1.0, 12.706), (2.0, 4.303), (3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (100.0, 1.984), (1e6, 1.960)];
        for (freedom, wanted) in wanted {
            assert!((student(freedom) / wanted - 1.0).abs() < 0.01, "{freedom}: {}", student(freedom));
        }
    }
}
