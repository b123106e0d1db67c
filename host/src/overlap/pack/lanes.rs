//! Many packings at once, on a device.

use std::{ops::Range, time::Instant};

use gpu_kernels::overlap::{
    adam::{self, LanesArgs, MemoryArgs, POSE_MEMORY, SlopesArgs, Step},
    separate,
};

use super::{PackError, Separation, Turns, problem::Problem};
use crate::{
    common::Cancel,
    device::{Buffer, Device, Event, Graph, Stream},
    launch,
    overlap::{Overlap, OverlapError, OverlapReal, Packings, Scene, Wanted},
};

/// Threads of a block of the kernel that steps, at most.
const MOST_THREADS: usize = 1024;
/// Scales stay above this, in units of that at which copies would cover all of the container.
const PRESSED: f64 = 0.9;
/// Steps of a graph. When this many are enqueued and those before are done, the host looks whether it is to go on.
const STEPS_AHEAD: usize = 50;

/// The numbers that packings are squeezed in.
pub trait LaneReal: OverlapReal + adam::step::Instance + separate::separate::Instance {}

impl LaneReal for f32 {}
impl LaneReal for f64 {}

/// How the rate and the pressure go from a start to an end, by a constant factor per step.
#[derive(Clone, Copy, Debug)]
pub struct Squeeze {
    pub steps: usize,
    /// Length per step.
    pub rate: [f64; 2],
    /// Area for a unit of scale; none where the scale is to stay.
    pub pressure: Option<[f64; 2]>,
    /// How far the scale goes for a unit of length.
    pub scale_rate: f64,
}

impl Squeeze {
    /// No steps yet, of rates and pressures in units of the problem's radius.
    pub fn new(problem: &Problem, rate: [f64; 2], pressure: Option<[f64; 2]>) -> Self {
        let Problem { radius, pressure: factor, scale_rate, .. } = problem;
        Squeeze {
            steps: 0,
            rate: rate.map(|rate| rate * radius),
            pressure: pressure.map(|pressure| pressure.map(|pressure| pressure * factor * radius)),
            scale_rate: *scale_rate,
        }
    }

    /// Its steps, for angles that turn by so much for a unit of length.
    fn plan<T: LaneReal>(&self, turn: f64) -> Vec<Step<T>> {
        let between = |[from, to]: [f64; 2], step: usize| {
            let share = step as f64 / self.steps.saturating_sub(1).max(1) as f64;
            T::from_f64(from * (to / from).powf(share))
        };
        let step = |step: usize| Step {
            rate: between(self.rate, step),
            turn: T::from_f64(turn),
            scale_rate: T::from_f64(if self.pressure.is_some() { self.scale_rate } else { 0.0 }),
            pressure: self.pressure.map_or(T::ZERO, |pressure| between(pressure, step)),
            beta1: T::from_f64(0.9),
            beta2: T::from_f64(0.99),
            epsilon: T::from_f64(1e-12),
        };
        (0..self.steps).map(step).collect()
    }
}

/// When to stop early.
#[derive(Clone, Debug, Default)]
pub struct Limit {
    pub deadline: Option<Instant>,
    pub cancel: Cancel,
}

impl Limit {
    pub fn reached(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

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
    /// Single copies that look for places, once there were some.
    probes: Option<Walk<T>>,
    /// Once copies were taken apart.
    separation: Option<Separation<T>>,
    /// Radians for a unit of length; 0 where angles stay.
    turn: f64,
    /// Each pose's shape, where there are several; and the one of the most pieces.
    kinds: Option<Vec<u32>>,
    largest: u32,
    /// What says how good a packing is.
    judge: Overlap<f64>,
}

/// Steps to take.
struct Steps<T: LaneReal> {
    all: Buffer<Step<T>>,
    /// Those of a graph, which are copied here before it is launched.
    next: Buffer<Step<T>>,
    /// Reached when the graphs before are done, one after the other.
    done: [Event; 2],
}

/// A scene that goes downhill.
struct Walk<T: LaneReal> {
    scene: Scene<T>,
    /// How far each packing goes, in units of the step's rate.
    rates: Buffer<T>,
    /// The least that each packing's scale may become.
    least: Buffer<T>,
    /// What steps keep of poses, and of scales.
    poses: Buffer<T>,
    scales: Buffer<T>,
    /// The steps of `Steps::next`. It has the addresses of all that is here.
    graph: Option<Graph>,
}

impl<T: LaneReal> Walk<T> {
    fn new(device: &Device, scene: Scene<T>, least: &[T]) -> Result<Self, PackError> {
        Ok(Walk {
            least: device.upload(least)?,
            rates: device.upload(&vec![T::ONE; scene.packings()])?,
            poses: device.alloc(POSE_MEMORY * scene.len())?,
            scales: device.alloc(scene.packings())?,
            graph: None,
            scene,
        })
    }

