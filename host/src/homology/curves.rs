//! Functions of bars, made in the memory of a device.

use gpu_kernels::{
    homology::{
        NONE,
        curves::{self, ChangesArgs, Rule, Shape, SortedArgs},
        edges,
        sampled::{self, GivenArgs},
    },
    pcf::{barcode::Curve, set::MOST_SEGMENTS},
};

use super::{Diagrams, HomologyError, HomologyReal, Rips};
use crate::{
    components::{THREADS, grid},
    device::{Backend, Buffer, Device, DeviceError, Stream},
    launch,
    pcf::{PcfError, PcfReal, PcfSet, Resident, barcode},
};

/// `f32` or `f64`: the type of functions of bars.
pub trait CurveReal: PcfReal + HomologyReal + curves::steps::Instance + sampled::held::Instance {}
impl<T: PcfReal + HomologyReal + curves::steps::Instance + sampled::held::Instance> CurveReal for T {}

/// Function of bars that is piecewise linear, and therefore sampled at times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampled {
    /// The persistence landscape: layer k at t is the k-th largest of all bars' min(t - birth, death - t), and 0 if fewer bars
    /// are alive. See Bubenik, "Statistical topological data analysis using persistence landscapes" (Journal of Machine
    /// Learning Research 16, 2015).
    Landscape {
        /// Number of layers, from the largest on.
        layers: u32,
    },
    /// The silhouette: at t, the weighted mean of all bars' max(min(t - birth, death - t), 0), and 0 if there are no bars. See
    /// Chazal, Fasy, Lecci, Rinaldo and Wasserman, "Stochastic convergence of persistence landscapes and silhouettes" (SoCG
    /// 2014).
    Silhouette {
        /// Exponent of a bar's weight, which is a power of its length.
        power: f64,
    },
}

impl Sampled {
    /// Number of functions per cloud.
    fn rows(self) -> usize {
        match self {
            Sampled::Landscape { layers } => layers as usize,
            Sampled::Silhouette { .. } => 1,
        }
    }
}

/// Memory for functions of bars.
#[derive(Debug)]
pub(super) struct Curves<T: HomologyReal> {
    bars: Buffer<[T; 2]>,
    starts: Buffer<u32>,
    clouds: Buffer<u32>,
    by: Buffer<f64>,
    offsets: Buffer<u64>,
    shapes: Buffer<Shape>,
    times: Buffer<f64>,
    weights: Buffer<f64>,
    largest: Buffer<f64>,
}

impl<T: HomologyReal> Curves<T> {
    pub fn new(device: &Device) -> Self {
        Curves {
            bars: device.empty(),
            starts: device.empty(),
            clouds: device.empty(),
            by: device.empty(),
            offsets: device.empty(),
            shapes: device.empty(),
            times: device.empty(),
            weights: device.empty(),
            largest: device.empty(),
        }
    }
}

impl<T: HomologyReal> Curves<T> {
    /// Copies the bars of a degree, and the index of each cloud's first one, to the stream's device.
    fn load(&mut self, stream: &Stream, diagrams: &Diagrams<T>, degree: usize) -> Result<(), DeviceError> {
        let starts: Vec<u32> = diagrams.offsets(degree).iter().map(|&start| start as u32).collect();
        let bars = diagrams.offsets(degree)[diagrams.len()];
        if 2 * bars > i32::MAX as usize {
            return Err(DeviceError::LengthMismatch { what: "times of bars", found: 2 * bars, expected: i32::MAX as usize });
        }
        self.bars.ensure(bars)?;
        self.starts.ensure(starts.len())?;
        diagrams.copy(stream, degree, self.bars.as_view_mut())?;
        stream.upload(&mut self.starts, &starts)
    }
}

