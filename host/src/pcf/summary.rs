//! A function out of all functions of a set: their sum, mean, standard deviation or a quantile.

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
        T::summary(self, Summary::Mean)
    }

    /// The pointwise sum of all functions, zero for an empty set. Values are summed as for the [mean](Self::mean).
    ///
    /// # Errors
    /// If a sum is above [`PcfReal::MAX_VALUE`].
    pub fn sum(&self) -> Result<Pcf<T>, PcfError> {
        match T::summary(self, Summary::Sum) {
            Err(PcfError::NoFunctions { .. }) => Ok(Pcf::zero()),
            sum => Pcf::new(sum?.points().iter().copied()),
        }
    }

    /// The pointwise quantile `q` of all functions: 0 for the minimum, 0.5 for the median, 1 for the maximum. Between two
    /// values it is interpolated linearly. It has breakpoints only where it changes.
    ///
    /// Takes O(log n) comparisons and a move of O(n) bytes for each breakpoint, in addition to sorting them.
    ///
    /// # Errors
    /// If there are no functions, or `q` is not from 0 to 1.
    pub fn quantile(&self, q: f64) -> Result<Pcf<T>, PcfError> {
        if !(0.0..=1.0).contains(&q) {
            return Err(PcfError::Quantile { q });
        }
        T::summary(self, Summary::Quantile(q))
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
        T::summary(self, Summary::Std)
    }

    /// The function whose value at every time is `value` of all functions' values then: they become
    /// leaves by `leaf`, and are joined pairwise. An empty set has no such function, which errors call `what`.
    fn by_tree<N: Copy>(
        &self,
        what: &'static str,
        empty: N,
        leaf: impl Fn(f64) -> N,
        join: impl Fn(N, N) -> N,
        value: impl Fn(N) -> f64,
    ) -> Result<Pcf<T>, PcfError> {
        let tree = Tree::new(self.len(), empty, join);
        self.over_time(what, tree, |tree, function, v| tree.set(function, leaf(v.to_f64())), |tree| value(tree.nodes[1]))
    }

    /// The function whose value at every time is `value` of the state that `set` has brought there: it is called for each
    /// breakpoint in the order of time.
    fn over_time<S>(
        &self,
        what: &'static str,
        mut state: S,
        set: impl Fn(&mut S, usize, T),
        value: impl Fn(&S) -> f64,
    ) -> Result<Pcf<T>, PcfError> {
        if self.is_empty() {
            return Err(PcfError::NoFunctions { what });
        }
        struct Event<T> {
            t: T,
            function: usize,
            v: T,
        }
        let event = |function, point: &Point<T>| Event { t: point.t, function, v: point.v };
        let (mut events, mut points) = (Vec::new(), Vec::<Point<T>>::new());
        let total = self.points().len();
        let room = events.try_reserve_exact(total).and_then(|()| points.try_reserve_exact(total));
        room.map_err(|_| PcfError::OutOfMemory { functions: self.len(), points: total })?;
        let own = self.iter().enumerate();
        events.extend(own.flat_map(|(function, f)| f.points().iter().map(move |point| event(function, point))));
        // Times are no NaNs, so that they can be compared.
        events.par_sort_unstable_by(|a, b| a.t.partial_cmp(&b.t).unwrap_or(std::cmp::Ordering::Equal));

        for together in events.chunk_by(|a, b| a.t == b.t) {
            for event in together {
                set(&mut state, event.function, event.v);
            }
            let v = T::from_f64(value(&state));
            if points.last().is_none_or(|last| last.v != v) {
                points.push(Point::new(together[0].t, v));
            }
        }
        points.shrink_to_fit();
        Ok(Pcf::of_valid(points))
    }
}

/// A number of all functions' values at each time.
pub enum Summary {
    Mean,
    Sum,
    /// From 0 to 1.
    Quantile(f64),
    Std,
}

