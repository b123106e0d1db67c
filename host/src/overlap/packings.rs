//! Poses of one or more packings.

use std::ops::Range;

use super::{OverlapError, OverlapReal, Point, Shape, convex, error::Field};

/// Poses of one or more packings: x and y in length units, theta in radians. A pose turns its shape by theta about the
/// origin of the shape's frame, counter-clockwise, and then moves that origin to (x, y).
///
/// All numbers are finite. Only poses of the same packing can overlap. A packing may be empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Packings {
    poses: Vec<[f64; 3]>,
    /// Start of each packing's poses, and the end of the last.
    offsets: Vec<usize>,
    /// The index of each pose's shape; `None` if all have the first shape.
    shapes: Option<Vec<u32>>,
}

impl Packings {
    /// One packing of all the poses.
    ///
    /// # Errors
    /// If a number isn't finite.
    pub fn one(poses: Vec<[f64; 3]>) -> Result<Self, OverlapError> {
        let offsets = vec![0, poses.len()];
        Packings::ragged(poses, offsets)
    }

    /// Packings of `each` poses, one after the other.
    ///
    /// # Errors
    /// If a number isn't finite, or `each` is 0 or doesn't divide the number of poses.
    pub fn ensembles(poses: Vec<[f64; 3]>, each: usize) -> Result<Self, OverlapError> {
        if each == 0 || !poses.len().is_multiple_of(each) {
            return Err(OverlapError::Uneven { poses: poses.len(), each });
        }
        let offsets = (0..=poses.len() / each).map(|packing| packing * each).collect();
        Packings::ragged(poses, offsets)
    }

    /// Packings of different sizes: packing i has the poses `offsets[i]..offsets[i + 1]`.
    ///
    /// # Errors
    /// If a number isn't finite, or the offsets don't ascend (equal ones are fine) from 0 to the
    /// number of poses.
    pub fn ragged(poses: Vec<[f64; 3]>, offsets: Vec<usize>) -> Result<Self, OverlapError> {
        let wrong = |index: usize, wanted: String| OverlapError::Offsets { index, found: offsets[index], wanted };
        match offsets.first() {
            None => return Err(OverlapError::NoOffsets),
            Some(0) => {}
            Some(_) => return Err(wrong(0, "the first must be 0".to_owned())),
        }
        for index in 1..offsets.len() {
            if offsets[index] < offsets[index - 1] {
                return Err(wrong(index, format!("it must not be below the one before, {}", offsets[index - 1])));
            }
            if offsets[index] > poses.len() {
                return Err(wrong(index, format!("there are only {} poses", poses.len())));
            }
        }
        let last = offsets.len() - 1;
        if offsets[last] != poses.len() {
            return Err(wrong(last, format!("the last must be the number of poses, {}", poses.len())));
        }
        let packings = Packings { poses, offsets, shapes: None };
        match packings.poses.iter().position(|pose| !pose.iter().all(|number| number.is_finite())) {
            None => Ok(packings),
            Some(index) => {
                let (packing, pose) = packings.locate(index);
                let at = packings.poses[index].iter().position(|number| !number.is_finite()).unwrap_or_default();
                Err(OverlapError::NotFinite { packing, pose, field: Field::ALL[at], value: packings.poses[index][at] })
            }
        }
    }

    /// Returns the same poses with the index of each pose's shape.
    ///
    /// # Errors
    /// If the number of indices isn't the number of poses.
    pub fn with_shapes(self, shapes: Vec<u32>) -> Result<Self, OverlapError> {
        if shapes.len() != self.poses.len() {
            return Err(OverlapError::ShapeCount { shapes: shapes.len(), poses: self.poses.len() });
        }
        Ok(Packings { shapes: Some(shapes), ..self })
    }

    /// The number of packings.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns whether there are no packings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The poses of all packings, one packing after the other: x, y, theta.
    pub fn poses(&self) -> &[[f64; 3]] {
        &self.poses
    }