/// Checks that there are bars of a degree, and that the end of bars without end is finite.
fn check<T: HomologyReal>(diagrams: &Diagrams<T>, degree: usize, cap: Option<f64>) -> Result<(), HomologyError> {
    if degree >= diagrams.degrees() {
        return Err(HomologyError::NoDegree { degree, degrees: diagrams.degrees() });
    }
    match cap.filter(|cap| !cap.is_finite()) {
        Some(cap) => Err(HomologyError::Cap { cap }),
        None => Ok(()),
    }
}

impl<T: HomologyReal> Rips<T> {
    /// Makes a function of each cloud's bars of a degree, in the type `U`. Bars without end are left out, or end at `cap`: in
    /// degree 0 each cloud has one, and distances of functions that differ for ever are infinite.
    ///
    /// The functions stay on the stream's device, where [`Pairwise`](crate::pcf::Pairwise) uses them. Bars on this device
    /// are used where they are, all others are uploaded.
    ///
    /// ```
    /// use warpsmith::{
    ///     device::Device,
    ///     engine::{Control, Engine},
    ///     homology::{Clouds, Options, Rips},
    ///     pcf::{Layout, Pairwise, PcfSet, barcode::Curve},
    /// };
    ///
    /// let device = Device::best()?;
    /// let (stream, mut rips) = (device.stream()?, Rips::new(&device, false)?);
    /// // Two clouds of two points each.
    /// let diagrams = rips.compute(&stream, &Clouds::points(&[0.0, 1.0, 0.0, 3.0], 1, vec![2, 2])?, &Options::default())?;
    /// let curves: PcfSet<f64> = rips.curves(&stream, &diagrams, 0, Curve::Betti, None)?;
    /// let distances = Pairwise::pdist(&curves, 1.0)?.compute(&Engine::new([device])?, Layout::Condensed, Control::default())?;
    /// assert_eq!(distances, [2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`HomologyError::Cap`] if the cap isn't finite, [`HomologyError::NoDegree`], [`HomologyError::Pcf`] if a time or a value
    /// is above [`PcfReal::MAX_VALUE`], and what the device fails with.
    pub fn curves<U: CurveReal>(
        &mut self,
        stream: &Stream,
        diagrams: &Diagrams<T>,
        degree: usize,
        curve: Curve,
        cap: Option<f64>,
    ) -> Result<PcfSet<U>, HomologyError> {
        check(diagrams, degree, cap)?;
        if diagrams.is_empty() {
            return Ok(PcfSet::from_functions([]));
        }
        let (clouds, starts) = (diagrams.len(), diagrams.offsets(degree));
        let (bars, single) = (starts[clouds], size_of::<U>() == size_of::<u32>());
        let changes = 2 * bars;
        self.check_room(stream, (changes * (size_of::<T>() + 40)) as u64, 0)?;
        self.curves.load(stream, diagrams, degree)?;
        let [low, high] = self.parts.ensure(changes, !single)?;
        let own = &mut self.curves;
        own.clouds.ensure(changes)?;
        own.by.ensure(changes)?;
        own.shapes.ensure(clouds)?;
        stream.fill(&mut self.wrong, NONE)?;
        let rule = Rule {
            curve: curve as u32,
            cap: cap.unwrap_or(f64::INFINITY),
            single: u32::from(single),
            most: <U as PcfReal>::MAX_VALUE.into(),
            most_change: <f64 as PcfReal>::MAX_VALUE,
        };
        let into = ChangesArgs { low: &mut *low, high: &mut *high, clouds: &mut own.clouds, by: &mut own.by };
        // SAFETY: there is room for two changes of each bar.
        unsafe {
            launch!(stream, curves::changes::<T><<<grid(stream, bars), THREADS>>>(
                &own.bars, &own.starts, rule, into, &mut self.wrong
            ))?;
        }
        let largest = starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        self.parts.sort(
            stream,
            (&own.starts, 2),
            2 * largest,
            |order, owners| launch!(stream, edges::gather<<<grid(stream, changes), THREADS>>>(&own.clouds, order, owners)),
        )?;
        let [low, high] = self.parts.keys();
        let block = if stream.device().backend() == Backend::Cpu { 1 } else { curves::TILE as u32 };
        own.offsets.ensure(0)?;
        let mut segments: Buffer<U::Segment> = stream.device().empty();
        let sorted = SortedArgs { order: self.parts.order(), low, high, by: &own.by };
        // SAFETY: changes are in order, and there is room for the shapes.
        unsafe {
            launch!(stream, curves::steps::<U><<<clouds as u32, block>>>(
                &own.starts, sorted, &own.offsets, &mut segments, &mut own.shapes
            ))?;
        }
        let shapes = stream.download_vec(&own.shapes)?;
        let too_large = |shape: &Shape| shape.largest > rule.most;
        if stream.download_vec(&self.wrong)?[0] != NONE || shapes.iter().any(too_large) {
            // The host's way tells which bar it is.
            diagrams.fetch(degree)?;
            return Ok(barcode::curves(&diagrams.barcodes(degree, cap), curve)?);
        }
        let mut offsets = vec![0];
        offsets.extend(shapes.iter().scan(0, |end, shape| {
            *end += shape.segments as usize;
            Some(*end)
        }));
        segments.ensure(offsets[clouds])?;
        own.offsets.ensure(clouds)?;
        stream.upload(&mut own.offsets, bytemuck::cast_slice(&offsets[..clouds]))?;
        // SAFETY: changes are in order, and there is room for the segments.
        unsafe {
            launch!(stream, curves::steps::<U><<<clouds as u32, block>>>(
                &own.starts, sorted, &own.offsets, &mut segments, &mut own.shapes
            ))?;
        }
        let most = |of: fn(&Shape) -> f64| shapes.iter().map(of).fold(0.0, f64::max);
        Ok(PcfSet::of_device(
            offsets,
            Resident {
                segments,
                tails: shapes.iter().map(|shape| U::from_f64(shape.tail)).collect(),
                end: U::from_f64(most(|shape| shape.end)),
                largest: most(|shape| shape.largest),
            },
        ))
    }

