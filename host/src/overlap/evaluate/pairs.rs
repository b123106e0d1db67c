//! The list of pairs that overlap.

use cuda_std::I32x2;
use gpu_kernels::overlap::{direct, layout::Mode};

use super::{
    OverlapPair, Scene,
    buffers::Pairs,
    phases::{Phases, THREADS, blocks},
    scene::check_count,
};
use crate::{
    device::Stream,
    launch,
    overlap::{OverlapError, OverlapReal},
};

/// Lists the pairs of the rows of one scene and the candidates of another, or of the same, in order
/// of packing, first, second and shift. Both were prepared.
pub fn list<T: OverlapReal>(
    phases: &Phases<T>,
    stream: &Stream,
    rows: &Scene<T>,
    candidates: &Scene<T>,
    mode: Mode,
) -> Result<Vec<OverlapPair<T>>, OverlapError> {
    let Scene { frames, offsets, grid, tree, .. } = candidates;
    let cells = phases.cells(frames, offsets, grid.as_ref(), tree.as_ref());
    let (n, grid) = (rows.list.order.len() as u32, blocks(rows.list.order.len()));
    let mut capacity = 4 * rows.len() + 1024;
    let mut out =
        Pairs { count: phases.device.alloc(1)?, pairs: phases.device.alloc(capacity)?, areas: phases.device.alloc(capacity)? };
    let count = loop {
        stream.fill_zero(&mut out.count)?;
        // SAFETY: both scenes were prepared by this evaluator, for its shapes and lattice, and have equally many
        // packings, so that their arrays fit each other. `out` has room for `capacity` pairs.
        unsafe {
            launch!(
                stream,
                direct::pairs::<T><<<grid, THREADS>>>(
                    n, rows.list.argument(), candidates.list.argument(), &rows.packing_of, cells, mode, out.argument()
                )
            )?;
        }
        let count = stream.download_vec(&out.count)?[0] as usize;
        check_count("pairs", count)?;
        if count <= capacity {
            break count;
        }
        capacity = count;
        out.pairs.ensure(capacity)?;
        out.areas.ensure(capacity)?;
    };
    let pairs = stream.download_vec(out.pairs.view(..count)?)?;
    let areas = stream.download_vec(out.areas.view(..count)?)?;
    let row_wraps = stream.download_vec(&rows.wraps)?;
    let candidate_wraps = stream.download_vec(&candidates.wraps)?;
    let wrap = |wraps: &[I32x2], pose: i32| wraps.get(pose as usize).map_or([0; 2], |&wrap| wrap.into());
    let offsets = &rows.sizes.offsets;
    let mut pairs: Vec<OverlapPair<T>> = pairs
        .into_iter()
        .zip(areas)
        .map(|(pair, area)| {
            let packing = offsets.partition_point(|&offset| offset <= pair.x as usize) - 1;
            let first = pair.x as usize - offsets[packing];
            let second = pair.y as usize - candidates.sizes.offsets[packing];
            // Between the poses as they were given, rather than brought into the lattice's cell.
            let (taken, others) = (wrap(&row_wraps, pair.x), wrap(&candidate_wraps, pair.y));
            let shift = [pair.z + taken[0] - others[0], pair.w + taken[1] - others[1]];
            let pair = OverlapPair { packing, first, second, shift, area };
            let is_turned = mode == Mode::HALF && (first, [0; 2]) > (second, shift);
            if is_turned { pair.turned() } else { pair }
        })
        .collect();
    pairs.sort_unstable_by_key(|pair| (pair.packing, pair.first, pair.second, pair.shift));
    Ok(pairs)
}
