//! All schedules of a program, and how many there are.

use std::collections::HashMap;

use super::prefix::State;
use super::{Prefix, Schedule, Step};
use crate::design_rules::RulesError;
use crate::design_rules::program::Dag;

/// All schedules of a program on this many streams, in lexicographic order of their steps; nothing is kept but the
/// current one's.
///
/// ```
/// use warpsmith::design_rules::{Dag, schedule::{Schedules, count}};
///
/// let dag = Dag::builder("two").gpu("a").gpu("b").build()?;
/// let all: Vec<_> = Schedules::new(&dag, 2)?.map(|schedule| schedule.text(&dag)).collect();
/// assert_eq!(all.len() as u128, count(&dag, 2)?);
/// assert!(all.iter().any(|text| text.starts_with("b@0;a@1;")));
/// # Ok::<(), warpsmith::design_rules::RulesError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schedules<'a> {
    /// The prefixes on the way to the current schedule, each with the steps that are still to be tried behind it.
    way: Vec<(Prefix<'a>, std::vec::IntoIter<Step>)>,
}

impl<'a> Schedules<'a> {
    /// Starts with the first.
    pub fn new(dag: &'a Dag, streams: usize) -> Result<Self, RulesError> {
        Ok(Self::behind(Prefix::new(dag, streams)?))
    }

    /// Lists those that begin with a prefix.
    pub(super) fn behind(start: Prefix<'a>) -> Self {
        let next = start.next().into_iter();
        Schedules { way: vec![(start, next)] }
    }
}

impl Iterator for Schedules<'_> {
    type Item = Schedule;

    fn next(&mut self) -> Option<Schedule> {
        loop {
            let (prefix, left) = self.way.last_mut()?;
            let Some(step) = left.next() else {
                self.way.pop();
                continue;
            };
            let mut prefix = prefix.clone();
            prefix.push(step);
            if prefix.is_complete() {
                return prefix.finish();
            }
            let next = prefix.next().into_iter();
            self.way.push((prefix, next));
        }
    }
}

/// The most states that a count goes through: some seconds, and some 100 MB.
const STATES: usize = 1 << 19;

/// Returns the number of schedules of a program on at most this many streams. The count is exact,
/// and does not list them.
///
/// It visits each state of prefixes once. There are far fewer states than schedules: prefixes that
/// differ only in what no later step depends on share a state.
///
/// # Errors
/// [`RulesError::Streams`]; [`RulesError::TooMany`] where there are 2¹²⁸ or more, or more states than can be gone
/// through in some seconds.
pub fn count(dag: &Dag, streams: usize) -> Result<u128, RulesError> {
    count_behind(Prefix::new(dag, streams)?, streams)
}

/// Returns the number of schedules that begin with a prefix of schedules on this many streams.
pub(super) fn count_behind(start: Prefix<'_>, streams: usize) -> Result<u128, RulesError> {
    let program = start.dag().name().to_owned();
    let (count, exact) = completions(start, STATES);
    if exact {
        return Ok(count);
    }
    Err(RulesError::TooMany { program, streams, exponent: count.saturating_sub(1).max(1).ilog10() })
}

/// A prefix whose completions are being counted.
struct Counted<'a> {
    prefix: Prefix<'a>,
    state: State,
    left: std::vec::IntoIter<Step>,
    count: u128,
}

impl<'a> Counted<'a> {
    fn new(prefix: Prefix<'a>, state: State) -> Self {
        let left = prefix.next().into_iter();
        Counted { prefix, state, left, count: 0 }
    }
}

/// Returns the number of schedules that begin with a prefix, and whether it is exact; otherwise it
/// is a lower bound. Visits at most this many states.
fn completions(start: Prefix<'_>, states: usize) -> (u128, bool) {
    let mut known = HashMap::<State, u128>::new();
    let mut exact = true;
    let state = start.state();
    let (mut way, mut top) = (Vec::new(), Counted::new(start, state));
    loop {
        let count = if let Some(step) = top.left.next() {
            let mut prefix = top.prefix.clone();
            prefix.push(step);
            let state = prefix.state();
            if prefix.is_complete() {
                1
            } else if let Some(&count) = known.get(&state) {
                count
            } else if known.len() + way.len() + 1 < states {
                way.push(std::mem::replace(&mut top, Counted::new(prefix, state)));
                continue;
            } else {
                // Every prefix can be completed.
                exact = false;
                1
            }
        } else {
            let Some(before) = way.pop() else { return (top.count, exact) };
            let Counted { state, count, .. } = std::mem::replace(&mut top, before);
            known.insert(state, count);
            count
        };
        top.count = top.count.checked_add(count).unwrap_or_else(|| {
            exact = false;
            u128::MAX
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight independent operations of the GPU on one stream: 8! orders, and behind them 16! / 2⁸ of their records and
    /// waits.
    #[test]
    fn a_count_that_is_given_up_is_a_lower_bound() {
        let dag = (0..8).fold(Dag::builder("many"), |dag, index| dag.gpu(format!("g{index}"))).build().unwrap();
        let all = (1..=8).product::<u128>() * ((1..=16).product::<u128>() >> 8);
        let counted = |states| completions(Prefix::new(&dag, 1).unwrap(), states);
        // One state per set of finished steps: first per set of operations; then each operation has
        // nothing, its record or its wait, except at the end.
        let states = 2usize.pow(8) - 1 + 3usize.pow(8);
        assert_eq!(counted(states), (all, true));
        let mut last = 0;
        for states in [1, 10, 100, 1000, states - 1] {
            let (count, exact) = counted(states);
            assert!(!exact && last < count && count < all, "{states}: {count} after {last}");
            last = count;
        }
    }
}
