//! Schedules of one program, as a table of the positions of their steps.
//!
//! In: traversals. Out: a [`TraversalTable`], in which features and rules are looked up.

use std::collections::{BTreeMap, BTreeSet};

use crate::design_rules::schedule::Traversal;

/// Position of a step that does not occur.
const ABSENT: u32 = u32::MAX;

/// A table of traversals of one program: the position of each step and the stream of each bound GPU
/// operation.
///
/// Steps of synchronization and of alternatives occur only in some traversals. Names are sorted
/// alphabetically in three groups: the program's operations, synchronization, choices. Their order
/// therefore doesn't depend on the order of the traversals.
#[derive(Clone, Debug)]
pub struct TraversalTable {
    rows: usize,
    names: Vec<String>,
    operations: usize,
    /// Index of the first name of a choice, such as `y_L=tiles`.
    choices: usize,
    /// Positions, by name and traversal.
    places: Vec<u32>,
    /// Streams, by name and traversal, for operations only.
    streams: Vec<Option<u8>>,
    inputs: Vec<(String, Vec<f64>)>,
}

impl TraversalTable {
    /// Builds the table of these traversals, in their order.
    pub fn new<'a>(traversals: impl IntoIterator<Item = &'a Traversal>) -> Self {
        let traversals: Vec<_> = traversals.into_iter().collect();
        let steps = || traversals.iter().flat_map(|traversal| traversal.steps());
        let sorted: BTreeSet<_> =
            steps().map(|step| (step.chosen().is_some(), step.is_synchronisation(), step.name.as_str())).collect();
        let operations = sorted.iter().filter(|&&(chosen, synchronisation, _)| !chosen && !synchronisation).count();
        let choices = sorted.iter().filter(|&&(chosen, _, _)| !chosen).count();
        let ids: BTreeMap<_, _> = sorted.iter().enumerate().map(|(id, &(_, _, name))| (name, id)).collect();

        let rows = traversals.len();
        let mut places = vec![ABSENT; rows * sorted.len()];
        let mut streams = vec![None; rows * operations];
        for (row, traversal) in traversals.iter().enumerate() {
            for (place, step) in (0..).zip(traversal.steps()) {
                let id = ids[step.name.as_str()];
                places[id * rows + row] = place;
                if id < operations {
                    streams[id * rows + row] = step.bound();
                }
            }
        }
        let names = sorted.into_iter().map(|(_, _, name)| name.to_owned()).collect();
        TraversalTable { rows, names, operations, choices, places, streams, inputs: Vec::new() }
    }

    /// Adds numbers that describe the inputs of the runs: the name of each, and one for each traversal.
    ///
    /// # Panics
    /// Unless there is a number for each.
    #[must_use]
    pub fn with_inputs(mut self, inputs: Vec<(String, Vec<f64>)>) -> Self {
        assert!(inputs.iter().all(|(_, numbers)| numbers.len() == self.rows), "there are {} traversals", self.rows);
        self.inputs = inputs;
        self
    }

    /// Returns the numbers that describe the inputs, by name.
    pub fn inputs(&self) -> &[(String, Vec<f64>)] {
        &self.inputs
    }

    /// Returns the number of traversals.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns true if the table has no traversals.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the names of all steps that occur: first the [`operations`](Self::operations), then
    /// synchronization, then [`choices`](Self::choices), each group in alphabetical order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of the program's operations, whose names come first.
    pub fn operations(&self) -> usize {
        self.operations
    }

    /// Returns the names that settle choices, such as `y_L=tiles`, which come last.
    pub fn choices(&self) -> &[String] {
        &self.names[self.choices..]
    }

    /// Returns the index of the first choice in [`names`](Self::names).
    pub(super) fn first_choice(&self) -> usize {
        self.choices
    }

    /// Returns the index of a step in [`names`](Self::names).
    pub(super) fn id(&self, name: &str) -> Option<usize> {
        let parts = [0..self.operations, self.operations..self.choices, self.choices..self.names.len()];
        parts.into_iter().find_map(|part| {
            let found = self.names[part.clone()].binary_search_by(|other| other.as_str().cmp(name));
            found.ok().map(|place| part.start + place)
        })
    }

    /// Returns the position of a step in each traversal; see [`precedes`].
    pub(super) fn places(&self, id: usize) -> &[u32] {
        &self.places[id * self.rows..(id + 1) * self.rows]
    }

    /// Returns the stream of an operation in each traversal, or `None` where it is unbound.
    /// Synchronization has no streams.
    pub(super) fn streams(&self, id: usize) -> &[Option<u8>] {
        if id < self.operations { &self.streams[id * self.rows..(id + 1) * self.rows] } else { &[] }
    }
}

/// Returns true if the position is that of a step that occurs.
pub(super) fn occurs(place: u32) -> bool {
    place != ABSENT
}

/// Returns true if both steps occur, the first before the second.
pub(super) fn precedes(u: u32, v: u32) -> bool {
    // An absent step has the greatest position.
    u < v && v != ABSENT
}

/// Returns true if two operations are bound to the same stream.
pub(super) fn share_stream(a: Option<u8>, b: Option<u8>) -> bool {
    a.is_some() && a == b
}
