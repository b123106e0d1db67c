//! Inputs: point clouds, or their distances.

use std::ops::Range;

use bytemuck::Pod;
use gpu_kernels::homology::MOST_VERTICES;

use super::HomologyError;
use crate::{common::Real, device::View};

/// Numbers in host memory or on the device that computes with them.
#[derive(Debug)]
pub(super) enum Source<'a, T: Pod> {
    Host(&'a [T]),
    Device(View<'a, T>),
}

/// Finite metric spaces: clouds of points in Euclidean space, or square matrices of distances.
#[derive(Debug)]
pub struct Clouds<'a, T: Pod> {
    pub(super) source: Source<'a, T>,
    /// Number of coordinates of a point. None for distances.
    pub(super) dimension: Option<usize>,
    pub(super) sizes: Vec<usize>,
}

impl<'a, T: Real> Clouds<'a, T> {
    /// Clouds of `sizes` points each. `points` has all of them one after another, with `dimension` coordinates each.
    ///
    /// # Errors
    /// [`HomologyError`] if there are more or fewer coordinates, a coordinate isn't finite, or a cloud is too large.
    pub fn points(points: &'a [T], dimension: usize, sizes: Vec<usize>) -> Result<Self, HomologyError> {
        let clouds = Clouds { source: Source::Host(points), dimension: Some(dimension), sizes };
        clouds.check(points.len())?;
        if let Some(at) = points.iter().position(|x| !x.is_finite()) {
            let (cloud, within) = clouds.locate(at);
            let (point, coordinate) = (within / dimension, within % dimension);
            return Err(HomologyError::Coordinate { cloud, point, coordinate, value: points[at].to_f64() });
        }
        Ok(clouds)
    }

    /// Clouds of `sizes` points each, by their distances: a square matrix of each, one after another. A distance may be
    /// infinite.
    ///
    /// # Errors
    /// [`HomologyError`] if there are more or fewer numbers, a point has a distance from itself, or a cloud is too large.
    /// Other distances are checked when they are used.
    pub fn distances(distances: &'a [T], sizes: Vec<usize>) -> Result<Self, HomologyError> {
        let clouds = Clouds { source: Source::Host(distances), dimension: None, sizes };
        clouds.check(distances.len())?;
        let mut first = 0;
        for (cloud, &n) in clouds.sizes.iter().enumerate() {
            if let Some(point) = (0..n).find(|&point| distances[first + point * (n + 1)] != T::ZERO) {
                let value = distances[first + point * (n + 1)].to_f64();
                return Err(HomologyError::Diagonal { cloud, point, value });
            }
            first += n * n;
        }
        Ok(clouds)
    }

    /// Clouds whose points, or distances if there is no `dimension`, are on a device. The diagonals of distances aren't
    /// looked at.
    ///
    /// # Errors
    /// [`HomologyError`] if there are more or fewer numbers, or a cloud is too large.
    pub fn on_device(
        numbers: impl Into<View<'a, T>>,
        dimension: Option<usize>,
        sizes: Vec<usize>,
    ) -> Result<Self, HomologyError> {
        let numbers = numbers.into();
        let len = numbers.len();
        let clouds = Clouds { source: Source::Device(numbers), dimension, sizes };
        clouds.check(len)?;
        Ok(clouds)
    }

    /// Number of clouds.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Returns true if there are no clouds.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Number of points of each cloud.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Number of numbers of a cloud of `n` points.
    fn numbers(&self, n: usize) -> usize {
        n.saturating_mul(self.dimension.unwrap_or(n))
    }

    fn check(&self, found: usize) -> Result<(), HomologyError> {
        if let Some(cloud) = self.sizes.iter().position(|&n| n > MOST_VERTICES) {
            return Err(HomologyError::TooManyVertices { cloud, vertices: self.sizes[cloud] });
        }
        let expected = self.sizes.iter().fold(0usize, |sum, &n| sum.saturating_add(self.numbers(n)));
        if found == expected { Ok(()) } else { Err(HomologyError::Length { found, expected }) }
    }

    /// The cloud of a number, and its index there.
    fn locate(&self, mut at: usize) -> (usize, usize) {
        for (cloud, &n) in self.sizes.iter().enumerate() {
            let count = self.numbers(n);
            if at < count {
                return (cloud, at);
            }
            at -= count;
        }
        unreachable!("the clouds have all numbers")
    }

    /// Range of the numbers of these clouds.
    pub(super) fn range(&self, clouds: Range<usize>) -> Range<usize> {
        let sum = |clouds: &[usize]| clouds.iter().map(|&n| self.numbers(n)).sum::<usize>();
        let start = sum(&self.sizes[..clouds.start]);
        start..start + sum(&self.sizes[clouds])
    }
}
