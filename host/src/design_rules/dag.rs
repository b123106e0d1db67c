//! The program to schedule: its operations, and which must be done before which.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::RulesError;
use crate::files::FileError;
use crate::read::{brief, text};

/// The most operations that a program may have, so that a set of them is one word.
pub const MAX_OPERATIONS: usize = 64;

/// The name of the vertex before all others. It takes no time and stands in no schedule.
pub const START: &str = "start";

/// The name of the CPU operation after all others: when it is reached, everything is done.
pub const END: &str = "end";

/// What runs an operation (the paper's Table II).
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

/// The number of an operation, in the order in which the program's author names them; [`END`] is the last.
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
    /// Those of the GPU.
    gpu: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Operation {
    name: String,
    kind: Kind,
    predecessors: u64,
    successors: u64,
}

/// A program as JSON has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    name: Option<String>,
    operations: Vec<DescribedOperation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribedOperation {
    name: String,
    kind: Kind,
    #[serde(default)]
    after: Vec<String>,
}

/// Collects a program's operations and dependences; made by [`Dag::builder`].
#[derive(Clone, Debug)]
pub struct DagBuilder {
    name: String,
    operations: Vec<(String, Kind)>,
    edges: Vec<(String, String)>,
}

impl DagBuilder {
    /// Adds an operation.
    pub fn operation(mut self, name: impl Into<String>, kind: Kind) -> Self {
        self.operations.push((name.into(), kind));
        self
    }

    /// Adds an operation of the host.
    pub fn cpu(self, name: impl Into<String>) -> Self {
        self.operation(name, Kind::Cpu)
    }

    /// Adds an operation of the GPU.
    pub fn gpu(self, name: impl Into<String>) -> Self {
        self.operation(name, Kind::Gpu)
    }

    /// Lets `after` start only when `before` is done. Either may be named later; [`START`] and [`END`] may be named,
    /// too.
    pub fn edge(mut self, before: impl Into<String>, after: impl Into<String>) -> Self {
        self.edges.push((before.into(), after.into()));
        self
    }

    /// The program, with its end.
    ///
    /// # Errors
    /// [`RulesError::Dag`] for: no operations, or more than [`MAX_OPERATIONS`]; a name that is empty, taken, reserved
    /// or has characters other than letters, digits, `_`, `.` and `+`; an edge that names an unknown operation, one to
    /// itself, into the start or out of the end; a cycle, which it names.
    pub fn build(self) -> Result<Dag, RulesError> {
        let DagBuilder { name, operations, edges } = self;
        let wrong = |reason: String| RulesError::Dag { program: name.clone(), reason };
        if operations.is_empty() {
            return Err(wrong("it has no operations".to_owned()));
        }
        if operations.len() >= MAX_OPERATIONS {
            return Err(too_many(&name, operations.len()));
        }
        let mut ids = HashMap::new();
        for (index, (operation, _)) in operations.iter().enumerate() {
            if let Some(reason) = bad_name(operation) {
                return Err(wrong(reason));
            }
            if ids.insert(operation.clone(), index).is_some() {
                return Err(wrong(format!("two operations have the name `{operation}`")));
            }
        }
        let end = operations.len();
        ids.insert(END.to_owned(), end);

        let mut all: Vec<_> = operations
            .into_iter()
            .chain([(END.to_owned(), Kind::Cpu)])
            .map(|(name, kind)| Operation { name, kind, predecessors: 0, successors: 0 })
            .collect();
        for (before, after) in &edges {
            if after == START {
                return Err(wrong(format!("the edge {before} -> {after} leads into the start")));
            }
            if before == END {
                return Err(wrong(format!("the edge {before} -> {after} leads out of the end")));
            }
            let id = |name: &String| {
                let known = ids.get(name).copied();
                known.ok_or_else(|| wrong(format!("the edge {before} -> {after} names `{name}`, which is not an operation")))
            };
            let v = id(after)?;
            // All depend on the start anyway.
            if before == START {
                continue;
            }
            let u = id(before)?;
            if u == v {
                return Err(wrong(format!("`{before}` depends on itself")));
            }
            all[u].successors |= 1 << v;
            all[v].predecessors |= 1 << u;
        }
        if let Some(cycle) = cycle(&all) {
            let names: Vec<_> = cycle.iter().map(|&index| all[index].name.as_str()).collect();
            return Err(wrong(format!("its operations depend on each other in a cycle: {} -> {}", names.join(" -> "), names[0])));
        }
        for index in 0..end {
            if all[index].successors == 0 {
                all[index].successors = 1 << end;
                all[end].predecessors |= 1 << index;
            }
        }
        let gpu = (0..end).filter(|&index| all[index].kind == Kind::Gpu).fold(0, |set, index| set | 1 << index);
        Ok(Dag { name, operations: all, gpu })
    }
}

