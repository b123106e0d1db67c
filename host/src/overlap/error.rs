//! What can be wrong with shapes, with poses, and with the files that they come from.

use std::{fmt, path::Path};

use crate::{
    device::DeviceError,
    io::files::{FileError, Reason},
};

/// Magnitudes of coordinates must be below this.
pub(super) const LARGEST: f64 = 1e6;
/// A shape must be at least this wide or this high.
pub(super) const SMALLEST: f64 = 1e-6;

/// Why shapes or poses could not be made, read or used. Pieces, vertices, edges, packings and poses are named by their
/// indices, from 0; edge i is the one from vertex i to the next. Where several offend, the first is named.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OverlapError {
    /// A shape is invalid.
    #[error("shape {name}: {}{problem}", piece.map_or_else(String::new, |piece| format!("piece {piece}: ")))]
    Shape {
        /// The shape's name.
        name: String,
        /// The piece at fault, where the shape was given in pieces.
        piece: Option<usize>,
        /// What is wrong with it.
        problem: ShapeProblem,
    },
    /// A number of a pose is infinite or NaN.
    #[error("packing {packing}, pose {pose}: {field} = {value}, but it must be a finite number")]
    NotFinite {
        /// The packing.
        packing: usize,
        /// The pose's index in the packing.
        pose: usize,
        /// Which of its numbers.
        field: Field,
        /// The number.
        value: f64,
    },
    /// Offsets that don't divide the poses.
    #[error("offsets[{index}] is {found}, but {wanted}")]
    Offsets {
        /// The index of the offset.
        index: usize,
        /// What it is.
        found: usize,
        /// What it must be.
        wanted: String,
    },
    /// There are no offsets at all.
    #[error("offsets is empty: there must be one more than packings, the first of them 0")]
    NoOffsets,
    /// The poses can't be divided into packings of one size.
    #[error("{poses} poses can't be divided into packings of {each}")]
    Uneven {
        /// The number of poses.
        poses: usize,
        /// The number of poses that each packing is to have.
        each: usize,
    },
    /// Not as many indices of shapes as poses.
    #[error("there are {shapes} indices of shapes, but {poses} poses; there must be one for each")]
    ShapeCount {
        /// The number of indices.
        shapes: usize,
        /// The number of poses.
        poses: usize,
    },
    /// A pose is of a shape that there isn't.
    #[error("packing {packing}, pose {pose}: shape = {shape}, but {}", match shapes {
        0 => "there are no shapes".to_owned(),
        1 => "the only shape is 0".to_owned(),
        n => format!("the shapes are 0 to {}", n - 1),
    })]
    UnknownShape {
        /// The packing.
        packing: usize,
        /// The pose's index in the packing.
        pose: usize,
        /// The index of the shape.
        shape: u32,
        /// How many shapes there are.
        shapes: usize,
    },
    /// Two vectors that make no lattice.
    #[error("a lattice of ({}, {}) and ({}, {}): {reason}", a[0], a[1], b[0], b[1])]
    Lattice {
        /// The first vector.
        a: [f64; 2],
        /// The second vector.
        b: [f64; 2],
        /// What is wrong with them.
        reason: String,
    },
    /// A lattice so fine, beside the shapes, that too many images of a pose meet another.
    #[error(
        "images up to {images} lattice cells away may overlap; at most {most} can be handled: the lattice is too fine for the shapes"
    )]
    FineLattice {
        /// How many cells away.
        images: u64,
        /// How many there may be.
        most: u64,
    },
    /// A boundary that hasn't the origin inside, about which it is scaled.
    #[error("the boundary's edge {edge} doesn't have the origin on its inner side: the boundary must contain it")]
    Origin {
        /// The edge from the vertex of this index to the next.
        edge: usize,
    },
    /// A strip's width is invalid.
    #[error("a strip of width {width}: it must be a number from {min:e} to {max:e}", min = SMALLEST, max = LARGEST)]
    Width {
        /// The width.
        width: f64,
    },
    /// A boundary together with a lattice.
    #[error("a boundary and a lattice exclude each other: nothing is outside where everything repeats")]
    BoundaryInLattice,
    /// A boundary's scale is invalid.
    #[error("packing {packing}: the boundary's scale is {scale}, but it must be a positive number")]
    Scale {
        /// The packing.
        packing: usize,
        /// The scale.
        scale: f64,
    },
    /// Not one scale for all packings, nor one for each.
    #[error("there are {scales} scales of the boundary, but {packings} packings; there must be one for all, or one for each")]
    ScaleCount {
        /// The number of scales.
        scales: usize,
        /// The number of packings.
        packings: usize,
    },
    /// Scales of a boundary, and no boundary.
    #[error("there are scales for a boundary, but there is no boundary")]
    NoBoundary,
    /// A pose too far out for the type.
    #[error(
        "packing {packing}, pose {pose}: {field} = {value} is too large for {type_name}: magnitudes must be at most {most:e}"
    )]
    TooFar {
        /// The packing.
        packing: usize,
        /// The pose's index in the packing.
        pose: usize,
        /// Which of its numbers.
        field: Field,
        /// The number.
        value: f64,
        /// The type's name.
        type_name: &'static str,
        /// The largest magnitude.
        most: f64,
    },
    /// More of something than 32-bit numbers can count.
    #[error("{count} {what}: there can be at most {most}", most = u32::MAX)]
    TooMany {
        /// Of what: poses, pieces, or pairs.
        what: &'static str,
        /// How many.
        count: usize,
    },
    /// A scene that was loaded by another evaluator, or before this one was given its lattice.
    #[error("the scene was loaded for other shapes or another lattice than those that it is to be evaluated with")]
    ForeignScene,
    /// Two lists of different numbers of packings.
    #[error(
        "one list has {first} packing{}, and the other {second}: packing i of one goes with packing i of the other",
        if *first == 1 { "" } else { "s" }
    )]
    PackingCount {
        /// The first list's.
        first: usize,
        /// The second list's.
        second: usize,
    },
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A file can't be read or written, or holds something else.
    #[error(transparent)]
    File(#[from] FileError),
    /// What was given for a shape isn't one.
    #[error("`{text}` is not a shape: {reason}")]
    NoShape {
        /// What was given.
        text: String,
        /// Why not, as a clause.
        reason: String,
    },
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

/// What can be wrong with a shape.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeProblem {
    /// It was given in pieces, and there are none.
    #[error("there are no pieces")]
    NoPieces,
    /// Too few vertices for an area.
    #[error("there {}, but an outline needs at least 3", match vertices {
        0 => "are no vertices".to_owned(),
        1 => "is 1 vertex".to_owned(),
        n => format!("are {n} vertices"),
    })]
    TooFew {
        /// How many there are; a last one that repeats the first doesn't count.
        vertices: usize,
    },
    /// A coordinate is infinite or NaN.
    #[error("vertex {vertex}: {axis} = {value}, but it must be a finite number")]
    NotFinite {
        /// The vertex.
        vertex: usize,
        /// `x` or `y`.
        axis: Field,
        /// The coordinate.
        value: f64,
    },
    /// A coordinate is too large.
    #[error("vertex {vertex}: {axis} = {value} is too large: magnitudes must be below {max:e}", max = LARGEST)]
    TooLarge {
        /// The vertex.
        vertex: usize,
        /// `x` or `y`.
        axis: Field,
        /// The coordinate.
        value: f64,
    },
    /// Width and height are both too small.
    #[error("width and height are at most {extent:e}: one of them must be at least {min:e}", min = SMALLEST)]
    TooSmall {
        /// The larger of both.
        extent: f64,
    },
    /// Two edges have a point in common that isn't a vertex between them.
    #[error("edges {first} and {second} cross or touch; an outline must not meet itself")]
    Meets {
        /// The edge from the vertex of this index to the next.
        first: usize,
        /// The other edge, of a higher index.
        second: usize,
    },
    /// Next to no area.
    #[error("the area is {area:e}, next to nothing for a width or height of {extent}")]
    Degenerate {
        /// The area.
        area: f64,
        /// The larger of width and height.
        extent: f64,
    },
    /// A piece turns inwards.
    #[error("it is not convex at vertex {vertex}")]
    NotConvex {
        /// The vertex.
        vertex: usize,
    },
    /// Two pieces share an area.
    #[error("pieces {first} and {second} overlap by an area of {area:e}")]
    PiecesOverlap {
        /// The first piece.
        first: usize,
        /// The second piece.
        second: usize,
        /// The area that they share.
        area: f64,
    },
}

impl OverlapError {
    /// An error about the file at `path`.
    pub(super) fn file(path: &Path, reason: impl Into<Reason>) -> Self {
        FileError::new(path, reason).into()
    }

    /// The packing at fault and the pose in it, where it is a pose's fault.
    pub fn pose(&self) -> Option<(usize, usize)> {
        match *self {
            OverlapError::NotFinite { packing, pose, .. }
            | OverlapError::TooFar { packing, pose, .. }
            | OverlapError::UnknownShape { packing, pose, .. } => Some((packing, pose)),
            _ => None,
        }
    }
}
