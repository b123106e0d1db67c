//! The kernels by name, and a pair of lists on a device.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gpu_kernels::concurrency::{self as one_phase, MAX_PIECES, MAX_THREADS, ONE_PHASE_PIECES, Piece};
use serde::Serialize;

use crate::device::{Buffer, Device, DeviceError, LaunchConfig, Stream};
use crate::launch;
use crate::overlap::Shape;

use super::poses::{Pose, reach};

/// Memory that the one-phase kernels read the shape's pieces from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// Global memory.
    Global,
    /// Constant memory.
    Constant,
    /// Shared memory, after each block has copied them there.
    Shared,
}

/// Reduction of the threads' sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reduction {
    /// A tree in shared memory that doubles its stride: the notebook's.
    Interleaved,
    /// A tree in shared memory that halves the number of its threads.
    Sequential,
    /// Shuffles within each warp, and then within the first.
    Shuffle,
    /// One atomic addition per thread.
    Atomic,
    /// No reduction: each thread stores its sum.
    Separate,
}

/// A kernel of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Each comparison turns the pieces of both poses.
    OnePhase(Placement, Reduction),
    /// A kernel of its own turns the pieces beforehand.
    TwoPhase(Reduction),
}

impl Placement {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Global, Self::Constant, Self::Shared];

    /// Returns the name in one word.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

impl Reduction {
    /// All variants. The last one has no reduction.
    pub const ALL: [Self; 5] = [Self::Interleaved, Self::Sequential, Self::Shuffle, Self::Atomic, Self::Separate];

    /// Returns the name in one word.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

impl Variant {
    /// The notebook's first kernel: one phase, global memory, the tree that doubles its stride.
    pub const NOTEBOOK: Self = Self::OnePhase(Placement::Global, Reduction::Interleaved);

    /// All values.
    pub fn all() -> impl Iterator<Item = Self> {
        let one =
            Placement::ALL.into_iter().flat_map(|placement| Reduction::ALL.map(|reduction| Self::OnePhase(placement, reduction)));
        one.chain(Reduction::ALL.map(Self::TwoPhase))
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnePhase(placement, reduction) => write!(f, "one phase, {}, {}", placement.name(), reduction.name()),
            Self::TwoPhase(reduction) => write!(f, "two phases, {}", reduction.name()),
        }
    }
}

/// The shape's pieces on a device, in each placement. A process has one value at a time because
/// there is one array in constant memory.
#[derive(Debug)]
pub struct Kernels {
    device: Device,
    pieces: Buffer<Piece>,
    reach: f64,
    _constant: MutexGuard<'static, ()>,
}

/// Two lists of poses on a device, with buffers for their overlap.
#[derive(Debug)]
pub struct Lists {
    first: Buffer<Pose>,
    second: Buffer<Pose>,
    /// Both lists, one after the other.
    all: Buffer<Pose>,
    /// The turned pieces of both.
    turned: Buffer<Piece>,
    /// One element per thread. Most kernels use only one per block.
    totals: Buffer<f64>,
    config: LaunchConfig,
}

