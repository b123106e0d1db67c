//! Runs the packer's separation kernel alone.

use gpu_kernels::overlap::{
    clip::Point,
    layout::{Circle, Mode, Piece, Place, ShapeSpan},
    separate::{self, CopiesArgs, PLACES, PackingsArgs, RecordArgs},
    transform::{self, OutputsArgs, SourceArgs},
};
use warpsmith::{
    device::{Buffer, DeviceError, Stream},
    launch,
    overlap::{OverlapReal, Shape},
};

/// The container of the packings.
#[derive(Clone, Copy)]
pub struct Container<'a> {
    pub half_planes: &'a [[f64; 4]],
    /// Minimum and maximum x and y at scale 1.
    pub extent: [f64; 4],
    pub strip: bool,
    pub scale: f64,
}

/// The result of a separation.
#[derive(Clone, Debug, PartialEq)]
pub struct Apart {
    pub poses: Vec<[f64; 3]>,
    pub scales: Vec<f64>,
    pub least: Vec<f64>,
}

/// Packings of these shapes, each at its angles or at any if it has none, by so many threads for each place, in these rounds,
/// one launch for each number.
pub fn separate<T: OverlapReal + separate::separate::Instance>(
    stream: &Stream,
    shapes: &[Shape],
    packings: &[Vec<(u32, [f64; 3])>],
    container: Container<'_>,
    (angles, factor): (&[&[f64]], f64),
    (rounds, seed, parts): (&[u32], u64, u32),
) -> Result<Apart, Box<dyn std::error::Error>> {
    let device = stream.device();
    let point = |[x, y]: [f64; 2]| Point { x: T::from_f64(x), y: T::from_f64(y) };
    let (mut spans, mut quads) = (Vec::new(), Vec::new());
    for shape in shapes {
        let (first, count) = (quads.len() as u32 / 4, shape.quads().len() as u32);
        let [radius, area] = [shape.radius(), shape.area()].map(T::from_f64);
        spans.push(ShapeSpan { center: point(shape.center()), radius, nudge: point([0.0; 2]), area, first, count });
        quads.extend(shape.quads().as_flattened().iter().copied().map(point));
    }
    let all = packings.concat();
    let (mut first_piece, mut pieces) = (Vec::new(), 0);
    for &(kind, _) in &all {
        first_piece.push(pieces);
        pieces += spans[kind as usize].count;
    }
    let n = all.len();
    let mut offsets = vec![0];
    packings.iter().for_each(|packing| offsets.push(offsets[offsets.len() - 1] + packing.len() as u32));
    let longest = packings.iter().map(Vec::len).max().unwrap_or(0);
    let pairs = packings.len() * longest * longest;

    let numbers = |values: &[f64]| device.upload(&values.iter().map(|&value| T::from_f64(value)).collect::<Vec<_>>());
    let (shapes, quads) = (device.upload(&spans)?, device.upload(&quads)?);
    let (shape_of, first_piece) =
        (device.upload(&all.iter().map(|(kind, _)| *kind).collect::<Vec<_>>())?, device.upload(&first_piece)?);
    let mut poses = numbers(&all.iter().flat_map(|(_, pose)| *pose).collect::<Vec<_>>())?;
    let mut scales = numbers(&vec![container.scale; packings.len()])?;
    let (half_planes, extent) = (numbers(container.half_planes.as_flattened())?, numbers(&container.extent)?);
    let (factors, forgets) = (numbers(&vec![factor; packings.len()])?, device.upload(&vec![1; packings.len()])?);
    let mut first_angles = vec![0];
    angles.iter().for_each(|angles| first_angles.push(first_angles[first_angles.len() - 1] + angles.len() as u32));
    let (first_angles, angles) = (device.upload(&first_angles)?, numbers(&angles.concat())?);
    let (order, offsets) = (device.upload(&Vec::from_iter(0..n as u32))?, device.upload(&offsets)?);
    let mut circles = device.alloc::<Circle<T>>(n)?;
    let mut places = device.alloc::<Place<T>>(n)?;
    let mut nudges = device.alloc::<Point<T>>(n)?;
    let mut all_pieces = device.alloc::<Piece<T>>(pieces as usize)?;
    let (mut overlaps, mut weights) = (device.alloc::<T>(pairs)?, device.alloc::<T>(pairs)?);
    let mut best = device.alloc::<T>(3 * n)?;
    let (mut best_scales, mut least) = (device.alloc::<T>(packings.len())?, device.alloc::<T>(packings.len())?);
    let (none, no_frames, nothing) = (device.empty(), device.empty(), device.empty());
    let (mut no_wraps, mut no_areas, mut no_gradients) = (device.empty(), device.empty(), device.empty());
    for (launch, &rounds) in rounds.iter().enumerate() {
        // SAFETY: all arrays are of these poses, pieces, packings and shapes; the second kernel doesn't read poses from its
        // source.
        unsafe {
            let (shapes, quads, shape_of, first_piece) = (&shapes, &quads, &shape_of, &first_piece);
            let (circles, places, pieces) = (&mut circles, &mut places, &mut all_pieces);
            let source = SourceArgs { poses: &poses, shapes, quads, shape_of, first_piece };
            let (nudges, wraps) = (&mut nudges, &mut no_wraps);
            let (areas, gradients) = (&mut no_areas, &mut no_gradients);
            let out = OutputsArgs {
                circles: &mut *circles,
                places: &mut *places,
                nudges,
                pieces: &mut *pieces,
                wraps,
                areas,
                gradients,
            };
            let blocks = (n as u32).div_ceil(transform::THREADS);
            launch!(
                stream,
                transform::transform::<T><<<blocks, transform::THREADS>>>(source, &order, &none, &no_frames, Mode(0), out)
            )?;
            let source = SourceArgs { poses: &nothing, shapes, quads, shape_of, first_piece };
            let (longest, strip) = (longest as u32, u32::from(container.strip));
            let (offsets, half_planes, extent, factors, forgets) = (&offsets, &half_planes, &extent, &factors, &forgets);
            let (first_angles, angles) = (&first_angles, &angles);
            let within = PackingsArgs { offsets, longest, half_planes, extent, strip, first_angles, angles, factors, forgets };
            let copies = CopiesArgs { poses: &mut poses, circles, places, pieces, scales: &mut scales };
            let record = RecordArgs {
                overlaps: &mut overlaps,
                weights: &mut weights,
                poses: &mut best,
                scales: &mut best_scales,
                least: &mut least,
            };
            let (blocks, fresh) = (packings.len() as u32, u32::from(launch == 0));
            launch!(
                stream,
                separate::separate::<T><<<blocks, parts * PLACES>>>(
                    source, within, copies, record, rounds, seed + launch as u64, fresh
                )
            )?;
        }
    }
    let numbers = |buffer: &Buffer<T>| -> Result<Vec<f64>, DeviceError> {
        Ok(stream.download_vec(buffer)?.into_iter().map(T::to_f64).collect())
    };
    let poses = numbers(&best)?.as_chunks().0.to_vec();
    Ok(Apart { poses, scales: numbers(&best_scales)?, least: numbers(&least)? })
}