    /// Samples a function of each cloud's bars of a degree at finite times. Bars without end are left out, or end at `cap`.
    /// Bars of length 0 count for nothing.
    ///
    /// The values stay on the stream's device: a row of all times for each cloud and layer.
    ///
    /// # Errors
    /// [`HomologyError::Cap`] if the cap isn't finite, [`HomologyError::NoDegree`], [`HomologyError::Pcf`] if a time isn't
    /// finite, and what the device fails with.
    pub fn samples(
        &mut self,
        stream: &Stream,
        diagrams: &Diagrams<T>,
        degree: usize,
        function: Sampled,
        times: &[f64],
        cap: Option<f64>,
    ) -> Result<Buffer<f64>, HomologyError> {
        check(diagrams, degree, cap)?;
        if let Some(at) = times.iter().position(|time| !time.is_finite()) {
            return Err(PcfError::Window(format!("times[{at}] is {}, but times must be finite", times[at])).into());
        }
        if matches!(function, Sampled::Silhouette { power } if power.is_nan()) {
            return Err(PcfError::Window("the power of bars' lengths is NaN, but it must be a number".to_owned()).into());
        }
        let (clouds, bars) = (diagrams.len(), diagrams.offsets(degree)[diagrams.len()]);
        let len = clouds.saturating_mul(function.rows()).saturating_mul(times.len());
        let bytes = len.saturating_mul(size_of::<f64>()).saturating_add(bars * (2 * size_of::<T>() + size_of::<f64>()));
        self.check_room(stream, bytes as u64, 0)?;
        self.curves.load(stream, diagrams, degree)?;
        let own = &mut self.curves;
        let mut values = stream.device().empty();
        values.ensure(len)?;
        if values.is_empty() {
            return Ok(values);
        }
        own.times.ensure(times.len())?;
        stream.upload(&mut own.times, times)?;
        let given = GivenArgs { bars: &own.bars, starts: &own.starts, cap: cap.unwrap_or(f64::INFINITY) };
        let each = grid(stream, clouds * times.len());
        match function {
            // SAFETY: there is room for all values.
            Sampled::Landscape { layers } => unsafe {
                launch!(stream, sampled::landscapes::<T><<<each, THREADS>>>(given, &own.times, layers, &mut values))?;
            },
            Sampled::Silhouette { power } => {
                own.weights.ensure(bars)?;
                let block = if stream.device().backend() == Backend::Cpu { 1 } else { sampled::LANES as u32 };
                // SAFETY: there is room for all weights and values.
                unsafe {
                    launch!(stream, sampled::weights::<T><<<clouds as u32, block>>>(given, power, &mut own.weights))?;
                    launch!(stream, sampled::silhouettes::<T><<<each, THREADS>>>(given, &own.times, &own.weights, &mut values))?;
                }
            }
        }
        Ok(values)
    }

