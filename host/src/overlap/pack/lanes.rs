//! Many packings at once, on a device.

use gpu_kernels::overlap::adam;

use super::{
    Budget, PackError, Turns,
    limit::Limit,
    problem::Problem,
    real::{LaneReal, Squeezed},
    separate::{Plan, Separation},
    state::State,
    turns::unflagged,
    walk::{Squeeze, Steps, Walk},
};
use crate::{
    device::{Buffer, Device, Stream},
    overlap::{Overlap, OverlapError, Packings, Search, Shape, Wanted},
};

/// Minimum of a scale, in units of the scale at density 1.
const PRESSED: f64 = 0.9;

fn with_kinds(packings: Packings, kinds: Option<&[u32]>) -> Result<Packings, PackError> {
    Ok(match kinds {
        Some(kinds) => packings.with_shapes(kinds.to_vec())?,
        None => packings,
    })
}

fn half_planes<T: LaneReal>(overlap: &Overlap<T>) -> Result<&Buffer<T>, OverlapError> {
    overlap.half_planes().ok_or(OverlapError::NoBoundary)
}

/// Packings that are squeezed together.
pub struct Lanes<T: LaneReal> {
    overlap: Overlap<T>,
    stream: Stream,
    own: Walk<T>,
    steps: Steps<T>,
    /// Single copies that look for places, from the first time on.
    probes: Option<Walk<T>>,
    /// Memory of separations, once they are prepared.
    separation: Option<Separation>,
    /// Radians per unit of length; 0 if angles stay, because some shapes may not have any angle.
    turn: f64,
    /// Each pose's shape without mirroring, if there are several; the offset of mirror images, if there are some; and the shape
    /// with the most pieces.
    kinds: Option<Vec<u32>>,
    mirrored: Option<u32>,
    largest: u32,
    /// Evaluates how good a packing is.
    judge: Overlap<f64>,
}

