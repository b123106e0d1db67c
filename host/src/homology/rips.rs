//! Vietoris-Rips filtrations on a device.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
    thread::ScopedJoinHandle,
};

use gpu_kernels::collectives::scan;
use gpu_kernels::homology::{
    BarsArgs, Cloud, Found, Link, MOST_VERTICES_OF_CAVITIES, NONE, Scalar,
    cavities::{self, SpaceArgs as CavitySpaceArgs},
    curves,
    edges::{self, PositionsArgs},
    reduce::{self, SpaceArgs},
    sampled,
};

use super::{Clouds, Diagrams, HomologyError, clouds::Source, curves::Curves, diagrams::Part, order::PartSorter};
use crate::{
    collectives::{ScanWorkspace, exclusive_scan_in_place},
    common::{Cancel, Clock, Real, StepTime},
    components::{THREADS, grid as grid_for},
    device::{Backend, Buffer, Device, DeviceError, MemoryInfo, Stream, View},
    launch,
};

/// `f32` or `f64`: the type of coordinates, distances and bars.
pub trait HomologyReal:
    Real
    + Scalar
    + edges::measure::Instance
    + edges::thresholds::Instance
    + edges::keys::Instance
    + edges::lunes::Instance
    + edges::count::Instance
    + edges::bars::Instance
    + reduce::reduce::Instance
    + curves::changes::Instance
    + sampled::landscapes::Instance
    + sampled::weights::Instance
    + sampled::silhouettes::Instance
{
    /// The largest finite number.
    const LARGEST: Self;
}

impl HomologyReal for f32 {
    const LARGEST: f32 = f32::MAX;
}
impl HomologyReal for f64 {
    const LARGEST: f64 = f64::MAX;
}

/// Options of a computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Largest value of the filtration. A cloud's enclosing radius, beyond which nothing changes, is used if it is less.
    pub threshold: f64,
    /// The highest degree: 0, 1 or 2.
    pub degree: usize,
    /// True if the bars' edges are computed, too.
    pub edges: bool,
}

impl Options {
    fn check(&self) -> Result<(), HomologyError> {
        let &Options { threshold, degree, .. } = self;
        if threshold.is_nan() || threshold < 0.0 {
            return Err(HomologyError::Threshold { threshold });
        }
        if degree > 2 { Err(HomologyError::Degree { degree }) } else { Ok(()) }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options { threshold: f64::INFINITY, degree: 1, edges: true }
    }
}

/// Edges of clouds that are dealt with together, on GPUs and on CPUs.
const WAVE: [usize; 2] = [1 << 26, 1 << 20];

/// The most vertices of a cloud whose parents are in shared memory.
const SHARED: u32 = 8192;

/// Classes of degree 2 per vertex that there is room for at first.
const ROOM: u32 = 4;

/// Words for which the free memory isn't asked for.
const LITTLE: u64 = 1 << 22;

/// Part of the free memory that vectors of edges may take.
const VECTORS: usize = 2;

/// Computes bars on one device, and keeps its arrays from call to call.
#[derive(Debug)]
pub struct Rips<T: HomologyReal> {
    clouds: Buffer<Cloud>,
    points: Buffer<T>,
    distances: Buffer<T>,
    thresholds: Buffer<T>,
    /// Edges of each cloud by length.
    pub(super) parts: PartSorter,
    links: Buffer<Link>,
    found: Buffer<Found>,
    pub(super) wrong: Buffer<u32>,
    vectors: Buffer<u64>,
    work: Buffer<u64>,
    /// Positions of edges that merge components, that start and end classes of degree 1, and those of degree 2.
    positions: [Buffer<u32>; 5],
    /// First bar of each cloud.
    starts: Buffer<u32>,
    scan: ScanWorkspace,
    /// Edges of bars that aren't asked for.
    edges: Buffer<[u16; 4]>,
    /// Memory for functions of bars.
    pub(super) curves: Curves<T>,
    /// Threads per block of the reduction, if not chosen by size.
    threads: Option<u32>,
    /// Relations of a cloud that are found together, if not chosen by size.
    relations: Option<u32>,
    /// Words of vectors and work, at most, unless a single cloud takes more.
    room: u64,
    timed: bool,
    steps: Vec<StepTime>,
}