/// That a program has as many operations as none may have.
pub(super) fn too_many(program: &str, operations: usize) -> RulesError {
    let reason = format!("it has {operations} operations, and with `{END}` there may be {MAX_OPERATIONS}");
    RulesError::Dag { program: program.to_owned(), reason }
}

/// What is wrong with an operation's name, if anything.
fn bad_name(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("an operation has an empty name".to_owned());
    }
    if name == START || name == END {
        return Some(format!("the name `{name}` is reserved: the vertex is added by itself"));
    }
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '+');
    if let Some(odd) = name.chars().find(|&c| !plain(c)) {
        // Schedules are written with `;`, `@` and `-` between names.
        return Some(format!("the name `{name}` has a {odd:?}: names are of letters, digits, `_`, `.` and `+`"));
    }
    None
}

/// Operations that form a cycle, in order, if some do.
fn cycle(operations: &[Operation]) -> Option<Vec<usize>> {
    let mut left: u64 = (0..operations.len()).fold(0, |set, index| set | 1 << index);
    // What depends on nothing left can go.
    while let Some(free) = bits(left).find(|&index| operations[index].predecessors & left == 0) {
        left &= !(1 << free);
    }
    // Each of the others has a predecessor among them, so that the way back must meet itself.
    let mut way = Vec::new();
    let mut at = bits(left).next()?;
    while !way.contains(&at) {
        way.push(at);
        at = bits(operations[at].predecessors & left).next()?;
    }
    let start = way.iter().position(|&index| index == at)?;
    way.drain(..start);
    way.reverse();
    Some(way)
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
    /// Starts a program of this name.
    pub fn builder(name: impl Into<String>) -> DagBuilder {
        DagBuilder { name: name.into(), operations: Vec::new(), edges: Vec::new() }
    }

    /// Reads a program from a file of JSON:
    ///
    /// ```json
    /// {"name": "exchange", "operations": [
    ///     {"name": "Pack", "kind": "gpu"},
    ///     {"name": "Send", "kind": "cpu", "after": ["Pack"]},
    ///     {"name": "Inner", "kind": "gpu"}
    /// ]}
    /// ```
    ///
    /// `after` names the operations that must be done before; without `name`, the file's is the program's.
    ///
    /// # Errors
    /// [`RulesError::File`], which names the file: where it can't be read or isn't such JSON (with line and column),
    /// and for what [`DagBuilder::build`] refuses.
    pub fn read(path: &Path) -> Result<Self, RulesError> {
        let text = text(path).map_err(|reason| FileError::new(path, reason))?;
        let wrong = |reason: String| RulesError::from(FileError::new(path, reason));
        let Described { name, operations } = serde_json::from_str(&text).map_err(|error| wrong(brief(error)))?;
        let name = name.unwrap_or_else(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
        let mut builder = Dag::builder(name);
        for DescribedOperation { name, kind, after } in operations {
            for before in after {
                builder = builder.edge(before, name.clone());
            }
            builder = builder.operation(name, kind);
        }
        builder.build().map_err(|error| wrong(error.to_string()))
    }

    /// The program's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many operations there are, the end included.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Never: there is the end.
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

    /// What runs an operation.
    pub fn kind(&self, op: OpId) -> Kind {
        self.operations[op.index()].kind
    }

    /// The operation of this name.
    pub fn find(&self, name: &str) -> Option<OpId> {
        self.operations().find(|&op| self.name_of(op) == name)
    }

    /// What must be done before `op`.
    pub fn predecessors(&self, op: OpId) -> impl Iterator<Item = OpId> {
        bits(self.predecessor_set(op)).map(|index| OpId(index as u8))
    }

    /// What must wait for `op`.
    pub fn successors(&self, op: OpId) -> impl Iterator<Item = OpId> {
        bits(self.successor_set(op)).map(|index| OpId(index as u8))
    }

    /// All dependences, in the order of their first operation.
    pub fn edges(&self) -> impl Iterator<Item = (OpId, OpId)> {
        self.operations().flat_map(|u| self.successors(u).map(move |v| (u, v)))
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

    /// The program as text: its operations with their kinds, and its edges. Equal texts are equal programs.
    pub fn signature(&self) -> String {
        let operations: Vec<_> =
            self.operations.iter().map(|op| format!("{}:{}", op.name, if op.kind == Kind::Gpu { "g" } else { "c" })).collect();
        let edges: Vec<_> = self.edges().map(|(u, v)| format!("{}>{}", self.name_of(u), self.name_of(v))).collect();
        format!("{} {}", operations.join(","), edges.join(","))
    }
}
