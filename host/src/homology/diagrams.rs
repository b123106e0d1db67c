//! Results: the bars of many clouds.

use std::ops::Range;

use crate::{
    common::Real,
    pcf::barcode::{self, Barcode, Filtration},
};

/// A bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar<T> {
    /// Start: the length of an edge, or 0.
    pub birth: T,
    /// Value at which it ends, or infinity.
    pub death: T,
    /// Ends of the edge that starts it. None in degree 0, or if edges weren't asked for.
    pub birth_edge: Option<[u16; 2]>,
    /// Ends of the edge that ends it. None if nothing does, or if edges weren't asked for.
    pub death_edge: Option<[u16; 2]>,
}

/// Bars of many clouds, in degrees from 0 on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagrams<T> {
    pub(super) degrees: Vec<Degree<T>>,
}

/// Bars of one degree of many clouds.
#[derive(Clone, Debug, PartialEq)]
pub struct Degree<T> {
    /// Index of each cloud's first bar, and the number of all bars at the end.
    pub first: Vec<usize>,
    /// Births and deaths of all bars.
    pub values: Vec<[T; 2]>,
    /// Ends of their edges, as [`Diagrams::edges`] returns them.
    pub edges: Vec<[u16; 4]>,
}

impl<T> Default for Degree<T> {
    fn default() -> Self {
        Degree { first: vec![0], values: Vec::new(), edges: Vec::new() }
    }
}

impl<T: Real> Diagrams<T> {
    /// Diagrams of no clouds, up to a degree.
    pub(super) fn empty(degree: usize) -> Self {
        Diagrams { degrees: (0..=degree).map(|_| Degree::default()).collect() }
    }

    /// Adds the diagrams of more clouds.
    pub(super) fn append(&mut self, more: Self) {
        for (all, more) in self.degrees.iter_mut().zip(more.degrees) {
            if all.values.is_empty() && all.first.len() == 1 {
                *all = more;
                continue;
            }
            let from = all.values.len();
            all.first.extend(more.first[1..].iter().map(|first| from + first));
            all.values.extend(more.values);
            all.edges.extend(more.edges);
        }
    }

    /// The barcodes of a degree, for functions such as [Betti curves](barcode::betti_curves). Bars without end are left
    /// out, or end at `cap`: in degree 0 each cloud has one, and distances of functions that differ for ever are infinite.
    ///
    /// # Panics
    /// If there is no such degree.
    pub fn barcodes(&self, degree: usize, cap: Option<f64>) -> Vec<Barcode> {
        let bar = |[birth, death]: [T; 2]| {
            let birth = birth.to_f64();
            let death = if death.is_finite() { death.to_f64() } else { cap?.max(birth) };
            Some(barcode::Bar { birth, death })
        };
        let all = self.values(degree);
        (0..self.len())
            .map(|cloud| {
                Barcode::of_valid(
                    Filtration::Sublevel,
                    all[self.range(cloud, degree)].iter().filter_map(|&ends| bar(ends)).collect(),
                )
            })
            .collect()
    }

    /// Number of clouds.
    pub fn len(&self) -> usize {
        self.degrees.first().map_or(0, |degree| degree.first.len() - 1)
    }

    /// Returns true if there are no clouds.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of degrees.
    pub fn degrees(&self) -> usize {
        self.degrees.len()
    }

    /// Range of a cloud's bars in [`values`](Self::values) and [`edges`](Self::edges).
    ///
    /// # Panics
    /// If there is no such cloud or degree.
    pub fn range(&self, cloud: usize, degree: usize) -> Range<usize> {
        let first = &self.degrees[degree].first;
        first[cloud]..first[cloud + 1]
    }

    /// Births and deaths of all bars of a degree, cloud by cloud.
    ///
    /// # Panics
    /// If there is no such degree.
    pub fn values(&self, degree: usize) -> &[[T; 2]] {
        &self.degrees[degree].values
    }

    /// For each of these bars, the ends of the edge that starts it, 0 in degree 0, and of the edge that ends it, 0 if none
    /// does. Empty unless [`Options::edges`](super::Options::edges) asked for them.
    ///
    /// # Panics
    /// If there is no such degree.
    pub fn edges(&self, degree: usize) -> &[[u16; 4]] {
        &self.degrees[degree].edges
    }

    /// The bars of each degree from 0 on.
    pub fn into_degrees(self) -> Vec<Degree<T>> {
        self.degrees
    }

    /// The bars of a cloud and a degree: in degree 0 by ascending death, else by ascending birth.
    ///
    /// # Panics
    /// If there is no such cloud or degree.
    pub fn bars(&self, cloud: usize, degree: usize) -> impl Iterator<Item = Bar<T>> {
        let all = &self.degrees[degree];
        self.range(cloud, degree).map(move |bar| {
            let ([birth, death], [a, b, u, v]) = (all.values[bar], all.edges.get(bar).copied().unwrap_or_default());
            let edge = |a, b| (a != b).then_some([a, b]);
            Bar { birth, death, birth_edge: edge(a, b), death_edge: edge(u, v) }
        })
    }
}
