//! Many packings of one size at once, on a device.

use std::{ops::Range, time::Instant};

use gpu_kernels::overlap::adam::{self, LanesArgs, POSE_MEMORY, SlopesArgs, Step};

use super::PackError;
use crate::{
    device::{Buffer, Device, Stream},
    engine::Cancel,
    launch,
    overlap::{Boundary, Overlap, Packings, Scene, Shape, Wanted},
};

/// Threads of a block of the kernels that step.
const THREADS: u32 = 128;
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

/// Packings of one size that are squeezed together.
pub struct Lanes {
    overlap: Overlap<f64>,
    stream: Stream,
    scene: Scene<f64>,
    each: usize,
    rates: Buffer<f64>,
    pose_memory: Buffer<f64>,
    scale_memory: Buffer<f64>,
    steps: Buffer<Step<f64>>,
    /// Radians for a unit of length.
    turn: f64,
}

/// What is in the lanes.
#[derive(Clone, Debug, Default)]
pub struct State {
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
        let each = self.poses.len() / self.sides.len();
        lane * each..(lane + 1) * each
    }

    /// Takes over what a lane of `other`, which is as large, has.
    pub fn take(&mut self, other: &State, lane: usize) {
        self.poses_mut(lane).copy_from_slice(other.poses(lane));
        self.sides[lane] = other.sides[lane];
        self.energies[lane] = other.energies[lane];
    }

    /// Puts what one lane has in another's place, too.
    pub fn spread(&mut self, from: usize, to: usize) {
        let range = self.range(from);
        let start = self.range(to).start;
        self.poses.copy_within(range, start);
        self.sides[to] = self.sides[from];
        self.energies[to] = self.energies[from];
    }

    /// These lanes alone, in this order.
    pub fn only(&self, lanes: &[usize]) -> State {
        State {
            poses: lanes.iter().flat_map(|&lane| self.poses(lane)).copied().collect(),
            sides: lanes.iter().map(|&lane| self.sides[lane]).collect(),
            energies: lanes.iter().map(|&lane| self.energies[lane]).collect(),
        }
    }
}

impl Lanes {
    /// Lanes of `each` copies of a shape whose circle's centre is the origin.
    pub fn new(device: &Device, shape: &Shape, each: usize, lanes: usize) -> Result<Self, PackError> {
        let overlap = Overlap::new(device, std::slice::from_ref(shape))?.boundary(Boundary::square())?.deterministic(true);
        let stream = device.stream()?;
        let mut scene = overlap.load(&Packings::ensembles(vec![[0.0; 3]; each * lanes], each)?)?;
        scene.set_scales(&stream, &vec![1.0; lanes])?;
        Ok(Lanes {
            rates: device.upload(&vec![1.0; lanes])?,
            pose_memory: device.alloc_zeroed(POSE_MEMORY * each * lanes)?,
            scale_memory: device.alloc_zeroed(lanes)?,
            steps: device.empty(),
            turn: 1.0 / shape.radius(),
            overlap,
            stream,
            scene,
            each,
        })
    }

    /// Puts packings into the lanes.
    pub fn set(&mut self, poses: Vec<[f64; 3]>, sides: &[f64]) -> Result<(), PackError> {
        let packings = Packings::ensembles(poses, self.each)?;
        self.scene.set_poses(&self.stream, &packings)?;
        self.scene.set_scales(&self.stream, sides)?;
        Ok(())
    }

    /// Moves poses and sides by the schedule's steps, or as many as there are until the limit; says how many.
    pub fn squeeze(&mut self, schedule: &Squeeze, limit: &Limit) -> Result<usize, PackError> {
        let Lanes { overlap, stream, scene, rates, pose_memory, scale_memory, steps, .. } = self;
        let between = |[from, to]: [f64; 2], step: usize| {
            let share = step as f64 / schedule.steps.saturating_sub(1).max(1) as f64;
            from * (to / from).powf(share)
        };
        let plan: Vec<Step<f64>> = (0..schedule.steps)
            .map(|step| Step {
                rate: between(schedule.rate, step),
                turn: self.turn,
                scale_rate: if schedule.pressure.is_some() { 1.0 } else { 0.0 },
                pressure: schedule.pressure.map_or(0.0, |pressure| between(pressure, step)),
                beta1: 0.9,
                beta2: 0.99,
                epsilon: 1e-12,
                limit: 0.5,
            })
            .collect();
        steps.ensure(plan.len())?;
        stream.upload(&mut *steps, &plan)?;
        stream.fill_zero(&mut *pose_memory)?;
        stream.fill_zero(&mut *scale_memory)?;
        let (poses, lanes) = (scene.len() as u32, scene.packings() as u32);
        for step in 0..plan.len() {
            if step % STEPS_AHEAD == 0 {
                stream.synchronize()?;
                if limit.reached() {
                    return Ok(step);
                }
            }
            overlap.enqueue(stream, scene, Wanted::GRADIENT)?;
            let number = step as u32;
            let Scene { packing_of, scales, by_pose, outside, by_scale_totals, poses: moved, .. } = &mut *scene;
            // SAFETY: the scene has a packing for each pose, a rate and a scale for each packing, and three derivatives
            // for each pose; there is memory for all poses and packings, and as many steps.
            unsafe {
                let lanes_of = LanesArgs { packing_of: &*packing_of, rates: &*rates, scales: &*scales };
                let slopes = SlopesArgs { overlap: &by_pose.gradients, outside: &outside.gradients };
                launch!(
                    stream,
                    adam::poses::<f64><<<poses.div_ceil(THREADS), THREADS>>>(
                        &*steps, number, lanes_of, slopes, &mut *pose_memory, moved
                    )
                )?;
                if schedule.pressure.is_some() {
                    launch!(
                        stream,
                        adam::scales::<f64><<<lanes.div_ceil(THREADS), THREADS>>>(
                            &*steps, number, &*rates, &*by_scale_totals, &mut *scale_memory, scales
                        )
                    )?;
                }
            }
        }
        stream.synchronize()?;
        Ok(plan.len())
    }

    /// What the lanes have come to.
    pub fn state(&mut self) -> Result<State, PackError> {
        let Lanes { overlap, stream, scene, .. } = self;
        overlap.enqueue(stream, scene, Wanted::TOTALS)?;
        let poses: Vec<f64> = stream.download_vec(scene.poses())?;
        let overlaps = stream.download_vec(scene.totals())?;
        let outside = stream.download_vec(scene.outside_totals())?;
        Ok(State {
            poses: poses.as_chunks().0.to_vec(),
            sides: stream.download_vec(scene.scales())?,
            energies: overlaps.iter().zip(outside).map(|(overlap, outside)| overlap + outside).collect(),
        })
    }
}
