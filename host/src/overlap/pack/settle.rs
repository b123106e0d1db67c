//! From packings that overlap a little to valid ones.

use std::sync::OnceLock;

use rayon::prelude::*;

use super::{
    PackError, Packing,
    error::unless_stopped,
    lanes::Lanes,
    limit::{Limit, Stop},
    resolve::Bodies,
    state::{Finalists, State},
    task::Task,
    walk::Squeeze,
};
use crate::device::Device;

/// Rates and pressures at the start and the end of the last squeeze, in units of the radius. The
/// first rate lets copies find their places, and the last moves nothing visibly. The first pressure
/// presses copies into each other, and the last hardly does.
const RATE: [f64; 2] = [2e-4, 1e-7];
const PRESSURE: [f64; 2] = [1e-3, 1e-6];
/// Number of packings per thread that are worked on before the next ones.
const AT_ONCE: usize = 4;
/// Maximum share of the time left that the last squeeze takes.
const SQUEEZING: f64 = 0.5;

/// Settles packings. Returns a valid packing for each group: the smallest of those made from its
/// finalists and the one in `saved`. In place of the latter may be the one that the group goes on
/// from, or copies in rows.
///
/// Finalists that may have any angle are squeezed once more by this many steps, or until the limit. Then copies move apart, and
/// containers grow as much as they need for that.
pub fn settle(
    device: &Device,
    task: &Task<'_>,
    stop: &Stop,
    limit: &Limit,
    saved: &[Option<Packing>],
    finalists: &Finalists,
    steps: usize,
) -> Result<Vec<Packing>, PackError> {
    let Task { problem, groups, .. } = task;
    let there_is = saved.iter().zip(groups).map(|(saved, group)| saved.clone().map_or_else(|| group.start(problem), Ok));
    let mut best: Vec<Packing> = there_is.collect::<Result<_, _>>()?;
    unless_stopped(improve(device, task, stop, limit, &mut best, finalists, steps))?;
    Ok(best)
}

/// Replaces packings by smaller ones, made from the finalists.
fn improve(
    device: &Device,
    task: &Task<'_>,
    stop: &Stop,
    limit: &Limit,
    best: &mut [Packing],
    finalists: &Finalists,
    steps: usize,
) -> Result<(), PackError> {
    let Task { problem, groups, .. } = task;
    let Finalists { state, groups: of_group } = finalists;
    let kinds = |lane: usize| &groups[of_group[lane]].kinds;
    let all_kinds = (0..of_group.len()).map(|lane| &kinds(lane)[..]);
    // Angles of a set were rounded to single precision.
    let allowed = |(&[x, y, theta], &kind): (&[f64; 3], &u32)| [x, y, problem.turns[kind as usize].nearest(theta)];
    let poses = state.poses.iter().zip(all_kinds.clone().flatten()).map(allowed).collect();
    let found = State { poses, ..state.clone() };
    // A valid packing that is smaller than `most`.
    let valid = |lane: usize, poses: &[[f64; 3]], most: f64| -> Result<Option<Packing>, PackError> {
        let packing = problem.own(kinds(lane), poses).filter(|packing| packing.side < most);
        let Some(packing) = packing else { return Ok(None) };
        Ok(problem.overlapping(kinds(lane), &packing.poses)?.is_none().then_some(packing))
    };
    let squeezed = if problem.is_at_angles() {
        None
    } else {
        let mut lanes = Lanes::<f64>::new(device, problem, &problem.squeezed, &state.offsets, all_kinds, true)?;
        lanes.set(found.poses.clone(), &state.sides)?;
        let schedule = Squeeze { steps, ..Squeeze::new(problem, RATE, Some(PRESSURE)) };
        unless_stopped(lanes.squeeze(&schedule, &limit.sooner(SQUEEZING)))?;
        stop.check()?;
        unless_stopped(lanes.packings())?
    };
    let late = OnceLock::new();
    let sides: Vec<f64> = best.iter().map(|packing| packing.side).collect();
    let settled = |lane: usize, most: f64| -> Result<Option<Packing>, PackError> {
        if !state.energies[lane].is_finite() {
            return Ok(None);
        }
        let from = squeezed.as_ref().unwrap_or(&found);
        let bodies = Bodies::new(problem, kinds(lane), from.poses(lane));
        let apart = bodies.settled(from.sides[lane], most, (limit, &late));
        let apart = apart.map_or(Ok(None), |poses| valid(lane, &poses, most))?;
        // Starts cut out of a lattice may be valid as they are.
        let start = valid(lane, found.poses(lane), apart.as_ref().map_or(most, |packing| packing.side))?;
        Ok(start.or(apart))
    };
    // The best one of each group first, in case time is short.
    let mut order: Vec<usize> = (0..of_group.len()).collect();
    let better = |lane: usize, other: &usize| of_group[*other] == of_group[lane] && state.sides[*other] < state.sides[lane];
    order.sort_by_cached_key(|&lane| (0..of_group.len()).filter(|other| better(lane, other)).count());
    for some in order.chunks(AT_ONCE * rayon::current_num_threads()) {
        let settled = |&lane: &usize| settled(lane, sides[of_group[lane]]);
        let found: Vec<_> = some.par_iter().map(settled).collect::<Result<_, PackError>>()?;
        for (&lane, packing) in some.iter().zip(found) {
            let best = &mut best[of_group[lane]];
            if let Some(packing) = packing.filter(|packing| packing.side < best.side) {
                *best = packing;
            }
        }
    }
    stop.check()
}
