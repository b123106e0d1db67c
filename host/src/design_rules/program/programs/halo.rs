//! A step of the heat equation on a three-dimensional grid over ranks, with the exchange of ghost cells ("halo") that
//! it takes: the program that the paper names next (section VI).
//!
//! # The program
//! Each rank has a brick of cells with a layer of ghost cells, and computes the explicit Euler step with the 7-point
//! Laplacian. `Interior` is the step of the cells that need no ghost cells, `Boundary` that of the outermost ones. In
//! each dimension d (x, y, z), `Pack_d` collects both faces in an array, which goes to the neighbours, and `Unpack_d`
//! puts what came from them into the ghost cells. A cell of the stencil is a neighbour across a face, so that the ghost
//! cells along edges are not needed and the dimensions don't wait for each other.
//!
//! The grid has ends, and beyond them fixed values (Dirichlet). With two ranks in a dimension, a
//! rank has one neighbour there, not the same one twice. With one rank, it has no neighbour, and
//! the dimension's operations are empty. [`Decomposition`] finds the neighbours; only from 8 ranks
//! on do all dimensions have some.
//!
//! # Granularity
//! The messages of a dimension have operations of their own, as the paper suggests. The exception
//! is one `WaitSend`: only the end waits for sends, so three of them would make the space hundreds
//! of times larger, by schedules that hardly differ in what can overlap.
//!
//! There are 4.5·10¹³ schedules on one stream, 1.9·10¹⁷ on two and 3.5·10¹⁸ on three, all counted
//! in less than a second. With one post and one wait per dimension, there would be 5·10¹² on two
//! streams, but no order of `PostRecv` and `PostSend`, which the paper's rules name.
//!
//! # No schedule deadlocks
//! All ranks do the same steps in the same order. Suppose that some wait for ever, and take the
//! first step in which a rank does so. Streams wait only for work that was enqueued before, on the
//! same rank, so the step is `WaitRecv_d` or `WaitSend`. In every schedule, `PostSend_d` and
//! `PostRecv_d` come before it: of its dimension, or of all. No rank is stuck before this step, so
//! all ranks reach these posts, the neighbours included. Then both ends of each message that the
//! rank waits for are posted, and MPI completes it (its rule of progress). Without the edges from
//! `PostSend_d` to `WaitRecv_d` and from `PostRecv_d` to `WaitSend`, some schedules deadlock: each
//! rank waits for a message that the others would post next.

mod grid;

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use gpu_kernels::halo::{Brick, MAX_EXTENT, faces, stencil};

use super::{nan, read, write};
use crate::design_rules::program::{Exchange, Messages, Program, Setup, Staging};
use crate::design_rules::{Dag, OpId, RulesError};
use crate::device::{Buffer, Device, LaunchConfig, Stream};
use crate::launch;
use crate::ranks::Communicator;

pub use grid::Decomposition;
use grid::{Place, RATE};

/// Threads of a block, but of `stencil::interior`.
const THREADS: u32 = 256;

/// The action of an operation; `usize` is its dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::design_rules) enum Action {
    Interior,
    Pack(usize),
    PostRecv(usize),
    PostSend(usize),
    WaitRecv(usize),
    Unpack(usize),
    WaitSend,
    Boundary,
}

impl Action {
    /// Returns the actions of all operations in order, without the end, which has no action.
    pub(in crate::design_rules) fn all() -> Vec<Self> {
        use Action::{Boundary, Interior, Pack, PostRecv, PostSend, Unpack, WaitRecv, WaitSend};
        let exchange = |d| [Pack(d), PostRecv(d), PostSend(d), WaitRecv(d), Unpack(d)];
        std::iter::once(Interior).chain((0..3).flat_map(exchange)).chain([WaitSend, Boundary]).collect()
    }

    fn name(self) -> String {
        match self {
            Action::Interior | Action::WaitSend | Action::Boundary => format!("{self:?}"),
            Action::Pack(d) => in_dimension("Pack", d),
            Action::PostRecv(d) => in_dimension("PostRecv", d),
            Action::PostSend(d) => in_dimension("PostSend", d),
            Action::WaitRecv(d) => in_dimension("WaitRecv", d),
            Action::Unpack(d) => in_dimension("Unpack", d),
        }
    }
}

fn in_dimension(name: &str, d: usize) -> String {
    format!("{name}_{}", ["x", "y", "z"][d])
}

/// Its operations and dependences.
pub fn dag() -> Dag {
    let mut dag = Dag::builder("halo");
    for action in Action::all() {
        let is_gpu = matches!(action, Action::Interior | Action::Pack(_) | Action::Unpack(_) | Action::Boundary);
        dag = if is_gpu { dag.gpu(action.name()) } else { dag.cpu(action.name()) };
    }
    for d in 0..3 {
        let name = |name: &str| in_dimension(name, d);
        dag = dag
            .edge(name("Pack"), name("PostSend"))
            .edge(name("PostSend"), name("WaitRecv"))
            .edge(name("PostRecv"), name("WaitRecv"))
            .edge(name("PostSend"), "WaitSend")
            .edge(name("PostRecv"), "WaitSend")
            .edge(name("WaitRecv"), name("Unpack"))
            .edge(name("Unpack"), "Boundary");
    }
    dag.build().expect("the operations are known and form no cycle")
}