impl<T: LaneReal> Lanes<T> {
    /// Lanes with these offsets, and these shapes of each lane's copies, as they are squeezed or
    /// searched. If `deterministic`, the same steps give the same bits, but take longer.
    pub fn new<'k>(
        device: &Device,
        problem: &Problem,
        shapes: &[Shape],
        offsets: &[usize],
        kinds: impl Iterator<Item = &'k [u32]>,
        deterministic: bool,
    ) -> Result<Self, PackError> {
        let container = &problem.container;
        let overlap = Overlap::new(device, shapes)?.boundary(container.clone())?.deterministic(deterministic);
        // Lanes are loaded before they have poses, which a tree would be made for.
        let overlap = overlap.search(Search::Grid);
        let stream = device.stream()?;
        let (lanes, poses) = (offsets.len() - 1, offsets[offsets.len() - 1]);
        let (mut least, mut all_kinds) = (Vec::with_capacity(lanes), Vec::new());
        for kinds in kinds {
            least.push(T::from_f64(PRESSED * container.scale_of(problem.area(kinds))));
            if shapes.len() > 1 {
                all_kinds.extend_from_slice(kinds);
            }
        }
        let kinds = (shapes.len() > 1).then_some(all_kinds);
        let packings = with_kinds(Packings::ragged(vec![[0.0; 3]; poses], offsets.to_vec())?, kinds.as_deref())?;
        let mut scene = overlap.load(&packings)?;
        scene.set_scales(&stream, &vec![1.0; lanes])?;
        Ok(Lanes {
            own: Walk::new(device, scene, &least)?,
            steps: Steps::new(device)?,
            probes: None,
            separation: None,
            turn: if problem.turns.iter().all(Turns::is_any) { 1.0 / problem.radius } else { 0.0 },
            largest: (0..shapes.len()).max_by_key(|&kind| shapes[kind].quads().len()).unwrap_or(0) as u32,
            judge: Overlap::new(device, shapes)?.boundary(container.clone())?,
            overlap,
            stream,
            kinds,
            mirrored: problem.mirrors().then_some(problem.kinds as u32),
        })
    }

    /// Preloads the kernels of a search that squeezes and then settles, for a problem with any angles or without.
    pub fn preload(&self, any_angle: bool) {
        let Lanes { overlap, judge, .. } = self;
        let mut kernels = [overlap.kernels(true), overlap.kernels(false), judge.kernels(false)].concat();
        kernels.push(adam::step::kernel::<T>());
        if any_angle {
            kernels.extend(judge.kernels(true));
            kernels.push(adam::step::kernel::<f64>());
        }
        overlap.device().preload(&kernels);
    }

    /// The shapes of poses of these kinds.
    fn shapes(&self, kinds: &[u32], poses: &[[f64; 3]]) -> Vec<u32> {
        let Some(offset) = self.mirrored else { return kinds.to_vec() };
        kinds.iter().zip(poses).map(|(kind, pose)| if unflagged(pose[2]).1 { kind + offset } else { *kind }).collect()
    }

    /// The shape of each of the lanes' poses, if there are several.
    fn own_shapes(&self, poses: &[[f64; 3]]) -> Option<Vec<u32>> {
        self.kinds.as_ref().map(|kinds| self.shapes(kinds, poses))
    }

    /// Uploads packings into the lanes.
    pub fn set(&mut self, poses: Vec<[f64; 3]>, sides: &[f64]) -> Result<(), PackError> {
        // Fields tell mirrored copies by their angles.
        let by_fields = self.separation.as_ref().is_some_and(Separation::has_fields);
        let shapes = if by_fields { self.kinds.clone() } else { self.own_shapes(&poses) };
        let scene = &mut self.own.scene;
        if let Some(shapes) = shapes.as_ref().filter(|_| self.mirrored.is_some()) {
            self.overlap.set_shapes(&self.stream, scene, shapes)?;
        }
        let packings = with_kinds(Packings::ragged(poses, scene.offsets().to_vec())?, shapes.as_deref())?;
        scene.set_poses(&self.stream, &packings)?;
        scene.set_scales(&self.stream, sides)?;
        Ok(())
    }

    /// Moves poses and scales by the schedule's steps, or as many as the limit allows, and returns
    /// their number.
    pub fn squeeze(&mut self, schedule: &Squeeze, limit: &Limit) -> Result<usize, PackError> {
        let Lanes { overlap, stream, own, steps, turn, .. } = self;
        let plan = schedule.plan(*turn);
        own.run(stream, half_planes(overlap)?, steps, &plan, limit, |streams, scene| Ok(overlap.enqueue_slopes(streams, scene)?))
    }

    /// Looks for free places in the lanes, which don't change: single copies of these shapes, the
    /// same number in each lane, go downhill by the schedule's steps, or until the limit, and ignore
    /// each other. Returns their poses, one lane after the other, and for each the area of overlap
    /// plus the area outside.
    pub fn probe(
        &mut self,
        poses: Vec<[f64; 3]>,
        kinds: &[u32],
        schedule: &Squeeze,
        limit: &Limit,
    ) -> Result<(Vec<[f64; 3]>, Vec<f64>), PackError> {
        let kinds = &self.shapes(kinds, &poses)[..];
        let Lanes { overlap, stream, own, steps, turn, probes, kinds: several, largest, .. } = self;
        let others = &mut own.scene;
        let (each, several) = (poses.len() / others.packings(), several.is_some());
        let packings = Packings::ensembles(poses, each)?;
        let probes = match probes {
            Some(probes) if probes.scene.offsets() == packings.offsets() => probes,
            probes => {
                // The largest shape everywhere, so that there is room for any shapes.
                let largest = vec![*largest; kinds.len()];
                let scene = overlap.load(&with_kinds(packings.clone(), several.then_some(&largest))?)?;
                // Their scales stay.
                let least = vec![T::ZERO; others.packings()];
                probes.insert(Walk::new(overlap.device(), scene, &least)?)
            }
        };
        if several {
            overlap.set_shapes(stream, &mut probes.scene, kinds)?;
        }
        let packings = with_kinds(packings, several.then_some(kinds))?;
        probes.scene.set_poses(stream, &packings)?;
        // The number of packings is the same each time, and so the buffer of scales stays where it
        // is.
        let scales: Vec<f64> = stream.download_vec(others.scales())?.into_iter().map(T::to_f64).collect();
        probes.scene.set_scales(stream, &scales)?;
        let wanted = Wanted { per_pose: true, gradient: false };
        overlap.enqueue_between(stream, &mut probes.scene, others, wanted)?;
        let plan = schedule.plan(*turn);
        probes.run(stream, half_planes(overlap)?, steps, &plan, limit, |streams, scene| {
            Ok(overlap.enqueue_slopes_among(streams, scene, others)?)
        })?;
        overlap.enqueue_between(stream, &mut probes.scene, others, wanted)?;
        let overlaps = stream.download_vec(probes.scene.per_pose())?;
        let outside = stream.download_vec(probes.scene.outside_per_pose())?;
        let energies = overlaps.iter().zip(outside).map(|(&overlap, outside)| (overlap + outside).to_f64()).collect();
        Ok((poses_of(&stream.download_vec(probes.scene.poses())?), energies))
    }

    /// Downloads the lanes, without their energies.
    pub fn packings(&self) -> Result<State, PackError> {
        let Lanes { stream, own: Walk { scene, .. }, .. } = self;
        let poses = poses_of(&stream.download_vec(scene.poses())?);
        let sides: Vec<f64> = stream.download_vec(scene.scales())?.into_iter().map(T::to_f64).collect();
        Ok(State { offsets: scene.offsets().to_vec(), energies: vec![0.0; sides.len()], poses, sides })
    }

    /// Downloads the lanes, and evaluates them.
    pub fn state(&mut self) -> Result<State, PackError> {
        let state = self.packings()?;
        let shapes = self.own_shapes(&state.poses);
        let packings = with_kinds(Packings::ragged(state.poses.clone(), state.offsets.clone())?, shapes.as_deref())?;
        let found = self.judge.evaluate_within(&packings, &state.sides, Wanted::TOTALS)?;
        let outside = found.outside.map(|outside| outside.totals).unwrap_or_default();
        let energies = found.totals.iter().zip(outside).map(|(overlap, outside)| overlap + outside).collect();
        Ok(State { energies, ..state })
    }
}