    /// Makes step functions, in the type `U`, of [`samples`](Self::samples): each holds a value until the next time, and is 0
    /// before the first time and from the last one on. So their distances are finite, and approach those of the
    /// piecewise linear functions as the grid gets finer.
    ///
    /// The functions stay on the stream's device, as those of [`curves`](Self::curves). A landscape's have the shape
    /// (clouds, layers).
    ///
    /// # Errors
    /// As [`samples`](Self::samples), and [`HomologyError::Pcf`] unless times ascend from 0 on, differ in the type `U`, and are
    /// at most [`PcfReal::MAX_VALUE`].
    pub fn sampled_curves<U: CurveReal>(
        &mut self,
        stream: &Stream,
        diagrams: &Diagrams<T>,
        degree: usize,
        function: Sampled,
        times: &[f64],
        cap: Option<f64>,
    ) -> Result<PcfSet<U>, HomologyError> {
        let rounded: Vec<U> = times.iter().map(|&time| U::from_f64(time)).collect();
        let most = <U as PcfReal>::MAX_VALUE;
        let valid =
            |at: usize| rounded[at] <= most && if at == 0 { rounded[at] >= U::ZERO } else { rounded[at] > rounded[at - 1] };
        if let Some(at) = (0..times.len()).find(|&at| !valid(at)) {
            let most: f64 = most.into();
            return Err(PcfError::Window(format!(
                "times[{at}] is {}, but the times of a grid ascend from 0 on, up to {most:e}, and differ in {}",
                times[at],
                U::NAME
            ))
            .into());
        }
        let (Some(first), Some(last), ..MOST_SEGMENTS) = (rounded.first(), rounded.last(), times.len()) else {
            let count = times.len();
            return Err(
                PcfError::Window(format!("there are {count} times, but a grid has from 1 to {}", MOST_SEGMENTS - 1)).into()
            );
        };
        let values = self.samples(stream, diagrams, degree, function, times, cap)?;
        let (rows, width) = (diagrams.len() * function.rows(), times.len() + usize::from(*first > U::ZERO));
        self.check_room(stream, (rows * width * 2 * size_of::<U>()) as u64, 0)?;
        let own = &mut self.curves;
        let grid_times = stream.device().upload(&rounded)?;
        let mut segments: Buffer<U::Segment> = stream.device().empty();
        segments.ensure(rows * width)?;
        own.largest.ensure(1)?;
        stream.fill_zero(&mut own.largest)?;
        // SAFETY: there is room for the segments of all functions.
        unsafe {
            launch!(stream, sampled::held::<U><<<grid(stream, rows * width), THREADS>>>(
                &values, &grid_times, &mut segments, &mut own.largest
            ))?;
        }
        // Heights are at most the last time, which is small enough.
        let largest = stream.download_vec(&own.largest)?[0];
        let resident = Resident { segments, tails: vec![U::ZERO; rows], end: *last, largest };
        let set = PcfSet::of_device((0..=rows).map(|row| row * width).collect(), resident);
        Ok(match function {
            Sampled::Landscape { layers } => set.with_shape(&[diagrams.len(), layers as usize])?,
            Sampled::Silhouette { .. } => set,
        })
    }
}
