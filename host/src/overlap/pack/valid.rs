//! From packings that overlap a little to one that doesn't.

use rayon::prelude::*;

use super::{
    PackError, Packing, Run,
    lanes::{Lanes, Limit, Squeeze, State},
    search::{Group, Task},
};
use crate::overlap::contest::Meeting;

/// Packings of which each copy overlaps others by more than this area are not looked at.
const ROUNDING: f64 = 1e-12;
/// Of the last squeeze, in units of the radius: from rates at which copies still find their places to rates at which
/// nothing moves that can be seen, and from pressures that press into each other what touches to those that hardly do.
const RATE: [f64; 2] = [2e-4, 1e-7];
const PRESSURE: [f64; 2] = [1e-3, 1e-6];
/// Steps for which copies are pushed apart before there is more room.
const PUSHES: usize = 200;
/// By so much sides are let out to begin with, in units of the side.
const FIRST_ROOM: f64 = 1e-6;
/// Beyond this, copies are put side by side.
const LAST_ROOM: f64 = 4.0;

/// Settles packings: for each group the best valid one that comes of its lanes, or what there is where that is smaller.
/// They are squeezed once more, by this many steps, as long as that isn't cancelled; then each is let out until nothing
/// overlaps any more.
pub fn settle(
    run: &Run<'_>,
    there_is: &[Option<&Packing>],
    finalists: &Finalists,
    steps: usize,
) -> Result<Vec<Packing>, PackError> {
    let Task { problem, groups, .. } = run.task;
    let container = &problem.container;
    let there_is = there_is.iter().zip(groups);
    let there_is = there_is.map(|(one, group)| one.map_or_else(|| problem.rows(&group.kinds), |one| Ok(one.clone())));
    let mut best: Vec<Packing> = there_is.collect::<Result<_, _>>()?;
    let Finalists { state, groups: of_group } = finalists;
    let kinds = |lane: usize| &groups[of_group[lane]].kinds;
    let all_kinds = (0..of_group.len()).map(|lane| &kinds(lane)[..]);
    let mut lanes = Lanes::<f64>::new(run.device, problem, &state.offsets, all_kinds, true)?;
    lanes.set(state.poses.clone(), &state.sides)?;
    let schedule = Squeeze { steps, ..Squeeze::new(problem, RATE, Some(PRESSURE)) };
    let limit = Limit { deadline: None, cancel: run.cancel.clone() };
    lanes.squeeze(&schedule, &limit)?;
    // A packing that is wanted all the same is let out as a whole.
    let limit = if run.abandoned { limit } else { Limit::default() };
    let State { mut poses, sides, offsets, .. } = lanes.state()?;
    let lengths: Vec<f64> = sides.iter().map(|&side| container.area(side).sqrt()).collect();
    lanes.set_rates(&lengths)?;
    let (mut before, mut room) = (0.0, FIRST_ROOM);
    // Poses move apart as the container grows, and are pushed apart where they still overlap.
    while room <= LAST_ROOM {
        let larger: Vec<f64> = sides.iter().map(|side| side * (1.0 + room)).collect();
        let factor = (1.0 + room) / (1.0 + before);
        let across = if container.width().is_some() { 1.0 } else { factor };
        let spread: Vec<_> = poses.iter().map(|[x, y, theta]| [x * across, y * factor, *theta]).collect();
        lanes.set(spread, &larger)?;
        let schedule = Squeeze { steps: PUSHES, rate: [0.3 * room, 1e-3 * room], ..Squeeze::new(problem, RATE, None) };
        lanes.squeeze(&schedule, &limit)?;
        run.check()?;
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
        // With more room there is nothing smaller to come.
        if sides.iter().zip(of_group).all(|(side, group)| side * (1.0 + room) >= best[*group].side) {
            break;
        }
        poses = settled.poses;
        (before, room) = (room, 2.0 * room);
    }
    for (packing, Group { kinds, .. }) in best.iter().zip(groups) {
        if let Some(Meeting { poses: [first, second], depth, .. }) = problem.overlapping(kinds, &packing.poses)? {
            return Err(PackError::Invalid { first, second, depth });
        }
    }
    Ok(best)
}

/// Packings that are to be settled.
#[derive(Clone, Debug, Default)]
pub struct Finalists {
    pub state: State,
    /// Each lane's group.
    pub groups: Vec<usize>,
}