impl<T: HomologyReal> Rips<T> {
    /// For clouds on `device`. If `timed`, the time of each step is measured ([`steps`](Self::steps)).
    pub fn new(device: &Device, timed: bool) -> Result<Self, DeviceError> {
        Ok(Rips {
            clouds: device.empty(),
            points: device.empty(),
            distances: device.empty(),
            thresholds: device.empty(),
            parts: PartSorter::new(device)?,
            links: device.empty(),
            found: device.empty(),
            wrong: device.alloc(1)?,
            vectors: device.empty(),
            work: device.empty(),
            positions: [(); 5].map(|()| device.empty()),
            starts: device.empty(),
            scan: ScanWorkspace::new(device)?,
            edges: device.empty(),
            curves: Curves::new(device),
            threads: None,
            relations: None,
            room: u64::MAX,
            timed,
            steps: Vec::new(),
        })
    }

    /// Sets the number of threads per block (0: by size, as on GPUs), the memory for relations per cloud, and the most words of
    /// vectors and work. `sort` threads sort the edges of a cloud; with 0 the edges of all clouds are sorted together. For tests
    /// of both sides of thresholds: results don't change.
    #[doc(hidden)]
    pub fn with_blocks(mut self, threads: u32, relations: u32, sort: u32, room: u64) -> Self {
        self.parts.force(sort);
        Rips { threads: Some(threads), relations: Some(relations), room, ..self }
    }

    /// Group of clouds with so many vertices. A group shares launches, whose blocks and grids fit its largest cloud.
    fn group(&self, stream: &Stream, vertices: u32) -> u32 {
        let by_size = self.threads.map_or(!is_cpu(stream), |threads| threads == 0);
        if by_size { vertices.next_power_of_two().max(128) } else { u32::MAX }
    }

    /// Threads per block of the reduction of a cloud.
    fn threads(&self, stream: &Stream, place: &Cloud) -> u32 {
        match (self.threads, place.group) {
            (Some(threads @ 1..), _) => threads,
            (None, _) if is_cpu(stream) => 1,
            (_, ..=128) => 128,
            (_, 129..=512) => 256,
            _ => 1024,
        }
    }

    /// Bytes of the largest arrays that are kept.
    pub fn memory(&self) -> usize {
        self.vectors.byte_len() + self.work.byte_len() + self.distances.byte_len() + 8 * self.links.byte_len()
    }

    /// The steps of the last [`compute`](Self::compute).
    pub fn steps(&self) -> &[StepTime] {
        &self.steps
    }

    /// Computes the bars of all clouds.
    ///
    /// # Errors
    /// [`HomologyError`]: distances aren't those of a metric space, the threshold is below 0 or NaN, the degree is above 2,
    /// or the device fails or has not enough memory for the largest cloud.
    pub fn compute(&mut self, stream: &Stream, clouds: &Clouds<'_, T>, options: &Options) -> Result<Diagrams<T>, HomologyError> {
        options.check()?;
        self.steps.clear();
        let mut diagrams = Diagrams::empty(options.degree);
        for wave in waves(clouds, stream.device(), 1, options.degree) {
            diagrams.append(self.wave(stream, clouds, wave, options)?);
        }
        Ok(diagrams)
    }

