//! From packings that overlap a little to one that doesn't.

use rayon::prelude::*;

use super::{
    PackError, Packing, Run,
    lanes::{Lanes, Limit, Squeeze, State},
    search::Task,
};
use crate::overlap::{
    Packings, Shape,
    contest::{Meeting, meetings},
};

/// Packings of which each copy overlaps others by more than this area are not looked at.
pub const ROUNDING: f64 = 1e-12;
/// By so much the pieces are grown while they are squeezed, in units of the shape's radius.
pub const MARGIN: f64 = 1e-7;
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

/// The shape as it is squeezed: its circle's centre at the origin, and grown.
pub fn squeezed(shape: &Shape) -> Shape {
    let [x, y] = shape.center();
    shape.moved_and_grown([-x, -y], MARGIN * shape.radius())
}

/// The shape's own poses from those about its centre, moved so that the square around them is about the origin; and its
/// side.
fn own(shape: &Shape, poses: &[[f64; 3]]) -> Packing {
    let [u, v] = shape.center();
    let mut poses: Vec<_> = poses
        .iter()
        .map(|&[x, y, theta]| {
            let (sine, cosine) = theta.sin_cos();
            [x - cosine * u + sine * v, y - sine * u - cosine * v, theta]
        })
        .collect();
    let bounds = |poses: &[[f64; 3]]| {
        let vertices = poses.iter().flat_map(|&pose| shape.posed(pose)).flatten();
        vertices.fold([[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]], |[low, high], [x, y]| {
            [[low[0].min(x), low[1].min(y)], [high[0].max(x), high[1].max(y)]]
        })
    };
    let [low, high] = bounds(&poses);
    let middle = [0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1])];
    for pose in &mut poses {
        pose[0] -= middle[0];
        pose[1] -= middle[1];
    }
    // Rounding may leave it a little off the middle.
    let farthest = bounds(&poses).as_flattened().iter().fold(0.0f64, |farthest, number| farthest.max(number.abs()));
    Packing { poses, side: 2.0 * farthest }
}

/// Poses about the shape's centre from its own.
pub fn about_center(shape: &Shape, poses: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let [u, v] = shape.center();
    let moved = |&[x, y, theta]: &[f64; 3]| {
        let (sine, cosine) = theta.sin_cos();
        [x + cosine * u - sine * v, y + sine * u + cosine * v, theta]
    };
    poses.iter().map(moved).collect()
}

/// A packing to start from, if it is valid.
pub fn start(shape: &Shape, poses: &[[f64; 3]]) -> Result<Packing, PackError> {
    let valid = own(shape, &about_center(shape, poses));
    match overlapping(shape, &valid.poses)? {
        None => Ok(valid),
        Some(Meeting { poses: [first, second], area, .. }) => Err(PackError::StartOverlaps { first, second, area }),
    }
}

/// The first pair that overlaps, by the rules of the contest: no overlap is too small to count.
pub fn overlapping(shape: &Shape, poses: &[[f64; 3]]) -> Result<Option<Meeting>, PackError> {
    let meetings = meetings(&Packings::one(poses.to_vec())?, 0, std::slice::from_ref(shape));
    Ok(meetings.into_iter().find_map(|(meeting, overlaps)| overlaps.then_some(meeting)))
}

/// Copies apart from each other, in rows.
fn rows(shape: &Shape, n: usize) -> Packing {
    let columns = (1..).find(|columns| columns * columns >= n).unwrap_or(n);
    let step = 2.0 * shape.radius();
    let poses: Vec<_> = (0..n).map(|k| [step * (k % columns) as f64, step * (k / columns) as f64, 0.0]).collect();
    own(shape, &poses)
}

/// Settles packings: for each group the best valid one that comes of its lanes, or what there is where that is smaller.
/// They are squeezed once more, by this many steps, as long as that isn't cancelled; then each is let out until nothing
/// overlaps any more.
pub fn settle(
    run: &Run<'_>,
    there_is: &[Option<&Packing>],
    finalists: &Finalists,
    steps: usize,
) -> Result<Vec<Packing>, PackError> {
    let Task { shape, groups, .. } = run.task;
    let radius = shape.radius();
    let there_is = there_is.iter().zip(groups);
    let mut best: Vec<Packing> = there_is.map(|(one, group)| one.cloned().unwrap_or_else(|| rows(shape, group.count))).collect();
    let Finalists { state, groups } = finalists;
    let mut lanes = Lanes::<f64>::new(run.device, &squeezed(shape), &state.offsets, true)?;
    lanes.set(state.poses.clone(), &state.sides)?;
    let schedule =
        Squeeze { steps, rate: RATE.map(|rate| rate * radius), pressure: Some(PRESSURE.map(|pressure| pressure * radius)) };
    let limit = Limit { deadline: None, cancel: run.cancel.clone() };
    lanes.squeeze(&schedule, &limit)?;
    // A packing that is wanted all the same is let out as a whole.
    let limit = if run.abandoned { limit } else { Limit::default() };
    let State { mut poses, sides, offsets, .. } = lanes.state()?;
    lanes.set_rates(&sides)?;
    let (mut before, mut room) = (0.0, FIRST_ROOM);
    // Poses move apart as the square grows, and are pushed apart where they still overlap.
    while room <= LAST_ROOM {
        let larger: Vec<f64> = sides.iter().map(|side| side * (1.0 + room)).collect();
        let factor = (1.0 + room) / (1.0 + before);
        let spread: Vec<_> = poses.iter().map(|[x, y, theta]| [x * factor, y * factor, *theta]).collect();
        lanes.set(spread, &larger)?;
        let schedule = Squeeze { steps: PUSHES, rate: [0.3 * room, 1e-3 * room], pressure: None };
        lanes.squeeze(&schedule, &limit)?;
        run.check()?;
        let settled = lanes.state()?;
        let own = |lane: usize| {
            let few = settled.energies[lane] <= ROUNDING * (offsets[lane + 1] - offsets[lane]) as f64;
            let valid = few.then(|| own(shape, settled.poses(lane))).filter(|valid| valid.side < best[groups[lane]].side);
            valid.map_or(Ok(None), |valid| {
                let apart = overlapping(shape, &valid.poses)?.is_none();
                Ok(apart.then_some((groups[lane], valid)))
            })
        };
        let found: Vec<_> = (0..groups.len()).into_par_iter().map(own).collect::<Result<_, PackError>>()?;
        for (group, valid) in found.into_iter().flatten() {
            if valid.side < best[group].side {
                best[group] = valid;
            }
        }
        // With more room there is nothing smaller to come.
        if sides.iter().zip(groups).all(|(side, group)| side * (1.0 + room) >= best[*group].side) {
            break;
        }
        poses = settled.poses;
        (before, room) = (room, 2.0 * room);
    }
    for packing in &best {
        if let Some(Meeting { poses: [first, second], depth, .. }) = overlapping(shape, &packing.poses)? {
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
