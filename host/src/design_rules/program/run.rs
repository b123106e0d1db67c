//! A program that can be run: what its operations do, on one rank.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Dag, OpId};
use crate::design_rules::RulesError;
use crate::device::{Device, Stream};
use crate::ranks::Communicator;

/// One rank's part of a program.
///
/// A panic in any of these is an error of its rank, which ends the run on all ranks.
///
/// A platform calls [`cpu`](Self::cpu) on one thread, and [`gpu`](Self::gpu) on that thread, too, or, where streams are
/// threads, on theirs: what several operations use is behind locks, which are held while an operation is enqueued (on a
/// GPU) or done (on the CPU). Schedules see to it that operations that depend on each other don't overlap.
pub trait Program: Send + Sync {
    /// The program's operations; the same on all ranks.
    fn dag(&self) -> &Dag;

    /// Does an operation of the CPU. The end is empty, and never asked for.
    fn cpu(&self, op: OpId) -> Result<(), RulesError>;

    /// Enqueues an operation of the GPU.
    fn gpu(&self, op: OpId, stream: &Stream) -> Result<(), RulesError>;

    /// Overwrites all results, so that one that is not computed shows. Nothing is under way.
    fn reset(&self) -> Result<(), RulesError>;

    /// Compares the results with a reference: the first difference, if there is one. Nothing is under way.
    fn difference(&self) -> Result<Option<String>, RulesError>;

    /// Returns other facts about how this part runs, such as the memory of its messages; may be
    /// empty.
    fn details(&self) -> String {
        String::new()
    }
}

/// Calls into a program whose panics are errors: somebody waits for the rank that makes them.
pub(in crate::design_rules) mod guarded {
    use std::panic::{self, AssertUnwindSafe};

    use super::{OpId, Program, RulesError, Stream};

    /// [`Program::cpu`].
    pub fn cpu(program: &dyn Program, op: OpId) -> Result<(), RulesError> {
        call(|| format!("`{}`", program.dag().name_of(op)), || program.cpu(op))
    }

    /// [`Program::gpu`].
    pub fn gpu(program: &dyn Program, op: OpId, stream: &Stream) -> Result<(), RulesError> {
        call(|| format!("`{}`", program.dag().name_of(op)), || program.gpu(op, stream))
    }

    /// Returns the result of `work`, or an error if it panics. After a panic, nobody uses what
    /// `work` had changed: a rank that fails does nothing more.
    pub fn call<T>(name: impl FnOnce() -> String, work: impl FnOnce() -> Result<T, RulesError>) -> Result<T, RulesError> {
        panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
            let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref().copied());
            Err(RulesError::Setup(format!("{} panicked: {}", name(), text.unwrap_or("it doesn't say why"))))
        })
    }
}

/// Makes each rank's part of a program, on that rank's thread.
pub trait Setup: Send + Sync {
    /// Numbers that describe its input over this many ranks, by name.
    ///
    /// # Errors
    /// The input can't be divided among so many ranks.
    fn numbers(&self, _ranks: usize) -> Result<BTreeMap<String, f64>, RulesError> {
        Ok(BTreeMap::new())
    }

    /// The part of the communicator's rank, on its device.
    fn rank(&self, device: &Device, ranks: &Arc<dyn Communicator>) -> Result<Box<dyn Program>, RulesError>;
}

impl<F> Setup for F
where
    F: Fn(&Device, &Arc<dyn Communicator>) -> Result<Box<dyn Program>, RulesError> + Send + Sync,
{
    fn rank(&self, device: &Device, ranks: &Arc<dyn Communicator>) -> Result<Box<dyn Program>, RulesError> {
        self(device, ranks)
    }
}