    /// Enqueues step `number` of these, by the derivatives that `slopes` enqueues on both streams, for the first one.
    fn step(
        &mut self,
        streams: [&Stream; 2],
        half_planes: &Buffer<T>,
        steps: &Buffer<Step<T>>,
        number: usize,
        slopes: &mut impl FnMut([&Stream; 2], &mut Scene<T>) -> Result<(), PackError>,
    ) -> Result<(), PackError> {
        slopes(streams, &mut self.scene)?;
        let [stream, _] = streams;
        let threads = self.scene.sizes.longest.next_multiple_of(32).clamp(32, MOST_THREADS) as u32;
        let (n, packings) = (self.scene.len(), self.scene.packings());
        let Scene { offsets, scales, by_pose, outside, poses, .. } = &mut self.scene;
        let slopes = by_pose.gradients.len().min(outside.gradients.len()).min(3 * outside.by_scale.len());
        let fits = self.poses.len() == POSE_MEMORY * n && self.scales.len() == packings && self.rates.len() == packings;
        let fits = fits && self.least.len() == packings;
        assert!(fits && scales.len() == packings && offsets.len() == packings + 1, "memory of another scene");
        assert!(number < steps.len() && slopes >= 3 * n, "no such step, or no derivatives");
        // SAFETY: the scene has an offset more than packings, which are of its poses; a rate, a scale and its least for
        // each packing, derivatives for each pose, memory for all of them, and such a step were just checked. Blocks
        // are of whole warps, one for each packing.
        unsafe {
            let (rates, least) = (&self.rates, &self.least);
            let lanes = LanesArgs { offsets: &*offsets, rates, poses, scales, least, half_planes };
            let slopes = SlopesArgs { overlap: &by_pose.gradients, outside: &outside.gradients, by_scale: &outside.by_scale };
            let memory = MemoryArgs { poses: &mut self.poses, scales: &mut self.scales };
            launch!(stream, adam::step::<T><<<packings as u32, threads>>>(steps, number as u32, lanes, slopes, memory))?;
        }
        Ok(())
    }

    /// Takes these steps from where it is, or as many as there are until the limit; says how many. `slopes` enqueues the
    /// derivatives by poses and scales, without waiting, and of memory that is the same each time. Poses are kept in the
    /// half-planes.
    fn run(
        &mut self,
        stream: &Stream,
        half_planes: &Buffer<T>,
        steps: &mut Steps<T>,
        plan: &[Step<T>],
        limit: &Limit,
        mut slopes: impl FnMut([&Stream; 2], &mut Scene<T>) -> Result<(), PackError>,
    ) -> Result<usize, PackError> {
        steps.all.ensure(plan.len())?;
        stream.upload(&mut steps.all, plan)?;
        stream.fill_zero(&mut self.poses)?;
        stream.fill_zero(&mut self.scales)?;
        let taken = self.enqueue(stream, half_planes, steps, plan.len(), limit, &mut slopes);
        // Graphs hold nothing: what they use stays as it is until they are done.
        stream.synchronize()?;
        taken
    }

