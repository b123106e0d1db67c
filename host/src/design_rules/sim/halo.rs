//! The exchange of ghost cells of [`programs::halo`](super::super::programs::halo), as a workload.

use gpu_kernels::halo::{Brick, stencil::PLANES};

use super::super::platform::Staging;
use super::super::programs::halo::{self, Action, Decomposition};
use super::super::{Dag, OpId, RulesError};
use super::{MessageSize, Task, Workload};

/// The bytes of a cell.
const CELL: u64 = 8;

/// The least that memory gives: cells across a row are that far apart at least.
const SECTOR: u64 = 32;

/// A step of the heat equation, with bricks of equal size.
///
/// Through the host, `Pack` is a kernel and a copy to the host, and `Unpack` a copy to the device
/// and a kernel. Otherwise both are kernels only, and the machine's network is that between GPUs.
/// Kernels read and write each cell once, except cells across a row: their sectors of 32 bytes are
/// moved as a whole.
#[derive(Clone, Debug)]
pub struct HaloModel {
    dag: Dag,
    actions: Vec<Action>,
    ranks: usize,
    division: Decomposition,
    brick: Brick,
    on_device: bool,
}

impl HaloModel {
    /// This many ranks (at least one), with this many cells each in x, y and z.
    ///
    /// # Errors
    /// [`RulesError::Setup`] where an extent is 0 or above 16,384.
    pub fn new(ranks: usize, cells: [usize; 3]) -> Result<Self, RulesError> {
        let (ranks, brick) = (ranks.max(1), halo::brick(cells)?);
        let division = Decomposition::new(ranks);
        Ok(HaloModel { dag: halo::dag(), actions: Action::all(), ranks, division, brick, on_device: false })
    }

    /// With messages where this says; [`Staging::Auto`] is the host's memory.
    pub fn with_staging(mut self, staging: Staging) -> Self {
        self.on_device = staging == Staging::Device;
        self
    }

    /// The cells of a face.
    fn face(&self, d: usize) -> u64 {
        u64::from(self.brick.face_len(d as u32))
    }

    /// The messages of a rank in a dimension: as many go out as come in.
    fn messages(&self, rank: usize, d: usize) -> Vec<MessageSize> {
        let bytes = CELL * self.face(d);
        self.division.neighbours(rank)[d].iter().flatten().map(|&rank| MessageSize { rank, bytes }).collect()
    }

    /// The kernel that copies between the brick and as many cells in an array as the messages have, and the bytes of
    /// these.
    fn copy(&self, rank: usize, d: usize) -> Option<(Task, u64)> {
        let threads = self.messages(rank, d).len() as u64 * self.face(d);
        let in_brick = if d == 0 { SECTOR } else { CELL };
        let bytes = threads * CELL;
        (threads > 0).then_some((Task::MemoryKernel { bytes: bytes + threads * in_brick, threads }, bytes))
    }

    /// The step of the inner cells, which reads all.
    fn interior(&self) -> Vec<Task> {
        let Brick { nx, ny, nz } = self.brick;
        let [x, y, z] = [nx, ny, nz].map(|extent| u64::from(extent.saturating_sub(2)));
        if x * y * z == 0 {
            return Vec::new();
        }
        let all = self.brick.cells() as u64;
        vec![Task::MemoryKernel { bytes: CELL * (all + x * y * z), threads: x * y * z.div_ceil(u64::from(PLANES)) }]
    }

    /// The step of the outermost cells: each, the ones before and behind it across its face, and the result.
    fn boundary(&self) -> Task {
        let [planes, walls, ends] = self.brick.shell().map(u64::from);
        // In a row, a cell and those beside it are in one sector, mostly.
        Task::MemoryKernel { bytes: 4 * CELL * (planes + walls) + 2 * SECTOR * ends, threads: planes + walls + ends }
    }
}

impl Workload for HaloModel {
    fn dag(&self) -> &Dag {
        &self.dag
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn work(&self, rank: usize, op: OpId) -> Vec<Task> {
        match self.actions.get(op.index()) {
            Some(Action::Interior) => self.interior(),
            Some(Action::Boundary) => vec![self.boundary()],
            Some(&Action::Pack(d)) => self.copy(rank, d).map_or_else(Vec::new, |(kernel, bytes)| {
                let copy = (!self.on_device).then_some(Task::CopyToHost { bytes });
                [kernel].into_iter().chain(copy).collect()
            }),
            Some(&Action::Unpack(d)) => self.copy(rank, d).map_or_else(Vec::new, |(kernel, bytes)| {
                let copy = (!self.on_device).then_some(Task::CopyToDevice { bytes });
                copy.into_iter().chain([kernel]).collect()
            }),
            Some(&Action::PostRecv(d)) => vec![Task::PostReceive { exchange: d, messages: self.messages(rank, d) }],
            Some(&Action::PostSend(d)) => vec![Task::PostSend { exchange: d, messages: self.messages(rank, d) }],
            Some(&Action::WaitRecv(d)) => vec![Task::WaitReceive { exchange: d }],
            Some(Action::WaitSend) => (0..3).map(|exchange| Task::WaitSend { exchange }).collect(),
            None => Vec::new(),
        }
    }
}
