//! What calls leave for later ones: buffers on devices, and the memory of results.

use std::{
    mem::take,
    sync::{Mutex, MutexGuard, PoisonError},
};

use numpy::{Element, PyArray1, ndarray::ArrayView};
use pyo3::prelude::*;
use warpsmith::{
    device::memory,
    engine::{Engine, EngineError, advise_huge_pages, zeroed_vec},
    list_rank::ListRanker,
};

use crate::{device::Device, work};

/// Things that are not at work, and the devices that they are on. Each thread that works has one of its own, and so
/// waits for no other.
pub struct Pool<T>(Mutex<Vec<(Vec<Device>, T)>>);

/// The most that a pool keeps.
const MOST: usize = 4;

pub static ENGINES: Pool<Engine> = Pool(Mutex::new(Vec::new()));
pub static RANKERS: Pool<ListRanker> = Pool(Mutex::new(Vec::new()));

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Pool<T> {
    /// One that is on these devices.
    pub fn take(&self, devices: &[Device]) -> Option<T> {
        let mut pool = lock(&self.0);
        let place = pool.iter().position(|(on, _)| on == devices)?;
        Some(pool.remove(place).1)
    }

    /// Keeps it for later, in place of the one that was used longest ago.
    pub fn keep(&self, devices: &[Device], value: T) {
        let mut pool = lock(&self.0);
        let kept = pool.len().min(MOST - 1);
        let old = pool.split_off(kept);
        pool.insert(0, (devices.to_vec(), value));
        // What they free may take a while.
        drop(pool);
        drop(old);
    }
}

/// Frees what earlier calls have left for later ones: buffers on devices, and memory of the host that results were in.
///
/// Calls allocate anew, then. Arrays that are in use are not touched.
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
    // Freed when the locks are given back: that may take a while.
    let engines = take(&mut *lock(&ENGINES.0));
    let rankers = take(&mut *lock(&RANKERS.0));
    let results = take(&mut *lock(&RESULTS));
    drop((engines, rankers, results));
}

/// What this allocates; where there is too little memory, once more without all that is kept.
pub fn with_room<T, E>(allocate: impl Fn() -> Result<T, E>) -> Result<T, E> {
    allocate().or_else(|_| {
        release();
        allocate()
    })
}

/// Memory of results that are gone, which is mapped already: the system takes as long to find and clear new pages as a
/// GPU takes to compute what goes there.
static RESULTS: Mutex<Vec<Vec<f64>>> = Mutex::new(Vec::new());

/// Smaller results are Python's own business, in bytes.
const WORTH_KEEPING: usize = 1 << 20;

/// Of the memory that there would be, the part that may be kept.
const PART: usize = 8;

/// Memory for a result, of any content, which another result gets once this is gone. What NumPy's arrays hold.
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

    /// Its first `len` elements.
    pub fn slice<T: bytemuck::Pod>(&mut self, len: usize) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.memory)[..len]
    }

    /// Its first `len` elements as an array, which holds it.
    pub fn into_array<T: Element + bytemuck::Pod>(mut self, py: Python<'_>, len: usize) -> PyResult<Bound<'_, PyArray1<T>>> {
        let first = self.slice::<T>(len).as_mut_ptr();
        let owner = Bound::new(py, self)?;
        // SAFETY: so many elements are there, in a vector that stays where it is, as long as the owner lives, which the
        // array holds. Nobody else uses them before the owner is dropped.
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
        // The oldest make room.
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