impl Lanes<Squeezed> {
    /// Prepares separations. Returns true if copies can be separated by fields.
    pub fn prepare(&mut self, problem: &Problem, budget: Budget) -> Result<bool, PackError> {
        let Lanes { overlap, stream, own, separation, .. } = self;
        let prepared = Separation::new(overlap.device(), stream, (problem, budget), own.scene.offsets())?;
        Ok(separation.insert(prepared).has_fields())
    }

    /// Separates the copies of all lanes by [`Separation::run`].
    ///
    /// # Panics
    /// If this wasn't prepared.
    pub fn separate(&mut self, plan: Plan<'_>, limit: &Limit) -> Result<(usize, Vec<f64>), PackError> {
        let Lanes { overlap, stream, own, separation, .. } = self;
        let separation = separation.as_mut().expect("prepared");
        separation.run(stream, overlap, &mut own.scene, plan, limit)
    }
}

fn poses_of<T: LaneReal>(numbers: &[T]) -> Vec<[f64; 3]> {
    numbers.as_chunks().0.iter().map(|pose: &[T; 3]| pose.map(T::to_f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::Boundary;

    /// Number of steps: half of them are recorded as a graph, and half launched.
    const STEPS: usize = 100;

    fn squares(sides: &[f64]) -> Vec<Shape> {
        let square = |&side: &f64| {
            let half = 0.5 * side;
            Shape::polygon("square", &[[-half, -half], [half, -half], [half, half], [-half, half]]).expect("it is simple")
        };
        sides.iter().map(square).collect()
    }

    /// Copies in pairs, of squares of these sides in turn, far from other pairs and from the walls.
    fn pairs(sides: &[f64], count: usize) -> (Vec<u32>, Vec<[f64; 3]>) {
        let copy = |copy: usize| {
            let (pair, kind) = (copy / 2, copy / 2 % sides.len());
            let [x, y] = [pair % 64, pair / 64].map(|number| 3.0 * number as f64 - 96.0);
            let apart = if copy.is_multiple_of(2) { 0.0 } else { sides[kind] };
            (kind as u32, [x + 0.5 * apart, y + (0.3 + 0.001 * (pair % 7) as f64) * apart, 0.0])
        };
        (0..count).map(copy).unzip()
    }

    /// Copies come apart in pairs, in lanes of so few that all poses are candidates, and of so many that they are in
    /// cells: also of sizes that a tree would be made for.
    #[test]
    fn lanes_of_many_copies() {
        let (device, limit) = (Device::best().expect("one"), Limit::default());
        for (sides, counts) in [(&[1.0][..], &[4095, 4096][..]), (&[1.0, 0.1, 0.01], &[4096])] {
            let shapes = squares(sides);
            let problem = Problem::new(&shapes, &vec![1; shapes.len()], Boundary::square(), &[Turns::NONE]);
            let schedule = Squeeze { steps: STEPS, ..Squeeze::new(&problem, [0.001, 0.0005], None) };
            let taken = |offsets: &[usize], kinds: &[u32], poses: &[[f64; 3]]| {
                let ranges = offsets.windows(2).map(|range| &kinds[range[0]..range[1]]);
                let mut lanes = Lanes::<f64>::new(&device, &problem, &problem.squeezed, offsets, ranges, true)?;
                lanes.set(poses.to_vec(), &vec![1000.0; offsets.len() - 1])?;
                assert_eq!(lanes.squeeze(&schedule, &limit)?, STEPS);
                Ok::<_, PackError>((lanes.state()?.poses, lanes))
            };
            for &count in counts {
                let (kinds, poses) = pairs(sides, count);
                let mut few: Vec<usize> = (0..count).step_by(2).collect();
                few.push(count);
                let (expected, _) = taken(&few, &kinds, &poses).expect("lanes of two");
                let (found, mut lanes) = taken(&[0, count], &kinds, &poses).expect("a lane of all");
                let mut moved = 0;
                for ((found, expected), pose) in found.iter().zip(&expected).zip(&poses) {
                    assert!((0..3).all(|axis| (found[axis] - expected[axis]).abs() < 1e-9), "{count}: {found:?} {expected:?}");
                    moved += usize::from((found[0] - pose[0]).abs() > 1e-3);
                }
                assert!(moved >= count - 1, "{count}: {moved}");
                // Single copies of any shape, which stay where they are.
                lanes.set(poses.clone(), &[1000.0]).expect("a side");
                let at = |k: usize| [poses[61 * k][0] + 0.25, poses[61 * k][1] + 0.125, 0.0];
                let (probes, own): (Vec<_>, Vec<_>) = (0..64).map(|k| (at(k), (k % sides.len()) as u32)).unzip();
                let (_, areas) = lanes.probe(probes.clone(), &own, &Squeeze { steps: 0, ..schedule }, &limit).expect("probes");
                for ((probe, own), found) in probes.iter().zip(&own).zip(areas) {
                    let common = |(pose, kind): (&[f64; 3], &u32)| {
                        let [one, other] = [own, kind].map(|&kind| 0.5 * sides[kind as usize]);
                        let along = |axis: usize| {
                            let apart = (pose[axis] - probe[axis]).abs();
                            (one + other - apart).min(2.0 * one.min(other)).max(0.0)
                        };
                        along(0) * along(1)
                    };
                    let area: f64 = poses.iter().zip(&kinds).map(common).sum();
                    assert!((found - area).abs() < 1e-5, "{count}: {found} {area}");
                }
            }
        }
    }

    /// Lanes of copies of these shapes, ready to be separated by fields with so many threads each.
    fn by_fields(
        device: &Device,
        problem: &Problem,
        offsets: &[usize],
        kinds: &[Vec<u32>],
        threads: u32,
    ) -> std::result::Result<Lanes<f32>, Box<dyn std::error::Error>> {
        let mut lanes = Lanes::new(device, problem, &problem.searched, offsets, kinds.iter().map(|kinds| &kinds[..]), true)?;
        assert!(lanes.prepare(problem, Budget::Steps(1))?);
        lanes.separation.as_mut().ok_or("prepared")?.field_threads = threads;
        Ok(lanes)
    }

    /// One thread and any number of whole warps separate copies by fields, in containers that shrink by whole factors. Copies
    /// that have no room stay together.
    #[test]
    fn apart_by_fields() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let (device, limit) = (Device::best()?, Limit::default());
        let rectangle = |x: f64, y: f64| Shape::polygon("r", &[[0.0, 0.0], [x, 0.0], [x, y], [0.0, y]]);
        let shapes = [rectangle(1.0, 1.0)?, rectangle(3.0, 0.5)?];
        let problem = Problem::new(&shapes, &[20, 20], Boundary::square(), &[Turns::QUARTERS]);
        // The last one has an area of 49.
        let counts = [1, 2, 5, 33, 40];
        let offsets: Vec<usize> = std::iter::once(0)
            .chain(counts.iter().scan(0, |end, count| {
                *end += count;
                Some(*end)
            }))
            .collect();
        let kinds: Vec<Vec<u32>> = counts.iter().map(|&count| (0..count).map(|k| k as u32 % 2).collect()).collect();
        let sides = [4.0, 4.5, 5.0, 9.0, 6.9];
        for threads in [1, 32, 256] {
            let mut lanes = by_fields(&device, &problem, &offsets, &kinds, threads)?;
            lanes.set(counts.iter().flat_map(|&count| (0..count).map(|k| [0.1, 0.1 * k as f64, 0.0])).collect(), &sides)?;
            let plan = Plan { factors: &[0.97; 5], forgets: &[true; 5], rounds: 24, seed: 3, exact: false };
            let (taken, overlaps) = lanes.separate(plan, &limit)?;
            let found = lanes.packings()?;
            assert_eq!(taken, 24);
            for lane in 0..counts.len() {
                let factors = (found.sides[lane] / sides[lane]).ln() / 0.97f64.ln();
                if lane == 4 {
                    assert!(overlaps[lane] > 0.0 && factors.abs() < 1e-3, "{threads}: {overlaps:?}");
                    continue;
                }
                assert!(
                    overlaps[lane] == 0.0 && factors > 0.5 && (factors - factors.round()).abs() < 1e-3,
                    "{threads}: {overlaps:?} {factors}"
                );
                let packing = problem.own(&kinds[lane], found.poses(lane)).ok_or("too wide")?;
                // Fields are exact for rectangles.
                assert!(problem.overlapping(&kinds[lane], &packing.poses)?.is_none(), "{threads} {lane}");
                assert!(packing.side <= found.sides[lane] * (1.0 + 1e-6), "{threads}: {packing:?}");
            }
        }
        Ok(())
    }

    /// A large copy meets as many small ones as a warp, or one thread, has views of at once, and one more.
    #[test]
    fn apart_among_many() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let (device, limit) = (Device::best()?, Limit::default());
        let problem = Problem::new(&squares(&[8.0, 0.5]), &[1, 110], Boundary::square(), &[Turns::NONE]);
        let offsets = [0, 61, 61 + 93, 61 + 93 + 94, 61 + 93 + 94 + 111];
        let kinds: Vec<Vec<u32>> =
            offsets.windows(2).map(|ends| (ends[0]..ends[1]).map(|k| u32::from(k > ends[0])).collect()).collect();
        for threads in [1, 256] {
            let mut lanes = by_fields(&device, &problem, &offsets, &kinds, threads)?;
            // The small ones are in rows within the large one.
            let own = |k: usize| if k == 0 { [0.0; 3] } else { [0.6 * (k % 11) as f64 - 3.0, 0.6 * (k / 11) as f64 - 3.0, 0.0] };
            lanes.set(kinds.iter().flat_map(|kinds| (0..kinds.len()).map(own)).collect(), &[14.0; 4])?;
            let plan = Plan { factors: &[0.999; 4], forgets: &[true; 4], rounds: 12, seed: 5, exact: false };
            let (_, overlaps) = lanes.separate(plan, &limit)?;
            let found = lanes.packings()?;
            for lane in 0..4 {
                assert!(overlaps[lane] == 0.0, "{threads}: {overlaps:?}");
                let packing = problem.own(&kinds[lane], found.poses(lane)).ok_or("too wide")?;
                assert!(problem.overlapping(&kinds[lane], &packing.poses)?.is_none(), "{threads} {lane}");
            }
        }
        Ok(())
    }
}
