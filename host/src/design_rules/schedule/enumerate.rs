//! All schedules of a program, and how many there are.

use std::collections::HashMap;

use super::super::RulesError;
use super::super::dag::Dag;
use super::prefix::State;
use super::{Prefix, Schedule, Step};

/// All schedules of a program on so many streams, in lexicographic order of their steps; nothing is kept but the current one's.
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
    ///
    /// # Errors
    /// [`RulesError::Streams`].
    pub fn new(dag: &'a Dag, streams: usize) -> Result<Self, RulesError> {
        let start = Prefix::new(dag, streams)?;
        let next = start.next().into_iter();
        Ok(Schedules { way: vec![(start, next)] })
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

/// How many schedules a program has on so many streams; exact, without listing them.
///
/// It goes once through each state that prefixes lead to, and there are many fewer of these than schedules: prefixes that differ
/// in their order alone share one.
///
/// # Errors
/// [`RulesError::Streams`]; [`RulesError::Setup`] where there are 2¹²⁸ or more.
pub fn count(dag: &Dag, streams: usize) -> Result<u128, RulesError> {
    let start = Prefix::new(dag, streams)?;
    completions(start, &mut HashMap::new())
        .ok_or_else(|| RulesError::Setup(format!("program `{}` has more than 2^128 schedules on {streams} streams", dag.name())))
}

/// How many schedules begin with `prefix`, unless they are too many to count.
fn completions(prefix: Prefix<'_>, known: &mut HashMap<State, u128>) -> Option<u128> {
    if prefix.is_complete() {
        return Some(1);
    }
    let state = prefix.state();
    if let Some(&count) = known.get(&state) {
        return Some(count);
    }
    let mut count = 0u128;
    for step in prefix.next() {
        let mut prefix = prefix.clone();
        prefix.push(step);
        count = count.checked_add(completions(prefix, known)?)?;
    }
    known.insert(state, count);
    Some(count)
}
