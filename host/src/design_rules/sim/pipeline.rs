//! The double-buffered pipeline of [`programs::pipeline`](super::super::programs::pipeline), as a workload.

use super::super::programs::pipeline::{self, Action};
use super::super::{Dag, OpId, RulesError};
use super::{Task, Workload};

/// A matrix of distances, with rows divided over ranks, in blocks.
///
/// The kernel is not limited by the device's memory but by its merging of breakpoints, so that its time is that of
/// these.
#[derive(Clone, Debug)]
pub struct PipelineModel {
    dag: Dag,
    blocks: usize,
    ranks: usize,
    functions: usize,
    points: usize,
    value_bytes: u64,
    breakpoints_per_second: f64,
    host_bandwidth: f64,
}

impl PipelineModel {
    /// Of this many functions with this many breakpoints each, on this many ranks (at least one) with this many blocks
    /// each. Values are `f32`, a GPU merges 1.5·10¹² breakpoints per second (an H200 does, of functions with 100), and
    /// a host copies 20 GB/s.
    ///
    /// # Errors
    /// [`RulesError::Dag`] as [`pipeline::dag`].
    pub fn new(ranks: usize, functions: usize, points: usize, blocks: usize) -> Result<Self, RulesError> {
        Ok(PipelineModel {
            dag: pipeline::dag(blocks)?,
            blocks,
            ranks: ranks.max(1),
            functions,
            points,
            value_bytes: 4,
            breakpoints_per_second: 1.5e12,
            host_bandwidth: 20e9,
        })
    }

    /// With values of this many bytes.
    pub fn with_value_bytes(self, value_bytes: u64) -> Self {
        PipelineModel { value_bytes, ..self }
    }

    /// With this many breakpoints per second; positive.
    pub fn with_breakpoints_per_second(self, breakpoints_per_second: f64) -> Self {
        PipelineModel { breakpoints_per_second, ..self }
    }

    /// With a host that copies this many bytes per second; positive.
    pub fn with_host_bandwidth(self, host_bandwidth: f64) -> Self {
        PipelineModel { host_bandwidth, ..self }
    }

    /// The rows of a block of a rank.
    fn rows(&self, rank: usize, block: usize) -> usize {
        let (rows, side) = pipeline::share(self.functions, self.blocks, self.ranks, rank);
        rows.len().saturating_sub(block * side).min(side)
    }
}

impl Workload for PipelineModel {
    fn dag(&self) -> &Dag {
        &self.dag
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn work(&self, rank: usize, op: OpId) -> Vec<Task> {
        let Some((action, block)) = Action::of(op, self.blocks) else { return Vec::new() };
        let entries = self.rows(rank, block) as u64 * self.functions as u64;
        if entries == 0 {
            return Vec::new();
        }
        let bytes = entries * self.value_bytes;
        vec![match action {
            Action::Compute => {
                // All but the first of both functions.
                let breakpoints = entries as f64 * 2.0 * self.points.saturating_sub(1) as f64;
                Task::Kernel { seconds: breakpoints / self.breakpoints_per_second, share: 1.0 }
            }
            Action::Download => Task::CopyToHost { bytes },
            Action::Write => Task::Host { seconds: bytes as f64 / self.host_bandwidth },
        }]
    }
}
