//! The tree of prefixes that a search grows.

use std::collections::BTreeSet;
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::strategy::pick;
use super::{Statistics, Strategy};
use crate::design_rules::error::check_time;
use crate::design_rules::schedule::{Prefix, Space, check_streams};
use crate::design_rules::{Dag, RulesError, Schedule, Step};

/// A search for the schedules to measure: it proposes one, and is told its time.
///
/// The times may come from a platform, a file or a formula.
pub struct Explorer {
    dag: Arc<Dag>,
    space: Space,
    streams: usize,
    strategy: Box<dyn Strategy + Send>,
    random: ChaCha8Rng,
    /// The empty prefix is the first.
    nodes: Vec<Node>,
}

/// A prefix.
#[derive(Debug)]
struct Node {
    /// Its last step; `None` for the empty prefix.
    step: Option<Step>,
    statistics: Statistics,
    exhausted: bool,
    /// Indices of its children among the nodes, once they were asked for.
    children: Option<std::ops::Range<usize>>,
}

impl Node {
    fn new(step: Option<Step>) -> Self {
        Node { step, statistics: Statistics::EMPTY, exhausted: false, children: None }
    }
}

impl Explorer {
    /// A search among the schedules of a program on at most this many streams. Equal seeds and times give equal
    /// searches.
    pub fn new(dag: &Dag, streams: usize, strategy: impl Into<Box<dyn Strategy + Send>>, seed: u64) -> Result<Self, RulesError> {
        check_streams(streams)?;
        let (dag, strategy, random) = (Arc::new(dag.clone()), strategy.into(), ChaCha8Rng::seed_from_u64(seed));
        Ok(Explorer { dag, space: Space::default(), streams, strategy, random, nodes: vec![Node::new(None)] })
    }

    /// Searches another space than the default one. Records so far are dropped.
    pub fn in_space(mut self, space: Space) -> Self {
        self.space = space;
        self.nodes = vec![Node::new(None)];
        self
    }

    /// The program.
    pub fn dag(&self) -> &Dag {
        &self.dag
    }

    /// Returns the most streams that a schedule may use.
    pub fn streams(&self) -> usize {
        self.streams
    }

    /// Returns the statistics of everything recorded.
    pub fn statistics(&self) -> Statistics {
        self.nodes[0].statistics
    }

    /// Returns whether every schedule was recorded.
    pub fn is_exhausted(&self) -> bool {
        self.nodes[0].exhausted
    }

    /// A schedule that was not recorded yet; none when all were.
    ///
    /// # Panics
    /// If a strategy of the caller's chooses an index out of range.
    pub fn propose(&mut self) -> Option<Schedule> {
        if self.is_exhausted() {
            return None;
        }
        let dag = self.dag.clone();
        let starts = self.strategy.starts(&dag, self.streams, &mut self.random);
        if !starts.is_empty() {
            let found: BTreeSet<Schedule> = starts.iter().filter_map(|start| self.sample(&dag, start)).collect();
            let mut found: Vec<Schedule> = found.into_iter().collect();
            let picked = self.strategy.pick(&dag, &found, &mut self.random);
            return Some(found.swap_remove(picked));
        }
        let mut prefix = self.start(&dag);
        let mut node = 0;
        let (mut open, mut seen) = (Vec::new(), Vec::new());
        loop {
            let children = self.children(node, &prefix);
            if children.is_empty() {
                return prefix.finish();
            }
            // There are some: else this node were exhausted, too.
            open.clear();
            open.extend(children.filter(|&child| !self.nodes[child].exhausted));
            seen.clear();
            seen.extend(open.iter().map(|&child| self.nodes[child].statistics));
            node = open[self.strategy.choose(&self.nodes[node].statistics, &seen, &mut self.random)];
            if let Some(step) = self.nodes[node].step {
                prefix.push(step);
            }
        }
    }

