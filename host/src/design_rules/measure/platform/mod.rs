//! Platforms: they run schedules and measure them.

mod group;
mod lanes;
mod rank;

use serde::{Deserialize, Serialize};

use crate::design_rules::{Dag, RulesError, Schedule};

pub use crate::design_rules::program::{Exchange, Messages, Program, Setup, Staging};
pub use group::Group;
pub use rank::{MEASUREMENT, Statistic};

/// Runs schedules of one program and says how long they took.
pub trait Platform {
    /// The program.
    fn dag(&self) -> &Dag;

    /// Returns the number of ranks that run it together.
    fn ranks(&self) -> usize;

    /// Returns a description, such as `CUDA, 4 ranks by MPI, NVIDIA H200`.
    fn description(&self) -> String;

    /// Returns what else its times depend on, for [`About::conditions`](crate::design_rules::About::conditions).
    fn conditions(&self) -> String {
        String::new()
    }

    /// Measures the time of one invocation of the schedule, in seconds (the paper's section
    /// III-C3).
    ///
    /// # Errors
    /// What went wrong, and on which rank. The platform can't be used any more then.
    fn measure(&mut self, schedule: &Schedule) -> Result<f64, RulesError>;

    /// Ends measuring, after the last time.
    ///
    /// # Errors
    /// The reason why the times can't be trusted.
    fn finish(&mut self) -> Result<(), RulesError> {
        Ok(())
    }

    /// Returns whether it measures the same time each time.
    fn is_exact(&self) -> bool {
        false
    }

    /// Returns whether [`timeline`](Self::timeline) works.
    fn has_timelines(&self) -> bool {
        true
    }

    /// Runs the schedule once, and compares what it computes with a reference.
    ///
    /// # Errors
    /// [`RulesError::Wrong`] with the first difference, and as [`measure`](Self::measure).
    fn check(&mut self, schedule: &Schedule) -> Result<(), RulesError>;

    /// Runs the schedule once, and says when each of its steps was under way.
    fn timeline(&mut self, schedule: &Schedule) -> Result<Timeline, RulesError>;
}

/// When the steps of a schedule were under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// In the order of the schedule, rank by rank. A GPU operation has two: that of the host that enqueues it, and its
    /// stream's.
    pub spans: Vec<Span>,
}

/// When one step was under way in one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// The step's name, as [`Step::name`](crate::design_rules::Step::name) has it.
    pub name: String,
    /// The rank.
    pub rank: usize,
    /// The stream, or none for the host's thread.
    pub stream: Option<u8>,
    /// Its start, in seconds from the invocation's.
    pub start: f64,
    /// Its end, likewise.
    pub end: f64,
}
