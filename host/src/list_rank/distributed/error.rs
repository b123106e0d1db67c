//! Errors of lists over several ranks.

#[cfg(feature = "files")]
use crate::io::files::FileError;
use crate::{device::DeviceError, list_rank::ListError, ranks::RanksError};

/// Why a distributed list could not be ranked. Elements are named by their index in the whole list;
/// if several offend, the first is named. If the list is at fault, all ranks get the same error.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum DistributedError {
    /// This rank's device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Ranks can't reach each other, or another one failed.
    #[error(transparent)]
    Ranks(#[from] RanksError),
    /// A file can't be read or written.
    #[cfg(feature = "files")]
    #[error(transparent)]
    File(#[from] FileError),
    /// The ranks disagree on what is to be done.
    #[error("the ranks were not all given the same n, head and options")]
    Different,
    /// The number of ranks is not supported.
    #[error("lists can be divided among 1 to 8192 ranks, not {ranks}")]
    Count { ranks: usize },
    /// More elements than the ranks can number.
    #[error("a list of {n} elements is too long for {ranks} ranks: at most 2^31 - 2 for each")]
    TooLong { n: u64, ranks: usize },
    /// An array of a rank is not as long as its block.
    #[error("{what} of rank {rank} has {found} elements, but its block has {expected}")]
    Length { what: &'static str, rank: usize, found: usize, expected: usize },
    /// The list is at fault as one on a single device can be.
    #[error(transparent)]
    List(#[from] ListError),
    /// Each element has a predecessor.
    #[error("the list has no head: each of its {n} elements is the next of another, and no next is -1")]
    NoHead { n: u64 },
    /// There are several lists.
    #[error("there are {lists} lists: no next leads to element {first}, nor to {second}")]
    SeveralHeads { lists: u64, first: u64, second: u64 },
    /// Elements are on cycles.
    #[error("element {element} is on a cycle: the list from head {head} has {reached} of {n} elements")]
    Cycle { element: u64, head: u64, reached: u64, n: u64 },
    /// The list is right, and was not ranked.
    #[error("the ranks numbered {ranked} of {n} elements of a list that is right: a device or its driver is at fault")]
    Miscounted { ranked: u64, n: u64 },
    /// An element's rank isn't one more than its predecessor's.
    #[error(
        "the rank of element {element} is wrong: it isn't one more than its predecessor's, or, for the last element, not n - 1"
    )]
    WrongRank { element: u64 },
}

impl DistributedError {
    /// Returns true if all ranks get this error.
    pub fn is_shared(&self) -> bool {
        match self {
            DistributedError::Device(_) | DistributedError::Ranks(_) => false,
            #[cfg(feature = "files")]
            DistributedError::File(_) => false,
            _ => true,
        }
    }
}
