//! Buffers that belong together, and what kernels see of them.

use cuda_std::{I32x4, launch::IntoParam};
use gpu_kernels::overlap::{
    Scalar,
    boundary::{self, OutsideArgs, RegionArgs},
    clip::Point,
    direct::{self, PairsArgs},
    layout::{self, Circle, Left, ListArgs, Piece, Place, RestArgs, SumsArgs},
};

use crate::device::{Buffer, Device, DeviceError, Stream};

/// Poses after phase one.
#[derive(Debug)]
pub struct List<T: Scalar> {
    pub circles: Buffer<Circle<T>>,
    pub places: Buffer<Place<T>>,
    pub nudges: Buffer<Point<T>>,
    pub pieces: Buffer<Piece<T>>,
    pub order: Buffer<u32>,
}

impl<T: Scalar> List<T> {
    pub fn argument(&self) -> impl IntoParam<layout::List<T>> {
        ListArgs { circles: &self.circles, places: &self.places, nudges: &self.nudges, pieces: &self.pieces, order: &self.order }
    }
}

/// Sums by pose.
#[derive(Debug)]
pub struct ByPose<T: Scalar> {
    pub areas: Buffer<T>,
    pub gradients: Buffer<T>,
}

impl<T: Scalar> ByPose<T> {
    /// Outputs of phase two: these for the rows, `candidates` for candidates that aren't the rows.
    pub fn sums<'a>(
        &'a mut self,
        partial: &'a mut Buffer<T>,
        candidates: &'a mut ByPose<T>,
    ) -> impl IntoParam<layout::Sums<T>> + use<'a, T> {
        SumsArgs {
            partial,
            row_areas: &mut self.areas,
            row_gradients: &mut self.gradients,
            areas: &mut candidates.areas,
            gradients: &mut candidates.gradients,
        }
    }
}

/// Remaining work of tiles with too many near pairs.
#[derive(Debug)]
pub struct Rest<T: Scalar> {
    count: Buffer<u32>,
    tiles: Buffer<Left>,
    partial: Buffer<T>,
}

impl<T: Scalar> Rest<T> {
    /// Without room.
    pub fn new(device: &Device) -> Self {
        Rest { count: device.empty(), tiles: device.empty(), partial: device.empty() }
    }

    /// Makes room for this number of tiles and rows, and enqueues the reset of the count.
    pub fn ensure(&mut self, stream: &Stream, tiles: usize, rows: usize) -> Result<(), DeviceError> {
        self.count.ensure(1)?;
        self.tiles.ensure(tiles)?;
        self.partial.ensure(rows)?;
        stream.fill_zero(&mut self.count)
    }

    pub fn argument(&mut self, taken: bool) -> impl IntoParam<layout::Rest<T>> {
        let (count, tiles, partial) = (&mut self.count, &mut self.tiles, &mut self.partial);
        RestArgs { count, tiles, partial, taken: u32::from(taken) }
    }
}

/// Lists of pairs and their areas.
#[derive(Debug)]
pub struct Pairs<T: Scalar> {
    pub count: Buffer<u64>,
    pub pairs: Buffer<I32x4>,
    pub areas: Buffer<T>,
}

impl<T: Scalar> Pairs<T> {
    pub fn argument(&mut self) -> impl IntoParam<direct::Pairs<T>> {
        let capacity = self.pairs.len() as u32;
        PairsArgs { capacity, count: &mut self.count, pairs: &mut self.pairs, areas: &mut self.areas }
    }
}

/// A boundary on a device.
#[derive(Debug)]
pub struct Region<T: Scalar> {
    pub half_planes: Buffer<T>,
    pub quads: Buffer<Point<T>>,
    pub strip: bool,
}

impl<T: Scalar> Region<T> {
    pub fn argument(&self) -> impl IntoParam<boundary::Region<'static, T>> {
        RegionArgs { half_planes: &self.half_planes, quads: &self.quads, strip: u32::from(self.strip) }
    }
}

/// Areas outside and their derivatives, by pose.
#[derive(Debug)]
pub struct OutsideByPose<T: Scalar> {
    pub areas: Buffer<T>,
    pub gradients: Buffer<T>,
    pub by_scale: Buffer<T>,
}

impl<T: Scalar> OutsideByPose<T> {
    pub fn argument(&mut self) -> impl IntoParam<boundary::Outside<T>> {
        OutsideArgs { areas: &mut self.areas, gradients: &mut self.gradients, by_scale: &mut self.by_scale }
    }
}

/// Returns the length of the longest range.
pub(super) fn longest(offsets: &[u32]) -> usize {
    offsets.windows(2).map(|range| (range[1] - range[0]) as usize).max().unwrap_or(0)
}
