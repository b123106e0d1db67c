//! Functions of bars, made in the memory of a device.

use gpu_kernels::{
    homology::{
        NONE,
        curves::{self, ChangesArgs, Rule, Shape, SortedArgs},
        edges,
    },
    pcf::barcode::Curve,
};

use super::{Diagrams, HomologyError, HomologyReal, Rips, rips::sort_directly};
use crate::{
    collectives::{sort, sort_further},
    components::{THREADS, grid},
    device::{Backend, Buffer, Device, DeviceError, Stream},
    launch,
    pcf::{PcfReal, PcfSet, Resident, barcode},
};

/// `f32` or `f64`: the type of functions of bars.
pub trait CurveReal: PcfReal + HomologyReal + curves::steps::Instance {}
impl<T: PcfReal + HomologyReal + curves::steps::Instance> CurveReal for T {}

/// Memory for functions of bars.
#[derive(Debug)]
pub(super) struct Curves<T: HomologyReal> {
    bars: Buffer<[T; 2]>,
    starts: Buffer<u32>,
    clouds: Buffer<u32>,
    by: Buffer<f64>,
    offsets: Buffer<u64>,
    shapes: Buffer<Shape>,
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
        }
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
        if diagrams.is_empty() {
            return Ok(PcfSet::from_functions([]));
        }
        if degree >= diagrams.degrees() {
            return Err(HomologyError::NoDegree { degree, degrees: diagrams.degrees() });
        }
        if let Some(cap) = cap.filter(|cap| !cap.is_finite()) {
            return Err(HomologyError::Cap { cap });
        }
        let (clouds, starts) = (diagrams.len(), diagrams.offsets(degree));
        let (bars, single) = (starts[clouds], size_of::<U>() == size_of::<u32>());
        let changes = 2 * bars;
        if changes > i32::MAX as usize {
            let what = "times of bars";
            return Err(DeviceError::LengthMismatch { what, found: changes, expected: i32::MAX as usize }.into());
        }
        self.check_room(stream, (changes * (size_of::<T>() + 40)) as u64, 0)?;
        let starts: Vec<u32> = starts.iter().map(|&start| start as u32).collect();
        let [low, high] = &mut self.keys;
        let own = &mut self.curves;
        low.ensure(changes)?;
        high.ensure(if single { 0 } else { changes })?;
        self.gathered.ensure(changes)?;
        own.bars.ensure(bars)?;
        own.starts.ensure(clouds + 1)?;
        own.clouds.ensure(changes)?;
        own.by.ensure(changes)?;
        own.shapes.ensure(clouds)?;
        diagrams.copy(stream, degree, own.bars.as_view_mut())?;
        stream.upload(&mut own.starts, &starts)?;
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
        let (each, sorter) = (grid(stream, changes), &mut self.sorter);
        let order = if self.sorts_directly {
            sort_directly(stream, &own.starts, 2, [&*low, &*high], &mut self.order)?;
            &self.order[0]
        } else {
            sort(stream, &*low, u32::BITS, sorter)?;
            let mut further = |keys: &Buffer<u32>, bits| {
                launch!(stream, edges::gather<<<each, THREADS>>>(keys, sorter.order(), &mut self.gathered))?;
                sort_further(stream, &self.gathered, bits, sorter)
            };
            if !single {
                further(high, u32::BITS)?;
            }
            if clouds > 1 {
                further(&own.clouds, usize::BITS - clouds.leading_zeros())?;
            }
            sorter.order()
        };
        let block = if stream.device().backend() == Backend::Cpu { 1 } else { curves::TILE as u32 };
        own.offsets.ensure(0)?;
        let mut segments: Buffer<U::Segment> = stream.device().empty();
        let sorted = SortedArgs { order, low: &*low, high: &*high, by: &own.by };
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
}
