//! Named sets of schedules, which differ in their synchronisation.

use serde::{Deserialize, Serialize};

use super::{Prefix, Schedules, enumerate};
use crate::design_rules::{Dag, RulesError};

/// A set of schedules of a program. Sets differ in the synchronisation of their schedules alone.
///
/// In [`Tenzing`](Space::Tenzing), after the authors' program:
/// 1. an event covers all operations before its record in that stream;
/// 2. a wait of the host counts for all its later operations, and one of a stream for all later operations there;
/// 3. an operation is synchronised with a predecessor on the GPU if that is in its stream, or if the host or its stream
///    has waited for an event that covers it;
/// 4. an operation comes next once it is synchronised with all predecessors. Before, one step towards that comes next: a
///    wait for the first event that covers a predecessor, or its record if no event does.
///
/// A wait names the operation whose event it waits for, which need not be a predecessor. A record that covers several
/// predecessors of one operation is named after the last of them in the program's order.
///
/// ```
/// use warpsmith::design_rules::{Space, programs::spmv};
///
/// assert_eq!(Space::Tenzing.count(&spmv::dag(), 2)?, 2036);
/// # Ok::<(), warpsmith::design_rules::RulesError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// Each operation that others wait for has an event of its own, and each dependence a wait of its own
    #[default]
    Warpsmith,
    /// As tenzing enumerates: a dependence takes an event or a wait only if those so far don't cover it
    Tenzing,
}

impl Space {
    /// Returns its name in commands and files.
    pub fn name(self) -> &'static str {
        match self {
            Space::Warpsmith => "warpsmith",
            Space::Tenzing => "tenzing",
        }
    }

    /// Returns true if this is the default.
    pub fn is_default(&self) -> bool {
        *self == Space::default()
    }

    /// Returns the empty prefix of schedules that use at most this many streams.
    pub fn prefix(self, dag: &Dag, streams: usize) -> Result<Prefix<'_>, RulesError> {
        Prefix::within(self, dag, streams)
    }

    /// Returns all schedules of a program on at most this many streams, in lexicographic order of their steps.
    pub fn schedules(self, dag: &Dag, streams: usize) -> Result<Schedules<'_>, RulesError> {
        Ok(Schedules::behind(self.prefix(dag, streams)?))
    }

    /// Returns the number of schedules of a program on at most this many streams, as [`count`](super::count) does.
    pub fn count(self, dag: &Dag, streams: usize) -> Result<u128, RulesError> {
        enumerate::count_behind(self.prefix(dag, streams)?, streams)
    }
}
