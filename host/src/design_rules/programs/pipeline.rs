//! A double-buffered pipeline, as this library's [`Engine`](crate::engine::Engine) had it, with its blocks' steps as
//! operations: a GPU computes a block of a matrix while the one before is downloaded and the one before that is put in
//! place.
//!
//! The matrix is that of all L₁ distances of a set of piecewise constant functions ([`pcf`]). A rank has some of its
//! rows, in blocks of rows; ranks send each other nothing. Block i goes through three operations: `Compute_i`, a kernel
//! that writes to an array of the GPU; `Download_i`, a copy to page-locked memory of the host; and `Write_i`, the copy
//! from there to the block's place, by the host. There are two arrays on each side, so that block i + 2 waits for block
//! i: `Compute_i+2` for `Download_i`, and `Download_i+2` for `Write_i`.
//!
//! Four blocks have 2,956,096 schedules on one stream, 4.8·10¹⁰ on two and 1.2·10¹² on three. No rank waits for
//! another, so that there is nothing to deadlock.

use std::ops::Range;
use std::sync::{Arc, OnceLock, RwLock};

use rayon::prelude::*;

use super::super::dag::{MAX_OPERATIONS, too_many};
use super::super::platform::{Program, Setup};
use super::super::{Dag, OpId, RulesError};
use super::{nan, read, write};
use crate::device::{Buffer, Device, MappedBuffer, Stream};
use crate::engine::{Block, HostMatrix, Writer as _, dense_len, zeroed_vec};
use crate::pcf::{self, PcfReal, PcfSet, ResidentRows};
use crate::ranks::Communicator;

/// How many blocks there are where nothing else is asked for.
pub const BLOCKS: usize = 4;

/// Arrays on each side.
const SLOTS: usize = 2;

/// What an operation does with its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Action {
    Compute,
    Download,
    Write,
}

impl Action {
    const ALL: [Self; 3] = [Self::Compute, Self::Download, Self::Write];

    /// What an operation of a program of this many blocks does, and with which; the end does nothing.
    pub(in super::super) fn of(op: OpId, blocks: usize) -> Option<(Self, usize)> {
        let (block, action) = (op.index() / Self::ALL.len(), op.index() % Self::ALL.len());
        (block < blocks).then_some((Self::ALL[action], block))
    }

    fn name(self, block: usize) -> String {
        format!("{self:?}_{block}")
    }
}

/// The operations and dependences of this many blocks.
///
/// # Errors
/// [`RulesError::Dag`] for no blocks, and for more than 21, which are more operations than a program may have.
pub fn dag(blocks: usize) -> Result<Dag, RulesError> {
    use Action::{Compute, Download, Write};
    let operations = blocks.saturating_mul(Action::ALL.len());
    if operations >= MAX_OPERATIONS {
        return Err(too_many("pipeline", operations));
    }
    let mut dag = Dag::builder("pipeline");
    for block in 0..blocks {
        dag = dag.gpu(Compute.name(block)).gpu(Download.name(block)).cpu(Write.name(block));
        dag = dag.edge(Compute.name(block), Download.name(block)).edge(Download.name(block), Write.name(block));
        if let Some(before) = block.checked_sub(SLOTS) {
            dag = dag.edge(Download.name(before), Compute.name(block)).edge(Write.name(before), Download.name(block));
        }
    }
    dag.build()
}

/// Which of all rows a rank computes, and how many of them are a block.
pub(in super::super) fn share(functions: usize, blocks: usize, ranks: usize, rank: usize) -> (Range<usize>, usize) {
    let start = |rank: usize| (functions as u128 * rank as u128 / ranks as u128) as usize;
    let rows = start(rank)..start(rank + 1);
    let side = rows.len().div_ceil(blocks).max(1);
    (rows, side)
}

/// The matrix of the L₁ distances of random functions, in `f32` or `f64`.
///
/// Every schedule's matrix can be checked against distances computed on the host, within the bound of
/// [`Pairwise`](crate::pcf::Pairwise).
#[derive(Clone, Debug)]
pub struct DistanceMatrix<T: PcfReal> {
    set: Arc<PcfSet<T>>,
    dag: Dag,
    blocks: usize,
}

impl<T: PcfReal> DistanceMatrix<T> {
    /// Of this many functions with this many breakpoints each, and with this many blocks per rank. The numbers of
    /// functions' seed is fixed.
    ///
    /// # Errors
    /// [`RulesError::Dag`] as [`dag`]; [`RulesError::Setup`] for no functions; [`RulesError::Pcf`] for a number of
    /// breakpoints that [`uniform`](crate::pcf::random::uniform) doesn't take.
    pub fn new(functions: usize, points: usize, blocks: usize) -> Result<Self, RulesError> {
        let dag = dag(blocks)?;
        if functions == 0 {
            return Err(RulesError::Setup("a matrix of distances takes at least one function".to_owned()));
        }
        let set = Arc::new(pcf::random::uniform(functions, points, 1)?);
        Ok(DistanceMatrix { set, dag, blocks })
    }
}

