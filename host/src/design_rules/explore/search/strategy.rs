//! Strategies by which a search descends the tree of prefixes.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

use crate::design_rules::{Dag, Schedule, Step};

/// The measurements below a node of the tree: of all schedules that begin with its prefix.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of rollouts through it, with failed ones.
    pub rollouts: u64,
    /// Least time of a rollout, in seconds; infinity without times.
    pub fastest: f64,
    /// Greatest time of a rollout, in seconds; minus infinity without times.
    pub slowest: f64,
}

impl Statistics {
    /// Of nothing.
    pub const EMPTY: Self = Statistics { rollouts: 0, fastest: f64::INFINITY, slowest: f64::NEG_INFINITY };

    /// Takes in the time of one more rollout.
    pub fn add(&mut self, seconds: f64) {
        self.rollouts += 1;
        self.fastest = self.fastest.min(seconds);
        self.slowest = self.slowest.max(seconds);
    }

    /// Takes in one more rollout that failed, and so has no time.
    pub(in crate::design_rules) fn add_failure(&mut self) {
        self.rollouts += 1;
    }

    /// Returns the range of the times, in seconds; 0 without times.
    pub fn range(&self) -> f64 {
        (self.slowest - self.fastest).max(0.0)
    }
}

/// Chooses the way down the tree, from the empty prefix to a schedule that has not been measured.
pub trait Strategy {
    /// Its name in commands and files.
    fn name(&self) -> &'static str;

    /// Returns the index of the child to go to; there is at least one. Each child has a schedule
    /// below it that was not recorded yet. All children of a node without rollouts are new.
    fn choose(&self, parent: &Statistics, children: &[Statistics], random: &mut ChaCha8Rng) -> usize;

    /// Returns the first steps of schedules to [pick](Self::pick) from. The rest of each is random,
    /// and a start is left where all that follows it is recorded. If there are no starts, the
    /// search descends the tree by [`choose`](Self::choose).
    fn starts(&mut self, _dag: &Dag, _streams: usize, _random: &mut ChaCha8Rng) -> Vec<Vec<Step>> {
        Vec::new()
    }

    /// Takes in the time of a schedule of a program, in seconds; all are of one program.
    fn observe(&mut self, _dag: &Dag, _schedule: &Schedule, _seconds: f64) {}

    /// Returns the index of the schedule to propose, of different ones that were not recorded yet;
    /// there is at least one.
    fn pick(&mut self, _dag: &Dag, _candidates: &[Schedule], _random: &mut ChaCha8Rng) -> usize {
        0
    }
}

impl<S: Strategy + Send + 'static> From<S> for Box<dyn Strategy + Send> {
    fn from(strategy: S) -> Self {
        Box::new(strategy)
    }
}

/// The paper's Monte-Carlo tree search (section III-C). It goes where times differ most, not where they are least.
///
/// - Selection: if all children were visited, the one with the greatest V + c √(ln N / n). N and n
///   are the rollouts of the node and the child. V is the child's share of the node's range of
///   times (1 if either has fewer than two). Children whose schedules are all recorded are left
///   out.
/// - Expansion: a child that no rollout went through, at random.
/// - Rollout: below it all children are such, so that the rest of the way is random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mcts {
    /// c, the weight of exploration.
    pub exploration: f64,
}

impl Default for Mcts {
    /// c = √2.
    fn default() -> Self {
        Mcts { exploration: std::f64::consts::SQRT_2 }
    }
}

impl Mcts {
    /// A child's value.
    pub fn value(&self, parent: &Statistics, child: &Statistics) -> f64 {
        let rollouts = child.rollouts;
        let exploration = self.exploration * ((parent.rollouts as f64).ln() / rollouts as f64).sqrt();
        // A node whose times are all the same says as little as one with a single time.
        let comparable = rollouts >= 2 && parent.rollouts >= 2 && parent.range() > 0.0;
        let exploitation = if comparable { child.range() / parent.range() } else { 1.0 };
        exploration + exploitation
    }
}

impl Strategy for Mcts {
    fn name(&self) -> &'static str {
        "mcts"
    }

    fn choose(&self, parent: &Statistics, children: &[Statistics], random: &mut ChaCha8Rng) -> usize {
        if let Some(new) = pick(children, |child| child.rollouts == 0, random) {
            return new;
        }
        let values: Vec<_> = children.iter().map(|child| self.value(parent, child)).collect();
        let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // None equals it where the weight of exploration is NaN: then the first is taken.
        pick(&values, |&value| value == best, random).unwrap_or(0)
    }
}

/// Chooses at random: schedules not measured yet, without regard to times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Random;

impl Strategy for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn choose(&self, _: &Statistics, children: &[Statistics], random: &mut ChaCha8Rng) -> usize {
        pick(children, |_| true, random).unwrap_or(0)
    }
}

/// Goes through all schedules in lexicographic order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DepthFirst;

impl Strategy for DepthFirst {
    fn name(&self) -> &'static str {
        "dfs"
    }

    fn choose(&self, _: &Statistics, _: &[Statistics], _: &mut ChaCha8Rng) -> usize {
        0
    }
}

/// Returns the index of one of the `wanted` elements, each with equal probability.
pub(super) fn pick<T>(all: &[T], mut wanted: impl FnMut(&T) -> bool, random: &mut ChaCha8Rng) -> Option<usize> {
    let candidates: Vec<_> = (0..all.len()).filter(|&index| wanted(&all[index])).collect();
    // With 2⁶⁴ values and some tens of candidates, the bias of the remainder is negligible.
    (!candidates.is_empty()).then(|| candidates[(random.next_u64() % candidates.len() as u64) as usize])
}