    /// A schedule that was not recorded yet, found by a way down the tree, which doesn't grow: it begins with these steps,
    /// as far as that goes, and is random from there.
    fn sample(&mut self, dag: &Dag, start: &[Step]) -> Option<Schedule> {
        let mut prefix = self.start(dag);
        let mut node = Some(0);
        let mut start = start.iter();
        loop {
            let wanted = start.next();
            // A node without records has no exhausted children.
            match node.and_then(|node: usize| self.nodes[node].children.clone()) {
                Some(children) => {
                    let children: Vec<usize> = children.collect();
                    let is_open = |&child: &usize| !self.nodes[child].exhausted;
                    let is_wanted = |child: &usize| wanted.is_some() && self.nodes[*child].step.as_ref() == wanted;
                    let open = match children.iter().position(|child| is_open(child) && is_wanted(child)) {
                        Some(open) => Some(open),
                        None => {
                            start = [].iter();
                            pick(&children, is_open, &mut self.random)
                        }
                    };
                    let Some(open) = open else { return prefix.finish() };
                    node = Some(children[open]);
                    prefix.push(self.nodes[children[open]].step.expect("only the root has none"));
                }
                None => {
                    node = None;
                    let next = prefix.next();
                    let found = wanted.and_then(|wanted| next.iter().position(|step| step == wanted));
                    let chosen = found.or_else(|| pick(&next, |_| true, &mut self.random));
                    let Some(chosen) = chosen else { return prefix.finish() };
                    prefix.push(next[chosen]);
                }
            }
        }
    }

    /// Records the time of a schedule, in seconds. The schedule need not be a proposed one. A
    /// schedule that is recorded again counts as another rollout.
    ///
    /// # Errors
    /// [`RulesError::Time`] unless the time is finite and at least 0; [`RulesError::Schedule`] for a schedule of
    /// another program, or on more streams. Nothing is recorded then.
    pub fn record(&mut self, schedule: &Schedule, seconds: f64) -> Result<(), RulesError> {
        check_time(seconds)?;
        self.visit(schedule, |statistics| statistics.add(seconds))?;
        self.strategy.observe(&self.dag, schedule, seconds);
        Ok(())
    }

    /// Takes in that a schedule could not be measured, so that it has no time. It counts as a rollout, and is not
    /// proposed any more.
    pub fn record_failure(&mut self, schedule: &Schedule) -> Result<(), RulesError> {
        self.visit(schedule, Statistics::add_failure)
    }

    /// Changes the statistics on the way to a schedule, which is done with.
    fn visit(&mut self, schedule: &Schedule, change: impl Fn(&mut Statistics)) -> Result<(), RulesError> {
        let dag = self.dag.clone();
        let mut prefix = self.start(&dag);
        let mut way = vec![0];
        let mut node = 0;
        for &step in schedule.steps() {
            let found = self.children(node, &prefix).find(|&child| self.nodes[child].step == Some(step));
            node = found.ok_or_else(|| RulesError::Schedule {
                program: self.dag.name().to_owned(),
                schedule: schedule.to_string(),
                reason: format!("it is not a schedule of this program on {} streams", self.streams),
            })?;
            way.push(node);
            prefix.push(step);
        }
        for &node in &way {
            change(&mut self.nodes[node].statistics);
        }
        while let Some(node) = way.pop() {
            let children = self.nodes[node].children.clone().unwrap_or_default();
            if !self.nodes[children].iter().all(|child| child.exhausted) {
                break;
            }
            self.nodes[node].exhausted = true;
        }
        Ok(())
    }

    fn start<'a>(&self, dag: &'a Dag) -> Prefix<'a> {
        self.space.prefix(dag, self.streams).expect("`new` has checked the streams")
    }

    /// Returns the indices of the children of a node, which is that of `prefix`.
    fn children(&mut self, node: usize, prefix: &Prefix<'_>) -> std::ops::Range<usize> {
        if let Some(children) = &self.nodes[node].children {
            return children.clone();
        }
        let first = self.nodes.len();
        self.nodes.extend(prefix.next().into_iter().map(|step| Node::new(Some(step))));
        let children = first..self.nodes.len();
        self.nodes[node].children = Some(children.clone());
        children
    }
}
