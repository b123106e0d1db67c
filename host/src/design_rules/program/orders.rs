//! Orders of operations beside the data that they access.
//!
//! In: a program whose operations state what they read and write. Out: [`Orders`], which lists
//! dependences without common data, and common data without a dependence.

use super::{Dag, OpId};

/// The dependences of a program beside its data. Two operations *conflict* if both access the same data
/// and at least one writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Orders<'a> {
    /// Dependences between operations that don't conflict.
    pub unjustified: Vec<(OpId, OpId)>,
    /// Operations that conflict, of which neither comes after the other, with the data.
    pub races: Vec<(OpId, OpId, &'a str)>,
}

impl Dag {
    /// Compares the dependences with the data that operations access. Returns `None` if no operation
    /// states any. Dependences of the end are not counted, and alternatives of one choice don't
    /// conflict, because no schedule has both.
    pub fn orders(&self) -> Option<Orders<'_>> {
        if self.accesses.is_empty() {
            return None;
        }
        let all = || self.operations().filter(|&op| op != self.end());
        let of = |op: OpId| self.accesses.iter().filter(move |access| access.operation == op.index());
        let conflict = |u: OpId, v: OpId| {
            let mut both = of(u).flat_map(|a| of(v).map(move |b| (a, b)));
            both.find(|(a, b)| a.data == b.data && (a.writes || b.writes)).map(|(a, _)| &*a.data)
        };
        // The operations after each one, by Warshall's algorithm.
        let mut after: Vec<u64> = self.operations.iter().map(|operation| operation.successors).collect();
        for way in self.operations() {
            let beyond = after[way.index()];
            after.iter_mut().filter(|after| **after & way.bit() != 0).for_each(|after| *after |= beyond);
        }
        let is_ordered = |u: OpId, v: OpId| after[u.index()] & v.bit() != 0 || after[v.index()] & u.bit() != 0;
        let exclude = |u: OpId, v: OpId| {
            let parts = self.operations[u.index()].part.zip(self.operations[v.index()].part);
            parts.is_some_and(|(one, other)| one.0 == other.0 && one.1 != other.1)
        };
        let pairs = all().flat_map(|u| all().filter(move |v| u < *v).map(move |v| (u, v)));
        let races = pairs.filter(|&(u, v)| !is_ordered(u, v) && !exclude(u, v));
        Some(Orders {
            unjustified: self.edges().filter(|&(u, v)| v != self.end() && conflict(u, v).is_none()).collect(),
            races: races.filter_map(|(u, v)| Some((u, v, conflict(u, v)?))).collect(),
        })
    }

    /// Lists the dependences that no data justify, by the operations' [labels](Self::label). Returns `None` if no
    /// operation states what it accesses.
    ///
    /// # Errors
    /// The first two operations that conflict, and the data, if neither comes after the other.
    pub fn unjustified(&self) -> Result<Option<Vec<[String; 2]>>, String> {
        let Some(orders) = self.orders() else { return Ok(None) };
        let pair = |u, v| [self.label(u), self.label(v)];
        if let Some(&(u, v, data)) = orders.races.first() {
            let [u, v] = pair(u, v);
            return Err(format!("`{u}` and `{v}` access `{data}`, at least one writes it, and neither comes after the other"));
        }
        Ok(Some(orders.unjustified.iter().map(|&(u, v)| pair(u, v)).collect()))
    }
}
