//! Resources that calls keep for later ones: buffers on devices, and the memory of results.

use std::{
    mem::take,
    ops::Deref,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytemuck::Pod;
use numpy::{Element, PyArray1, ndarray::ArrayView};
use pyo3::prelude::*;
use warpsmith::{
    device::{self, Backend, Buffer, DeviceError, Stream, memory},
    engine::{Engine, EngineError, advise_huge_pages, zeroed_vec},
    graph::{Components, Connectivity, MinimumForests},
    homology::{HomologyReal, Rips},
    list_rank::{ListRanker, Weight},
    trees::Rooter,
};

use crate::{device::Device, error::Failure, work};

/// Idle values with their devices. Each working thread takes a value of its own, so none waits for another.
pub struct Pool<T>(Mutex<Vec<(Vec<Device>, T)>>);

/// Largest number of values in a pool.
const MOST: usize = 4;

pub static STREAMS: Pool<Stream> = Pool(Mutex::new(Vec::new()));
pub static ENGINES: Pool<Engine> = Pool(Mutex::new(Vec::new()));
pub static RANKERS: Pool<ListRanker> = Pool(Mutex::new(Vec::new()));
pub static COMPONENTS: Pool<Components> = Pool(Mutex::new(Vec::new()));
pub static CONNECTIVITIES: Pool<Connectivity> = Pool(Mutex::new(Vec::new()));
pub static FORESTS: Pool<MinimumForests> = Pool(Mutex::new(Vec::new()));
pub static ROOTERS: Pool<Rooter> = Pool(Mutex::new(Vec::new()));

/// Pools by the type that their values are of: `$function` of a `$type` is its pool, and `$release` empties all.
macro_rules! pools {
    ($(#[$doc:meta])* $name:ident: $bound:ident, $function:ident -> $value:ident, $release:ident of $($type:ident)*) => {
        $(#[$doc])*
        pub trait $name: $bound {
            fn $function() -> &'static Pool<$value<Self>>;
        }

        $(impl $name for $type {
            fn $function() -> &'static Pool<$value<Self>> {
                static POOL: Pool<$value<$type>> = Pool(Mutex::new(Vec::new()));
                &POOL
            }
        })*

        fn $release() {
            drop(($(take(&mut *lock(&$type::$function().0)),)*));
        }
    };
}
pools! {
    /// A type of weights, whose sums along lists are computed.
    Summed: Weight, rankers -> ListRanker, release_sums of i32 i64 f32 f64
}
pools! {
    /// A type of coordinates and distances.
    Homologous: HomologyReal, rips -> Rips, release_rips of f32 f64
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Pool<T> {
    /// Takes a value on these devices.
    pub fn take(&self, devices: &[Device]) -> Option<T> {
        let mut pool = lock(&self.0);
        let place = pool.iter().position(|(on, _)| on == devices)?;
        Some(pool.remove(place).1)
    }

    /// Adds a value, and drops the least recently used one if the pool is full.
    pub fn keep(&self, devices: &[Device], value: T) {
        let mut pool = lock(&self.0);
        let kept = pool.len().min(MOST - 1);
        let old = pool.split_off(kept);
        pool.insert(0, (devices.to_vec(), value));
        // Freeing their memory may take a while.
        drop(pool);
        drop(old);
    }
}

/// A stream that is kept for a later call when it is dropped.
pub struct KeptStream {
    device: Device,
    /// `None` once it is kept.
    stream: Option<Stream>,
}

impl KeptStream {
    /// Takes an idle stream of the device, or makes one.
    pub fn take(device: &Device) -> Result<Self, DeviceError> {
        let stream = match STREAMS.take(std::slice::from_ref(device)) {
            Some(stream) => stream,
            None => device.device.stream()?,
        };
        Ok(KeptStream { device: device.clone(), stream: Some(stream) })
    }
}

impl Deref for KeptStream {
    type Target = Stream;

    fn deref(&self) -> &Stream {
        self.stream.as_ref().expect("it is kept by `drop` alone")
    }
}

impl Drop for KeptStream {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take()
            && stream.synchronize().is_ok()
        {
            STREAMS.keep(std::slice::from_ref(&self.device), stream);
        }
    }
}

impl<T> Pool<T> {
    /// Does work with a value, which is made if none is kept, and waits for the stream. The value is kept for the next
    /// call unless the work fails.
    pub fn with<R, E: Into<Failure>>(
        &self,
        device: &Device,
        make: impl FnOnce(&device::Device) -> Result<T, DeviceError>,
        work: impl FnOnce(&Stream, &mut T) -> Result<R, E>,
    ) -> Result<(KeptStream, R), Failure> {
        let on = std::slice::from_ref(device);
        let stream = KeptStream::take(device)?;
        let mut value = match self.take(on) {
            Some(value) => value,
            None => make(&device.device)?,
        };
        let result = work(&stream, &mut value).map_err(Into::into)?;
        stream.synchronize()?;
        self.keep(on, value);
        Ok((stream, result))
    }
}

/// Memory of dropped arrays on devices. The driver takes longer to allocate and free memory than many calls compute.
static ARRAYS: Mutex<Vec<(Device, Buffer<u8>)>> = Mutex::new(Vec::new());

/// Allocates an array on a device, of unspecified contents.
pub fn array<T: Pod>(device: &Device, len: usize) -> Result<Buffer<T>, DeviceError> {
    let bytes = len.saturating_mul(size_of::<T>());
    let fits = |(on, kept): &(Device, Buffer<u8>)| {
        on == device && kept.capacity() >= bytes && kept.capacity() <= bytes.saturating_mul(2).max(SMALL)
    };
    let kept = {
        let mut arrays = lock(&ARRAYS);
        let best = (0..arrays.len()).filter(|&place| fits(&arrays[place])).min_by_key(|&place| arrays[place].1.capacity());
        best.map(|place| arrays.remove(place).1)
    };
    let Some(kept) = kept else { return with_room(|| device.device.alloc(len)) };
    let mut buffer = kept.cast::<T>();
    buffer.ensure(len)?;
    Ok(buffer)
}

/// Size up to which memory is kept for arrays of any smaller size, in bytes.
const SMALL: usize = 64 << 10;

/// Keeps the memory of an array for a later one. If another library may still work on it, the device is waited for, as
/// it is when memory is freed.
pub fn keep_array(device: &Device, buffer: Buffer<u8>, shared: bool) {
    let is_on_gpu = device.device.backend() == Backend::Cuda;
    if !is_on_gpu || buffer.capacity() == 0 || (shared && device.device.synchronize().is_err()) {
        return;
    }
    let most = device.device.info().total_memory / PART;
    let mut arrays = lock(&ARRAYS);
    arrays.push((device.clone(), buffer));
    // Drop the oldest first.
    let mut old = Vec::new();
    let kept = |arrays: &[(Device, Buffer<u8>)]| {
        arrays.iter().filter(|(on, _)| on == device).map(|(_, buffer)| buffer.capacity()).sum::<usize>()
    };
    while arrays.len() > MOST_ARRAYS || kept(&arrays) > most {
        old.push(arrays.remove(0));
    }
    drop(arrays);
    drop(old);
}

/// Largest number of arrays whose memory is kept.
const MOST_ARRAYS: usize = 16;

/// Frees the memory that calls keep for later ones: buffers on devices, and host memory of earlier results.
///
/// Later calls allocate anew. Arrays in use are not affected.
///
/// Examples
/// --------
/// >>> free_memory()
#[pyfunction]
pub fn free_memory(py: Python<'_>) -> PyResult<()> {
    work::brief(py, || {
        release();
        Ok(())
    })
}

fn release() {
    // Freed after the locks are released, because it may take a while.
    let engines = take(&mut *lock(&ENGINES.0));
    let rankers = take(&mut *lock(&RANKERS.0));
    let graphs = (take(&mut *lock(&COMPONENTS.0)), take(&mut *lock(&CONNECTIVITIES.0)), take(&mut *lock(&FORESTS.0)));
    let rooters = take(&mut *lock(&ROOTERS.0));
    let results = take(&mut *lock(&RESULTS));
    let arrays = take(&mut *lock(&ARRAYS));
    release_sums();
    release_rips();
    drop((engines, rankers, graphs, rooters, results, arrays));
}

/// Allocates memory. If that fails, releases all kept memory and tries again.
pub fn with_room<T, E>(allocate: impl Fn() -> Result<T, E>) -> Result<T, E> {
    allocate().or_else(|_| {
        release();
        allocate()
    })
}

/// Memory of dropped results. Its pages are already mapped: mapping and clearing new ones takes the system as long as the
/// computation takes a GPU.
static RESULTS: Mutex<Vec<Vec<f64>>> = Mutex::new(Vec::new());

/// Smallest result whose memory is kept, in bytes.
const WORTH_KEEPING: usize = 1 << 20;

/// Divisor of memory that gives the limit of kept memory.
pub const PART: usize = 8;

/// Uninitialised memory for a result, owned by a NumPy array. Dropping it keeps the memory for another result.
#[pyclass(module = "warpsmith._warpsmith", frozen)]
pub struct Results {
    memory: Vec<f64>,
}

impl Results {
    pub fn new(bytes: usize) -> Result<Self, EngineError> {
        let len = bytes.div_ceil(size_of::<f64>());
        let fits = |kept: &Vec<f64>| kept.len() >= len && kept.len() <= len.saturating_mul(2);
        let found = {
            let mut results = lock(&RESULTS);
            results.iter().position(fits).map(|place| results.remove(place))
        };
        let memory = match found {
            Some(memory) => memory,
            None => {
                let mut memory = zeroed_vec(len)?;
                advise_huge_pages(&mut memory);
                memory
            }
        };
        Ok(Results { memory })
    }

    /// The first `len` elements.
    pub fn slice<T: bytemuck::Pod>(&mut self, len: usize) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.memory)[..len]
    }

    /// Converts the first `len` elements to an array that owns the memory.
    pub fn into_array<T: Element + bytemuck::Pod>(mut self, py: Python<'_>, len: usize) -> PyResult<Bound<'_, PyArray1<T>>> {
        let first = self.slice::<T>(len).as_mut_ptr();
        let owner = Bound::new(py, self)?;
        // SAFETY: the vector has at least `len` elements and doesn't move while its owner lives, which the array holds.
        // Nobody else uses them before the owner is dropped.
        Ok(unsafe { PyArray1::borrow_from_array(&ArrayView::from_shape_ptr(len, first), owner.into_any()) })
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        let memory = take(&mut self.memory);
        let bytes = |memory: &Vec<f64>| size_of_val(&memory[..]);
        if bytes(&memory) < WORTH_KEEPING {
            return;
        }
        let free = memory::memory().free;
        let mut results = lock(&RESULTS);
        let mut kept: usize = results.iter().map(bytes).sum();
        let most = free.saturating_add(kept).saturating_add(bytes(&memory)) / PART;
        if bytes(&memory) > most {
            return;
        }
        // Drop the oldest results first.
        let mut old = Vec::new();
        while kept + bytes(&memory) > most {
            let oldest = results.remove(0);
            kept -= bytes(&oldest);
            old.push(oldest);
        }
        results.push(memory);
        drop(results);
        drop(old);
    }
}
