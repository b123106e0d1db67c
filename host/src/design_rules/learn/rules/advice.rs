//! What sets the fastest class apart: few rules, each with what it is worth.

use serde::Serialize;

use super::ruleset::{Rules, Ruleset};
use crate::design_rules::learn::features::{LookedUp, Rule};
use crate::design_rules::learn::labels::{Class, Labels};
use crate::design_rules::learn::table::TraversalTable;

/// The most sets of rules that are told as alternatives.
const ALTERNATIVES: usize = 3;
/// The share of the fastest class that an alternative has to have, and how many runs at least.
const SUPPORT: (f64, usize) = (0.05, 3);
/// A rule is left out where without it this much fewer of the runs that follow are of the class, as a share.
const NEEDLESS: f64 = 0.005;

/// MeasuredRows schedules: rows of a table with their times.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredRows<'a> {
    table: &'a TraversalTable,
    rows: &'a [usize],
    /// In seconds, in the order of the rows.
    times: &'a [f64],
}

impl<'a> MeasuredRows<'a> {
    /// These rows of a table took these times in seconds.
    ///
    /// # Panics
    /// Unless there is a time for each, and each is in the table.
    pub fn new(table: &'a TraversalTable, rows: &'a [usize], times: &'a [f64]) -> Self {
        assert_eq!(rows.len(), times.len());
        assert!(rows.iter().all(|&row| row < table.len()), "there are {} schedules", table.len());
        MeasuredRows { table, rows, times }
    }

    /// Whether each heeds all of these rules.
    fn heed<'r>(&self, rules: impl IntoIterator<Item = &'r Rule>) -> Vec<bool> {
        let mut heed = vec![true; self.rows.len()];
        for rule in rules {
            let looked_up = LookedUp::of(&rule.feature, self.table);
            heed.iter_mut().zip(self.rows).for_each(|(heed, &row)| *heed &= looked_up.holds(row) == rule.value);
        }
        heed
    }
}

/// How much faster runs are that heed a rule than those that don't.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Gain {
    /// By which share the geometric mean of the times is less; negative where it is more.
    pub share: f64,
    /// The 95 % confidence interval of that (Welch's).
    pub interval: [f64; 2],
    /// The same difference of the geometric means, in seconds.
    pub seconds: f64,
    /// How many runs heed it, and how many don't.
    pub runs: [usize; 2],
}

impl Gain {
    /// Of these times in seconds; none unless there are two on either side, and none is 0.
    pub fn of(heeding: &[f64], others: &[f64]) -> Option<Self> {
        let moments = |times: &[f64]| {
            let n = times.len() as f64;
            let mean = times.iter().map(|time| time.ln()).sum::<f64>() / n;
            let squares: f64 = times.iter().map(|time| (time.ln() - mean).powi(2)).sum();
            (n, mean, squares / (n - 1.0) / n)
        };
        if heeding.len() < 2 || others.len() < 2 || heeding.iter().chain(others).any(|&time| time <= 0.0) {
            return None;
        }
        let ((n, mean, variance), (m, other, their)) = (moments(heeding), moments(others));
        let sum = variance + their;
        // Welch's and Satterthwaite's degrees of freedom.
        let freedom = if sum > 0.0 { sum * sum / (variance * variance / (n - 1.0) + their * their / (m - 1.0)) } else { 1.0 };
        let (difference, half) = (mean - other, student(freedom) * sum.sqrt());
        let share = |logarithm: f64| 1.0 - logarithm.exp();
        Some(Gain {
            share: share(difference),
            interval: [share(difference + half), share(difference - half)],
            seconds: other.exp() - mean.exp(),
            runs: [heeding.len(), others.len()],
        })
    }

    /// Whether the interval has gains alone.
    pub fn is_certain(&self) -> bool {
        self.interval[0] > 0.0
    }
}

/// The 97.5th percentile of Student's distribution with this many degrees of freedom, at least 1: Cornish and Fisher's
/// expansion, to 1 % from 3 degrees on; below, those of tables.
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

/// One thing to do: rules that belong together, and what they are worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Recommendation {
    /// The rules.
    pub rules: Vec<Rule>,
    /// What they gain. Of a shared point, among runs that heed those before it; of an alternative, beside runs that heed
    /// the shared ones and no alternative. None where too few runs tell.
    pub gain: Option<Gain>,
    /// How many runs of the class heed them, and all shared ones before, of how many.
    pub members: [usize; 2],
    /// The same of the runs of other classes.
    pub others: [usize; 2],
}

/// What the schedules of the fastest class have in common, and others don't.
///
/// It is made of the tree's rulesets for the class: of those that hold for a twentieth of it at least, the three largest.
/// Rules without which the same runs are told apart are left out. What all of them ask for comes first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// The class.
    pub class: Class,
    /// What to do, each beside what comes before it.
    pub shared: Vec<Recommendation>,
    /// And one of these besides; there may be none.
    pub alternatives: Vec<Recommendation>,
    /// All of it: what it gains beside all other runs, and how many of the class and of others heed it.
    pub all: Recommendation,
}

