//! Numbers of entries that each rank multiplies, sends and receives.

use rayon::prelude::*;

use super::{Csr, Partition, SpmvError, SpmvReal};

/// Entries that go from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The other rank.
    pub rank: usize,
    /// Number of entries, at least one.
    pub entries: usize,
}

/// A rank's share of a multiplication: the sizes of its [`Part`](super::Part).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankTraffic {
    /// Its rows.
    pub rows: usize,
    /// The nonzeros in columns of its own entries of x.
    pub local_nnz: usize,
    /// The other nonzeros.
    pub remote_nnz: usize,
    /// Messages that it sends, by ascending rank.
    pub sends: Vec<Transfer>,
    /// Messages that it receives, by ascending rank.
    pub receives: Vec<Transfer>,
}

impl RankTraffic {
    /// The number of entries that it packs and sends.
    pub fn sent(&self) -> usize {
        self.sends.iter().map(|message| message.entries).sum()
    }

    /// The number of entries that it receives: the length of x_R.
    pub fn received(&self) -> usize {
        self.receives.iter().map(|message| message.entries).sum()
    }
}

/// The sizes of all ranks' parts of a matrix, without the parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// By rank.
    pub ranks: Vec<RankTraffic>,
}

impl Traffic {
    /// Counts the traffic of a multiplication over `ranks` ranks.
    ///
    /// # Errors
    /// [`SpmvError::NotSquare`], [`SpmvError::NoRanks`], [`SpmvError::TooManyRanks`].
    pub fn new<T: SpmvReal>(matrix: &Csr<T>, ranks: usize) -> Result<Self, SpmvError> {
        let partition = Partition::of(matrix, ranks)?;
        let of_rank = |rank| {
            let rows = partition.rows(rank);
            let (start, end) = (matrix.row_ptr()[rows.start] as usize, matrix.row_ptr()[rows.end] as usize);
            let columns = &matrix.column_indices()[start..end];
            let local_nnz = columns.iter().filter(|&&column| rows.contains(&(column as usize))).count();
            let receives = partition.by_owner(&partition.needed(matrix, rank)).into_iter();
            RankTraffic {
                rows: rows.len(),
                local_nnz,
                remote_nnz: columns.len() - local_nnz,
                sends: Vec::new(),
                receives: receives.map(|neighbour| Transfer { rank: neighbour.rank, entries: neighbour.range.len() }).collect(),
            }
        };
        let mut ranks: Vec<_> = (0..ranks).into_par_iter().map(of_rank).collect();
        for rank in 0..ranks.len() {
            for index in 0..ranks[rank].receives.len() {
                let Transfer { rank: from, entries } = ranks[rank].receives[index];
                ranks[from].sends.push(Transfer { rank, entries });
            }
        }
        Ok(Traffic { ranks })
    }
}
