//! The program to schedule: its operations, and which must be done before which.

mod build;
mod draft;
mod exchange;
mod file;
mod orders;
pub mod programs;
mod run;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use build::DagBuilder;
pub use draft::{Draft, DraftOperation};
pub use exchange::{Exchange, Messages, Staging};
pub use orders::Orders;
pub(super) use run::guarded;
pub use run::{Program, Setup};

/// The most operations that a program may have, so that a set of them is one word.
pub const MAX_OPERATIONS: usize = 64;

/// The most choices that a program may have, settings among them.
pub const MAX_CHOICES: usize = 256;

/// The most alternatives that a choice may have.
pub const MAX_ALTERNATIVES: usize = 4096;

/// The name of the vertex before all others. It takes no time and stands in no schedule.
pub const START: &str = "start";

/// The name of the CPU operation after all others: when it is reached, everything is done.
pub const END: &str = "end";

/// The processor that runs an operation (the paper's Table II).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The host's thread, which goes on when the operation is done.
    Cpu,
    /// A stream of the GPU. The host's thread goes on at once.
    Gpu,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Cpu => "CPU",
            Kind::Gpu => "GPU",
        })
    }
}

/// The number of an operation: its position among those that the program's author names. [`END`] is
/// the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub(super) u8);

impl OpId {
    /// Its place among the program's operations, from 0.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    pub(super) fn bit(self) -> u64 {
        1 << self.0
    }
}

/// A program: CPU and GPU operations and their dependences, a directed acyclic graph (the paper's section III-A).
///
/// Some operations may be *alternatives*: a schedule contains one of them. A [`Choice`] takes the
/// place of an operation in the graph, and each of its alternatives is one or several operations.
/// [`operations`](Self::operations) and [`edges`](Self::edges) include those of all alternatives.
///
/// [`START`] is implied; [`END`] is added: a CPU operation after every operation that none follows.
///
/// ```
/// use warpsmith::design_rules::Dag;
///
/// let dag = Dag::builder("axpy")
///     .gpu("scale")
///     .gpu("add")
///     .cpu("report")
///     .edge("scale", "add")
///     .edge("add", "report")
///     .build()?;
/// assert_eq!(dag.len(), 4); // with `end`
/// # Ok::<(), warpsmith::design_rules::RulesError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dag {
    name: String,
    operations: Vec<Operation>,
    choices: Vec<Choice>,
    /// The operations of the GPU, as a set.
    gpu: u64,
    /// Buffers that operations read and write, if they state them.
    accesses: Vec<Access>,
}

/// An access of an operation to data.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Access {
    operation: usize,
    data: String,
    writes: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Operation {
    name: String,
    kind: Kind,
    /// The places of its choice, and of its alternative among that choice's.
    part: Option<(usize, usize)>,
    predecessors: u64,
    successors: u64,
}

/// A part of a program that can be done in one of several ways, such as by one of two kernels. Each
/// schedule contains one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    name: String,
    alternatives: Vec<Alternative>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Alternative {
    name: String,
    /// Its operations: none of a setting's, and otherwise at least one.
    operations: u64,
}

impl Choice {
    /// Its name. An alternative of one operation has it, too, so that `y_L before add` is the same feature whatever
    /// `y_L` is.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of its alternatives in order, two or more.
    pub fn alternatives(&self) -> impl ExactSizeIterator<Item = &str> {
        self.alternatives.iter().map(|alternative| &*alternative.name)
    }

    /// Returns true if its alternatives have no operations: the program makes it before it runs a schedule.
    pub fn is_setting(&self) -> bool {
        self.alternatives.iter().all(|alternative| alternative.operations == 0)
    }

    /// The operations that are in no schedule with this alternative.
    pub(super) fn others(&self, alternative: usize) -> u64 {
        let others = self.alternatives.iter().enumerate().filter(|&(index, _)| index != alternative);
        others.fold(0, |set, (_, other)| set | other.operations)
    }
}

