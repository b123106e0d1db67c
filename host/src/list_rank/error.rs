//! Errors of lists on one device.

use crate::device::DeviceError;

/// Why a list could not be ranked. Elements are named by their index; if several offend, the first
/// is named.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// More elements than indices of 32 bits can name.
    #[error("a list of {n} elements is too long: at most 2^31 - 2 can be indexed")]
    TooLong {
        /// The number of elements.
        n: usize,
    },
    /// An output or the weights differ in length from `next`.
    #[error("{what} has {found} elements, but next has {n}")]
    Length {
        /// The array's name.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length of `next`.
        n: usize,
    },
    /// The strategy asked for can't rank such a list on this device.
    #[error("strategy {strategy} can't rank {n} elements on {device}: {reason}")]
    Unsuitable {
        /// The strategy's name.
        strategy: &'static str,
        /// The number of elements.
        n: usize,
        /// The device.
        device: String,
        /// The reason.
        reason: &'static str,
    },
    /// The head isn't an element.
    #[error("head {head} is not an element: there are {n}, from 0")]
    HeadOutOfRange {
        /// The head given.
        head: i64,
        /// The number of elements.
        n: usize,
    },
    /// A successor isn't an element.
    #[error("next[{element}] is {next}, which is neither an element (there are {n}, from 0) nor -1")]
    NextOutOfRange {
        /// The element.
        element: usize,
        /// Its successor.
        next: i64,
        /// The number of elements.
        n: usize,
    },
    /// Two elements have one successor.
    #[error("element {element} has two predecessors: next[{first}] and next[{second}]")]
    TwoPredecessors {
        /// The element.
        element: usize,
        /// The first element before it.
        first: usize,
        /// The second element before it.
        second: usize,
    },
    /// No element ends the list.
    #[error("the list has no end: no next is -1, and element {element} is on a cycle of {length}")]
    NoTail {
        /// An element on a cycle: the head, or 0.
        element: usize,
        /// The number of elements on the cycle.
        length: usize,
    },
    /// The head is not the first.
    #[error("{head} is not the head: next[{predecessor}] leads to it")]
    WrongHead {
        /// The head given.
        head: usize,
        /// The element before it.
        predecessor: usize,
    },
    /// An element is not on the list.
    #[error("element {element} is not reached from head {head}: it is on {}", if *cycle { "a cycle" } else { "another list" })]
    Unreachable {
        /// The first element that isn't reached.
        element: usize,
        /// The head.
        head: usize,
        /// True if it lies on a cycle, false if on another list.
        cycle: bool,
    },
    /// A forest holds a cycle.
    #[error("element {element} is on a cycle: no list leads to it")]
    Cycle {
        /// The first such element.
        element: usize,
    },
    /// The device's counts say that the list is bad, and the host finds nothing wrong with it.
    #[error("the device ranked {ranked} of {n} elements of a list that is right: its memory or its driver is at fault")]
    Miscounted {
        /// Elements that the device counted.
        ranked: u64,
        /// The number of elements.
        n: usize,
    },
}