/// A step of the heat equation, in `f64`: next = here + (the sum of the six neighbours - 6 here) / 8.
///
/// Every invocation computes the same step again, from values that are integers below 2²⁰, so that results are exact
/// and can be checked bit for bit.
#[derive(Clone, Copy, Debug)]
pub struct HeatStep {
    brick: Brick,
    staging: Staging,
}

impl HeatStep {
    /// With this many cells per rank in x, y and z: with more ranks the grid is larger. A rank takes 16 bytes of the
    /// device's memory for a cell.
    ///
    /// # Errors
    /// [`RulesError::Setup`] where an extent is 0 or above 16,384.
    pub fn new(cells: [usize; 3], staging: Staging) -> Result<Self, RulesError> {
        Ok(HeatStep { brick: brick(cells)?, staging })
    }
}

/// Numbers that describe the bricks of the ranks, by name.
pub fn numbers(ranks: usize, cells: [usize; 3]) -> BTreeMap<String, f64> {
    let cells = ["x", "y", "z"].iter().zip(cells).map(|(d, cells)| (format!("cells in {d}"), cells as f64));
    cells.chain([("ranks".to_owned(), ranks as f64)]).collect()
}

/// A brick of this many cells in x, y and z.
pub(in crate::design_rules) fn brick(cells: [usize; 3]) -> Result<Brick, RulesError> {
    if let Some(odd) = cells.iter().find(|&&extent| extent == 0 || extent > MAX_EXTENT as usize) {
        let [x, y, z] = cells;
        return Err(RulesError::Setup(format!("a brick of {x} x {y} x {z} cells: {odd} is not from 1 to {MAX_EXTENT}")));
    }
    let [nx, ny, nz] = cells.map(|extent| extent as u32);
    Ok(Brick { nx, ny, nz })
}

impl Setup for HeatStep {
    /// # Errors
    /// What the device says, and [`RulesError::Setup`] where the host has too little memory.
    fn numbers(&self, ranks: usize) -> Result<BTreeMap<String, f64>, RulesError> {
        let Brick { nx, ny, nz } = self.brick;
        Ok(numbers(ranks, [nx, ny, nz].map(|extent| extent as usize)))
    }

    fn rank(&self, device: &Device, ranks: &Arc<dyn Communicator>) -> Result<Box<dyn Program>, RulesError> {
        let division = Decomposition::new(ranks.size());
        let at = division.coordinates(ranks.rank());
        let neighbours = division.neighbours(ranks.rank());
        let exchange = |d: usize| Faces::new(device, &**ranks, d, self.brick.face_len(d as u32), neighbours[d], self.staging);
        let extents = [self.brick.nx, self.brick.ny, self.brick.nz].map(i64::from);
        let place = Place { origin: std::array::from_fn(|d| at[d] as i64 * extents[d]), brick: self.brick };
        let stream = device.stream()?;
        Ok(Box::new(Halo {
            dag: dag(),
            actions: Action::all(),
            cells: RwLock::new(device.upload(&place.values(neighbours)?)?),
            next: RwLock::new(device.alloc_zeroed(self.brick.padded_len())?),
            faces: [exchange(0)?, exchange(1)?, exchange(2)?],
            place,
            stream,
        }))
    }
}

/// One rank's part.
struct Halo {
    dag: Dag,
    /// By operation.
    actions: Vec<Action>,
    /// For what is not part of a schedule.
    stream: Stream,
    place: Place,
    /// The faces sent and received in each dimension.
    faces: [Faces; 3],
    /// Before the step, and after it; both with ghost cells.
    cells: RwLock<Buffer<f64>>,
    next: RwLock<Buffer<f64>>,
}

/// The faces that are exchanged in a dimension: of those on both sides that have a neighbour, one after the other.
struct Faces {
    exchange: Exchange<f64>,
    len: usize,
    /// 1 where only the one away from 0 has a neighbour.
    first: u32,
}

impl Faces {
    fn new(
        device: &Device,
        ranks: &dyn Communicator,
        dimension: usize,
        face: u32,
        neighbours: [Option<usize>; 2],
        staging: Staging,
    ) -> Result<Self, RulesError> {
        let face = face as usize;
        // A face goes to where one comes from.
        let messages: Vec<_> =
            neighbours.iter().flatten().enumerate().map(|(index, &rank)| (rank, index * face..(index + 1) * face)).collect();
        let len = messages.len() * face;
        let messages = Messages { sends: messages.clone(), receives: messages };
        // SAFETY: of the program's operations, only Pack_d writes the sent array, and only Unpack_d
        // reads the received one, on a stream or the CPU's threads. PostSend_d comes after Pack_d,
        // and Unpack_d after WaitRecv_d. The end comes after WaitSend and after Boundary, which
        // comes after all of Unpack_d; the next invocation comes after the end. Results are
        // overwritten and compared between invocations.
        let exchange = unsafe { Exchange::new(device, ranks, dimension as u16, &messages, staging)? };
        let first = u32::from(neighbours[0].is_none());
        Ok(Faces { exchange, len, first })
    }
}

