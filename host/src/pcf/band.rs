//! Functions on a device.

use std::{cmp::Reverse, collections::VecDeque, ops::Range};

use bytemuck::Pod;
use gpu_kernels::pcf::{
    LANES,
    set::{FunctionsArgs, NO_FUNCTION},
};
use rayon::prelude::*;

use super::{PcfReal, PcfSet, Point, launches::Side, set::Identity};
use crate::device::{Buffer, Device, DeviceError, Pending, PinnedBuffer, Stream, ViewMut};

/// Number of points that a packing task takes.
const TASK: usize = 1 << 14;

/// Number of points that are uploaded at a time.
const PIECE: usize = 1 << 20;

/// Greatest number of pieces that wait for their upload. An idle device needs one or two, and
/// allocating page-locked memory for more would take longer than the upload.
const MOST_STAGES: usize = 16;

/// Positions for so many functions in an order.
const fn positions(functions: usize) -> usize {
    functions.next_multiple_of(LANES as usize)
}

/// The memory that functions take on a device, in bytes.
pub fn bytes<T: PcfReal>(set: &PcfSet<T>, functions: &Range<usize>) -> usize {
    if functions.is_empty() {
        return 0;
    }
    let segments = set.offsets()[functions.end] - set.offsets()[functions.start];
    segments * size_of::<T::Segment>() + (functions.len() + 1) * size_of::<u64>() + positions(functions.len()) * size_of::<u32>()
}

/// Consecutive functions of a set in a device's memory, in arrays that grow and never shrink, and the order by length
/// of each band of them.
pub struct Bands<T: PcfReal> {
    segments: Buffer<T::Segment>,
    offsets: Buffer<u64>,
    order: Buffer<u32>,
    /// The functions that are loaded, and their set.
    functions: Range<usize>,
    set: Option<Identity>,
    /// Number of functions per band.
    side: usize,
    /// The longest function of each band.
    longest: Vec<usize>,
    /// Host memory to upload from: the second is filled while the first is being uploaded.
    staging: [Staging<T>; 2],
    turn: usize,
}

/// Page-locked memory for one upload.
struct Staging<T: PcfReal> {
    /// One for each [`PIECE`] that is still to be uploaded, and free ones, in the order of their
    /// uploads.
    segments: VecDeque<Stage<T::Segment>>,
    offsets: Stage<u64>,
    order: Stage<u32>,
}

/// An array of staging memory, and its last upload.
struct Stage<T: Pod>(Option<Pending<PinnedBuffer<T>>>);

impl<T: Pod> Stage<T> {
    /// Fills memory of the size of `target` by `fill`, and uploads it.
    fn upload(&mut self, stream: &Stream, target: ViewMut<'_, T>, fill: impl FnOnce(&mut [T])) -> Result<(), DeviceError> {
        let len = target.len();
        let mut buffer = match self.0.take().map(Pending::wait).transpose()? {
            Some(buffer) if buffer.len() >= len => buffer,
            _ => stream.device().pinned(len)?,
        };
        fill(&mut buffer[..len]);
        self.0 = Some(stream.upload_async(buffer, target)?);
        Ok(())
    }
}

impl<T: PcfReal> Staging<T> {
    /// Memory for a piece: that of an upload that is done, or that must be waited for, is used
    /// again.
    fn stage(&mut self) -> Result<Stage<T::Segment>, DeviceError> {
        let free = match self.segments.front() {
            Some(Stage(Some(upload))) => self.segments.len() >= MOST_STAGES || upload.is_done()?,
            first => first.is_some(),
        };
        Ok(if free { self.segments.pop_front() } else { None }.unwrap_or(Stage(None)))
    }

    /// Uploads the functions of these breakpoints.
    fn upload(
        &mut self,
        stream: &Stream,
        target: &mut Buffer<T::Segment>,
        points: &[Point<T>],
        offsets: &[usize],
    ) -> Result<(), DeviceError> {
        let mut ends = offsets[1..].iter().map(|end| end - offsets[0] - 1).peekable();
        // A piece is on its way while the next one is filled.
        for start in (0..points.len()).step_by(PIECE) {
            let end = points.len().min(start + PIECE);
            let mut stage = self.stage()?;
            stage.upload(stream, target.view_mut(start..end)?, |segments| {
                segments.par_chunks_mut(TASK).enumerate().for_each(|(task, segments)| {
                    // A segment ends where the next one starts.
                    let points = &points[start + task * TASK..];
                    for (segment, pair) in segments.iter_mut().zip(points.windows(2)) {
                        *segment = T::segment(pair[0].v, pair[1].t);
                    }
                });
                // The last one of a function holds for ever. The windows have missed the last of all.
                while let Some(last) = ends.next_if(|&last| last < end) {
                    segments[last - start] = T::segment(points[last].v, T::INFINITY);
                }
            })?;
            self.segments.push_back(stage);
        }
        Ok(())
    }
}

impl<T: PcfReal> Bands<T> {
    /// No functions yet.
    pub fn new(device: &Device) -> Self {
        let staging = || Staging { segments: VecDeque::new(), offsets: Stage(None), order: Stage(None) };
        Bands {
            segments: device.empty(),
            offsets: device.empty(),
            order: device.empty(),
            functions: 0..0,
            set: None,
            side: 1,
            longest: Vec::new(),
            staging: [staging(), staging()],
            turn: 0,
        }
    }

