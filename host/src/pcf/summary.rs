//! A function out of all functions of a set: their mean, or their standard deviation.

use rayon::prelude::*;

use super::{Pcf, PcfError, PcfReal, PcfSet, Point};

impl<T: PcfReal> PcfSet<T> {
    /// The pointwise mean of all functions. It has breakpoints only where it changes.
    ///
    /// Values are summed in `f64` by a tree over the functions. Each value of the mean thus depends
    /// only on the functions' values at its time, and is off by at most log2(n) + 1 roundings of
    /// their mean magnitude. If all functions are zero at a time, so is the mean, exactly. Takes
    /// O(N log N) time for N breakpoints in all.
    ///
    /// # Errors
    /// If there are no functions.
    pub fn mean(&self) -> Result<Pcf<T>, PcfError> {
        let count = self.len() as f64;
        self.summary(0.0, |v| v, |a, b| a + b, |sum| sum / count).ok_or(PcfError::NoFunctions { what: "mean" })
    }

    /// The pointwise standard deviation of all functions: the root of the mean of their squared
    /// distances from the mean. It has breakpoints only where it changes.
    ///
    /// As with [`mean`](Self::mean), each value depends on the functions' values at its time alone.
    /// The deviations of halves are put together in the way of T. F. Chan, G. H. Golub and R. J.
    /// LeVeque (*Updating Formulae and a Pairwise Algorithm for Computing Sample Variances*, 1979),
    /// which loses nothing if the mean is large. If all functions are equal at a time, the
    /// deviation is exactly 0.
    ///
    /// # Errors
    /// If there are no functions.
    pub fn std(&self) -> Result<Pcf<T>, PcfError> {
        let (count, most) = (self.len() as f64, T::MAX_VALUE.to_f64());
        let value = |moments: Moments| (moments.spread / count.sqrt()).min(most);
        self.summary(Moments::default(), Moments::of, Moments::joined, value)
            .ok_or(PcfError::NoFunctions { what: "standard deviation" })
    }

    /// The function whose value at every time is `value` of all functions' values then: they become
    /// leaves by `leaf`, and are joined pairwise. `None` for an empty set.
    fn summary<N: Copy>(
        &self,
        empty: N,
        leaf: impl Fn(f64) -> N,
        join: impl Fn(N, N) -> N,
        value: impl Fn(N) -> f64,
    ) -> Option<Pcf<T>> {
        if self.is_empty() {
            return None;
        }
        struct Event<T> {
            t: T,
            function: usize,
            v: T,
        }
        let event = |function, point: &Point<T>| Event { t: point.t, function, v: point.v };
        let mut events: Vec<Event<T>> = self
            .iter()
            .enumerate()
            .flat_map(|(function, f)| f.points().iter().map(move |point| event(function, point)))
            .collect();
        // Times are no NaNs, so that they can be compared.
        events.par_sort_unstable_by(|a, b| a.t.partial_cmp(&b.t).unwrap_or(std::cmp::Ordering::Equal));

        let mut tree = Tree::new(self.len(), empty, join);
        let mut points: Vec<Point<T>> = Vec::new();
        for together in events.chunk_by(|a, b| a.t == b.t) {
            for event in together {
                tree.set(event.function, leaf(event.v.to_f64()));
            }
            let v = T::from_f64(value(tree.all()));
            if points.last().is_none_or(|last| last.v != v) {
                points.push(Point::new(together[0].t, v));
            }
        }
        Some(Pcf::of_valid(points))
    }
}

/// Leaves, and the result of joining neighbours; one leaf can be changed in O(log n). A complete
/// binary tree whose nodes hold the joined children.
struct Tree<N, J> {
    /// Node 1 is the root, nodes 2 i and 2 i + 1 are below node i, the leaves are the last half.
    nodes: Vec<N>,
    join: J,
}

impl<N: Copy, J: Fn(N, N) -> N> Tree<N, J> {
    /// `n` things that are `empty`: joining with one changes nothing.
    fn new(n: usize, empty: N, join: J) -> Self {
        Tree { nodes: vec![empty; 2 * n.next_power_of_two()], join }
    }

    fn set(&mut self, index: usize, value: N) {
        let mut node = self.nodes.len() / 2 + index;
        self.nodes[node] = value;
        while node > 1 {
            node /= 2;
            self.nodes[node] = (self.join)(self.nodes[2 * node], self.nodes[2 * node + 1]);
        }
    }

    fn all(&self) -> N {
        self.nodes[1]
    }
}

/// The moments of some numbers.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    /// The root of the sum of squared distances from the mean: the sum itself might be too large for the type, or too
    /// small.
    spread: f64,
}

impl Moments {
    fn of(number: f64) -> Self {
        Moments { count: 1.0, mean: number, spread: 0.0 }
    }

    fn joined(self, other: Self) -> Self {
        if other.count == 0.0 {
            return self;
        }
        let (count, apart) = (self.count + other.count, other.mean - self.mean);
        let share = other.count / count;
        Moments {
            count,
            mean: self.mean + apart * share,
            spread: self.spread.hypot(other.spread).hypot(apart * (self.count * share).sqrt()),
        }
    }
}
