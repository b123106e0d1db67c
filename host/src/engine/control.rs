//! What a caller tells an engine, and what the engine tells the caller.

use std::{fmt, time::Duration};

use super::{Cancel, Queue, Trace};

/// How an [`Engine`] divides its work. The default leaves it to the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What an engine may use of each GPU's memory, in bytes: half of it for blocks, half for the functions. By default
    /// 80 % of what is free.
    pub memory_budget: Option<usize>,
    /// How many blocks the memory for blocks is divided into; by default 32 per GPU.
    pub splits_hint: Option<usize>,
    /// The side of the blocks, whatever follows from the other settings; smaller ones are used where the budget does
    /// not allow it.
    pub block_side: Option<usize>,
}

/// What a computation tells, and listens to, while it goes on.
#[derive(Clone, Copy, Default)]
pub struct Control<'a> {
    /// Called with the number of entries that are in place, and of all that will be.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Ends the computation early when it is set.
    pub cancel: Option<&'a Cancel>,
    /// Records what happens when.
    pub trace: Option<&'a Trace>,
    /// Deals out the blocks.
    pub queue: Option<&'a dyn Queue>,
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Control { progress, cancel, trace, queue } = self;
        let mut debug = f.debug_struct("Control");
        debug.field("progress", &progress.is_some()).field("cancel", cancel);
        debug.field("trace", &trace.is_some()).field("queue", &queue.is_some()).finish()
    }
}

/// What a computation took.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Report {
    /// The side of the blocks, in entries.
    pub side: usize,
    /// How many blocks there were.
    pub blocks: usize,
    /// How many blocks each GPU computed.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub blocks_by_gpu: Vec<usize>,
    /// Bytes that came from GPUs.
    #[cfg_attr(feature = "serde", serde(rename = "downloaded_bytes"))]
    pub downloaded: usize,
    /// From the first allocation to the last entry, without `compile_time`.
    #[cfg_attr(feature = "serde", serde(rename = "total_ms", serialize_with = "in_ms"))]
    pub time: Duration,
    /// How long the first use of a kernel waited for the driver to compile it.
    #[cfg_attr(feature = "serde", serde(rename = "compile_ms", serialize_with = "in_ms"))]
    pub compile_time: Duration,
}

#[cfg(feature = "serde")]
fn in_ms<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(1e3 * time.as_secs_f64())
}
