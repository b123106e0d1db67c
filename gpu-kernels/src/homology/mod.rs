//! Persistent homology of Vietoris-Rips filtrations over Z/2, in degrees 0, 1 and 2, for many clouds at once.
//!
//! A *cloud* is a finite metric space. Its edges enter the filtration by ascending length, and a triangle enters with its
//! longest edge. Edges of equal length are ordered by their number, which changes no bar of positive length.
//!
//! Cohomology is kept as *annotations*: each edge has a vector of bits, one for each class of degree 1 that is alive, so
//! that the sum of the vectors along a cycle is the class of that cycle. An edge `uv` enters as follows.
//! - If no vertex forms a triangle with it (its *lune* is empty), it either merges two components, which ends a bar of
//!   degree 0, or closes a cycle, which starts a bar of degree 1 and takes a bit of its own.
//! - Otherwise the cycle of the edge is that of one triangle: its vector is `a(uw) + a(vw)` for a vertex `w` of the lune.
//!   Each other vertex `x` of the lune gives a relation `a(ux) + a(vx) + a(uv) = 0`. A relation that isn't trivial ends
//!   the bar of the youngest class in it.
//!
//! No triangle is ever stored, and nearly all vectors are zero at any time. Annotations are linear, so that relations
//! which enter together can be found by all threads at once, and eliminated afterwards in the order of their edges
//! ([`reduce`]).
//!
//! Sources: O. Busaryev, S. Cabello, C. Chen, T. K. Dey and Y. Wang, *Annotating Simplices with a Homology Basis and Its
//! Applications*, SWAT 2012; T. K. Dey, F. Fan and Y. Wang, *Computing Topological Persistence for Simplicial Maps*, SoCG
//! 2014, for persistence by annotations; U. Bauer, *Ripser: Efficient Computation of Vietoris-Rips Persistence Barcodes*,
//! Journal of Applied and Computational Topology 5, 2021, for the enclosing radius. Edges with empty lunes are those of
//! the relative neighbourhood graph (G. T. Toussaint, Pattern Recognition 12, 1980).

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

use crate::number::Number;

pub mod cavities;
pub mod classes;
pub mod curves;
pub mod edges;
pub mod reduce;
pub mod sampled;

/// The most vertices of a cloud: 16 bits number them, and one value more stands for none.
pub const MOST_VERTICES: usize = u16::MAX as usize;

/// The most vertices of a cloud whose bars of degree 2 are computed.
pub const MOST_VERTICES_OF_CAVITIES: usize = 256;

/// In place of a vertex, an edge or a class: none.
pub const NONE: u32 = u32::MAX;

/// The type of distances: `f32` or `f64`.
pub trait Scalar: Number {
    /// The lower and the upper half of a key that is ordered as the numbers are, from 0 on. The upper half of an `f32` is 0.
    fn key(self) -> [u32; 2];
    /// The number with this key.
    fn of_key(key: [u32; 2]) -> Self;
    /// A power of two. Coordinates are multiplied or divided by it where their squares would underflow or overflow.
    const SCALE: Self;
}

impl Scalar for f32 {
    const SCALE: f32 = (1u128 << 100) as f32;

    #[inline(always)]
    fn key(self) -> [u32; 2] {
        // The sum makes -0 a 0.
        [(self + 0.0).to_bits(), 0]
    }

    #[inline(always)]
    fn of_key([bits, _]: [u32; 2]) -> Self {
        f32::from_bits(bits)
    }
}

impl Scalar for f64 {
    const SCALE: f64 = f64::from_bits((1023 + 700) << 52);

    #[inline(always)]
    fn key(self) -> [u32; 2] {
        let bits = (self + 0.0).to_bits();
        [bits as u32, (bits >> 32) as u32]
    }

    #[inline(always)]
    fn of_key([low, high]: [u32; 2]) -> Self {
        f64::from_bits(u64::from(low) | u64::from(high) << 32)
    }
}