    /// Computes the bars of consecutive clouds.
    fn wave(
        &mut self,
        stream: &Stream,
        clouds: &Clouds<'_, T>,
        wave: Range<usize>,
        options: &Options,
    ) -> Result<Part<T>, HomologyError> {
        let too_large = |cloud: &usize| clouds.sizes[*cloud] > MOST_VERTICES_OF_CAVITIES;
        if options.degree > 1
            && let Some(cloud) = wave.clone().find(too_large)
        {
            return Err(HomologyError::TooManyForDegree { cloud, vertices: clouds.sizes[cloud] });
        }
        let limit = match T::from_f64(options.threshold) {
            limit if limit > T::LARGEST => T::LARGEST,
            limit => limit,
        };
        let mut places = places(&clouds.sizes[wave.clone()], |vertices| self.group(stream, vertices));
        self.preload(stream, clouds, &places, options.degree);
        let mut clock = Clock::start(stream, self.timed)?;
        let (edges, width) = (count_edges(&places) as u64, size_of::<T>() as u64);
        // Distances, keys, orders and links.
        let squares: u64 = places.iter().map(|cloud| u64::from(cloud.vertices).pow(2)).sum();
        self.check_room(stream, squares * width + edges * (width + 28), self.memory())?;
        self.measure(stream, clouds, wave.clone(), &places)?;
        clock.end("distances", 2 * width * edges)?;
        self.sort(stream, clouds, wave.start, &places)?;
        clock.end("sort", edges * (width + 12))?;
        self.thresholds.ensure(places.len())?;
        self.found.ensure(places.len())?;
        self.links.ensure(edges as usize)?;
        stream.fill_zero(&mut self.found)?;
        let order = self.parts.order();
        for group in groups(&places) {
            let most = places[group.clone()].iter().map(|cloud| cloud.vertices).max().unwrap_or(0);
            let threads = if is_cpu(stream) { 1 } else { most.next_multiple_of(32).clamp(32, 1024) };
            let (grid, block) = columns(stream, &places[group.clone()], Cloud::edges);
            let (count, clouds) = (group.len() as u32, self.clouds.view(group.clone())?);
            // SAFETY: edges are sorted, there are the distances of all clouds, and a threshold and findings for each.
            unsafe {
                launch!(stream, edges::thresholds::<T><<<count, threads>>>(
                    clouds, &self.distances, limit, self.thresholds.view_mut(group.clone())?
                ))?;
                launch!(stream, edges::lunes::<T><<<grid, block>>>(
                    clouds, &self.distances, self.thresholds.view(group.clone())?, order, &mut self.links, self.found.view_mut(group)?
                ))?;
            }
        }
        clock.end("lunes", edges * (width + 12))?;
        let found = stream.download_vec(&self.found)?;
        let thresholds = stream.download_vec(&self.thresholds)?;
        let mut class = 0;
        for ((place, found), threshold) in places.iter_mut().zip(&found).zip(thresholds) {
            // Within the enclosing radius, all but one of the vertices are merged.
            let merges = if threshold < limit { place.vertices.saturating_sub(1) } else { 0 };
            let classes = if options.degree > 0 { found.empty.saturating_sub(merges) } else { 0 };
            place.class = class;
            place.classes = classes;
            place.words = classes.div_ceil(u64::BITS);
            class += classes;
        }
        self.reduce(stream, &mut places, class as usize)?;
        clock.end("reduce", 8 * edges)?;
        if options.degree > 1 {
            self.fill(stream, &mut places)?;
            clock.end("fill", 8 * edges)?;
        }

        let part = self.bars(stream, places.len(), options.edges)?;
        clock.end("bars", 0)?;
        for step in clock.steps()? {
            match self.steps.iter_mut().find(|other| other.name == step.name) {
                Some(other) => (other.ms, other.bytes) = (other.ms + step.ms, other.bytes + step.bytes),
                None => self.steps.push(step),
            }
        }
        Ok(part)
    }

    /// Preloads the kernels for these clouds.
    fn preload(&self, stream: &Stream, clouds: &Clouds<'_, T>, places: &[Cloud], degree: usize) {
        let mut kernels = vec![
            edges::keys::kernel::<T>(),
            edges::thresholds::kernel::<T>(),
            edges::lunes::kernel::<T>(),
            reduce::reduce::kernel::<T>(),
            edges::count::kernel::<T>(),
            scan::exclusive_in_place::kernel::<u32>(),
            edges::bars::kernel::<T>(),
        ];
        kernels.extend(self.parts.kernels(stream.device(), places.iter().map(Cloud::edges).max().unwrap_or(0) as usize));
        if clouds.dimension.is_some() {
            kernels.push(edges::measure::kernel::<T>());
        }
        if degree > 1 {
            kernels.push(cavities::fill::kernel());
        }
        stream.device().preload(&kernels);
    }