    /// Start of each packing's poses, and the end of the last: packing i is
    /// `poses()[offsets[i]..offsets[i + 1]]`.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The index of each pose's shape; `None` if all are 0.
    pub fn shapes(&self) -> Option<&[u32]> {
        self.shapes.as_deref()
    }

    /// The poses of one packing.
    ///
    /// # Panics
    /// If there is no such packing.
    pub fn get(&self, packing: usize) -> &[[f64; 3]] {
        &self.poses[self.range(packing)]
    }

    /// The range of a packing's poses in [`poses`](Packings::poses).
    ///
    /// # Panics
    /// If there is no such packing.
    pub fn range(&self, packing: usize) -> Range<usize> {
        self.offsets[packing]..self.offsets[packing + 1]
    }

    /// The index of a pose's shape, by the pose's index in [`poses`](Packings::poses).
    pub fn shape_of(&self, pose: usize) -> u32 {
        self.shapes.as_ref().map_or(0, |shapes| shapes[pose])
    }

    /// The packing that a pose is in, and its index there.
    pub fn locate(&self, pose: usize) -> (usize, usize) {
        let packing = self.offsets.partition_point(|&offset| offset <= pose) - 1;
        (packing, pose - self.offsets[packing])
    }

    /// Number of poses per packing, if it is the same for all packings.
    pub fn each(&self) -> Option<usize> {
        let mut sizes = self.offsets.windows(2).map(|pair| pair[1] - pair[0]);
        let first = sizes.next()?;
        sizes.all(|size| size == first).then_some(first)
    }

    /// The corners of the smallest box, parallel to the axes, around a packing of these shapes.
    /// None if it is empty.
    ///
    /// # Panics
    /// If there is no such packing, or a pose has a shape that doesn't exist.
    pub fn bounds(&self, packing: usize, shapes: &[Shape]) -> Option<[Point; 2]> {
        let posed = |pose: usize| shapes[self.shape_of(pose) as usize].posed(self.poses[pose]);
        let vertices: Vec<Point> = self.range(packing).flat_map(posed).flatten().collect();
        (!vertices.is_empty()).then(|| convex::bounds(&vertices))
    }

    /// The side of the smallest square, parallel to the axes, around a packing of these shapes.
    ///
    /// # Panics
    /// As [`bounds`](Self::bounds).
    pub fn side(&self, packing: usize, shapes: &[Shape]) -> f64 {
        self.bounds(packing, shapes).map_or(0.0, |[low, high]| (high[0] - low[0]).max(high[1] - low[1]))
    }

    /// Checks that all positions are small enough to be evaluated in `T`.
    ///
    /// # Errors
    /// [`OverlapError::TooFar`] with the first such pose.
    pub fn check_positions<T: OverlapReal>(&self) -> Result<(), OverlapError> {
        let most = T::MAX_POSITION;
        let far = |pose: &[f64; 3]| pose[0].abs() > most || pose[1].abs() > most;
        let Some(index) = self.poses.iter().position(far) else { return Ok(()) };
        let (packing, pose) = self.locate(index);
        let [x, y, _] = self.poses[index];
        let (field, value) = if x.abs() > most { (Field::X, x) } else { (Field::Y, y) };
        Err(OverlapError::TooFar { packing, pose, field, value, type_name: T::NAME, most })
    }

    /// Checks that all indices of shapes are below `count`.
    ///
    /// # Errors
    /// [`OverlapError::UnknownShape`] with the first pose of another shape.
    pub fn check_shapes(&self, count: usize) -> Result<(), OverlapError> {
        let first = match &self.shapes {
            None if count == 0 && !self.poses.is_empty() => Some(0),
            None => None,
            Some(shapes) => shapes.iter().position(|&shape| shape as usize >= count),
        };
        let Some(index) = first else { return Ok(()) };
        let (packing, pose) = self.locate(index);
        Err(OverlapError::UnknownShape { packing, pose, shape: self.shape_of(index), shapes: count })
    }
}
