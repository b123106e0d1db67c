//! Buffers and launches of the tree of boxes over a scene's poses.

use cuda_std::launch::IntoParam;
use gpu_kernels::overlap::{
    boxes,
    layout::{Circle, Extent, Frame, Mark},
    transform::Source,
    tree::{self, OrderArgs},
};

use super::{buffers::longest, search};
use crate::{
    collectives::{self, SortWorkspace},
    device::{Buffer, Device, DeviceError, Stream},
    launch,
    overlap::{OverlapError, OverlapReal, Packings},
};

/// Number of poses per mark, except in the largest packings.
const POSES_PER_MARK: usize = 16;

/// Block size of the kernels with one thread per pose or box.
const THREADS: u32 = 128;

/// The tree, and the buffers from which it is made.
#[derive(Debug)]
pub struct TreeBuffers<T: OverlapReal> {
    /// Largest number of marks per packing.
    most_marks: usize,
    /// Start of each packing's marks, and the end of the last.
    mark_offsets: Buffer<u32>,
    marks: Buffer<Mark<T>>,
    keys: Buffer<u32>,
    sort: SortWorkspace,
    pub boxes: Buffer<Extent<T>>,
    pub leaves: u32,
    /// Smallest radius.
    unit: f64,
    /// Numbers of a key's bits: for the packing, for the class, and for each direction.
    bits: [u32; 3],
}

/// Number of bits needed to distinguish `count` numbers.
fn bits(count: usize) -> u32 {
    count.next_power_of_two().trailing_zeros()
}

impl<T: OverlapReal> TreeBuffers<T> {
    /// Makes room for packings of shapes whose radii are from `least` to `most`.
    pub fn new(device: &Device, packings: &Packings, [least, most]: [f64; 2]) -> Result<Self, OverlapError> {
        let n = packings.poses().len();
        let mut mark_offsets = vec![0u32];
        for packing in 0..packings.len() {
            let poses = packings.range(packing).len();
            let marks = (poses / POSES_PER_MARK).clamp(1, tree::MARKS as usize).min(poses) as u32;
            mark_offsets.push(mark_offsets[packing] + marks);
        }
        let leaves = n.div_ceil(boxes::LEAF as usize) as u32;
        // Classes are of a factor of four; what is larger than the last one's goes there, too.
        let far = packings.poses().iter().fold(0.0, |far: f64, [x, y, _]| far.max(x.abs() + y.abs()));
        let classes = ((most + search::slack::<T>(far)) / least).log2().max(0.0) / 2.0;
        // Of many packings, large ones are in coarse order: that makes their boxes larger, nothing else.
        let packing_bits = bits(packings.len());
        let class_bits = bits(classes as usize + 1).min(4).min(u32::BITS - packing_bits);
        let axis_bits = (u32::BITS - packing_bits - class_bits) / 2;
        Ok(TreeBuffers {
            most_marks: longest(&mark_offsets),
            marks: device.alloc(2 * mark_offsets[packings.len()] as usize)?,
            mark_offsets: device.upload(&mark_offsets)?,
            keys: device.alloc(n)?,
            sort: SortWorkspace::new(device)?,
            boxes: device.alloc(boxes::place(boxes::depth(leaves), 0, leaves) as usize)?,
            leaves,
            unit: least,
            bits: [packing_bits, class_bits, axis_bits],
        })
    }

    /// Enqueues the order of poses.
    ///
    /// # Safety
    /// The poses, their shapes, packings and frames are there, and as many as this was made for.
    pub unsafe fn order(
        &mut self,
        stream: &Stream,
        source: impl IntoParam<Source<'static, T>> + Copy,
        (packing_of, offsets): (&Buffer<u32>, &Buffer<u32>),
        frames: &Buffer<Frame<T>>,
        to: &mut Buffer<u32>,
    ) -> Result<(), DeviceError> {
        let [packing_bits, class_bits, axis_bits] = self.bits;
        let (n, packings) = (to.len() as u32, frames.len() as u32);
        let threads = self.most_marks.next_multiple_of(32) as u32;
        let order = OrderArgs { packing_of, offsets, mark_offsets: &self.mark_offsets, unit: self.unit, class_bits, axis_bits };
        // SAFETY: all arrays are of these poses and packings (this function's contract, and how `new` made them), each
        // packing with poses has a mark, every mark a thread, and every pose.
        unsafe {
            launch!(stream, tree::marks::<T><<<(packings, 2), threads>>>(source, order, frames, &mut self.marks))?;
            launch!(
                stream,
                tree::keys::<T><<<n.div_ceil(THREADS), THREADS>>>(n, source, order, frames, &self.marks, &mut self.keys)
            )?;
        }
        collectives::sort(stream, &self.keys, packing_bits + class_bits + 2 * axis_bits, &mut self.sort)?;
        stream.copy(self.sort.order(), to)
    }

    /// Enqueues the boxes around `circles`, which are in order.
    ///
    /// # Safety
    /// There are as many as this was made for.
    pub unsafe fn build(&mut self, stream: &Stream, circles: &Buffer<Circle<T>>) -> Result<(), DeviceError> {
        let (n, leaves, boxes) = (circles.len() as u32, self.leaves, &mut self.boxes);
        // SAFETY: there are as many circles as leaves are for, room for the boxes, and a thread for each. A level's
        // kernel follows that of the level below.
        unsafe {
            launch!(stream, tree::leaves::<T><<<leaves.div_ceil(THREADS), THREADS>>>(n, circles, leaves, &mut *boxes))?;
            for level in 1..=boxes::depth(leaves) {
                let blocks = boxes::count(leaves, level).div_ceil(THREADS);
                launch!(stream, tree::parents::<T><<<blocks, THREADS>>>(leaves, level, &mut *boxes))?;
            }
        }
        Ok(())
    }
}
