//! Schedules from texts, and by an order of steps.

use super::step::place;
use super::{Prefix, Schedule, Space, Step};
use crate::design_rules::{Dag, RulesError};

impl Schedule {
    /// Returns the schedule by which a program is usually written. All operations are in one
    /// stream, in the order in which their author names them as far as dependences allow. The host
    /// waits as late as possible, and each choice has its first alternative.
    pub fn textbook(dag: &Dag) -> Self {
        Self::by_priority(dag, 1, |step| place(dag, step))
    }

    /// Returns the schedule on at most this many streams that takes, at each point, the first of
    /// the possible next steps by this order.
    pub(in crate::design_rules) fn by_priority<K: Ord>(dag: &Dag, streams: usize, priority: impl Fn(&Step) -> K) -> Self {
        let mut prefix = Prefix::new(dag, streams).expect("there may be as many streams");
        while let Some(step) = prefix.next().into_iter().min_by_key(&priority) {
            prefix.push(step);
        }
        prefix.finish().expect("every prefix can be completed")
    }

    /// Reads what [`text`](Self::text) wrote, whichever [`Space`] the schedule is of.
    ///
    /// # Errors
    /// [`RulesError::Schedule`] where it is no schedule of this program on this many streams: it names the first step
    /// that can't come next in the default space.
    pub fn parse(dag: &Dag, streams: usize, text: &str) -> Result<Self, RulesError> {
        Self::parse_in(Space::Warpsmith, dag, streams, text)
            .or_else(|error| Self::parse_in(Space::Tenzing, dag, streams, text).map_err(|_| error))
    }

    fn parse_in(space: Space, dag: &Dag, streams: usize, text: &str) -> Result<Self, RulesError> {
        let wrong = |reason: String| RulesError::Schedule { program: dag.name().to_owned(), schedule: text.to_owned(), reason };
        let mut prefix = space.prefix(dag, streams)?;
        for part in text.split(';').filter(|part| !part.is_empty()) {
            let (name, stream) = match part.split_once('@') {
                Some((name, stream)) => {
                    let stream = stream.parse::<u8>().map_err(|_| wrong(format!("`{part}` names no stream")))?;
                    (name, Some(stream))
                }
                None => (part, None),
            };
            let found = prefix.next().into_iter().find(|step| step.name(dag) == name && step.stream() == stream);
            let step = found.ok_or_else(|| wrong(format!("`{part}` can't come next")))?;
            prefix.push(step);
        }
        let end = Step::Cpu(dag.end());
        if prefix.next() == [end] {
            prefix.push(end);
        }
        prefix.finish().ok_or_else(|| wrong("it ends too early".to_owned()))
    }
}
