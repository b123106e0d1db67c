//! Errors of clouds and of their homology.

use gpu_kernels::homology::{MOST_VERTICES, MOST_VERTICES_OF_CAVITIES};

use crate::{device::DeviceError, pcf::PcfError};

/// Why there are no diagrams. Clouds, points and coordinates are named by their indices, from 0; if several offend, the
/// first is named.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum HomologyError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A function of bars has a time or a value that is too large.
    #[error(transparent)]
    Pcf(#[from] PcfError),
    /// Bars of other sources aren't those of clouds.
    #[error("degree {degree}: {problem}")]
    Bars { degree: usize, problem: String },
    /// Bars without end were to end at no finite time.
    #[error("the cap is {cap}, but it must be finite")]
    Cap { cap: f64 },
    /// The diagrams have no bars of this degree.
    #[error("there are no bars of degree {degree}, but of degrees below {degrees}")]
    NoDegree { degree: usize, degrees: usize },
    /// The data isn't as long as the sizes say.
    #[error("there are {found} numbers, but the sizes of the clouds ask for {expected}")]
    Length { found: usize, expected: usize },
    /// A cloud is too large.
    #[error("cloud {cloud} has {vertices} points, but at most {MOST_VERTICES} are possible")]
    TooManyVertices { cloud: usize, vertices: usize },
    /// A cloud is too large for bars of degree 2.
    #[error("cloud {cloud} has {vertices} points, but bars of degree 2 are computed of at most {MOST_VERTICES_OF_CAVITIES}")]
    TooManyForDegree { cloud: usize, vertices: usize },
    /// A coordinate is infinite or NaN.
    #[error("cloud {cloud}: coordinate {coordinate} of point {point} is {value}, but it must be a finite number")]
    Coordinate { cloud: usize, point: usize, coordinate: usize, value: f64 },
    /// A point has a distance from itself.
    #[error("cloud {cloud}: the distance of point {point} from itself is {value}, but it must be 0")]
    Diagonal { cloud: usize, point: usize, value: f64 },
    /// Points are so far apart that their distance is infinite.
    #[error("cloud {cloud}: the distance from point {u} to point {v} is too large for {name}: scale the points")]
    TooFar { cloud: usize, u: usize, v: usize, name: &'static str },
    /// A distance is negative, NaN, or not the same in both directions.
    #[error(
        "cloud {cloud}: the distance from point {u} to point {v} is {value} and back {back}, but both must be the same \
         number, from 0 on"
    )]
    Distance { cloud: usize, u: usize, v: usize, value: f64, back: f64 },
    /// The threshold is negative or NaN.
    #[error("the threshold is {threshold}, but it must be a number from 0 on")]
    Threshold { threshold: f64 },
    /// The computation was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// A higher degree was asked for.
    #[error("bars of degree {degree} can't be computed, only those of degrees 0, 1 and 2")]
    Degree { degree: usize },
}

impl HomologyError {
    /// The cloud that the error is about.
    pub fn cloud(&self) -> Option<usize> {
        match *self {
            HomologyError::TooManyVertices { cloud, .. }
            | HomologyError::TooManyForDegree { cloud, .. }
            | HomologyError::Coordinate { cloud, .. }
            | HomologyError::Diagonal { cloud, .. }
            | HomologyError::TooFar { cloud, .. }
            | HomologyError::Distance { cloud, .. } => Some(cloud),
            _ => None,
        }
    }
}
