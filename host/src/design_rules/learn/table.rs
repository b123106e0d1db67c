//! Many schedules of one program, by the places of their steps.

use std::collections::{BTreeMap, BTreeSet};

use crate::design_rules::schedule::Traversal;

/// Where a step that does not occur is.
const ABSENT: u32 = u32::MAX;

/// Traversals of one program as a table: for each the place of every step and the stream of every bound GPU operation.
/// Features and rules are looked up in it.
///
/// Synchronisation may occur in some traversals and not in others, and so may operations of alternatives. Names are in
/// alphabetical order, the program's operations before synchronisation and that before choices, so that they don't
/// depend on which traversals there are, nor on their order.
#[derive(Clone, Debug)]
pub struct TraversalTable {
    rows: usize,
    names: Vec<String>,
    operations: usize,
    /// Where the names of choices begin, such as `y_L=tiles`.
    choices: usize,
    /// Name by name.
    places: Vec<u32>,
    /// Name by name, of the operations alone.
    streams: Vec<Option<u8>>,
}

impl TraversalTable {
    /// The table of these traversals, in their order.
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
        TraversalTable { rows, names, operations, choices, places, streams }
    }

    /// How many traversals there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The names of all steps that occur: first the [`operations`](Self::operations), then synchronisation, then
    /// [`choices`](Self::choices), each in alphabetical order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many of the names are those of the program's operations.
    pub fn operations(&self) -> usize {
        self.operations
    }

    /// The names that settle choices, such as `y_L=tiles`: the last of the names.
    pub fn choices(&self) -> &[String] {
        &self.names[self.choices..]
    }

    /// Where in [`names`](Self::names) those of choices begin.
    pub(super) fn first_choice(&self) -> usize {
        self.choices
    }

    /// A step's index in [`names`](Self::names).
    pub(super) fn id(&self, name: &str) -> Option<usize> {
        let parts = [0..self.operations, self.operations..self.choices, self.choices..self.names.len()];
        parts.into_iter().find_map(|part| {
            let found = self.names[part.clone()].binary_search_by(|other| other.as_str().cmp(name));
            found.ok().map(|place| part.start + place)
        })
    }

    /// The places of a step in each traversal; see [`precedes`].
    pub(super) fn places(&self, id: usize) -> &[u32] {
        &self.places[id * self.rows..(id + 1) * self.rows]
    }

    /// The streams that an operation is bound to in each traversal; none where it isn't, and for synchronisation.
    pub(super) fn streams(&self, id: usize) -> &[Option<u8>] {
        if id < self.operations { &self.streams[id * self.rows..(id + 1) * self.rows] } else { &[] }
    }
}

/// Whether a step occurs that is at this place.
pub(super) fn occurs(place: u32) -> bool {
    place != ABSENT
}

/// Whether a step at the first place comes before one at the second: both occur.
pub(super) fn precedes(u: u32, v: u32) -> bool {
    // An absent one is behind all.
    u < v && v != ABSENT
}

/// Whether two operations are bound to one stream.
pub(super) fn share_stream(a: Option<u8>, b: Option<u8>) -> bool {
    a.is_some() && a == b
}
