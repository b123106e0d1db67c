//! Errors of lists on one device.

use crate::device::DeviceError;

/// Why a list could not be ranked. Elements are named by their index; if several offend, the first
/// is named.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum ListError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// More elements than indices of 32 bits can name.
    #[error("a list of {n} elements is too long: at most 2^31 - 2 can be indexed")]
    TooLong { n: usize },
    /// An output or the weights differ in length from `next`.
    #[error("{what} has {found} elements, but next has {n}")]
    Length { what: &'static str, found: usize, n: usize },
    /// The strategy asked for can't rank such a list on this device.
    #[error("strategy {strategy} can't rank {n} elements on {device}: {reason}")]
    Unsuitable { strategy: &'static str, n: usize, device: String, reason: &'static str },
    /// The head isn't an element.
    #[error("head {head} is not an element: there are {n}, from 0")]
    HeadOutOfRange { head: i64, n: usize },
    /// A successor isn't an element.
    #[error("next[{element}] is {next}, which is neither an element (there are {n}, from 0) nor -1")]
    NextOutOfRange { element: usize, next: i64, n: usize },
    /// Two elements have one successor.
    #[error("element {element} has two predecessors: next[{first}] and next[{second}]")]
    TwoPredecessors { element: usize, first: usize, second: usize },
    /// No element ends the list.
    #[error("the list has no end: no next is -1, and element {element} is on a cycle of {length}")]
    NoTail { element: usize, length: usize },
    /// The head is not the first.
    #[error("{head} is not the head: next[{predecessor}] leads to it")]
    WrongHead { head: usize, predecessor: usize },
    /// An element is not on the list.
    #[error("element {element} is not reached from head {head}: it is on {}", if *cycle { "a cycle" } else { "another list" })]
    Unreachable { element: usize, head: usize, cycle: bool },
    /// A forest holds a cycle.
    #[error("element {element} is on a cycle: no list leads to it")]
    Cycle { element: usize },
    /// The device's counts say that the list is bad, and the host finds nothing wrong with it.
    #[error("the device ranked {ranked} of {n} elements of a list that is right: its memory or its driver is at fault")]
    Miscounted { ranked: u64, n: usize },
}