impl<T: PcfReal> Setup for DistanceMatrix<T> {
    /// # Errors
    /// [`RulesError::Setup`] where there are more blocks than rows; what the device says, and [`RulesError::Engine`]
    /// where the host has too little memory.
    fn rank(&self, device: &Device, ranks: &Arc<dyn Communicator>) -> Result<Box<dyn Program>, RulesError> {
        let functions = self.set.len();
        let (size, all) = (ranks.size(), ranks.size().saturating_mul(self.blocks));
        if functions < all {
            let reason = format!("{functions} functions are too few for {} blocks on each of {size} ranks", self.blocks);
            return Err(RulesError::Setup(reason));
        }
        let (rows, side) = share(functions, self.blocks, size, ranks.rank());
        let slot = || -> Result<Slot<T>, RulesError> {
            let entries = dense_len(side, functions)?;
            Ok(Slot { output: RwLock::new(device.alloc_zeroed(entries)?), host: RwLock::new(device.mapped(entries)?) })
        };
        Ok(Box::new(Pipeline {
            dag: self.dag.clone(),
            blocks: self.blocks,
            stream: device.stream()?,
            functions: ResidentRows::new(device, &self.set, rows.clone(), side)?,
            slots: [slot()?, slot()?],
            matrix: RwLock::new(zeroed_vec(dense_len(rows.len(), functions)?)?),
            set: self.set.clone(),
            rows,
            reference: OnceLock::new(),
        }))
    }
}

/// One rank's part.
struct Pipeline<T: PcfReal> {
    dag: Dag,
    blocks: usize,
    /// For what is not part of a schedule.
    stream: Stream,
    functions: ResidentRows<T>,
    slots: [Slot<T>; SLOTS],
    /// The rank's rows of the matrix.
    matrix: RwLock<Vec<T>>,
    set: Arc<PcfSet<T>>,
    rows: Range<usize>,
    /// What the matrix must be, once it was asked for.
    reference: OnceLock<Vec<T>>,
}

/// What blocks go through, in turns.
struct Slot<T: PcfReal> {
    output: RwLock<Buffer<T>>,
    host: RwLock<MappedBuffer<T>>,
}

impl<T: PcfReal> Pipeline<T> {
    /// What an operation does, with which block, and by way of which arrays. Nothing where rows are too few for the
    /// block to have some.
    fn action(&self, op: OpId) -> Option<(Action, &Block, &Slot<T>)> {
        let (action, index) = Action::of(op, self.blocks)?;
        let block = self.functions.blocks().get(index)?;
        Some((action, block, &self.slots[index % SLOTS]))
    }

    /// Puts a downloaded block in its place.
    fn write(&self, block: &Block, slot: &Slot<T>) -> Result<(), RulesError> {
        let host = read(&slot.host);
        // SAFETY: only downloads write it: the block's own, which is done, as an edge says, and the next one's, which
        // comes after this.
        let entries = unsafe { host.as_slice() };
        let rows = block.rows.start - self.rows.start..block.rows.end - self.rows.start;
        let mut matrix = write(&self.matrix);
        let dense = HostMatrix::full(self.rows.len(), self.set.len(), &mut matrix)?;
        Ok(dense.scatter(&Block { rows, cols: block.cols.clone() }, &entries[..block.entries()])?)
    }

    fn reference(&self) -> &[T] {
        self.reference.get_or_init(|| {
            let row = |f: usize| {
                let distance = move |g: usize| pcf::lp_distance(self.set.get(f), self.set.get(g), 1.0);
                (0..self.set.len()).map(move |g| distance(g).expect("1 is an exponent"))
            };
            self.rows.clone().into_par_iter().flat_map_iter(row).collect()
        })
    }
}

impl<T: PcfReal> Program for Pipeline<T> {
    fn dag(&self) -> &Dag {
        &self.dag
    }

    fn cpu(&self, op: OpId) -> Result<(), RulesError> {
        match self.action(op) {
            Some((Action::Write, block, slot)) => self.write(block, slot),
            _ => Ok(()),
        }
    }

    fn gpu(&self, op: OpId, stream: &Stream) -> Result<(), RulesError> {
        match self.action(op) {
            Some((Action::Compute, block, slot)) => {
                let mut output = write(&slot.output);
                self.functions.enqueue(stream, block, output.view_mut(..block.entries())?)?;
            }
            Some((Action::Download, block, slot)) => {
                let (output, mut host) = (read(&slot.output), write(&slot.host));
                let host = host.as_view_mut().into_view_mut(..block.entries())?;
                stream.copy(output.view(..block.entries())?, host)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn reset(&self) -> Result<(), RulesError> {
        for Slot { output, host } in &self.slots {
            self.stream.fill(&mut *write(output), nan::<T>())?;
            self.stream.synchronize()?;
            let mut host = write(host);
            // SAFETY: nothing is under way.
            unsafe { host.as_mut_slice() }.fill(nan());
        }
        write(&self.matrix).fill(nan());
        Ok(())
    }

    fn difference(&self) -> Result<Option<String>, RulesError> {
        let (matrix, reference) = (read(&self.matrix), self.reference());
        let points = self.set.lengths().max().unwrap_or(0);
        // The kernel's distance and the host's are each within (m + n + 2) u of the exact one.
        let bound = (2 * points + 2) as f64 * T::UNIT_ROUNDOFF;
        let bound = 2.0 * bound / (1.0 - bound);
        let wrong = |&index: &usize| {
            let (found, expected) = (matrix[index].to_f64(), reference[index].to_f64());
            let is_right = (found - expected).abs() <= bound * expected;
            // So NaN is wrong, too.
            !is_right
        };
        let first = (0..matrix.len()).into_par_iter().find_first(wrong);
        Ok(first.map(|index| {
            let (row, column) = (self.rows.start + index / self.set.len(), index % self.set.len());
            format!("the distance of {row} and {column} is {}, but should be {}", matrix[index], reference[index])
        }))
    }
}
