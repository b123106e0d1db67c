//! Kernels of buffers of enums and padded structures.

use bytemuck::{NoUninit, Zeroable};
use core::num::NonZero;
use cuda_std::prelude::*;

/// A plane figure.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy, Zeroable)]
#[repr(u8)]
pub enum Figure {
    /// No point at all.
    Empty,
    /// A circle.
    Circle {
        /// Its radius.
        radius: f32,
    },
    /// The segments of a path.
    Path {
        /// Their lengths.
        lengths: [f32; 3],
        /// True if the first segment starts where the last one ends.
        closed: bool,
    },
    /// A letter, in a square of side 1.
    Letter(char) = 200,
}

/// A figure and what a kernel finds out about it. There are three bytes of padding in `Pair<bool, f32>`, and seven behind
/// `bounded`.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy, Zeroable)]
#[repr(C)]
pub struct Item {
    /// The figure.
    pub figure: Figure,
    /// Whether it is a line, and the length of its border.
    pub border: Pair<Flag, f32>,
    /// Its area.
    pub area: f64,
    /// True if it has an area.
    pub bounded: bool,
}

/// Two values.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy, Zeroable)]
#[repr(C)]
pub struct Pair<A, B>(pub A, pub B);

/// A number by another name.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy, Zeroable)]
#[repr(transparent)]
pub struct Flag(pub bool);

/// A sign, for which zero doesn't stand.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy, NoUninit)]
#[repr(u32)]
pub enum Sign {
    /// One.
    Plus = 0x0100_0001,
    /// Minus one.
    Minus = 0x0100_0002,
}

/// A number that isn't zero, and its sign.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C, packed)]
pub struct Signed {
    /// The sign.
    pub sign: Sign,
    /// The number without it.
    pub size: NonZero<u16>,
}

/// Measures figures.
#[kernel]
pub fn measure(figures: &[Figure], mut items: DisjointSlice<Item>) {
    for (i, item) in items.grid_stride_mut() {
        let figure = figures[i];
        let (is_line, border, area) = match figure {
            Figure::Empty => (false, 0.0, 0.0),
            Figure::Circle { radius } => (false, 6.0 * radius, f64::from(3.0 * radius * radius)),
            Figure::Path { lengths, closed } => (!closed, lengths.iter().sum(), 0.0),
            Figure::Letter(_) => (false, 4.0, 1.0),
        };
        *item = Item { figure, border: Pair(Flag(is_line), border), area, bounded: area > 0.0 };
    }
}

/// Turns each figure into another kind.
#[kernel]
pub fn turn(mut figures: DisjointSlice<Figure>) {
    for (i, figure) in figures.grid_stride_mut() {
        *figure = match *figure {
            Figure::Empty => Figure::Letter(char::from(b'a' + i as u8)),
            Figure::Circle { radius } => Figure::Path { lengths: [radius, 2.0 * radius, 3.0 * radius], closed: false },
            Figure::Path { lengths: [radius, ..], closed: true } => Figure::Circle { radius },
            Figure::Path { lengths, closed } => Figure::Path { lengths, closed: !closed },
            Figure::Letter(_) => Figure::Empty,
        };
    }
}

/// Takes numbers apart.
#[kernel]
pub fn signs(numbers: &[i16], mut out: DisjointSlice<Signed>) {
    for (i, out) in out.grid_stride_mut() {
        let sign = if numbers[i] < 0 { Sign::Minus } else { Sign::Plus };
        *out = Signed { sign, size: NonZero::new(numbers[i].unsigned_abs()).unwrap_or(NonZero::<u16>::MIN) };
    }
}
