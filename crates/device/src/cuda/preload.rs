//! Loading of images before they are used, on threads of its own.

use super::{Cuda, driver};
use crate::{image, threads};
use cuda_std::launch::KernelInfo;
use std::collections::VecDeque;
use std::num::NonZero;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Images to load, and the threads that do so.
struct Queue {
    /// Devices, and the numbers of images.
    images: VecDeque<(&'static Cuda, usize)>,
    threads: Vec<JoinHandle<()>>,
    /// Number of threads that will look for another image.
    running: usize,
    /// True once the process ends.
    is_closed: bool,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { images: VecDeque::new(), threads: Vec::new(), running: 0, is_closed: false });

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cuda {
    /// Starts to load the kernels' images. An error is that of the first launch.
    pub(in super::super) fn preload(&'static self, kernels: &[&'static KernelInfo]) {
        let mut preloaded = self.preloaded.lock().unwrap_or_else(PoisonError::into_inner);
        let new = kernels.iter().filter(|kernel| preloaded.insert(ptr::from_ref(**kernel).addr()));
        let images = new.filter_map(|kernel| image::having(kernel).ok()).filter(|&image| self.modules[image].get().is_none());
        let images: Vec<_> = images.map(|image| (self, image)).collect();
        drop(preloaded);
        // The first launch takes as long as a thread's start and its own image.
        if images.len() < 2 || driver::Libraries::get().is_none() {
            return;
        }
        let mut queue = queue();
        if queue.is_closed {
            return;
        }
        queue.images.extend(images);
        finish_at_exit();
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        queue.threads.retain(|thread| !thread.is_finished());
        while queue.running < cores.min(queue.images.len()) {
            // Without threads, the launches load the images.
            let Ok(thread) = threads::spawn_alone("load-kernels".to_owned(), load) else { break };
            queue.threads.push(thread);
            queue.running += 1;
        }
    }
}

/// Loads images until there are none left.
fn load() {
    loop {
        let mut queue = queue();
        let Some((cuda, image)) = queue.images.pop_front() else {
            queue.running -= 1;
            return;
        };
        drop(queue);
        // The error is kept for the launch.
        _ = cuda.load(image);
    }
}

/// Has the process wait at its end for images that are being loaded: the driver can't be taken down meanwhile.
#[cfg(target_os = "linux")]
fn finish_at_exit() {
    use std::process;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// The process that has the threads: one that is forked from it has the queue alone.
    static PROCESS: AtomicU32 = AtomicU32::new(0);

    extern "C" fn finish() {
        if PROCESS.load(Ordering::Relaxed) != process::id() {
            return;
        }
        let mut queue = queue();
        queue.is_closed = true;
        queue.images.clear();
        let threads = std::mem::take(&mut queue.threads);
        drop(queue);
        for thread in threads {
            _ = thread.join();
        }
    }

    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        PROCESS.store(process::id(), Ordering::Relaxed);
        // SAFETY: `finish` doesn't unwind, and may be called at any time after `main`.
        _ = unsafe { libc::atexit(finish) };
    });
}

/// There are drivers on Linux alone.
#[cfg(not(target_os = "linux"))]
fn finish_at_exit() {}
