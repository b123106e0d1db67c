//! Many packings at once, on a device.

use std::{ops::Range, time::Instant};

use gpu_kernels::overlap::adam::{self, LanesArgs, POSE_MEMORY, SlopesArgs, Step};

use super::{PackError, Turns, problem::Problem};
use crate::{
    device::{Buffer, Device, Stream},
    engine::Cancel,
    launch,
    overlap::{Overlap, OverlapError, Packings, Scene, Wanted},
};

/// Threads of a block of the kernels that step.
const THREADS: u32 = 128;
/// Copies that look for a place, of each packing, and at least so many of each shape.
const PROBES: usize = 64;
const LEAST_PROBES: usize = 8;
/// After this many steps the host waits, and looks whether it is to go on.
const STEPS_AHEAD: usize = 50;

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

    /// Brings the steps to the device, and says how many they are.
    fn upload(&self, stream: &Stream, steps: &mut Buffer<Step<f64>>, turn: f64) -> Result<usize, PackError> {
        let between = |[from, to]: [f64; 2], step: usize| {
            let share = step as f64 / self.steps.saturating_sub(1).max(1) as f64;
            from * (to / from).powf(share)
        };
        let plan: Vec<Step<f64>> = (0..self.steps)
            .map(|step| Step {
                rate: between(self.rate, step),
                turn,
                scale_rate: if self.pressure.is_some() { self.scale_rate } else { 0.0 },
                pressure: self.pressure.map_or(0.0, |pressure| between(pressure, step)),
                beta1: 0.9,
                beta2: 0.99,
                epsilon: 1e-12,
            })
            .collect();
        steps.ensure(plan.len())?;
        stream.upload(&mut *steps, &plan)?;
        Ok(plan.len())
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

/// Of each shape so many that there is a choice.
fn probe_kinds(shapes: usize) -> Vec<u32> {
    let each = (PROBES / shapes).max(LEAST_PROBES);
    (0..shapes as u32).flat_map(|kind| std::iter::repeat_n(kind, each)).collect()
}

fn half_planes(overlap: &Overlap<f64>) -> Result<&Buffer<f64>, OverlapError> {
    overlap.half_planes().ok_or(OverlapError::NoBoundary)
}

/// Packings that are squeezed together.
pub struct Lanes {
    overlap: Overlap<f64>,
    stream: Stream,
    scene: Scene<f64>,
    memory: Memory,
    steps: Buffer<Step<f64>>,
    /// Single copies that look for places, once there were some.
    probes: Option<(Scene<f64>, Memory)>,
    /// Radians for a unit of length; 0 where angles stay.
    turn: f64,
    /// Each pose's shape, where there are several; and those of a lane's single copies.
    kinds: Option<Vec<u32>>,
    probe_kinds: Vec<u32>,
}

/// What steps keep of a scene.
struct Memory {
    /// How far each packing goes, in units of the step's rate.
    rates: Buffer<f64>,
    poses: Buffer<f64>,
    scales: Buffer<f64>,
}

impl Memory {
    fn new(device: &Device, scene: &Scene<f64>) -> Result<Self, PackError> {
        Ok(Memory {
            rates: device.upload(&vec![1.0; scene.packings()])?,
            poses: device.alloc(POSE_MEMORY * scene.len())?,
            scales: device.alloc(scene.packings())?,
        })
    }

    /// Forgets all but the rates.
    fn clear(&mut self, stream: &Stream) -> Result<(), PackError> {
        stream.fill_zero(&mut self.poses)?;
        Ok(stream.fill_zero(&mut self.scales)?)
    }

    /// Takes step `number` of these with poses, by the derivatives that the scene has, and with scales where they are
    /// to move.
    fn step(
        &mut self,
        stream: &Stream,
        scene: &mut Scene<f64>,
        half_planes: &Buffer<f64>,
        steps: &Buffer<Step<f64>>,
        number: usize,
        with_scales: bool,
    ) -> Result<(), PackError> {
        let slopes = |scene: &Scene<f64>| scene.by_pose.gradients.len().min(scene.outside.gradients.len());
        let fits = self.poses.len() == POSE_MEMORY * scene.len() && self.rates.len() == scene.packings();
        assert!(fits && scene.scales.len() == scene.packings(), "memory of another scene");
        assert!(number < steps.len() && slopes(scene) >= 3 * scene.len(), "no such step, or no derivatives");
        assert!(!with_scales || scene.by_scale_totals.len() >= scene.packings(), "no derivatives by the scale");
        let (poses, lanes, number) = (scene.len() as u32, scene.packings() as u32, number as u32);
        let Scene { packing_of, scales, by_pose, outside, by_scale_totals, poses: moved, .. } = scene;
        // SAFETY: the scene has a packing for each pose; a rate and a scale for each packing, three derivatives for each
        // pose, one for each packing where scales move, memory for all of them, and such a step were just checked.
        unsafe {
            let lanes_of = LanesArgs { packing_of: &*packing_of, rates: &self.rates, scales: &*scales, half_planes };
            let slopes = SlopesArgs { overlap: &by_pose.gradients, outside: &outside.gradients };
            launch!(
                stream,
                adam::poses::<f64><<<poses.div_ceil(THREADS), THREADS>>>(
                    steps, number, lanes_of, slopes, &mut self.poses, moved
                )
            )?;
            if with_scales {
                launch!(
                    stream,
                    adam::scales::<f64><<<lanes.div_ceil(THREADS), THREADS>>>(
                        steps, number, &self.rates, &*by_scale_totals, &mut self.scales, scales
                    )
                )?;
            }
        }
        Ok(())
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

impl Lanes {
    /// Lanes with these offsets, and these shapes of each lane's copies.
    pub fn new<'k>(
        device: &Device,
        problem: &Problem,
        offsets: &[usize],
        kinds: impl Iterator<Item = &'k [u32]>,
    ) -> Result<Self, PackError> {
        let shapes = &problem.squeezed;
        let overlap = Overlap::new(device, shapes)?.boundary(problem.container.clone())?.deterministic(true);
        let stream = device.stream()?;
        let (lanes, poses) = (offsets.len() - 1, offsets[offsets.len() - 1]);
        let kinds = (shapes.len() > 1).then(|| kinds.flatten().copied().collect::<Vec<u32>>());
        let packings = with_kinds(Packings::ragged(vec![[0.0; 3]; poses], offsets.to_vec())?, kinds.as_deref())?;
        let mut scene = overlap.load(&packings)?;
        scene.set_scales(&stream, &vec![1.0; lanes])?;
        Ok(Lanes {
            memory: Memory::new(device, &scene)?,
            steps: device.empty(),
            probes: None,
            turn: if problem.turns == Turns::Any { 1.0 / problem.radius } else { 0.0 },
            probe_kinds: probe_kinds(shapes.len()),
            overlap,
            stream,
            scene,
            kinds,
        })
    }

    /// Puts packings into the lanes.
    pub fn set(&mut self, poses: Vec<[f64; 3]>, sides: &[f64]) -> Result<(), PackError> {
        let packings = with_kinds(Packings::ragged(poses, self.scene.offsets().to_vec())?, self.kinds.as_deref())?;
        self.scene.set_poses(&self.stream, &packings)?;
        self.scene.set_scales(&self.stream, sides)?;
        Ok(())
    }

    /// Sets how far each lane goes in a step, in units of the schedule's rate: 1 unless it was set.
    pub fn set_rates(&mut self, rates: &[f64]) -> Result<(), PackError> {
        Ok(self.stream.upload(&mut self.memory.rates, rates)?)
    }

    /// Moves poses and sides by the schedule's steps, or as many as there are until the limit; says how many.
    pub fn squeeze(&mut self, schedule: &Squeeze, limit: &Limit) -> Result<usize, PackError> {
        let Lanes { overlap, stream, scene, memory, steps, turn, .. } = self;
        let number = schedule.upload(stream, steps, *turn)?;
        memory.clear(stream)?;
        for step in 0..number {
            if step % STEPS_AHEAD == 0 {
                stream.synchronize()?;
                if limit.reached() {
                    return Ok(step);
                }
            }
            overlap.enqueue(stream, scene, Wanted::GRADIENT)?;
            memory.step(stream, scene, half_planes(overlap)?, steps, step, schedule.pressure.is_some())?;
        }
        stream.synchronize()?;
        Ok(number)
    }

    /// Looks for places in the lanes, which stay as they are: single copies of the shapes of
    /// [`probe_kinds`](Self::probe_kinds) in each go down by the schedule's steps, without heeding each other. Gives their poses, one lane after the other, and their areas of
    /// overlap and outside.
    pub fn probe(&mut self, poses: Vec<[f64; 3]>, schedule: &Squeeze) -> Result<(Vec<[f64; 3]>, Vec<f64>), PackError> {
        let Lanes { overlap, stream, scene, steps, turn, probes, kinds, probe_kinds, .. } = self;
        let packings = Packings::ensembles(poses, probe_kinds.len())?;
        let kinds = kinds.as_ref().map(|_| probe_kinds.repeat(scene.packings()));
        let packings = with_kinds(packings, kinds.as_deref())?;
        let (probes, memory) = match probes {
            Some(probes) if probes.0.fits(&packings) => probes,
            probes => {
                let scene = overlap.load(&packings)?;
                let memory = Memory::new(overlap.device(), &scene)?;
                probes.insert((scene, memory))
            }
        };
        probes.set_poses(stream, &packings)?;
        probes.set_scales(stream, &stream.download_vec(scene.scales())?)?;
        memory.clear(stream)?;
        for step in 0..schedule.upload(stream, steps, *turn)? {
            overlap.enqueue_between(stream, probes, scene, Wanted::GRADIENT)?;
            memory.step(stream, probes, half_planes(overlap)?, steps, step, false)?;
        }
        overlap.enqueue_between(stream, probes, scene, Wanted { per_pose: true, gradient: false })?;
        let found: Vec<f64> = stream.download_vec(probes.poses())?;
        let overlaps = stream.download_vec(probes.per_pose())?;
        let outside = stream.download_vec(probes.outside_per_pose())?;
        let energies = overlaps.iter().zip(outside).map(|(overlap, outside)| overlap + outside).collect();
        Ok((found.as_chunks().0.to_vec(), energies))
    }

    /// The shapes of the single copies that look for places in a lane.
    pub fn probe_kinds(&self) -> &[u32] {
        &self.probe_kinds
    }

    /// What the lanes have come to.
    pub fn state(&mut self) -> Result<State, PackError> {
        let Lanes { overlap, stream, scene, .. } = self;
        overlap.enqueue(stream, scene, Wanted::TOTALS)?;
        let poses: Vec<f64> = stream.download_vec(scene.poses())?;
        let overlaps = stream.download_vec(scene.totals())?;
        let outside = stream.download_vec(scene.outside_totals())?;
        Ok(State {
            offsets: scene.offsets().to_vec(),
            poses: poses.as_chunks().0.to_vec(),
            sides: stream.download_vec(scene.scales())?,
            energies: overlaps.iter().zip(outside).map(|(overlap, outside)| overlap + outside).collect(),
        })
    }
}
