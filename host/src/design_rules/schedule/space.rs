//! Named sets of schedules, which differ in their synchronisation.

use serde::{Deserialize, Serialize};

use super::{Prefix, Schedules, enumerate};
use crate::design_rules::{Dag, RulesError};

/// A set of schedules of a program. Sets differ in the synchronisation of their schedules alone.
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
    /// Returns whether this is the default.
    pub fn is_default(&self) -> bool {
        *self == Space::default()
    }

    /// Returns the empty prefix of schedules that use at most this many streams.
    ///
    /// # Errors
    /// [`RulesError::Streams`].
    pub fn prefix(self, dag: &Dag, streams: usize) -> Result<Prefix<'_>, RulesError> {
        Prefix::within(self, dag, streams)
    }

    /// Returns all schedules of a program on at most this many streams, in lexicographic order of their steps.
    ///
    /// # Errors
    /// [`RulesError::Streams`].
    pub fn schedules(self, dag: &Dag, streams: usize) -> Result<Schedules<'_>, RulesError> {
        Ok(Schedules::behind(self.prefix(dag, streams)?))
    }

    /// Returns the number of schedules of a program on at most this many streams, as [`count`](super::count) does.
    ///
    /// # Errors
    /// As [`count`](super::count).
    pub fn count(self, dag: &Dag, streams: usize) -> Result<u128, RulesError> {
        enumerate::count_behind(self.prefix(dag, streams)?, streams)
    }
}
