//! Builds a program, and sees to it that it is one.

use std::collections::HashMap;

use super::super::RulesError;
use super::{Access, Alternative, Choice, Dag, END, Kind, MAX_ALTERNATIVES, MAX_CHOICES, MAX_OPERATIONS, Operation, START, bits};

/// Collects a program's operations and dependences; made by [`Dag::builder`].
#[derive(Clone, Debug)]
pub struct DagBuilder {
    name: String,
    operations: Vec<Part>,
    settings: Vec<(String, String)>,
    edges: Vec<(String, String)>,
    accesses: Vec<Access>,
}

/// An operation, by itself or as a part of an alternative.
#[derive(Clone, Debug)]
struct Part {
    /// The choice and the alternative.
    of: Option<(String, String)>,
    name: String,
    kind: Kind,
}

impl Dag {
    /// Starts a program of this name.
    pub fn builder(name: impl Into<String>) -> DagBuilder {
        DagBuilder { name: name.into(), operations: Vec::new(), settings: Vec::new(), edges: Vec::new(), accesses: Vec::new() }
    }
}

impl DagBuilder {
    /// Adds an operation.
    pub fn operation(mut self, name: impl Into<String>, kind: Kind) -> Self {
        self.operations.push(Part { of: None, name: name.into(), kind });
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

    /// Adds one operation as an alternative of a choice. The operation has the choice's name.
    ///
    /// ```
    /// use warpsmith::design_rules::{Dag, Kind, schedule::Schedules};
    ///
    /// let dag = Dag::builder("multiply")
    ///     .alternative("y_L", "tiles", Kind::Gpu)
    ///     .alternative("y_L", "rows", Kind::Gpu)
    ///     .build()?;
    /// let all: Vec<_> = Schedules::new(&dag, 1)?.map(|schedule| schedule.text(&dag)).collect();
    /// assert_eq!(all, ["y_L=tiles;y_L@0;CER-after-y_L;CES-b4-end", "y_L=rows;y_L@0;CER-after-y_L;CES-b4-end"]);
    /// # Ok::<(), warpsmith::design_rules::RulesError>(())
    /// ```
    pub fn alternative(self, choice: impl Into<String>, alternative: impl Into<String>, kind: Kind) -> Self {
        let choice = choice.into();
        self.part(choice.clone(), alternative, choice, kind)
    }

    /// Adds one of the operations of an alternative. An edge into the choice leads to the
    /// alternative's first operations: those that come after no other of its operations. An edge
    /// out of the choice comes from its last operations.
    pub fn part(
        mut self,
        choice: impl Into<String>,
        alternative: impl Into<String>,
        name: impl Into<String>,
        kind: Kind,
    ) -> Self {
        self.operations.push(Part { of: Some((choice.into(), alternative.into())), name: name.into(), kind });
        self
    }

    /// Adds an alternative of a setting, such as the cores that ranks run on: a choice without operations, which the
    /// program makes before it runs a schedule. Settings are the last choices.
    pub fn setting(mut self, name: impl Into<String>, alternative: impl Into<String>) -> Self {
        self.settings.push((name.into(), alternative.into()));
        self
    }

    /// Lets `after` start only when `before` is done. Either may be named later; [`START`] and [`END`] may be named,
    /// too. The operations of alternatives are named by their [labels](Dag::label).
    pub fn edge(mut self, before: impl Into<String>, after: impl Into<String>) -> Self {
        self.edges.push((before.into(), after.into()));
        self
    }

    /// States data that the operation added last reads, for [`Dag::orders`].
    ///
    /// # Panics
    /// If there is no operation.
    pub fn reads(self, data: impl Into<String>) -> Self {
        self.access(data.into(), false)
    }

    /// States data that the operation added last writes, for [`Dag::orders`].
    ///
    /// # Panics
    /// If there is no operation.
    pub fn writes(self, data: impl Into<String>) -> Self {
        self.access(data.into(), true)
    }

    fn access(mut self, data: String, writes: bool) -> Self {
        let operation = self.operations.len().checked_sub(1).expect("an operation comes first");
        self.accesses.push(Access { operation, data, writes });
        self
    }

    /// The program, with its end.
    ///
    /// # Errors
    /// [`RulesError::Dag`] for:
    /// - no operations, or more than [`MAX_OPERATIONS`], [`MAX_CHOICES`] or [`MAX_ALTERNATIVES`] of one choice;
    /// - a name that is empty, taken, reserved or has characters other than letters, digits, `_`,
    ///   `.` and `+`;
    /// - a choice of one alternative;
    /// - an edge that names an unknown operation or a setting, leads to its own start, into the start or out of
    ///   the end;
    /// - a cycle, which it names.
    pub fn build(self) -> Result<Dag, RulesError> {
        let DagBuilder { name, operations, settings, edges, accesses } = self;
        let wrong = |reason: String| RulesError::Dag { program: name.clone(), reason };
        if operations.is_empty() {
            return Err(wrong("it has no operations".to_owned()));
        }
        if operations.len() >= MAX_OPERATIONS {
            let operations = operations.len();
            return Err(wrong(format!("it has {operations} operations, and with `{END}` there may be {MAX_OPERATIONS}")));
        }
        let end = operations.len();
        let mut dag = Dag { name: name.clone(), operations: Vec::new(), choices: Vec::new(), gpu: 0, accesses };
        for part in operations {
            add(&mut dag, part).map_err(wrong)?;
        }
        for (setting, alternative) in settings {
            set(&mut dag, setting, alternative).map_err(wrong)?;
        }
        if let Some(choice) = dag.choices.iter().find(|choice| choice.alternatives.len() < 2) {
            return Err(wrong(format!(
                "`{}` has one alternative, `{}`: a choice takes two",
                choice.name, choice.alternatives[0].name
            )));
        }
        let part = Part { of: None, name: END.to_owned(), kind: Kind::Cpu };
        dag.operations.push(operation(part, None));
        connect(&mut dag, &edges).map_err(wrong)?;
        let all = &mut dag.operations;
        if let Some(cycle) = cycle(all) {
            let names: Vec<_> = cycle.iter().map(|&index| all[index].name.as_str()).collect();
            return Err(wrong(format!("its operations depend on each other in a cycle: {} -> {}", names.join(" -> "), names[0])));
        }
        for index in 0..end {
            if all[index].successors == 0 {
                link(all, index, end);
            }
        }
        dag.gpu = (0..end).filter(|&index| dag.operations[index].kind == Kind::Gpu).fold(0, |set, index| set | 1 << index);
        Ok(dag)
    }
}

fn operation(part: Part, of: Option<(usize, usize)>) -> Operation {
    Operation { name: part.name, kind: part.kind, part: of, predecessors: 0, successors: 0 }
}

/// Adds an operation, with the choice and the alternative that it is a part of.
fn add(dag: &mut Dag, part: Part) -> Result<(), String> {
    let taken = |name: &str| Err(format!("two operations have the name `{name}`"));
    check_name("an operation", &part.name)?;
    let Some((choice, alternative)) = part.of.clone() else {
        let in_use = dag.operations.iter().any(|other| other.name == part.name);
        if in_use || dag.choices.iter().any(|other| other.name == part.name) {
            return taken(&part.name);
        }
        dag.operations.push(operation(part, None));
        return Ok(());
    };
    check_name("a choice", &choice)?;
    check_name("an alternative", &alternative)?;
    let found = dag.choices.iter().position(|other| other.name == choice);
    let at = found.unwrap_or(dag.choices.len());
    if found.is_none() {
        if dag.operations.iter().any(|other| other.name == choice) {
            return taken(&choice);
        }
        dag.choices.push(Choice { name: choice, alternatives: Vec::new() });
    }
    let alternatives = &mut dag.choices[at].alternatives;
    let way = alternatives.iter().position(|other| other.name == alternative).unwrap_or(alternatives.len());
    if way == alternatives.len() {
        alternatives.push(Alternative { name: alternative, operations: 0 });
    }
    alternatives[way].operations |= 1 << dag.operations.len();
    // Of two alternatives of a choice no schedule has both.
    let apart = |other: &Operation| matches!(other.part, Some((choice, other)) if choice == at && other != way);
    let mut others = dag.choices.iter().enumerate().filter(|&(index, _)| index != at);
    if dag.operations.iter().any(|other| other.name == part.name && !apart(other))
        || others.any(|(_, other)| other.name == part.name)
    {
        return taken(&part.name);
    }
    dag.operations.push(operation(part, Some((at, way))));
    Ok(())
}

/// Adds an alternative of a setting.
fn set(dag: &mut Dag, setting: String, alternative: String) -> Result<(), String> {
    check_name("a setting", &setting)?;
    check_name("an alternative", &alternative)?;
    let found = dag.choices.iter().position(|other| other.name == setting);
    if dag.operations.iter().any(|other| other.name == setting) || found.is_some_and(|at| !dag.choices[at].is_setting()) {
        return Err(format!("the setting `{setting}` has the name of an operation"));
    }
    let at = found.unwrap_or(dag.choices.len());
    if at == MAX_CHOICES {
        return Err(format!("`{setting}` is one choice too many: there may be {MAX_CHOICES}"));
    }
    if found.is_none() {
        dag.choices.push(Choice { name: setting.clone(), alternatives: Vec::new() });
    }
    let alternatives = &mut dag.choices[at].alternatives;
    if alternatives.len() == MAX_ALTERNATIVES {
        return Err(format!("`{setting}` has more than {MAX_ALTERNATIVES} alternatives"));
    }
    if alternatives.iter().any(|other| other.name == alternative) {
        return Err(format!("two alternatives of `{setting}` have the name `{alternative}`"));
    }
    alternatives.push(Alternative { name: alternative, operations: 0 });
    Ok(())
}

/// Adds the edges.
fn connect(dag: &mut Dag, edges: &[(String, String)]) -> Result<(), String> {
    let labels: HashMap<String, usize> = dag.operations().map(|op| (dag.label(op), op.index())).collect();
    // Those within an alternative come first: they say where the others lead.
    for within in [true, false] {
        for (before, after) in edges {
            if after == START {
                return Err(format!("the edge {before} -> {after} leads into the start"));
            }
            if before == END {
                return Err(format!("the edge {before} -> {after} leads out of the end"));
            }
            // All depend on the start anyway.
            let from = if before == START { Some(Vec::new()) } else { named(dag, &labels, before, |op| op.successors) };
            let to = named(dag, &labels, after, |op| op.predecessors);
            let (from, to) = match (from, to) {
                (Some(from), Some(to)) => (from, to),
                (from, _) => {
                    let unknown = if from.is_none() { before } else { after };
                    return Err(format!("the edge {before} -> {after} names `{unknown}`, which is not an operation"));
                }
            };
            if before == after {
                return Err(format!("`{before}` depends on itself"));
            }
            let by_label = labels.contains_key(before) && labels.contains_key(after);
            for (&u, &v) in from.iter().flat_map(|u| to.iter().map(move |v| (u, v))) {
                let parts = dag.operations[u].part.zip(dag.operations[v].part);
                let is_within = by_label && parts.is_some_and(|(one, other)| one == other);
                if parts.is_some_and(|((one, _), (other, _))| one == other) && !is_within {
                    return Err(format!("the edge {before} -> {after} leads from a choice into itself"));
                }
                if is_within == within {
                    link(&mut dag.operations, u, v);
                }
            }
        }
    }
    Ok(())
}

fn link(operations: &mut [Operation], before: usize, after: usize) {
    operations[before].successors |= 1 << after;
    operations[after].predecessors |= 1 << before;
}

/// Returns the operations that a name in an edge stands for: one operation, or the outermost
/// operations of a choice's alternatives. An operation is outermost if nothing is `beyond` it in
/// its alternative.
fn named(dag: &Dag, labels: &HashMap<String, usize>, name: &str, beyond: impl Fn(&Operation) -> u64) -> Option<Vec<usize>> {
    if let Some(&index) = labels.get(name) {
        return Some(vec![index]);
    }
    let choice = dag.choices.iter().find(|choice| choice.name == name && !choice.is_setting())?;
    let is_outermost = |set: u64, index: usize| beyond(&dag.operations[index]) & set == 0;
    let sets = choice.alternatives.iter().map(|alternative| alternative.operations);
    Some(sets.flat_map(|set| bits(set).filter(|&index| is_outermost(set, index)).collect::<Vec<_>>()).collect())
}

/// Sees to it that a name can stand in schedules.
fn check_name(what: &str, name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err(format!("{what} has an empty name"));
    }
    if name == START || name == END {
        return Err(format!("the name `{name}` is reserved: the vertex is added by itself"));
    }
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '+');
    if let Some(odd) = name.chars().find(|&c| !plain(c)) {
        // Schedules are written with `;`, `@`, `=` and `-` between names.
        return Err(format!("the name `{name}` has a {odd:?}: names are of letters, digits, `_`, `.` and `+`"));
    }
    Ok(())
}

/// Operations that form a cycle, in order, if some do.
fn cycle(operations: &[Operation]) -> Option<Vec<usize>> {
    let mut left: u64 = (0..operations.len()).fold(0, |set, index| set | 1 << index);
    // An operation that depends on nothing left is in no cycle.
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
