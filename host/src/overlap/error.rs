//! Errors of shapes, of poses, and of their files.

use std::{fmt, path::Path};

use crate::{
    device::DeviceError,
    io::files::{FileError, Reason},
};

/// Magnitudes of coordinates must be below this.
pub(super) const LARGEST: f64 = 1e6;
/// A shape must be at least this wide or this high.
pub(super) const SMALLEST: f64 = 1e-6;

/// Returns a number as text, with an exponent in place of many digits.
pub(super) fn short(number: f64) -> String {
    if number == 0.0 || (1e-5..1e15).contains(&number.abs()) { number.to_string() } else { format!("{number:e}") }
}

/// An error of shapes, poses or their files. Pieces, vertices, edges, packings and poses are named
/// by their indices, from 0; edge i leads from vertex i to the next. An error names the first
/// offending element.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum OverlapError {
    /// A shape is invalid. `piece` is the one at fault if the shape was given in pieces.
    #[error("shape {name}: {}{problem}", piece.map_or_else(String::new, |piece| format!("piece {piece}: ")))]
    Shape { name: String, piece: Option<usize>, problem: ShapeProblem },
    /// A number of a pose is infinite or NaN.
    #[error("packing {packing}, pose {pose}: {field} = {value}, but it must be a finite number")]
    NotFinite { packing: usize, pose: usize, field: Field, value: f64 },
    /// Offsets that don't divide the poses.
    #[error("offsets[{index}] is {found}, but {wanted}")]
    Offsets { index: usize, found: usize, wanted: String },
    /// There are no offsets at all.
    #[error("offsets is empty: there must be one more than packings, the first of them 0")]
    NoOffsets,
    /// The poses can't be divided into packings of one size.
    #[error("{poses} poses can't be divided into packings of {each}")]
    Uneven { poses: usize, each: usize },
    /// Not as many indices of shapes as poses.
    #[error("there are {shapes} indices of shapes, but {poses} poses; there must be one for each")]
    ShapeCount { shapes: usize, poses: usize },
    /// A pose has the index of an unknown shape.
    #[error("packing {packing}, pose {pose}: shape = {shape}, but {}", match shapes {
        0 => "there are no shapes".to_owned(),
        1 => "the only shape is 0".to_owned(),
        n => format!("the shapes are 0 to {}", n - 1),
    })]
    UnknownShape { packing: usize, pose: usize, shape: u32, shapes: usize },
    /// Two vectors don't span a lattice.
    #[error("a lattice of ({}, {}) and ({}, {}): {reason}", short(a[0]), short(a[1]), short(b[0]), short(b[1]))]
    Lattice { a: [f64; 2], b: [f64; 2], reason: String },
    /// A lattice is so fine, relative to the shapes, that too many images of a pose may overlap
    /// another pose.
    #[error(
        "images up to {images} lattice cells away may overlap; at most {most} can be handled: the lattice is too fine for the shapes"
    )]
    FineLattice { images: u64, most: u64 },
    /// A boundary doesn't contain the origin, about which it is scaled.
    #[error("the boundary's edge {edge} doesn't have the origin on its inner side: the boundary must contain it")]
    Origin { edge: usize },
    /// A strip's width is invalid.
    #[error("a strip of width {}: it must be a number from {min:e} to {max:e}", short(*width), min = SMALLEST, max = LARGEST)]
    Width { width: f64 },
    /// A boundary together with a lattice.
    #[error("a boundary and a lattice exclude each other: nothing is outside where everything repeats")]
    BoundaryInLattice,
    /// A boundary's scale is invalid.
    #[error("packing {packing}: the boundary's scale is {scale:?}, but it must be a positive number up to {most:e}")]
    Scale { packing: usize, scale: f64, most: f64 },
    /// The number of scales is neither 1 nor the number of packings.
    #[error("there are {scales} scales of the boundary, but {packings} packings; there must be one for all, or one for each")]
    ScaleCount { scales: usize, packings: usize },
    /// Scales were given without a boundary.
    #[error("there are scales for a boundary, but there is no boundary")]
    NoBoundary,
    /// A pose too far out for the type.
    #[error(
        "packing {packing}, pose {pose}: {field} = {} is too large for {type_name}: magnitudes must be at most {most:e}",
        short(*value)
    )]
    TooFar { packing: usize, pose: usize, field: Field, value: f64, type_name: &'static str, most: f64 },
    /// A number of poses, packings, cells, pieces or pairs exceeds 32 bits.
    #[error("{count} {what}: there can be at most {most}", most = u32::MAX)]
    TooMany { what: &'static str, count: usize },
    /// A scene was loaded by another evaluator, or before this one got its lattice.
    #[error("the scene was loaded for other shapes or another lattice than those that it is to be evaluated with")]
    ForeignScene,
    /// Two lists of different numbers of packings.
    #[error(
        "one list has {first} packing{}, and the other {second}: packing i of one goes with packing i of the other",
        if *first == 1 { "" } else { "s" }
    )]
    PackingCount { first: usize, second: usize },
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A file can't be read or written, or has other content.
    #[error(transparent)]
    File(#[from] FileError),
    /// A text doesn't name or describe a shape.
    #[error("`{text}` is not a shape: {reason}")]
    NoShape { text: String, reason: String },
}

