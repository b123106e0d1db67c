//! Progress and results of a search.

use super::Copies;

/// A valid packing: no two copies overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct Packing {
    /// A pose for each copy, ordered by shape. The smallest container around all copies is centred
    /// at the origin.
    pub poses: Vec<[f64; 3]>,
    /// True for each mirrored copy: its pose is that of the [mirror image](crate::overlap::Shape::mirrored). Empty if none may
    /// be mirrored.
    pub mirrored: Vec<bool>,
    /// That container's scale: the side of a square, which is parallel to the axes.
    pub side: f64,
}

impl Packing {
    /// A packing without mirrored copies.
    pub fn new(poses: Vec<[f64; 3]>, side: f64) -> Self {
        Packing { poses, mirrored: Vec::new(), side }
    }

    /// The index of each copy's shape, given that without mirroring: mirror images follow all of the `shapes`.
    pub fn shapes(&self, copies: &Copies) -> Vec<u32> {
        let mirrored = self.mirrored.iter().copied().chain(std::iter::repeat(false));
        let offset = copies.counts.len() as u32;
        copies.shapes().into_iter().zip(mirrored).map(|(shape, mirrored)| shape + if mirrored { offset } else { 0 }).collect()
    }
}

/// The state of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Steps that every candidate has taken.
    pub steps: usize,
    /// Seconds since the start.
    pub seconds: f64,
    /// For each packing, the estimated scale of its container. Overlaps that remain are charged as
    /// if they took room.
    pub sides: Vec<f64>,
    /// The sum of container area per copy over all packings: side² / n of one packing in a square.
    pub score: f64,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    /// The packings, in the order of the settings.
    pub packings: Vec<Packing>,
    /// The sum of container area per copy over all packings.
    pub score: f64,
    /// Fraction of all containers' area that copies cover.
    pub density: f64,
    /// Number of candidates that were improved, on all devices together.
    pub starts: usize,
    /// Steps that each candidate took.
    pub steps: usize,
    /// Duration of the whole search, in seconds.
    pub seconds: f64,
    /// Each improvement of the score, without estimates that are below the result. The last entry is the result.
    pub history: Vec<Progress>,
    /// True if the search was cancelled.
    pub cancelled: bool,
}