    /// Finds places for the vectors and the work of clouds from `from` on, for as many as there is memory for together. Their
    /// words are what `sizes` returns. Returns the end of these clouds, whose vectors are 0.
    fn next_run(
        &mut self,
        stream: &Stream,
        places: &mut [Cloud],
        from: usize,
        sizes: impl Fn(&Cloud) -> (u64, u64),
    ) -> Result<usize, DeviceError> {
        let (mut room, mut to) = (None, from);
        let (mut vectors, mut work) = (0, 0);
        for place in &mut places[from..] {
            let (own, other) = sizes(place);
            if to > from && !self.fits(stream, vectors + own + work + other, &mut room)? {
                break;
            }
            (place.vectors, place.work) = (vectors, work);
            (vectors, work, to) = (vectors + own, work + other, to + 1);
        }
        self.check_room(stream, 8 * (vectors + work), self.vectors.byte_len() + self.work.byte_len())?;
        self.vectors.ensure(vectors as usize)?;
        self.work.ensure(work as usize)?;
        stream.fill_zero(&mut self.vectors)?;
        stream.upload(self.clouds.view_mut(from..to)?, &places[from..to])?;
        Ok(to)
    }

    /// Fails unless there is memory for so many bytes beside what is `kept` for them, so that the system needn't end the
    /// process.
    pub(super) fn check_room(&self, stream: &Stream, bytes: u64, kept: usize) -> Result<(), DeviceError> {
        if bytes < 8 * LITTLE {
            return Ok(());
        }
        let MemoryInfo { free, total } = stream.device().memory()?;
        if bytes <= free.saturating_add(kept) as u64 {
            return Ok(());
        }
        Err(DeviceError::OutOfMemory { requested: bytes as usize, free, total, device: stream.device().to_string() })
    }

    /// Returns true if there is memory for so many words of vectors and work. `room` keeps the number that there is memory
    /// for, because it takes long to ask.
    fn fits(&self, stream: &Stream, words: u64, room: &mut Option<usize>) -> Result<bool, DeviceError> {
        if words > self.room || words < LITTLE {
            return Ok(words <= self.room);
        }
        let most = match *room {
            Some(most) => most,
            None => {
                let kept = self.vectors.byte_len() + self.work.byte_len();
                *room.insert((stream.device().memory()?.free + kept) / size_of::<u64>() / VECTORS)
            }
        };
        Ok(words as usize <= most)
    }

