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

/// An error of shapes, poses or their files. Pieces, vertices, edges, packings and poses are named
/// by their indices, from 0; edge i leads from vertex i to the next. An error names the first
/// offending element.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OverlapError {
    /// A shape is invalid.
    #[error("shape {name}: {}{problem}", piece.map_or_else(String::new, |piece| format!("piece {piece}: ")))]
    Shape {
        /// The shape's name.
        name: String,
        /// The piece at fault, if the shape was given in pieces.
        piece: Option<usize>,
        /// The reason.
        problem: ShapeProblem,
    },
    /// A number of a pose is infinite or NaN.
    #[error("packing {packing}, pose {pose}: {field} = {value}, but it must be a finite number")]
    NotFinite {
        /// The packing.
        packing: usize,
        /// The pose's index in the packing.
        pose: usize,
        /// The coordinate or angle at fault.
        field: Field,
        /// The number.
        value: f64,
    },
    /// Offsets that don't divide the poses.
    #[error("offsets[{index}] is {found}, but {wanted}")]
    Offsets {
        /// The index of the offset.
        index: usize,
        /// Its value.
        found: usize,
        /// The requirement.
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
    /// A pose has the index of an unknown shape.
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
        /// Number of shapes.
        shapes: usize,
    },
    /// Two vectors don't span a lattice.
    #[error("a lattice of ({}, {}) and ({}, {}): {reason}", a[0], a[1], b[0], b[1])]
    Lattice {
        /// The first vector.
        a: [f64; 2],
        /// The second vector.
        b: [f64; 2],
        /// The reason.
        reason: String,
    },
    /// A lattice is so fine, relative to the shapes, that too many images of a pose may overlap
    /// another pose.
    #[error(
        "images up to {images} lattice cells away may overlap; at most {most} can be handled: the lattice is too fine for the shapes"
    )]
    FineLattice {
        /// Distance of the farthest such image, in cells.
        images: u64,
        /// Largest supported distance, in cells.
        most: u64,
    },
    /// A boundary doesn't contain the origin, about which it is scaled.
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
    /// The number of scales is neither 1 nor the number of packings.
    #[error("there are {scales} scales of the boundary, but {packings} packings; there must be one for all, or one for each")]
    ScaleCount {
        /// The number of scales.
        scales: usize,
        /// The number of packings.
        packings: usize,
    },
    /// Scales were given without a boundary.
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
        /// The coordinate or angle at fault.
        field: Field,
        /// The number.
        value: f64,
        /// The type's name.
        type_name: &'static str,
        /// The largest magnitude.
        most: f64,
    },
    /// A number exceeds 32 bits.
    #[error("{count} {what}: there can be at most {most}", most = u32::MAX)]
    TooMany {
        /// The things counted: poses, packings, cells, pieces, or pairs.
        what: &'static str,
        /// Their number.
        count: usize,
    },
    /// A scene was loaded by another evaluator, or before this one got its lattice.
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
    /// A file can't be read or written, or has other content.
    #[error(transparent)]
    File(#[from] FileError),
    /// A text doesn't name or describe a shape.
    #[error("`{text}` is not a shape: {reason}")]
    NoShape {
        /// The text.
        text: String,
        /// The reason, as a clause.
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

/// A reason why a shape is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeProblem {
    /// The list of pieces is empty.
    #[error("there are no pieces")]
    NoPieces,
    /// Too few vertices for an area.
    #[error("there {}, but an outline needs at least 3", match vertices {
        0 => "are no vertices".to_owned(),
        1 => "is 1 vertex".to_owned(),
        n => format!("are {n} vertices"),
    })]
    TooFew {
        /// Number of vertices; a last one that repeats the first doesn't count.
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
    /// A hole is invalid by itself.
    #[error("hole {hole}: {problem}")]
    Hole {
        /// Index of the hole.
        hole: usize,
        /// The problem of its outline.
        problem: Box<ShapeProblem>,
    },
    /// A hole crosses, touches or contains another ring.
    #[error("hole {hole} meets {}", other.map_or_else(|| "the outline".to_owned(), |other| format!("hole {other}")))]
    HoleMeets {
        /// Index of the hole.
        hole: usize,
        /// Index of the other hole; `None` for the outline.
        other: Option<usize>,
    },
    /// A hole isn't inside of the outline.
    #[error("hole {hole} is not inside of the outline")]
    HoleOutside {
        /// Index of the hole.
        hole: usize,
    },
    /// The area is next to 0.
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