/// Places of a cloud's data in the arrays of all clouds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Cloud {
    /// Index of the first entry of its matrix of distances, which is square.
    pub square: u64,
    /// Index of its first vector of bits.
    pub vectors: u64,
    /// Index of its first number in [`reduce::Space::work`].
    pub work: u64,
    /// Index of its first vertex.
    pub vertex: u32,
    /// Number of vertices.
    pub vertices: u32,
    /// Index of its first edge. The others follow by ascending length once edges are sorted.
    pub edge: u32,
    /// Number of 64-bit words per vector.
    pub words: u32,
    /// Index of its first class.
    pub class: u32,
    /// Number of relations that are found together.
    pub relations: u32,
    /// Number of 64-bit words per vector of a triangle.
    pub words_of_triangles: u32,
    /// Number of classes of degree 1 that there is room for.
    pub classes: u32,
    /// Index of its first class of degree 2.
    pub cavity: u32,
    /// Number of those that there is room for.
    pub cavities: u32,
    /// Its number among the clouds, which are in groups of like sizes.
    pub number: u32,
    /// Group of clouds: an upper bound on their vertices.
    pub group: u32,
}

impl Cloud {
    /// Number of edges.
    #[inline(always)]
    pub fn edges(&self) -> u32 {
        // The product of the most vertices exceeds 32 bits.
        (u64::from(self.vertices) * u64::from(self.vertices.saturating_sub(1)) / 2) as u32
    }

    /// Index of a distance.
    #[inline(always)]
    pub fn distance(&self, u: u32, v: u32) -> usize {
        self.square as usize + u as usize * self.vertices as usize + v as usize
    }
}

/// The number of an edge among those of its cloud, ordered by the larger end first.
#[inline(always)]
pub fn number(u: u32, v: u32) -> u32 {
    let (small, large) = if u < v { (u, v) } else { (v, u) };
    (u64::from(large) * u64::from(large.wrapping_sub(1)) / 2) as u32 + small
}

/// The ends of an edge: the inverse of [`number()`], the smaller end first.
#[inline(always)]
pub fn ends(number: u32) -> (u32, u32) {
    let mut large = (0.5 + math::sqrt(0.25 + 2.0 * f64::from(number))) as u32;
    // The root is exact to a few units of the last place.
    while u64::from(large) * u64::from(large.wrapping_sub(1)) / 2 > u64::from(number) {
        large -= 1;
    }
    while u64::from(large) * u64::from(large + 1) / 2 <= u64::from(number) {
        large += 1;
    }
    (number - (u64::from(large) * u64::from(large - 1) / 2) as u32, large)
}

/// An edge in the order of the filtration: its ends and the first vertex of its lune, 16 bits each, and 16 bits to spare.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Link(pub u64);

impl Link {
    /// An edge whose lune has `witness`, or is empty: [`NONE`].
    #[inline(always)]
    pub fn new((u, v): (u32, u32), witness: u32) -> Self {
        Link(u64::from(u) | u64::from(v) << 16 | u64::from(witness as u16) << 32)
    }

    /// The ends.
    #[inline(always)]
    pub fn ends(self) -> (u32, u32) {
        (u32::from(self.0 as u16), u32::from((self.0 >> 16) as u16))
    }

    /// A vertex that forms a triangle with the ends, if there is one.
    #[inline(always)]
    pub fn witness(self) -> Option<u32> {
        let witness = (self.0 >> 32) as u16;
        if witness == u16::MAX { None } else { Some(u32::from(witness)) }
    }
}

/// Findings about a cloud's edges.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Found {
    /// Number of edges within the threshold.
    pub within: u32,
    /// Number of those with an empty lune.
    pub empty: u32,
    /// One more than the position of the last of these.
    pub last: u32,
    /// Number of bars of degree 0 that end.
    pub merges: u32,
    /// Number of classes of degree 1.
    pub classes: u32,
    /// Number of classes of degree 2.
    pub cavities: u32,
    /// 1 if there was not enough memory for these.
    pub full: u32,
}

/// Memory for bars.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Bars<T> {
    /// Lengths of the edges that start and end each bar: 0 in degree 0, infinity if none ends it.
    pub values: *mut [T; 2],
    /// Ends of the edge that starts each bar, and of the edge that ends it. In place of no edge: 0.
    pub edges: *mut [u16; 4],
}

/// Returns true if the edge `ab` comes before an edge of this length and number.
///
/// # Safety
/// `a` and `b` are vertices of the cloud, whose distances exist.
#[inline(always)]
unsafe fn precedes<T: Scalar>(distances: &[T], cloud: &Cloud, (a, b): (u32, u32), (length, edge): (T, u32)) -> bool {
    // SAFETY: both are vertices (this function's contract).
    let other = unsafe { *distances.get_unchecked(cloud.distance(a, b)) };
    other < length || (other == length && number(a, b) < edge)
}