    /// Computes or uploads distances, and uploads the places of clouds.
    fn measure(
        &mut self,
        stream: &Stream,
        clouds: &Clouds<'_, T>,
        wave: Range<usize>,
        places: &[Cloud],
    ) -> Result<(), HomologyError> {
        self.clouds.ensure(places.len())?;
        stream.upload(&mut self.clouds, places)?;
        let squares = places.iter().map(|cloud| (cloud.vertices as usize).pow(2)).sum();
        self.distances.ensure(squares)?;
        let range = clouds.range(wave);
        let Some(dimension) = clouds.dimension else {
            match &clouds.source {
                Source::Host(distances) => stream.upload(&mut self.distances, &distances[range])?,
                Source::Device(distances) => stream.copy(distances.view(range)?, &mut self.distances)?,
            }
            return Ok(());
        };
        let points: View<'_, T> = match &clouds.source {
            Source::Host(points) => {
                self.points.ensure(range.len())?;
                stream.upload(&mut self.points, &points[range])?;
                self.points.as_view()
            }
            Source::Device(points) => points.view(range)?,
        };
        for group in groups(places) {
            let (grid, block) = columns(stream, &places[group.clone()], |cloud| cloud.vertices.pow(2));
            let clouds = self.clouds.view(group)?;
            // SAFETY: there are the points of all clouds, and room for their distances.
            unsafe {
                launch!(stream, edges::measure::<T><<<grid, block>>>(clouds, points, dimension as u32, &mut self.distances))?;
            }
        }
        Ok(())
    }

    /// Sorts the edges of each cloud by length and number.
    fn sort(&mut self, stream: &Stream, clouds: &Clouds<'_, T>, first: usize, places: &[Cloud]) -> Result<(), HomologyError> {
        let edges = count_edges(places);
        let [low, high] = self.parts.ensure(edges, size_of::<T>() > 4)?;
        stream.fill(&mut self.wrong, NONE)?;
        let most = if clouds.dimension.is_some() { T::LARGEST } else { T::INFINITY };
        for group in groups(places) {
            let (grid, block) = columns(stream, &places[group.clone()], Cloud::edges);
            let clouds = self.clouds.view(group)?;
            // SAFETY: there are the distances of all clouds, and room for the keys of their edges.
            unsafe {
                launch!(stream, edges::keys::<T><<<grid, block>>>(
                    clouds, &self.distances, most, &mut *low, &mut *high, &mut self.wrong
                ))?;
            }
        }
        let firsts: Vec<u32> = places.iter().map(|cloud| cloud.edge).chain([edges as u32]).collect();
        self.starts.ensure(firsts.len())?;
        stream.upload(&mut self.starts, &firsts)?;
        let largest = places.iter().map(Cloud::edges).max().unwrap_or(0);
        self.parts.sort(
            stream,
            (&self.starts, 1),
            largest as usize,
            |order, owners| launch!(stream, edges::owners<<<grid_for(stream, edges), THREADS>>>(&self.clouds, order, owners)),
        )?;
        let wrong = stream.download_vec::<u32>(&self.wrong)?[0];
        if wrong == NONE {
            return Ok(());
        }
        let place = &places[places.partition_point(|cloud| cloud.edge <= wrong) - 1];
        let (u, v) = gpu_kernels::homology::ends(wrong - place.edge);
        let at = |u, v| {
            let at = place.distance(u, v);
            Ok::<_, DeviceError>(stream.download_vec(self.distances.view(at..=at)?)?[0].to_f64())
        };
        let (value, back) = (at(u, v)?, at(v, u)?);
        let (cloud, u, v) = (first + place.number as usize, u as usize, v as usize);
        if clouds.dimension.is_some() && value == f64::INFINITY {
            return Err(HomologyError::TooFar { cloud, u, v, name: T::NAME });
        }
        Err(HomologyError::Distance { cloud, u, v, value, back })
    }

    /// Finds the bars: of as many clouds at once as there is memory for.
    fn reduce(&mut self, stream: &Stream, places: &mut [Cloud], classes: usize) -> Result<(), HomologyError> {
        let vertices = places.iter().map(|cloud| cloud.vertices as usize).sum();
        for (positions, len) in self.positions.iter_mut().zip([vertices, classes, classes]) {
            positions.ensure(len)?;
        }
        for place in &mut *places {
            place.relations = self.relations.unwrap_or(if is_cpu(stream) { 64 } else { 4 * self.threads(stream, place) });
        }
        for group in groups(places) {
            let threads = self.threads(stream, &places[group.start]);
            let mut from = group.start;
            while from < group.end {
                let to = self.next_run(stream, &mut places[..group.end], from, |place| {
                    let vectors = u64::from(place.edges()) * u64::from(place.words);
                    (vectors, reduce::work(place.vertices, place.words, place.relations))
                })?;
                let [merged, born, died, ..] = &mut self.positions;
                // For the parents of vertices, unless there are too many.
                let vertices = places[from..to].iter().map(|cloud| cloud.vertices).max().unwrap_or(0);
                let shared = if vertices <= SHARED { 4 * vertices as usize } else { 0 };
                let space = SpaceArgs { vectors: &mut self.vectors, work: &mut self.work, merged, born, died };
                // SAFETY: clouds have links and findings, and the memory that their sizes ask for.
                unsafe {
                    launch!(stream, reduce::reduce::<T><<<(to - from) as u32, threads, shared>>>(
                        self.clouds.view(from..to)?, &self.distances, &self.links, self.found.view_mut(from..to)?, space
                    ))?;
                }
                from = to;
            }
        }
        Ok(())
    }

    /// Finds the bars of degree 2: of as many clouds at once as there is memory for, with more room for classes until there
    /// is enough.
    fn fill(&mut self, stream: &Stream, places: &mut [Cloud]) -> Result<(), HomologyError> {
        let threads = if is_cpu(stream) { 1 } else { self.threads.filter(|&threads| threads > 0).unwrap_or(256).min(256) };
        for place in &mut *places {
            (place.words_of_triangles, place.cavities) = (1, ROOM * place.vertices);
        }
        loop {
            let mut next = 0;
            for place in &mut *places {
                place.cavity = next;
                next += place.cavities;
            }
            for positions in &mut self.positions[3..] {
                positions.ensure(next as usize)?;
            }
            let mut from = 0;
            while from < places.len() {
                let to = self.next_run(stream, places, from, |place| {
                    let of_edges = u64::from(place.edges()) * u64::from(place.words);
                    let of_triangles = cavities::triangles(place.vertices) * u64::from(place.words_of_triangles);
                    (of_edges + of_triangles, cavities::work(place))
                })?;
                let [.., opened, filled] = &mut self.positions;
                let space = CavitySpaceArgs { vectors: &mut self.vectors, work: &mut self.work, born: opened, died: filled };
                // SAFETY: clouds have links and findings, and the memory that their sizes ask for.
                unsafe {
                    launch!(stream, cavities::fill<<<(to - from) as u32, threads>>>(
                        self.clouds.view(from..to)?, &self.links, self.found.view_mut(from..to)?, space
                    ))?;
                }
                from = to;
            }
            let found = stream.download_vec(&self.found)?;
            if found.iter().all(|found| found.full == 0) {
                return Ok(());
            }
            for (place, found) in places.iter_mut().zip(found) {
                if found.full != 0 {
                    (place.words_of_triangles, place.cavities) = (4 * place.words_of_triangles, 4 * place.cavities);
                }
            }
        }
    }

    /// Collects bars of positive length.
    fn bars(&mut self, stream: &Stream, clouds: usize, edges: bool) -> Result<Part<T>, HomologyError> {
        let block = if is_cpu(stream) { 1 } else { 128 };
        let grid = clouds as u32;
        self.starts.ensure(3 * clouds + 1)?;
        stream.fill_zero(&mut self.starts)?;
        let [merged, born, died, opened, filled] = &self.positions;
        // SAFETY: positions are those that the reductions have left.
        unsafe {
            launch!(stream, edges::count::<T><<<grid, block>>>(
                &self.clouds, &self.distances, &self.links, &self.found, PositionsArgs { merged, born, died, opened, filled }, &mut self.starts
            ))?;
        }
        exclusive_scan_in_place(stream, &mut self.starts, &mut self.scan)?;
        let starts = stream.download_vec(&self.starts)?;
        let total = starts[3 * clouds] as usize;
        let mut values = stream.device().alloc(total)?;
        self.edges.ensure(total)?;
        let bars = BarsArgs { values: &mut values, edges: &mut self.edges };
        // SAFETY: positions are those that the reductions have left, and there is room for all bars.
        unsafe {
            launch!(stream, edges::bars::<T><<<grid, block>>>(
                &self.clouds, &self.distances, &self.links, &self.found, PositionsArgs { merged, born, died, opened, filled }, &self.starts, bars
            ))?;
        }
        let edges = if edges { std::mem::replace(&mut self.edges, stream.device().empty()) } else { stream.device().empty() };
        Ok(Part { clouds, starts, values, edges })
    }
}

