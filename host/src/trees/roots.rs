//! The roots of a forest, as they are asked for.

use super::error::{MOST_VERTICES, TreeError, same_length};

/// The roots of a forest. Labels are an array of the host or of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roots<L> {
    /// This one, of one tree.
    At(i32),
    /// Vertex v exactly where its label is v: one for each tree of a forest. Connected components, named by any of
    /// their vertices, are such labels.
    Labels(L),
    /// The least vertex of each tree; of parents, those that have none.
    Each,
}

impl<L> Roots<L> {
    /// The same of other labels.
    pub fn map<M>(self, labels: impl FnOnce(L) -> M) -> Roots<M> {
        match self {
            Roots::At(root) => Roots::At(root),
            Roots::Labels(of) => Roots::Labels(labels(of)),
            Roots::Each => Roots::Each,
        }
    }
}

/// Checks that `n` vertices can have such roots; labels are given by their number.
pub(super) fn check_roots(n: usize, roots: Roots<usize>) -> Result<(), TreeError> {
    if n > MOST_VERTICES {
        return Err(TreeError::TooLarge { n });
    }
    match roots {
        Roots::At(root) if !usize::try_from(root).is_ok_and(|root| root < n) => Err(TreeError::RootOutOfRange { root, n }),
        Roots::Labels(labels) => same_length("the labels", labels, n),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_forest() {
        let n = (1 << 30) - 1;
        for roots in [Roots::At(n as i32 - 1), Roots::Labels(n), Roots::Each] {
            assert_eq!(check_roots(n, roots), Ok(()));
            assert_eq!(check_roots(n + 1, roots), Err(TreeError::TooLarge { n: n + 1 }));
        }
        assert_eq!(check_roots(n, Roots::At(n as i32)), Err(TreeError::RootOutOfRange { root: n as i32, n }));
    }
}