    /// Forgets the functions, and keeps the memory.
    fn clear(&mut self) {
        self.set = None;
    }

    /// Allocates for the largest of these ranges of functions, and forgets those that are here.
    pub fn reserve(&mut self, set: &PcfSet<T>, ranges: impl Iterator<Item = Range<usize>>) -> Result<(), DeviceError> {
        self.clear();
        let (mut segments, mut functions) = (0, 0);
        for range in ranges {
            segments = segments.max(set.offsets()[range.end] - set.offsets()[range.start]);
            functions = functions.max(range.len());
        }
        self.segments.ensure(segments)?;
        self.offsets.ensure(functions + 1)?;
        self.order.ensure(positions(functions))
    }

    /// Makes the functions of this range the ones that are here, in bands of `side`. Enqueues the uploads; does nothing
    /// if they are here.
    pub fn load(&mut self, stream: &Stream, set: &PcfSet<T>, functions: Range<usize>, side: usize) -> Result<(), DeviceError> {
        let here = self.set.is_some_and(|here| here.is(set.identity()));
        if here && functions == self.functions && side == self.side {
            return Ok(());
        }
        self.clear();
        let offsets = &set.offsets()[functions.start..=functions.end];
        let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
        // The last upload to be enqueued, on one stream.
        if !self.staging[self.turn].order.0.as_ref().map_or(Ok(true), Pending::is_done)? {
            self.turn = 1 - self.turn;
        }
        let staging = &mut self.staging[self.turn];
        self.segments.ensure(last - first)?;
        match set.segments(stream.device()) {
            Some(segments) => stream.copy(segments.view(first..last)?, &mut self.segments)?,
            None => staging.upload(stream, &mut self.segments, &set.fetch()?[first..last], offsets)?,
        }
        self.offsets.ensure(offsets.len())?;
        staging.offsets.upload(stream, self.offsets.as_view_mut(), |local| {
            for (local, offset) in local.iter_mut().zip(offsets) {
                *local = (offset - first) as u64;
            }
        })?;
        let bands = crate::engine::subdivide(side, functions.len());
        let length = |function: usize| offsets[function + 1] - offsets[function];
        self.longest.clear();
        let longest = &mut self.longest;
        let total = bands.iter().map(|band| positions(band.len())).sum();
        self.order.ensure(total)?;
        staging.order.upload(stream, self.order.as_view_mut(), |order| {
            bands.par_iter().zip(order.par_chunks_mut(positions(side.min(functions.len())))).for_each(|(band, order)| {
                let (used, unused) = order.split_at_mut(band.len());
                for (i, function) in used.iter_mut().enumerate() {
                    *function = i as u32;
                }
                used.sort_by_key(|&function| Reverse(length(band.start + function as usize)));
                unused.fill(NO_FUNCTION);
            });
            longest.extend(bands.iter().map(|band| band.clone().map(length).max().unwrap_or(0)));
        })?;
        (self.functions, self.set, self.side) = (functions, Some(set.identity()), side);
        Ok(())
    }

    /// One of the bands that are here.
    pub fn side(&self, functions: &Range<usize>) -> Result<Side<'_, T>, DeviceError> {
        let start = functions.start - self.functions.start;
        let band = start / self.side;
        let order = band * positions(self.side);
        Ok(Side {
            functions: FunctionsArgs {
                segments: self.segments.as_view(),
                offsets: self.offsets.view(start..=start + functions.len())?,
                order: self.order.view(order..order + positions(functions.len()))?,
            },
            longest: self.longest[band],
            long: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use gpu_kernels::pcf::set::Scalar;

    use super::*;
    use crate::pcf::Pcf;

    /// Functions that end before, at and behind the end of an upload, and more uploads than one.
    #[test]
    fn segments_of_several_uploads() -> Result<(), DeviceError> {
        let lengths = [PIECE - 1, 1, 1, TASK, TASK + 1, PIECE + 5, 2];
        let function = |points: usize| Pcf::new((0..points).map(|k| (k as f32, (k % 1000) as f32))).unwrap();
        let set: PcfSet<f32> = lengths.into_iter().map(function).collect();
        let device = Device::cpu();
        let stream = device.stream()?;
        let mut bands = Bands::new(&device);
        for functions in [0..lengths.len(), 1..lengths.len(), 0..1, 0..2, 0..3] {
            bands.load(&stream, &set, functions.clone(), 3)?;
            let segments = stream.download_vec(&bands.segments)?;
            assert_eq!(segments.len(), functions.clone().map(|function| lengths[function]).sum::<usize>());
            let expected = functions.clone().flat_map(|function| {
                let end = move |k: usize| if k + 1 == lengths[function] { f32::INFINITY } else { (k + 1) as f32 };
                (0..lengths[function]).map(move |k| ((k % 1000) as f32, end(k)))
            });
            assert!(segments.into_iter().map(f32::parts).eq(expected), "{functions:?}");
        }
        Ok(())
    }
}