fn is_cpu(stream: &Stream) -> bool {
    stream.device().backend() == Backend::Cpu
}

/// Grid and block of kernels with a column of blocks for each cloud, where a cloud has so many `items`.
fn columns(stream: &Stream, places: &[Cloud], items: impl Fn(&Cloud) -> u32) -> ((u32, u32), u32) {
    let columns = places.len() as u32;
    if is_cpu(stream) {
        return ((columns, 1), 1);
    }
    let most = places.iter().map(items).max().unwrap_or(0);
    ((columns, most.div_ceil(4 * THREADS).clamp(1, 4096)), THREADS)
}

/// Ranges of clouds of one group.
fn groups(places: &[Cloud]) -> Vec<Range<usize>> {
    let mut start = 0;
    let group = |group: &[Cloud]| {
        start += group.len();
        start - group.len()..start
    };
    places.chunk_by(|a, b| a.group == b.group).map(group).collect()
}

/// Computes the bars of all clouds on several devices: each takes the next clouds as soon as it is done with earlier ones.
/// Clouds that are on a device take that device alone. `advance` gets the number of clouds that are done, every now and
/// then.
///
/// # Errors
/// As [`Rips::compute`], and [`HomologyError::Cancelled`].
///
/// # Panics
/// If there are no devices.
pub fn rips<T: HomologyReal>(
    devices: Vec<(&Stream, &mut Rips<T>)>,
    clouds: &Clouds<'_, T>,
    options: &Options,
    cancel: &Cancel,
    advance: impl Fn(usize) + Sync,
) -> Result<Diagrams<T>, HomologyError> {
    options.check()?;
    let waves = waves(clouds, devices[0].0.device(), devices.len(), options.degree);
    let next = AtomicUsize::new(0);
    let work = |(stream, rips): (&Stream, &mut Rips<T>)| {
        let mut done = Vec::new();
        while let Some(wave) = waves.get(next.fetch_add(1, Ordering::Relaxed)) {
            cancel.check().map_err(|_| HomologyError::Cancelled)?;
            done.push((wave.start, rips.wave(stream, clouds, wave.clone(), options)?));
            advance(wave.len());
        }
        Ok(done)
    };
    let mut devices = devices.into_iter();
    let first = devices.next().expect("there are devices");
    let parts: Result<Vec<_>, HomologyError> = std::thread::scope(|scope| {
        let others = waves.len().saturating_sub(1);
        let threads: Vec<_> = devices.take(others).map(|device| scope.spawn(|| work(device))).collect();
        let own = work(first);
        // The thread has no panic of its own to add to.
        let join = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        std::iter::once(own).chain(threads.into_iter().map(join)).collect()
    });
    let mut parts: Vec<_> = parts?.into_iter().flatten().collect();
    parts.sort_by_key(|(first, _)| *first);
    let mut diagrams = Diagrams::empty(options.degree);
    parts.into_iter().for_each(|(_, part)| diagrams.append(part));
    Ok(diagrams)
}