/// The members of a set, ascending.
pub(super) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(next)
    })
}

impl Dag {
    /// The program's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of operations, the end included.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Returns `false`: every program has an end.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// All operations in order; the end is the last.
    pub fn operations(&self) -> impl Iterator<Item = OpId> {
        (0..self.operations.len()).map(|index| OpId(index as u8))
    }

    /// The end.
    pub fn end(&self) -> OpId {
        OpId((self.operations.len() - 1) as u8)
    }

    /// An operation's name.
    pub fn name_of(&self, op: OpId) -> &str {
        &self.operations[op.index()].name
    }

    /// Returns the choices, in the order of their first names.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// The choice and the alternative that an operation belongs to, if it does.
    pub fn alternative_of(&self, op: OpId) -> Option<(&str, &str)> {
        let (choice, alternative) = self.operations[op.index()].part?;
        let choice = &self.choices[choice];
        Some((&choice.name, &choice.alternatives[alternative].name))
    }

    /// A name that no other operation has: `Pack`, or `y_L=tiles/y_L` for the operation `y_L` of the choice `y_L`'s
    /// alternative `tiles`.
    pub fn label(&self, op: OpId) -> String {
        let name = self.name_of(op);
        self.alternative_of(op).map_or(name.to_owned(), |(choice, alternative)| format!("{choice}={alternative}/{name}"))
    }

    /// Returns the processor that runs an operation.
    pub fn kind(&self, op: OpId) -> Kind {
        self.operations[op.index()].kind
    }

    /// The operation of this name; the first alternative's where several have it.
    pub fn find(&self, name: &str) -> Option<OpId> {
        self.operations().find(|&op| self.name_of(op) == name)
    }

    /// Returns the operations that `op` depends on.
    pub fn predecessors(&self, op: OpId) -> impl Iterator<Item = OpId> {
        bits(self.predecessor_set(op)).map(|index| OpId(index as u8))
    }

    /// Returns the operations that depend on `op`.
    pub fn successors(&self, op: OpId) -> impl Iterator<Item = OpId> {
        bits(self.successor_set(op)).map(|index| OpId(index as u8))
    }

    /// All dependences, in the order of their first operation.
    pub fn edges(&self) -> impl Iterator<Item = (OpId, OpId)> {
        self.operations().flat_map(|u| self.successors(u).map(move |v| (u, v)))
    }

    /// Number of dependences between the program's operations, without those of the end.
    pub fn dependences(&self) -> usize {
        self.edges().filter(|&(_, v)| v != self.end()).count()
    }

    /// The operations of the GPU.
    pub fn gpu_operations(&self) -> impl Iterator<Item = OpId> {
        self.operations().filter(|&op| self.kind(op) == Kind::Gpu)
    }

    /// The operations of the GPU, as a set.
    pub(super) fn gpu_set(&self) -> u64 {
        self.gpu
    }

    pub(super) fn predecessor_set(&self, op: OpId) -> u64 {
        self.operations[op.index()].predecessors
    }

    pub(super) fn successor_set(&self, op: OpId) -> u64 {
        self.operations[op.index()].successors
    }

    /// The program as text: its operations by [label](Self::label) with their kinds, and its edges. Equal texts are
    /// equal programs.
    pub fn signature(&self) -> String {
        let operations: Vec<_> = self
            .operations()
            .map(|op| format!("{}:{}", self.label(op), if self.kind(op) == Kind::Gpu { "g" } else { "c" }))
            .collect();
        let edges: Vec<_> = self.edges().map(|(u, v)| format!("{}>{}", self.label(u), self.label(v))).collect();
        let setting = |choice: &Choice| format!(" {}={}", choice.name, choice.alternatives().collect::<Vec<_>>().join("|"));
        let settings: String = self.choices.iter().filter(|choice| choice.is_setting()).map(setting).collect();
        format!("{} {}{settings}", operations.join(","), edges.join(","))
    }
}
