//! Results: the bars of many clouds.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use bytemuck::Pod;

use super::HomologyError;
use crate::{
    common::Real,
    device::{Buffer, Device, DeviceError, Stream, ViewMut},
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
///
/// They stay in the memory of the devices that have computed them. The bars of a degree are copied to host memory when they
/// are first asked for.
#[derive(Clone, Debug)]
pub struct Diagrams<T: Pod> {
    degrees: Vec<Degree<T>>,
    /// Bars on devices, by consecutive clouds.
    parts: Vec<Arc<Part<T>>>,
}

/// Bars of one degree.
#[derive(Clone, Debug)]
struct Degree<T> {
    /// Index of each cloud's first bar, and the number of all bars at the end.
    first: Vec<usize>,
    values: OnceLock<Vec<[T; 2]>>,
    edges: OnceLock<Vec<[u16; 4]>>,
}

/// A degree in host memory: the index of each cloud's first bar and the number of all bars, births and deaths, and edges or
/// none, as [`Diagrams::edges`] returns them.
pub type Parts<T> = (Vec<usize>, Vec<[T; 2]>, Vec<[u16; 4]>);

/// Bars of consecutive clouds on a device, degree by degree.
#[derive(Debug)]
pub(super) struct Part<T: Pod> {
    pub clouds: usize,
    /// Index of the first bar of each degree and cloud, and the number of all bars at the end.
    pub starts: Vec<u32>,
    pub values: Buffer<[T; 2]>,
    /// None, or those of all bars.
    pub edges: Buffer<[u16; 4]>,
}

impl<T: Pod> Part<T> {
    /// Index of each cloud's first bar of a degree, and of the first bar of the next degree.
    fn starts(&self, degree: usize) -> &[u32] {
        &self.starts[degree * self.clouds..][..=self.clouds]
    }

    /// Range of a degree's bars.
    fn range(&self, degree: usize) -> Range<usize> {
        let starts = self.starts(degree);
        starts[0] as usize..starts[self.clouds] as usize
    }
}

/// Diagrams with the same bars are equal, wherever they are.
impl<T: Real> PartialEq for Diagrams<T> {
    fn eq(&self, other: &Self) -> bool {
        let same = |degree: usize| {
            let firsts = self.degrees[degree].first == other.degrees[degree].first;
            firsts && self.values(degree) == other.values(degree) && self.edges(degree) == other.edges(degree)
        };
        self.degrees() == other.degrees() && (0..self.degrees()).all(same)
    }
}

impl<T: Real> Diagrams<T> {
    /// Diagrams of no clouds, up to a degree.
    pub(super) fn empty(degree: usize) -> Self {
        let none = || Degree { first: vec![0], values: OnceLock::new(), edges: OnceLock::new() };
        Diagrams { degrees: (0..=degree).map(|_| none()).collect(), parts: Vec::new() }
    }

    /// Diagrams of bars in host memory, from degree 0 on.
    ///
    /// # Errors
    /// [`HomologyError::Bars`]: offsets don't divide the bars, degrees differ in their number of clouds, or a bar has a birth
    /// that is not a finite number from 0 on, or a death before it.
    pub fn from_parts(degrees: Vec<Parts<T>>) -> Result<Self, HomologyError> {
        let clouds = degrees.first().map(|(first, ..)| first.len());
        for (degree, (first, values, edges)) in degrees.iter().enumerate() {
            let wrong = |problem: String| Err(HomologyError::Bars { degree, problem });
            let ascending = first.first() == Some(&0) && first.is_sorted() && first.last() == Some(&values.len());
            if !ascending || Some(first.len()) != clouds {
                return wrong(format!("its offsets don't divide {} bars among the clouds", values.len()));
            }
            if !edges.is_empty() && edges.len() != values.len() {
                return wrong(format!("there are {} edges, but {} bars", edges.len(), values.len()));
            }
            let valid = |[birth, death]: &[T; 2]| *birth >= T::ZERO && birth.is_finite() && death >= birth;
            if let Some(bar) = values.iter().position(|bar| !valid(bar)) {
                let [birth, death] = values[bar];
                return wrong(format!(
                    "bar {bar} is from {birth} to {death}, but births are finite, from 0 on, and before deaths"
                ));
            }
        }
        let degree = |(first, values, edges): (_, Vec<_>, Vec<_>)| Degree { first, values: values.into(), edges: edges.into() };
        Ok(Diagrams { degrees: degrees.into_iter().map(degree).collect(), parts: Vec::new() })
    }

    /// Adds the bars of more clouds.
    pub(super) fn append(&mut self, part: Part<T>) {
        for (degree, all) in self.degrees.iter_mut().enumerate() {
            let (starts, from) = (part.starts(degree), all.first.last().copied().unwrap_or(0));
            all.first.extend(starts[1..].iter().map(|&start| from + (start - starts[0]) as usize));
        }
        self.parts.push(Arc::new(part));
    }

    /// Copies the bars of a degree, and their edges if they were asked for, to host memory, unless they are there.
    ///
    /// # Errors
    /// A device that has them fails, or the host has not enough memory.
    ///
    /// # Panics
    /// If there is no such degree.
    pub fn fetch(&self, degree: usize) -> Result<(), DeviceError> {
        let Degree { values, edges, .. } = &self.degrees[degree];
        if values.get().is_some() {
            return Ok(());
        }
        let (mut all, mut ends) = (Vec::new(), Vec::new());
        for part in &self.parts {
            let stream = part.values.device().stream()?;
            let range = part.range(degree);
            let own = stream.download_vec(part.values.view(range.clone())?)?;
            if !part.edges.is_empty() {
                ends.extend(stream.download_vec(part.edges.view(range)?)?);
            }
            if all.is_empty() { all = own } else { all.extend(own) }
        }
        edges.get_or_init(|| ends);
        values.get_or_init(|| all);
        Ok(())
    }

    fn fetched(&self, degree: usize) -> &Degree<T> {
        self.fetch(degree).unwrap_or_else(|error| panic!("bars are out of reach: {error}"));
        &self.degrees[degree]
    }

    /// Copies the bars of a degree into memory of the stream's device, which has room for them.
    pub(super) fn copy(&self, stream: &Stream, degree: usize, mut target: ViewMut<'_, [T; 2]>) -> Result<(), DeviceError> {
        let home = stream.device().ordinal();
        if self.parts.is_empty() || self.parts.iter().any(|part| part.values.device().ordinal() != home) {
            self.fetch(degree)?;
            return stream.upload(target, self.values(degree));
        }
        let mut at = 0;
        for part in &self.parts {
            let range = part.range(degree);
            let end = at + range.len();
            stream.copy(part.values.view(range)?, target.view_mut(at..end)?)?;
            at = end;
        }
        Ok(())
    }

    /// The device that has the first bars, if bars are on devices.
    pub fn device(&self) -> Option<&Device> {
        self.parts.first().map(|part| part.values.device())
    }

    /// The barcodes of a degree. Bars without end are left out, or end at `cap`: in degree 0 each cloud has one, and
    /// distances of functions that differ for ever are infinite.
    ///
    /// # Panics
    /// If there is no such degree, or [`fetch`](Self::fetch) fails.
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

    /// Index of each cloud's first bar of a degree, and the number of all bars at the end.
    ///
    /// # Panics
    /// If there is no such degree.
    pub fn offsets(&self, degree: usize) -> &[usize] {
        &self.degrees[degree].first
    }

    /// Range of a cloud's bars in [`values`](Self::values) and [`edges`](Self::edges).
    ///
    /// # Panics
    /// If there is no such cloud or degree.
    pub fn range(&self, cloud: usize, degree: usize) -> Range<usize> {
        let first = self.offsets(degree);
        first[cloud]..first[cloud + 1]
    }

    /// Births and deaths of all bars of a degree, cloud by cloud, in host memory.
    ///
    /// # Panics
    /// If there is no such degree, or [`fetch`](Self::fetch) fails.
    pub fn values(&self, degree: usize) -> &[[T; 2]] {
        self.fetched(degree).values.get().map_or(&[], |values| values)
    }

    /// For each of these bars, the ends of the edge that starts it, 0 in degree 0, and of the edge that ends it, 0 if none
    /// does. Empty unless [`Options::edges`](super::Options::edges) asked for them.
    ///
    /// # Panics
    /// As for [`values`](Self::values).
    pub fn edges(&self, degree: usize) -> &[[u16; 4]] {
        self.fetched(degree).edges.get().map_or(&[], |edges| edges)
    }

    /// The bars of a cloud and a degree: in degree 0 by ascending death, else by ascending birth.
    ///
    /// # Panics
    /// If there is no such cloud, or as for [`values`](Self::values).
    pub fn bars(&self, cloud: usize, degree: usize) -> impl Iterator<Item = Bar<T>> {
        let (values, edges) = (self.values(degree), self.edges(degree));
        self.range(cloud, degree).map(move |bar| {
            let ([birth, death], [a, b, u, v]) = (values[bar], edges.get(bar).copied().unwrap_or_default());
            let edge = |a, b| (a != b).then_some([a, b]);
            Bar { birth, death, birth_edge: edge(a, b), death_edge: edge(u, v) }
        })
    }
}