/// Ranges of clouds that are dealt with together, on so many devices.
fn waves<T: HomologyReal>(clouds: &Clouds<'_, T>, device: &Device, devices: usize, degree: usize) -> Vec<Range<usize>> {
    let edges_of = |n: usize| n * n.saturating_sub(1) / 2;
    let (wave, blocks) = (WAVE[(device.backend() == Backend::Cpu) as usize], device.info().multiprocessors as usize);
    let all: usize = clouds.sizes.iter().copied().map(edges_of).sum();
    let most = wave.min(all.div_ceil(devices));
    let (mut waves, mut first) = (Vec::new(), 0);
    while first < clouds.len() {
        let (mut edges, mut work, mut count) = (0, 0, 0);
        let fits = |&&n: &&usize| {
            // Cavities take about n^3 / 2^15 times as long as cycles.
            let factor = if degree > 1 { (n.pow(3) >> 15).max(1) } else { 1 };
            (edges, work, count) = (edges + edges_of(n), work + edges_of(n) * factor, count + 1);
            edges <= most && (work <= wave || count <= blocks)
        };
        let count = clouds.sizes[first..].iter().take_while(fits).count().max(1);
        waves.push(first..first + count);
        first += count;
    }
    waves
}

/// Places of the data of clouds with so many vertices, by groups. Their points and distances lie in the clouds' order.
fn places(sizes: &[usize], group: impl Fn(u32) -> u32) -> Vec<Cloud> {
    let mut next = Cloud::default();
    let place = |(number, &n): (usize, &usize)| {
        let place = Cloud { vertices: n as u32, number: number as u32, group: group(n as u32), ..next };
        next.square += n.pow(2) as u64;
        next.vertex += n as u32;
        place
    };
    let mut places: Vec<_> = sizes.iter().enumerate().map(place).collect();
    places.sort_by_key(|place| place.group);
    let mut edge = 0;
    for place in &mut places {
        place.edge = edge;
        edge += place.edges();
    }
    places
}

fn count_edges(places: &[Cloud]) -> usize {
    places.last().map_or(0, |last| (last.edge + last.edges()) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clouds with slow cavities are dealt with one per core, all others up to a number of edges.
    #[test]
    fn waves_are_of_like_work() {
        let device = Device::cpu();
        let cores = device.info().multiprocessors as usize;
        let waves = |sizes: Vec<usize>, degree| {
            let points = vec![0.0; sizes.iter().sum()];
            let clouds = Clouds::points(&points, 1, sizes).unwrap();
            waves(&clouds, &device, 1, degree).into_iter().map(|wave| wave.len()).collect::<Vec<_>>()
        };
        // 4,950 edges each, of 2^20.
        assert_eq!(waves(vec![100; 400], 1), [211, 189]);
        // In degree 2, 30 times as much work.
        assert_eq!(waves(vec![100; 14], 2)[0], cores.clamp(7, 14));
        assert_eq!(waves(vec![256; 2 * cores], 2)[0], cores.min(32));
        assert_eq!(waves(vec![10, 2000, 10, 2000], 1), [1, 1, 1, 1]);
        assert_eq!(waves(vec![], 1), [0; 0]);
    }
}