/// One of the three numbers of a pose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Field {
    /// `x`, a length.
    X,
    /// `y`, a length.
    Y,
    /// `theta`, in radians.
    Theta,
}

impl Field {
    /// In the order that they have in a pose.
    pub const ALL: [Field; 3] = [Field::X, Field::Y, Field::Theta];
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Field::X => "x",
            Field::Y => "y",
            Field::Theta => "theta",
        })
    }
}

/// A reason why a shape is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum ShapeProblem {
    /// The list of pieces is empty.
    #[error("there are no pieces")]
    NoPieces,
    /// Too few vertices for an area. A last vertex that repeats the first doesn't count.
    #[error("there {}, but an outline needs at least 3", match vertices {
        0 => "are no vertices".to_owned(),
        1 => "is 1 vertex".to_owned(),
        n => format!("are {n} vertices"),
    })]
    TooFew { vertices: usize },
    /// A coordinate is infinite or NaN.
    #[error("vertex {vertex}: {axis} = {value}, but it must be a finite number")]
    NotFinite { vertex: usize, axis: Field, value: f64 },
    /// A coordinate is too large.
    #[error("vertex {vertex}: {axis} = {} is too large: magnitudes must be below {max:e}", short(*value), max = LARGEST)]
    TooLarge { vertex: usize, axis: Field, value: f64 },
    /// Width and height are both too small.
    #[error("width and height are at most {extent:e}: one of them must be at least {min:e}", min = SMALLEST)]
    TooSmall { extent: f64 },
    /// Two edges have a point in common that isn't a vertex between them.
    #[error("edges {first} and {second} cross or touch; an outline must not meet itself")]
    Meets { first: usize, second: usize },
    /// A hole is invalid by itself.
    #[error("hole {hole}: {problem}")]
    Hole { hole: usize, problem: Box<ShapeProblem> },
    /// A hole crosses, touches or contains another hole or, if `other` is `None`, the outline.
    #[error("hole {hole} meets {}", other.map_or_else(|| "the outline".to_owned(), |other| format!("hole {other}")))]
    HoleMeets { hole: usize, other: Option<usize> },
    /// A hole isn't inside of the outline.
    #[error("hole {hole} is not inside of the outline")]
    HoleOutside { hole: usize },
    /// The area is next to 0.
    #[error("the area is {area:e}, next to nothing for a width or height of {extent}")]
    Degenerate { area: f64, extent: f64 },
    /// A piece turns inwards.
    #[error("it is not convex at vertex {vertex}")]
    NotConvex { vertex: usize },
    /// Two pieces share an area.
    #[error("pieces {first} and {second} overlap by an area of {area:e}")]
    PiecesOverlap { first: usize, second: usize, area: f64 },
}

impl OverlapError {
    /// An error about the file at `path`.
    pub(super) fn file(path: &Path, reason: impl Into<Reason>) -> Self {
        FileError::new(path, reason).into()
    }

    /// Returns the packing at fault and the pose in it, if a pose is at fault.
    pub fn pose(&self) -> Option<(usize, usize)> {
        match *self {
            OverlapError::NotFinite { packing, pose, .. }
            | OverlapError::TooFar { packing, pose, .. }
            | OverlapError::UnknownShape { packing, pose, .. } => Some((packing, pose)),
            _ => None,
        }
    }
}