impl Halo {
    fn pack(&self, stream: &Stream, d: usize) -> Result<(), RulesError> {
        let Faces { exchange, len, first } = &self.faces[d];
        let (Brick { nx, ny, nz }, grid) = (self.place.brick, LaunchConfig::for_elements(*len, THREADS).grid);
        let cells = read(&self.cells);
        // SAFETY: the cells are the brick's, and the program writes only their ghost cells; there
        // are as many faces as `first` says.
        Ok(exchange.to_send(|mut faces| unsafe {
            launch!(stream, faces::pack<<<grid, THREADS>>>(&*cells, &mut faces, nx, ny, nz, d as u32, *first))
        })?)
    }

    fn unpack(&self, stream: &Stream, d: usize) -> Result<(), RulesError> {
        let Faces { exchange, len, first } = &self.faces[d];
        let (Brick { nx, ny, nz }, grid) = (self.place.brick, LaunchConfig::for_elements(*len, THREADS).grid);
        let mut cells = write(&self.cells);
        // SAFETY: the cells are the brick's, and there are as many faces as `first` says. But for this, only Boundary
        // reads these ghost cells, which comes after, and before the next invocation.
        Ok(exchange.received(|faces| unsafe {
            launch!(stream, faces::unpack<<<grid, THREADS>>>(&faces, &mut *cells, nx, ny, nz, d as u32, *first))
        })?)
    }

    fn interior(&self, stream: &Stream) -> Result<(), RulesError> {
        let Brick { nx, ny, nz } = self.place.brick;
        let grid = stencil::interior_grid(self.place.brick);
        let (cells, mut next) = (read(&self.cells), write(&self.next));
        // SAFETY: both are the brick's; the program writes ghost cells of the one only, and inner cells of the other
        // only here.
        unsafe { launch!(stream, stencil::interior<<<grid, stencil::TILE>>>(&*cells, &mut *next, nx, ny, nz, RATE)) }?;
        Ok(())
    }

    fn boundary(&self, stream: &Stream) -> Result<(), RulesError> {
        let Brick { nx, ny, nz } = self.place.brick;
        let grid = LaunchConfig::for_elements(self.place.brick.shell_len() as usize, THREADS).grid;
        let (cells, mut next) = (read(&self.cells), write(&self.next));
        // SAFETY: both are the brick's; Boundary comes after all that writes ghost cells of the one, and writes
        // outermost cells of the other, which nothing else does.
        unsafe { launch!(stream, stencil::shell<<<grid, THREADS>>>(&*cells, &mut *next, nx, ny, nz, RATE)) }?;
        Ok(())
    }
}

impl Program for Halo {
    fn dag(&self) -> &Dag {
        &self.dag
    }

    fn cpu(&self, op: OpId) -> Result<(), RulesError> {
        let link = |d: usize| self.faces[d].exchange.link();
        match self.actions.get(op.index()) {
            Some(&Action::PostRecv(d)) => link(d).post_receives()?,
            Some(&Action::PostSend(d)) => link(d).post_sends()?,
            Some(&Action::WaitRecv(d)) => link(d).wait_receives()?,
            Some(Action::WaitSend) => (0..3).try_for_each(|d| link(d).wait_sends())?,
            _ => {}
        }
        Ok(())
    }

    fn gpu(&self, op: OpId, stream: &Stream) -> Result<(), RulesError> {
        match self.actions.get(op.index()) {
            Some(Action::Interior) => self.interior(stream),
            Some(Action::Boundary) => self.boundary(stream),
            Some(&Action::Pack(d)) => self.pack(stream, d),
            Some(&Action::Unpack(d)) => self.unpack(stream, d),
            _ => Ok(()),
        }
    }

    fn reset(&self) -> Result<(), RulesError> {
        for (d, faces) in self.faces.iter().enumerate() {
            faces.exchange.fill(&self.stream, nan())?;
            self.unpack(&self.stream, d)?;
        }
        self.stream.fill(&mut *write(&self.next), nan::<f64>())?;
        Ok(self.stream.synchronize()?)
    }

    fn difference(&self) -> Result<Option<String>, RulesError> {
        let next = self.stream.download_vec(&*read(&self.next))?;
        Ok(self.place.difference(&next))
    }

    fn details(&self) -> String {
        // All three are alike.
        self.faces[0].exchange.place(self.stream.device()).to_owned()
    }
}