    fn enqueue(
        &mut self,
        stream: &Stream,
        half_planes: &Buffer<T>,
        steps: &mut Steps<T>,
        count: usize,
        limit: &Limit,
        slopes: &mut impl FnMut([&Stream; 2], &mut Scene<T>) -> Result<(), PackError>,
    ) -> Result<usize, PackError> {
        for (turn, first) in (0..count).step_by(STEPS_AHEAD).enumerate() {
            steps.done[turn % 2].synchronize()?;
            if limit.reached() {
                return Ok(first);
            }
            let some = STEPS_AHEAD.min(count - first);
            stream.copy(steps.all.view(first..first + some)?, steps.next.view_mut(..some)?)?;
            match &self.graph {
                Some(graph) if some == STEPS_AHEAD => {
                    // SAFETY: the scene's memory, the walk's and that of `next` is what it was when the graph was made:
                    // nobody makes it larger. `run` waits before it returns, and until then this stream alone uses it.
                    unsafe { graph.launch(stream)? };
                }
                _ => (0..some).try_for_each(|number| self.step([stream, stream], half_planes, &steps.next, number, slopes))?,
            }
            if self.graph.is_none() {
                // By now all memory is there, and all kernels are compiled.
                let device = stream.device().clone();
                let next = &steps.next;
                let graph = device.capture_branches(2, |streams| {
                    let mut step = |number| self.step([&streams[0], &streams[1]], half_planes, next, number, slopes);
                    (0..STEPS_AHEAD).try_for_each(&mut step)
                })?;
                graph.prepare(stream)?;
                self.graph = Some(graph);
            }
            stream.record_into(&steps.done[turn % 2])?;
        }
        Ok(count)
    }
}

/// What is in the lanes.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Where each lane's poses start, and the end.
    pub offsets: Vec<usize>,
    /// All lanes' poses, one lane after the other.
    pub poses: Vec<[f64; 3]>,
    /// The sides of the lanes' squares.
    pub sides: Vec<f64>,
    /// The areas of overlap and outside, together.
    pub energies: Vec<f64>,
}

impl State {
    /// A lane's poses.
    pub fn poses(&self, lane: usize) -> &[[f64; 3]] {
        &self.poses[self.range(lane)]
    }

    /// The same, to change.
    pub fn poses_mut(&mut self, lane: usize) -> &mut [[f64; 3]] {
        let range = self.range(lane);
        &mut self.poses[range]
    }

    fn range(&self, lane: usize) -> Range<usize> {
        self.offsets[lane]..self.offsets[lane + 1]
    }

    /// Adds a lane.
    pub fn push(&mut self, poses: &[[f64; 3]], side: f64, energy: f64) {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.poses.extend_from_slice(poses);
        self.offsets.push(self.poses.len());
        self.sides.push(side);
        self.energies.push(energy);
    }

    /// Takes over what a lane of `other`, which has as many copies, has.
    pub fn take(&mut self, other: &State, lane: usize) {
        self.poses_mut(lane).copy_from_slice(other.poses(lane));
        self.sides[lane] = other.sides[lane];
        self.energies[lane] = other.energies[lane];
    }

    /// Puts what one lane has in the place of another, which has as many copies.
    pub fn spread(&mut self, from: usize, to: usize) {
        let range = self.range(from);
        let start = self.range(to).start;
        self.poses.copy_within(range, start);
        self.sides[to] = self.sides[from];
        self.energies[to] = self.energies[from];
    }
}