pub(super) fn summary<T: PcfReal>(set: &PcfSet<T>, summary: Summary) -> Result<Pcf<T>, PcfError> {
    let (count, most) = (set.len() as f64, T::MAX_VALUE.to_f64());
    let sum = |a, b| a + b;
    match summary {
        Summary::Mean => set.by_tree("mean", 0.0, |v| v, sum, |sum| sum / count),
        Summary::Sum => set.by_tree("sum", 0.0, |v| v, sum, |sum| sum),
        Summary::Std => {
            let value = |moments: Moments| (moments.spread / count.sqrt()).min(most);
            set.by_tree("standard deviation", Moments::default(), Moments::of, Moments::joined, value)
        }
        Summary::Quantile(q) => {
            let own: Vec<f64> = set.iter().map(|function| function.points()[0].v.to_f64()).collect();
            let position = q * own.len().saturating_sub(1) as f64;
            let (low, share) = (position as usize, position.fract());
            let between = |sorted: &[f64]| {
                let (a, b) = (sorted[low], sorted[(low + 1).min(sorted.len() - 1)]);
                // As NumPy: with a at the one end and b at the other, exactly.
                if share < 0.5 { a + (b - a) * share } else { b - (b - a) * (1.0 - share) }
            };
            let put = |sorted: &mut Sorted, function, v: T| sorted.set(function, v.to_f64());
            set.over_time("quantile", Sorted::of(own), put, |sorted| between(&sorted.values))
        }
    }
}

/// Numbers in ascending order, one of each function.
struct Sorted {
    values: Vec<f64>,
    own: Vec<f64>,
}

impl Sorted {
    fn of(own: Vec<f64>) -> Self {
        let mut values = own.clone();
        values.sort_unstable_by(f64::total_cmp);
        Sorted { values, own }
    }

    fn set(&mut self, function: usize, value: f64) {
        let old = std::mem::replace(&mut self.own[function], value);
        let place = |number: f64| self.values.partition_point(|other| other.total_cmp(&number).is_lt());
        let (from, to) = (place(old), place(value));
        if from < to {
            self.values[from..to].rotate_left(1);
            self.values[to - 1] = value;
        } else {
            self.values[to..=from].rotate_right(1);
            self.values[to] = value;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn set(values: &[&[f64]]) -> PcfSet<f64> {
        let function = |values: &&[f64]| Pcf::new(values.iter().enumerate().map(|(t, &v)| (t as f64, v))).unwrap();
        values.iter().map(function).collect()
    }

    #[test]
    fn sums_and_quantiles() {
        let set = set(&[&[3.0, 1.0, 0.0], &[2.0, 2.0, 2.0, 0.0], &[-1.0, 4.0]]);
        let values = |f: Pcf<f64>| f.points().iter().map(|point| (point.t, point.v)).collect::<Vec<_>>();
        assert_eq!(values(set.sum().unwrap()), [(0.0, 4.0), (1.0, 7.0), (2.0, 6.0), (3.0, 4.0)]);
        assert_eq!(values(set.quantile(0.0).unwrap()), [(0.0, -1.0), (1.0, 1.0), (2.0, 0.0)]);
        assert_eq!(values(set.quantile(0.25).unwrap()), [(0.0, 0.5), (1.0, 1.5), (2.0, 1.0), (3.0, 0.0)]);
        assert_eq!(values(set.quantile(0.5).unwrap()), [(0.0, 2.0), (3.0, 0.0)]);
        assert_eq!(values(set.quantile(1.0).unwrap()), [(0.0, 3.0), (1.0, 4.0)]);
        let none = PcfSet::<f64>::from_functions([]);
        assert_eq!(none.sum().unwrap(), Pcf::zero());
        assert_eq!(none.quantile(0.5), Err(PcfError::NoFunctions { what: "quantile" }));
        assert_eq!(set.quantile(1.5), Err(PcfError::Quantile { q: 1.5 }));
    }
}
