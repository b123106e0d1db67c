//! A scene that goes downhill: steps of Adam, enqueued ahead as graphs.

use std::time::Instant;

use gpu_kernels::overlap::adam::{self, LanesArgs, MemoryArgs, POSE_MEMORY, SlopesArgs, Step};

use super::{
    PackError,
    limit::{Limit, Pace},
    problem::Problem,
    real::LaneReal,
};
use crate::{
    device::{Buffer, Device, Event, Graph, Stream},
    launch,
    overlap::Scene,
};

/// Maximum block size of the kernel that steps.
const MOST_THREADS: usize = 1024;
/// Number of steps in a graph, and maximum number of steps in a batch. After enqueuing a batch, the
/// host waits for the one before the last, and decides whether to go on.
const STEPS_AHEAD: usize = 50;

/// A schedule of steps. The rate and the pressure go from a start to an end, by a constant factor
/// per step.
#[derive(Clone, Copy, Debug)]
pub struct Squeeze {
    pub steps: usize,
    /// Length per step.
    pub rate: [f64; 2],
    /// Area per unit of scale; none if the scale stays.
    pub pressure: Option<[f64; 2]>,
    /// Change of the scale per unit of length.
    pub scale_rate: f64,
}

impl Squeeze {
    /// A schedule without steps yet. Rates and pressures are in units of the problem's radius.
    pub fn new(problem: &Problem, rate: [f64; 2], pressure: Option<[f64; 2]>) -> Self {
        let Problem { radius, pressure: factor, scale_rate, .. } = problem;
        Squeeze {
            steps: 0,
            rate: rate.map(|rate| rate * radius),
            pressure: pressure.map(|pressure| pressure.map(|pressure| pressure * factor * radius)),
            scale_rate: *scale_rate,
        }
    }

    /// The steps, with angles that turn by `turn` radians per unit of length.
    pub fn plan<T: LaneReal>(&self, turn: f64) -> Vec<Step<T>> {
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

/// The steps of a walk, on the device.
pub struct Steps<T: LaneReal> {
    all: Buffer<Step<T>>,
    /// The steps of the next graph, which are copied here before it is launched.
    next: Buffer<Step<T>>,
    /// Recorded after every other graph.
    done: [Event; 2],
}

impl<T: LaneReal> Steps<T> {
    pub fn new(device: &Device) -> Result<Self, PackError> {
        Ok(Steps { all: device.empty(), next: device.alloc(STEPS_AHEAD)?, done: [device.event()?, device.event()?] })
    }
}

/// A scene that goes downhill.
pub struct Walk<T: LaneReal> {
    pub scene: Scene<T>,
    /// Minimum of each packing's scale.
    least: Buffer<T>,
    /// Moments that Adam keeps of poses, and of scales.
    poses: Buffer<T>,
    scales: Buffer<T>,
    /// The steps of `Steps::next`. It holds the addresses of all buffers above.
    graph: Option<Graph>,
    pace: Pace,
}

impl<T: LaneReal> Walk<T> {
    pub fn new(device: &Device, scene: Scene<T>, least: &[T]) -> Result<Self, PackError> {
        Ok(Walk {
            least: device.upload(least)?,
            poses: device.alloc(POSE_MEMORY * scene.len())?,
            scales: device.alloc(scene.packings())?,
            graph: None,
            pace: Pace::new(STEPS_AHEAD),
            scene,
        })
    }

    /// Enqueues step `number` of `steps` on the first stream. It follows the derivatives, which
    /// `slopes` enqueues on both streams.
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
        let fits = self.poses.len() == POSE_MEMORY * n && self.scales.len() == packings && self.least.len() == packings;
        assert!(fits && scales.len() == packings && offsets.len() == packings + 1, "memory of another scene");
        assert!(number < steps.len() && slopes >= 3 * n, "no such step, or no derivatives");
        // SAFETY: the scene has one offset more than packings, within its poses. For each packing a
        // scale and its minimum, for each pose derivatives, memory for all of them, and the
        // step's index were just checked. Blocks are of whole warps, one per packing.
        unsafe {
            let lanes = LanesArgs { offsets: &*offsets, poses, scales, least: &self.least, half_planes };
            let slopes = SlopesArgs { overlap: &by_pose.gradients, outside: &outside.gradients, by_scale: &outside.by_scale };
            let memory = MemoryArgs { poses: &mut self.poses, scales: &mut self.scales };
            launch!(stream, adam::step::<T><<<packings as u32, threads>>>(steps, number as u32, lanes, slopes, memory))?;
        }
        Ok(())
    }

    /// Takes these steps, or as many as the limit allows, and returns their number. `slopes`
    /// enqueues the derivatives by poses and scales; it doesn't wait, and uses the same memory each
    /// time. Poses stay in the half-planes.
    pub fn run(
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
        // Graphs own nothing: wait while the buffers that they use are borrowed.
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
        let (mut first, mut turn, mut last) = (0, 0, None::<(usize, Instant)>);
        while first < count {
            steps.done[turn % 2].synchronize()?;
            if limit.reached() {
                return Ok(first);
            }
            let start = Instant::now();
            if let Some((taken, before)) = last {
                self.pace.adapt(taken, start - before);
            }
            let some = self.pace.steps.min(count - first);
            stream.copy(steps.all.view(first..first + some)?, steps.next.view_mut(..some)?)?;
            match &self.graph {
                Some(graph) if some == STEPS_AHEAD => {
                    // SAFETY: the buffers of the scene, of the walk and `next` are where they were
                    // when the graph was made: nobody makes them larger. `run` waits before it
                    // returns, and until then only this stream uses them.
                    unsafe { graph.launch(stream)? };
                }
                _ => (0..some).try_for_each(|number| self.step([stream, stream], half_planes, &steps.next, number, slopes))?,
            }
            if self.graph.is_none() && some == STEPS_AHEAD {
                // By now all buffers are allocated, and all kernels compiled.
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
            last = Some((some, start));
            (first, turn) = (first + some, turn + 1);
        }
        Ok(count)
    }
}