impl Advice {
    /// What the rules for the fastest class come down to; none where there is one class, or no rules lead to it.
    pub fn of(rules: &Rules, labels: &Labels, measured: &MeasuredRows) -> Option<Self> {
        let class = Class::from_index(0);
        if labels.count() < 2 {
            return None;
        }
        let members: Vec<bool> = labels.classes().iter().map(|&other| other == class).collect();
        let enough = SUPPORT.1.max((SUPPORT.0 * labels.places(class).len() as f64).ceil() as usize);
        let large = |set: &&Ruleset| set.counts[0] >= enough && !set.rules.is_empty();
        let mut sets: Vec<Vec<Rule>> = Vec::new();
        for set in rules.of_class(class).filter(large).take(ALTERNATIVES) {
            let simple = simplified(&set.rules, &members, measured);
            if !sets.contains(&simple) {
                sets.push(simple);
            }
        }
        let first = sets.first()?.clone();
        let is_shared = |rule: &Rule| sets.iter().all(|set| set.contains(rule));
        let shared: Vec<Rule> = first.into_iter().filter(is_shared).collect();
        let rest = |set: &Vec<Rule>| set.iter().filter(|rule| !shared.contains(rule)).cloned().collect::<Vec<_>>();
        let mut alternatives: Vec<Vec<Rule>> = sets.iter().map(rest).collect();
        // One that asks for nothing else has all others in it.
        if alternatives.iter().any(Vec::is_empty) {
            alternatives.clear();
        }
        Some(Self::measured(class, &shared, &alternatives, &members, measured))
    }

    /// The same advice, by other runs of the program; which of them are of the class says `labels`, which are theirs.
    pub fn again(&self, labels: &Labels, measured: &MeasuredRows) -> Self {
        let members: Vec<bool> = labels.classes().iter().map(|&class| class == self.class).collect();
        let shared: Vec<Rule> = self.shared.iter().flat_map(|point| point.rules.clone()).collect();
        let alternatives: Vec<Vec<Rule>> = self.alternatives.iter().map(|point| point.rules.clone()).collect();
        Self::measured(self.class, &shared, &alternatives, &members, measured)
    }

    fn measured(class: Class, shared: &[Rule], alternatives: &[Vec<Rule>], members: &[bool], measured: &MeasuredRows) -> Self {
        let n = members.len();
        // Of the runs that are `among`, those that are `heeding`.
        let point = |rules: Vec<Rule>, heeding: &[bool], beside: &[bool]| {
            let times =
                |which: &[bool]| -> Vec<f64> { (0..n).filter(|&run| which[run]).map(|run| measured.times[run]).collect() };
            let count = |of: bool| {
                let all = (0..n).filter(|&run| members[run] == of);
                [all.clone().filter(|&run| heeding[run]).count(), all.count()]
            };
            let gain = Gain::of(&times(heeding), &times(beside));
            Recommendation { rules, gain, members: count(true), others: count(false) }
        };
        let and =
            |a: &[bool], b: &[bool], value: bool| -> Vec<bool> { a.iter().zip(b).map(|(a, b)| *a && *b == value).collect() };
        let mut among = vec![true; n];
        let mut points = Vec::new();
        for rule in shared {
            let heed = measured.heed([rule]);
            let (heeding, beside) = (and(&among, &heed, true), and(&among, &heed, false));
            points.push(point(vec![rule.clone()], &heeding, &beside));
            among = heeding;
        }
        let each: Vec<Vec<bool>> = alternatives.iter().map(|rules| and(&among, &measured.heed(rules), true)).collect();
        let any: Vec<bool> = (0..n).map(|run| each.iter().any(|heeding| heeding[run])).collect();
        let none = and(&among, &any, false);
        let alternatives: Vec<Recommendation> =
            alternatives.iter().zip(&each).map(|(rules, heeding)| point(rules.clone(), heeding, &none)).collect();
        let all = if alternatives.is_empty() { among } else { any };
        let others: Vec<bool> = all.iter().map(|heeds| !heeds).collect();
        Advice { class, shared: points, alternatives, all: point(Vec::new(), &all, &others) }
    }

    /// Its points, shared ones first.
    pub fn points(&self) -> impl Iterator<Item = &Recommendation> {
        self.shared.iter().chain(&self.alternatives)
    }
}

/// The rules without those that tell next to nothing beside the others, from the last on.
fn simplified(rules: &[Rule], members: &[bool], measured: &MeasuredRows) -> Vec<Rule> {
    let purity = |rules: &[Rule]| {
        let heed = measured.heed(rules);
        let heeding = heed.iter().filter(|&&heeds| heeds).count();
        let both = heed.iter().zip(members).filter(|&(heeds, member)| *heeds && *member).count();
        both as f64 / heeding.max(1) as f64
    };
    let (mut kept, least) = (rules.to_vec(), purity(rules) - NEEDLESS);
    for rule in rules.iter().rev().filter(|_| rules.len() > 1) {
        let without: Vec<Rule> = kept.iter().filter(|other| *other != rule).cloned().collect();
        if !without.is_empty() && purity(&without) >= least {
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
