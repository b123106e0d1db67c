//! From packings that overlap a little to valid ones.

use rayon::prelude::*;

use super::{
    PackError, Packing,
    lanes::Lanes,
    limit::{Limit, Stop},
    state::{Finalists, State},
    task::{Group, Task},
    walk::Squeeze,
};
use crate::{device::Device, overlap::contest::Meeting};

/// Largest area of overlap per copy of a packing that is checked exactly.
const ROUNDING: f64 = 1e-12;
/// Rates and pressures at the start and the end of the last squeeze, in units of the radius. The
/// first rate lets copies find their places, and the last moves nothing visibly. The first pressure
/// presses copies into each other, and the last hardly does.
const RATE: [f64; 2] = [2e-4, 1e-7];
const PRESSURE: [f64; 2] = [1e-3, 1e-6];
/// Number of steps that push copies apart before the container grows.
const PUSHES: usize = 200;
/// First growth of a container, as a share of its scale. It doubles from time to time.
const FIRST_ROOM: f64 = 1e-6;
/// Largest growth. Beyond it, copies stand in rows.
const LAST_ROOM: f64 = 4.0;

/// Settles packings. Returns a valid packing for each group: the smallest of those made from its
/// finalists and the one in `saved`. In place of the latter may be the one that the group goes on
/// from, or copies in rows.
///
/// Finalists are squeezed once more by this many steps, unless the search was cancelled. Then their
/// containers grow until nothing overlaps.
pub fn settle(
    device: &Device,
    task: &Task<'_>,
    stop: &Stop,
    saved: &[Option<Packing>],
    finalists: &Finalists,
    steps: usize,
) -> Result<Vec<Packing>, PackError> {
    let Task { problem, groups, .. } = task;
    let container = &problem.container;
    let there_is = saved.iter().zip(groups).map(|(saved, group)| match saved.as_ref().or(group.from.as_ref()) {
        Some(packing) => Ok(packing.clone()),
        None => problem.rows(&group.kinds),
    });
    let mut best: Vec<Packing> = there_is.collect::<Result<_, _>>()?;
    let Finalists { state, groups: of_group } = finalists;
    let kinds = |lane: usize| &groups[of_group[lane]].kinds;
    let all_kinds = (0..of_group.len()).map(|lane| &kinds(lane)[..]);
    let mut lanes = Lanes::<f64>::new(device, problem, &state.offsets, all_kinds, true)?;
    lanes.set(state.poses.clone(), &state.sides)?;
    let schedule = Squeeze { steps, ..Squeeze::new(problem, RATE, Some(PRESSURE)) };
    let limit = Limit { deadline: None, cancel: stop.cancel.clone() };
    lanes.squeeze(&schedule, &limit)?;
    // Unless the search is abandoned, a valid packing is wanted even after a cancellation.
    let limit = if stop.abandons { limit } else { Limit::default() };
    let State { mut poses, sides, offsets, .. } = lanes.state()?;
    let lengths: Vec<f64> = sides.iter().map(|&side| container.area(side).sqrt()).collect();
    lanes.set_rates(&lengths)?;
    let (mut before, mut room) = (0.0, FIRST_ROOM);
    // Poses move apart as the container grows, and are pushed apart while they overlap.
    while room <= LAST_ROOM {
        let larger: Vec<f64> = sides.iter().map(|side| side * (1.0 + room)).collect();
        let factor = (1.0 + room) / (1.0 + before);
        let across = if container.width().is_some() { 1.0 } else { factor };
        let spread: Vec<_> = poses.iter().map(|[x, y, theta]| [x * across, y * factor, *theta]).collect();
        lanes.set(spread, &larger)?;
        let schedule = Squeeze { steps: PUSHES, rate: [0.3 * room, 1e-3 * room], ..Squeeze::new(problem, RATE, None) };
        lanes.squeeze(&schedule, &limit)?;
        stop.check()?;
        let settled = lanes.state()?;
        let own = |lane: usize| {
            let few = settled.energies[lane] <= ROUNDING * (offsets[lane + 1] - offsets[lane]) as f64;
            let valid = few.then(|| problem.own(kinds(lane), settled.poses(lane))).flatten();
            valid.filter(|valid| valid.side < best[of_group[lane]].side).map_or(Ok(None), |valid| {
                let apart = problem.overlapping(kinds(lane), &valid.poses)?.is_none();
                Ok(apart.then_some((of_group[lane], valid)))
            })
        };
        let found: Vec<_> = (0..of_group.len()).into_par_iter().map(own).collect::<Result<_, PackError>>()?;
        for (group, valid) in found.into_iter().flatten() {
            if valid.side < best[group].side {
                best[group] = valid;
            }
        }
        // More room gives nothing smaller.
        if sides.iter().zip(of_group).all(|(side, group)| side * (1.0 + room) >= best[*group].side) {
            break;
        }
        poses = settled.poses;
        (before, room) = (room, 2.0 * room);
    }
    for (packing, Group { kinds, .. }) in best.iter().zip(groups) {
        if let Some(Meeting { first, second, depth, .. }) = problem.overlapping(kinds, &packing.poses)? {
            return Err(PackError::Invalid { first, second, depth });
        }
    }
    Ok(best)
}