impl Kernels {
    /// Uploads the pieces of the tree. Waits while another value exists.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        static CONSTANT: Mutex<()> = Mutex::new(());
        let constant = CONSTANT.lock().unwrap_or_else(PoisonError::into_inner);
        let shape = Shape::tree();
        let pieces = shape.quads();
        let mut padded = [[[0.0; 2]; 4]; MAX_PIECES];
        padded[..pieces.len()].copy_from_slice(pieces);
        // SAFETY: only this type launches kernels that read the array, the guard allows one value
        // at a time, and `drop` has waited for the kernels of an earlier one.
        unsafe { device.set_constant(&ONE_PHASE_PIECES, &padded)? };
        Ok(Kernels { device: device.clone(), pieces: device.upload(pieces)?, reach: reach(&shape), _constant: constant })
    }

    /// Returns the number of the shape's pieces.
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// Returns the square of the largest distance at which two poses may overlap.
    pub fn reach(&self) -> f64 {
        self.reach
    }

    /// Uploads two lists, to be compared with one thread per pose of the first.
    ///
    /// A block has `block` threads, at most [`MAX_THREADS`].
    pub fn lists(&self, first: &[Pose], second: &[Pose], block: usize) -> Result<Lists, DeviceError> {
        let block = block.clamp(1, MAX_THREADS as usize);
        let config = LaunchConfig::for_elements(first.len(), block as u32);
        let all = [first, second].concat();
        Ok(Lists {
            first: self.device.upload(first)?,
            second: self.device.upload(second)?,
            turned: self.device.alloc(all.len() * self.pieces.len())?,
            all: self.device.upload(&all)?,
            totals: self.device.alloc_zeroed(config.grid.x as usize * block)?,
            config,
        })
    }

    /// Turns the pieces of both lists, which the two-phase kernels read.
    pub fn transform(&self, stream: &Stream, lists: &mut Lists) -> Result<(), DeviceError> {
        let grid = lists.all.len().div_ceil(128) as u32;
        // SAFETY: `turned` has one element per pose and piece.
        unsafe { launch!(stream, one_phase::transform<<<grid, 128>>>(&lists.all, &self.pieces, &mut lists.turned)) }
    }

    /// Adds up the overlap. [`Reduction::Atomic`] adds it to the previous total.
    pub fn launch(&self, stream: &Stream, variant: Variant, lists: &mut Lists) -> Result<(), DeviceError> {
        let Lists { first, second, turned, totals, config, .. } = lists;
        let LaunchConfig { grid, block, .. } = *config;
        let (pieces, count, reach) = (&self.pieces, self.pieces.len(), self.reach);
        // The modules differ in the arguments for the pieces.
        macro_rules! reduce {
            ($reduction:expr, $module:ident($($argument:expr),*)) => {
                // SAFETY: the grid is of one dimension, there is a total for each of its threads,
                // the shape has no more pieces than fit, and there are as many turned ones for each
                // pose.
                unsafe {
                    match $reduction {
                        Reduction::Interleaved => launch!(stream, one_phase::$module::interleaved<<<grid, block>>>($($argument),*, totals)),
                        Reduction::Sequential => launch!(stream, one_phase::$module::sequential<<<grid, block>>>($($argument),*, totals)),
                        Reduction::Shuffle => launch!(stream, one_phase::$module::shuffle<<<grid, block>>>($($argument),*, totals)),
                        Reduction::Atomic => launch!(stream, one_phase::$module::atomic<<<grid, block>>>($($argument),*, totals)),
                        Reduction::Separate => launch!(stream, one_phase::$module::separate<<<grid, block>>>($($argument),*, totals)),
                    }
                }
            };
        }
        match variant {
            Variant::OnePhase(Placement::Global, reduction) => reduce!(reduction, global(&*first, &*second, pieces, reach)),
            Variant::OnePhase(Placement::Constant, reduction) => reduce!(reduction, constant(&*first, &*second, count, reach)),
            Variant::OnePhase(Placement::Shared, reduction) => reduce!(reduction, shared(&*first, &*second, pieces, reach)),
            Variant::TwoPhase(reduction) => {
                let (mine, its) = turned.as_view().split_at(first.len() * count)?;
                reduce!(reduction, two_phase(&*first, &*second, mine, its, count, reach))
            }
        }
    }

    /// Launches a kernel of the same size that does nothing.
    pub fn nothing(&self, stream: &Stream, lists: &Lists) -> Result<(), DeviceError> {
        let LaunchConfig { grid, block, .. } = lists.config;
        launch!(stream, one_phase::nothing<<<grid, block>>>())
    }

    /// Runs `variant`, with the turning if it needs it, and returns the total overlap.
    pub fn total(&self, stream: &Stream, variant: Variant, lists: &mut Lists) -> Result<f64, DeviceError> {
        stream.fill_zero(&mut lists.totals)?;
        if let Variant::TwoPhase(_) = variant {
            self.transform(stream, lists)?;
        }
        self.launch(stream, variant, lists)?;
        let totals = stream.download_vec(&lists.totals)?;
        stream.fill_zero(&mut lists.totals)?;
        Ok(totals.iter().sum())
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        // An error is ignored: after a fault nothing reads the constant any more.
        _ = self.device.synchronize();
    }
}

impl Lists {
    /// Returns the size of a launch.
    pub fn config(&self) -> LaunchConfig {
        self.config
    }
}
