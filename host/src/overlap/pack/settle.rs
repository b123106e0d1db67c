//! From packings that overlap a little to valid ones.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::{
    PackError, Packing,
    error::unless_stopped,
    lanes::Lanes,
    limit::{Limit, Stop},
    state::{Finalists, State},
    task::Task,
    walk::Squeeze,
};
use crate::device::Device;

/// Largest area of overlap per copy of a packing that is checked exactly.
const ROUNDING: f64 = 1e-12;
/// Rates and pressures at the start and the end of the last squeeze, in units of the radius. The
/// first rate lets copies find their places, and the last moves nothing visibly. The first pressure
/// presses copies into each other, and the last hardly does.
const RATE: [f64; 2] = [2e-4, 1e-7];
const PRESSURE: [f64; 2] = [1e-3, 1e-6];
/// Time for making packings valid after the limit.
const GRACE: Duration = Duration::from_millis(300);
/// Number of steps that push copies apart before the container grows.
const PUSHES: usize = 200;
/// First growth of a container, as a share of its scale. It doubles from time to time, or
/// triples when time is short.
const FIRST_ROOM: f64 = 1e-6;
/// Least growth when time is short: when there is less than for `LEVELS` of them.
const LATE_ROOM: f64 = 1e-3;
const LEVELS: u32 = 20;
/// Maximum share of the time left that the pushes of one growth may take.
const PUSHING: f64 = 0.25;
/// Largest growth. Beyond it, copies stand in rows.
const LAST_ROOM: f64 = 4.0;

/// Settles packings. Returns a valid packing for each group: the smallest of those made from its
/// finalists and the one in `saved`. In place of the latter may be the one that the group goes on
/// from, or copies in rows.
///
/// Finalists are squeezed once more by this many steps, or until the limit. Then their containers
/// grow until nothing overlaps. After the limit copies are pushed apart for another `GRACE`; after a
/// cancellation containers grow for one more at most. If a launch is stopped, the packings so far are the result.
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
    let container = &problem.container;
    let Finalists { state, groups: of_group } = finalists;
    let kinds = |lane: usize| &groups[of_group[lane]].kinds;
    let all_kinds = (0..of_group.len()).map(|lane| &kinds(lane)[..]);
    // Angles of a set were rounded to single precision.
    let allowed = |(&[x, y, theta], &kind): (&[f64; 3], &u32)| [x, y, problem.turns[kind as usize].nearest(theta)];
    let poses = state.poses.iter().zip(all_kinds.clone().flatten()).map(allowed).collect();
    let mut lanes = Lanes::<f64>::new(device, problem, &problem.squeezed, &state.offsets, all_kinds, true)?;
    lanes.set(poses, &state.sides)?;
    // Takes over valid packings that are smaller.
    let mut take = |settled: &State| -> Result<Vec<f64>, PackError> {
        let own = |lane: usize| {
            let few = settled.energies[lane] <= ROUNDING * settled.poses(lane).len() as f64;
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
        Ok(of_group.iter().map(|&group| best[group].side).collect())
    };
    // Starts cut out of a lattice may be valid as they are.
    take(&lanes.state()?)?;
    let schedule = Squeeze { steps, ..Squeeze::new(problem, RATE, Some(PRESSURE)) };
    // The rest of the time is for pushes.
    lanes.squeeze(&schedule, &limit.sooner(0.5))?;
    let State { mut poses, sides, .. } = lanes.state()?;
    let lengths: Vec<f64> = sides.iter().map(|&side| container.area(side).sqrt()).collect();
    lanes.set_rates(&lengths)?;
    let (mut before, mut room) = (0.0, FIRST_ROOM);
    // End of the pushes, once the limit is reached.
    let mut end: Option<Instant> = None;
    // Poses move apart as the container grows, and are pushed apart while they overlap.
    while room <= LAST_ROOM {
        let start = Instant::now();
        let larger: Vec<f64> = sides.iter().map(|side| side * (1.0 + room)).collect();
        let factor = (1.0 + room) / (1.0 + before);
        let across = if container.width().is_some() { 1.0 } else { factor };
        let spread: Vec<_> = poses.iter().map(|[x, y, theta]| [x * across, y * factor, *theta]).collect();
        lanes.set(spread, &larger)?;
        if end.is_none() && limit.reached() {
            end = Some(start + GRACE);
        }
        let pushes = match end {
            Some(_) => Limit { deadline: end, ..Limit::default() },
            None => limit.sooner(PUSHING),
        };
        let schedule = Squeeze { steps: PUSHES, rate: [0.3 * room, 1e-3 * room], ..Squeeze::new(problem, RATE, None) };
        lanes.squeeze(&schedule, &pushes)?;
        stop.check()?;
        let settled = lanes.state()?;
        let least = take(&settled)?;
        // More room gives nothing smaller.
        let late = limit.cancel.is_cancelled() && end.is_some_and(|end| Instant::now() >= end + GRACE);
        if late || sides.iter().zip(least).all(|(side, least)| side * (1.0 + room) >= least) {
            break;
        }
        poses = settled.poses;
        let slow = end.is_some() || limit.deadline.is_some_and(|end| Instant::now() + LEVELS * start.elapsed() > end);
        (before, room) = (room, if slow { (3.0 * room).max(LATE_ROOM) } else { 2.0 * room });
    }
    Ok(())
}