impl<T: LaneReal> Lanes<T> {
    /// Lanes with these offsets, and these shapes of each lane's copies. The same steps give the same bits if they are
    /// `deterministic`, and else take less time.
    pub fn new<'k>(
        device: &Device,
        problem: &Problem,
        offsets: &[usize],
        kinds: impl Iterator<Item = &'k [u32]>,
        deterministic: bool,
    ) -> Result<Self, PackError> {
        let (shapes, container) = (&problem.squeezed, &problem.container);
        let overlap = Overlap::new(device, shapes)?.boundary(container.clone())?.deterministic(deterministic);
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
            steps: Steps { all: device.empty(), next: device.alloc(STEPS_AHEAD)?, done: [device.event()?, device.event()?] },
            probes: None,
            separation: None,
            turn: if problem.turns == Turns::Any { 1.0 / problem.radius } else { 0.0 },
            largest: (0..shapes.len()).max_by_key(|&kind| shapes[kind].quads().len()).unwrap_or(0) as u32,
            judge: Overlap::new(device, shapes)?.boundary(container.clone())?,
            overlap,
            stream,
            kinds,
        })
    }

    /// Puts packings into the lanes.
    pub fn set(&mut self, poses: Vec<[f64; 3]>, sides: &[f64]) -> Result<(), PackError> {
        let scene = &mut self.own.scene;
        let packings = with_kinds(Packings::ragged(poses, scene.offsets().to_vec())?, self.kinds.as_deref())?;
        scene.set_poses(&self.stream, &packings)?;
        scene.set_scales(&self.stream, sides)?;
        Ok(())
    }

    /// Sets how far each lane goes in a step, in units of the schedule's rate: 1 unless it was set.
    pub fn set_rates(&mut self, rates: &[f64]) -> Result<(), PackError> {
        let rates: Vec<T> = rates.iter().map(|&rate| T::from_f64(rate)).collect();
        Ok(self.stream.upload(&mut self.own.rates, &rates)?)
    }

    /// Moves poses and sides by the schedule's steps, or as many as there are until the limit; says how many.
    pub fn squeeze(&mut self, schedule: &Squeeze, limit: &Limit) -> Result<usize, PackError> {
        let Lanes { overlap, stream, own, steps, turn, .. } = self;
        let plan = schedule.plan(*turn);
        own.run(stream, half_planes(overlap)?, steps, &plan, limit, |streams, scene| Ok(overlap.enqueue_slopes(streams, scene)?))
    }

    /// Takes copies apart in so many rounds, or as many as there are until the limit; says how many. Where they are, a
    /// lane's side is multiplied by its factor, and its copies taken apart again: the lane is left with the last packing
    /// whose copies were apart, or else with what overlaps least.
    pub fn separate(
        &mut self,
        problem: &Problem,
        (factors, rounds, seed): (&[f64], usize, u64),
        limit: &Limit,
    ) -> Result<usize, PackError> {
        let Lanes { overlap, stream, own, separation, .. } = self;
        let scene = &mut own.scene;
        let separation = match separation {
            Some(separation) => separation,
            none => none.insert(Separation::new(overlap.device(), problem, scene.offsets())?),
        };
        separation.run(stream, overlap, scene, (factors, rounds, seed), limit)
    }

    /// Looks for places in the lanes, which stay as they are: single copies of these shapes, as many in each lane, go
    /// down by the schedule's steps, without heeding each other. Gives their poses, one lane after the other, and their
    /// areas of overlap and outside.
    pub fn probe(
        &mut self,
        poses: Vec<[f64; 3]>,
        kinds: &[u32],
        schedule: &Squeeze,
    ) -> Result<(Vec<[f64; 3]>, Vec<f64>), PackError> {
        let Lanes { overlap, stream, own, steps, turn, probes, kinds: several, largest, .. } = self;
        let others = &mut own.scene;
        let (each, several) = (poses.len() / others.packings(), several.is_some());
        let packings = Packings::ensembles(poses, each)?;
        let probes = match probes {
            Some(probes) if probes.scene.offsets() == packings.offsets() => probes,
            probes => {
                // There is room for any shapes then.
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
        // Of as many packings: the scales' memory is the same each time.
        let scales: Vec<f64> = stream.download_vec(others.scales())?.into_iter().map(T::to_f64).collect();
        probes.scene.set_scales(stream, &scales)?;
        let wanted = Wanted { per_pose: true, gradient: false };
        overlap.enqueue_between(stream, &mut probes.scene, others, wanted)?;
        let plan = schedule.plan(*turn);
        probes.run(stream, half_planes(overlap)?, steps, &plan, &Limit::default(), |streams, scene| {
            Ok(overlap.enqueue_slopes_among(streams, scene, others)?)
        })?;
        overlap.enqueue_between(stream, &mut probes.scene, others, wanted)?;
        let overlaps = stream.download_vec(probes.scene.per_pose())?;
        let outside = stream.download_vec(probes.scene.outside_per_pose())?;
        let energies = overlaps.iter().zip(outside).map(|(&overlap, outside)| (overlap + outside).to_f64()).collect();
        Ok((poses_of(&stream.download_vec(probes.scene.poses())?), energies))
    }

    /// What the lanes have come to.
    pub fn state(&mut self) -> Result<State, PackError> {
        let Lanes { stream, own: Walk { scene, .. }, judge, kinds, .. } = self;
        let poses = poses_of(&stream.download_vec(scene.poses())?);
        let sides: Vec<f64> = stream.download_vec(scene.scales())?.into_iter().map(T::to_f64).collect();
        let offsets = scene.offsets().to_vec();
        let packings = with_kinds(Packings::ragged(poses.clone(), offsets.clone())?, kinds.as_deref())?;
        let found = judge.evaluate_within(&packings, &sides, Wanted::TOTALS)?;
        let outside = found.outside.map(|outside| outside.totals).unwrap_or_default();
        let energies = found.totals.iter().zip(outside).map(|(overlap, outside)| overlap + outside).collect();
        Ok(State { offsets, poses, sides, energies })
    }
}

fn poses_of<T: LaneReal>(numbers: &[T]) -> Vec<[f64; 3]> {
    numbers.as_chunks().0.iter().map(|pose: &[T; 3]| pose.map(T::to_f64)).collect()
}
