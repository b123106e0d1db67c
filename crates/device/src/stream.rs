//! Work for a device, in order.

use super::buffer::{Buffer, View, ViewMut};
use super::cpu::Cpu;
use super::cuda::{CudaEvent, CudaStream};
use super::event::{Event, Kind};
use super::graph::Work;
use super::launch::{self, LaunchConfig, refused};
use super::order::{Access, Lane, lock};
use super::pinned::{Pending, PinnedBuffer};
use super::{Device, DeviceError, Inner, image};
use bytemuck::{NoUninit, Zeroable};
use cuda_std::DeviceCopy;
use cuda_std::launch::{Arguments, Bound, KernelInfo};
use simt::memory::{self, Memory};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// A queue of work for a device: launches, copies and fills, done one after another.
///
/// CUDA: methods only enqueue, unless they say that they wait. Work on different streams may
/// overlap, unless one [waits](Self::wait) for the other or both use a [`Buffer`] that one of them
/// writes. CPU: methods do the work at once, on the calling thread and the executor's.
///
/// Threads may share a stream; their work then comes in some order. A fault on a GPU shows at any
/// later call for the device, as [`DeviceError::Fault`]; `WARPSMITH_SYNC=1` in the environment waits
/// for every launch.
#[derive(Debug)]
pub struct Stream {
    device: Device,
    queue: Queue,
}

#[derive(Debug)]
enum Queue {
    /// The uses of buffers keep it, too, for those who have to wait for them.
    Cuda(Arc<Lane<CudaStream>>),
    /// Held while something is done.
    Cpu(Mutex<()>),
    /// CPU: recorded work of all streams of a capture.
    Recording(Arc<Mutex<Vec<Work>>>),
}

/// A kernel's body that has forgotten how long its arguments live. Dropping it leaves them alone.
struct Body(Box<dyn Fn() + Sync>);

// SAFETY: the closure is `Sync` and only called through shared references; dropping it frees a box
// and nothing else.
unsafe impl Send for Body {}

impl Body {
    /// # Safety
    /// Everything that the body borrows is alive whenever it is called.
    unsafe fn new<'a>(body: Box<dyn Fn() + Sync + 'a>) -> Self {
        // SAFETY: the types differ in the lifetime alone; by this function's contract the borrows
        // are alive at each call.
        Body(unsafe { std::mem::transmute::<Box<dyn Fn() + Sync + 'a>, Box<dyn Fn() + Sync>>(body) })
    }

    fn get(&self) -> &(dyn Fn() + Sync) {
        &*self.0
    }
}

/// An address in the memory of this process, for work that is done later.
struct Address<T>(*mut T);

// SAFETY: it is only an address; code that dereferences it has its own SAFETY comment.
unsafe impl<T> Send for Address<T> {}
// SAFETY: a shared reference to it gives the address alone.
unsafe impl<T> Sync for Address<T> {}

impl<T> Address<T> {
    fn get(&self) -> *mut T {
        self.0
    }
}

impl Stream {
    pub(super) fn new(device: &Device) -> Result<Self, DeviceError> {
        let queue = match &device.inner {
            Inner::Cuda(cuda) => Queue::Cuda(Lane::new(CudaStream::new(cuda)?)),
            Inner::Cpu(_) => Queue::Cpu(Mutex::new(())),
        };
        Ok(Stream { device: device.clone(), queue })
    }

    /// Streams whose work goes into a graph.
    pub(super) fn for_capture(device: &Device, count: usize) -> Result<Vec<Self>, DeviceError> {
        let work = Arc::default();
        let stream = |_| {
            let queue = match &device.inner {
                Inner::Cuda(cuda) => Queue::Cuda(Lane::new(CudaStream::for_capture(cuda)?)),
                Inner::Cpu(_) => Queue::Recording(Arc::clone(&work)),
            };
            Ok(Stream { device: device.clone(), queue })
        };
        (0..count).map(stream).collect()
    }

    /// CUDA's.
    pub(super) fn cuda(&self) -> Option<&CudaStream> {
        if let Queue::Cuda(lane) = &self.queue { Some(&lane.queue) } else { None }
    }

    /// Returns the work recorded on the CPU by all streams of its capture.
    pub(super) fn take_recorded(&self) -> Vec<Work> {
        match &self.queue {
            Queue::Recording(work) => std::mem::take(&mut *lock(work)),
            _ => Vec::new(),
        }
    }

    /// Itself, if a graph of `device` can be launched on it.
    pub(super) fn for_graph(&self, device: &Device) -> Result<&Self, DeviceError> {
        self.at_once("the launch of a graph")?;
        if device.location() == self.device.location() { Ok(self) } else { Err(self.wrong_device("a graph", device)) }
    }

    /// Calls `work` when nothing else is done on this stream of the CPU.
    pub(super) fn in_turn<R>(&self, work: impl FnOnce() -> R) -> R {
        let _turn = if let Queue::Cpu(turn) = &self.queue { take_turn(turn) } else { None };
        work()
    }

    /// Sees to it that the stream isn't captured, for work that can't be part of a graph.
    fn at_once(&self, what: &'static str) -> Result<(), DeviceError> {
        if self.is_captured() { Err(DeviceError::InCapture { what }) } else { Ok(()) }
    }

    /// Returns whether what is enqueued goes into a graph, to be done any number of times.
    pub fn is_captured(&self) -> bool {
        match &self.queue {
            Queue::Recording(_) => true,
            Queue::Cuda(lane) => lane.queue.is_captured(),
            Queue::Cpu(_) => false,
        }
    }

    /// The device that it is for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Launches a kernel: what [`launch!`](crate::launch!) comes to.
    ///
    /// An extent of zero in the grid makes it a launch of nothing, which succeeds. The configuration is bound with the
    /// arguments, so that an `unsafe` kernel's contract speaks of it, too:
    /// ```compile_fail,E0133
    /// # use gpu_kernels::samples;
    /// # use warpsmith::device::{Device, DeviceError, LaunchConfig};
    /// # let device = Device::best()?;
    /// # let stream = device.stream()?;
    /// # let mut values = device.upload(&[1u32, 2, 3, 4])?;
    /// // Four threads of a block, and no shared memory.
    /// stream.launch(samples::reverse_blocks::bind(LaunchConfig::new(1, 4), &mut values))?;
    /// # Ok::<(), DeviceError>(())
    /// ```
    /// A kernel with its arguments isn't put together by hand:
    /// ```compile_fail,E0451
    /// # use cuda_std::launch::{Arguments, Bound, LaunchConfig};
    /// # use gpu_kernels::samples;
    /// # let (kernel, config) = (samples::saxpy::kernel(), LaunchConfig::new(1, 32));
    /// Bound { kernel, config, arguments: Arguments::default(), body: Box::new(|| ()) };
    /// ```
    ///
    /// # Errors
    /// [`DeviceError::LaunchFailed`] where configuration and kernel don't go together, the device refuses them, or it
    /// is a GPU and the program has no PTX of the kernel ([`kernel_module!`](crate::kernel_module!));
    /// [`DeviceError::ArgumentElsewhere`] where a buffer belongs to another device. CPU: [`DeviceError::Simt`] where
    /// the kernel itself fails.
    pub fn launch(&self, bound: Bound<'_>) -> Result<(), DeviceError> {
        let (kernel, config, arguments) = (bound.kernel(), bound.config(), bound.arguments());
        if !launch::check(kernel, arguments, &config, &self.device)? {
            return Ok(());
        }
        let cpu = match (&self.queue, &self.device.inner) {
            (Queue::Cuda(lane), Inner::Cuda(cuda)) => {
                let module = cuda.module(image::of(kernel, arguments.layouts())?)?;
                let accesses = arguments.memory().iter().filter_map(|(memory, writes)| {
                    Some(Access { page: memory.page?, bytes: memory.bytes.clone(), writes: *writes })
                });
                // SAFETY: the image belongs to the kernel's own crate and was built from its
                // source, as its declaration promises. `bind` made the arguments for the kernel, of
                // buffers of this device.
                return enqueue(lane, accesses, &|stream| unsafe { stream.launch(module, kernel, arguments, &config) });
            }
            (Queue::Cpu(_) | Queue::Recording(_), Inner::Cpu(cpu)) => cpu,
            // A stream's queue is of its device's kind.
            _ => return Err(refused(kernel, "its stream belongs to no device".to_owned())),
        };
        #[cfg(simt_check)]
        image::check_types(kernel, arguments.layouts())?;
        let memory = checked_memory(arguments);
        // SAFETY: the arguments are in this process's memory, as this device's is, and the configuration has been
        // checked.
        let body = unsafe { bound.into_body() };
        if let Queue::Recording(work) = &self.queue {
            // SAFETY: only `Graph::launch` calls it, whose contract is that the arguments are still there.
            let body = unsafe { Body::new(body) };
            lock(work).push(Work::new(move |cpu| run_on_cpu(cpu, kernel, &config, memory.as_deref(), body.get())));
            return Ok(());
        }
        self.in_turn(|| run_on_cpu(cpu, kernel, &config, memory.as_deref(), &*body))
    }

    /// Copies `source` into `target`, which has as many elements, and waits until `source` is free again.
    ///
    /// # Errors
    /// [`DeviceError::LengthMismatch`], [`DeviceError::WrongDevice`].
    pub fn upload<'a, T: DeviceCopy>(&self, target: impl Into<ViewMut<'a, T>>, source: &[T]) -> Result<(), DeviceError> {
        let target = target.into();
        self.check_home(target.device())?;
        same_length("the slice to upload", source.len(), target.len())?;
        // SAFETY: both are as long; nothing else has the target, and the source is borrowed until `synchronize`
        // returns.
        self.finish(unsafe { self.copy_from_host(&target, source.as_ptr()) })
    }

    /// Copies `source` into `target`, which has as many elements, and waits until it is done.
    ///
    /// # Errors
    /// [`DeviceError::LengthMismatch`], [`DeviceError::WrongDevice`].
    pub fn download<'a, T: DeviceCopy>(&self, source: impl Into<View<'a, T>>, target: &mut [T]) -> Result<(), DeviceError> {
        let source = source.into();
        self.check_home(source.device())?;
        same_length("the slice to download into", target.len(), source.len())?;
        if T::LAYOUT != 0 {
            // A copy that fails halfway may leave bytes that are no value.
            target.copy_from_slice(&self.download_vec(source)?);
            return Ok(());
        }
        // SAFETY: both are as long, and the target is borrowed until `synchronize` returns. Any bytes are a value of
        // its type, so that it may be left with a part of the copy.
        self.finish(unsafe { self.copy_to_host(&source, target.as_mut_ptr()) })
    }

    /// The elements of `source`, as a vector; waits for them.
    ///
    /// # Errors
    /// [`DeviceError::WrongDevice`], [`DeviceError::OutOfMemory`] where the host has too little.
    pub fn download_vec<'a, T: DeviceCopy>(&self, source: impl Into<View<'a, T>>) -> Result<Vec<T>, DeviceError> {
        let source = source.into();
        self.check_home(source.device())?;
        let mut target = Vec::new();
        if target.try_reserve_exact(source.len()).is_err() {
            let memory = crate::memory::memory();
            return Err(DeviceError::OutOfMemory {
                requested: source.byte_len(),
                free: memory.free,
                total: memory.total,
                device: "the host".to_owned(),
            });
        }
        // SAFETY: there is room for as many elements, which nobody else has until `synchronize` returns; then they are
        // all there.
        unsafe {
            self.finish(self.copy_to_host(&source, target.as_mut_ptr()))?;
            target.set_len(source.len());
        }
        Ok(target)
    }

    /// Copies `source` into `target`, which has as many elements, on the device. Doesn't wait.
    ///
    /// # Errors
    /// [`DeviceError::LengthMismatch`], [`DeviceError::WrongDevice`] where one of the two is of another device than the
    /// stream.
    pub fn copy<'a, 'b, T: DeviceCopy>(
        &self,
        source: impl Into<View<'a, T>>,
        target: impl Into<ViewMut<'b, T>>,
    ) -> Result<(), DeviceError> {
        let (source, target) = (source.into(), target.into());
        self.check_home(source.device())?;
        self.check_home(target.device())?;
        same_length("the target of a copy", target.len(), source.len())?;
        let (bytes, accesses) = (source.byte_len(), source.access(false).into_iter().chain(target.access(true)));
        let (from, to) = (Address(source.first().cast::<u8>()), Address(target.first().cast::<u8>()));
        // SAFETY: both are as long, and of this device.
        let on_gpu = |stream: &CudaStream| unsafe { stream.copy(target.as_device_ptr(), source.as_device_ptr(), bytes) };
        self.work(bytes, accesses, &on_gpu, move || {
            // SAFETY: both are as long, and don't overlap, as the target is borrowed mutably. Where it is recorded,
            // `Graph::launch`'s contract is that this still holds.
            unsafe { std::ptr::copy_nonoverlapping(from.get(), to.get(), bytes) };
            note_written(to.get(), bytes);
        })
    }

    /// Copies bytes between addresses that may be of two devices of one kind. Doesn't wait. For what has no [`Buffer`]
    /// at hand, such as messages between ranks; see [`Device::enable_peer_access`]. Nothing is known of
    /// it where other work on the same memory is put in order.
    ///
    /// # Errors
    /// [`DeviceError::InCapture`].
    ///
    /// # Safety
    /// There are as many bytes at both addresses, of memory of devices of this stream's kind, and they don't overlap.
    /// Until the copy is done both stay allocated, nobody else writes either, and nobody reads `to`.
    pub unsafe fn copy_bytes(&self, to: u64, from: u64, bytes: usize) -> Result<(), DeviceError> {
        self.at_once("a copy between devices")?;
        if bytes == 0 {
            return Ok(());
        }
        match &self.queue {
            // SAFETY: as many bytes are at both addresses until the copy is done, by the contract of this function.
            Queue::Cuda(lane) => unsafe { lane.queue.copy(to, from, bytes) },
            Queue::Cpu(turn) => {
                let _turn = take_turn(turn);
                let (to, from) = (std::ptr::with_exposed_provenance_mut::<u8>(to as usize), from as usize);
                // SAFETY: as many bytes are at both addresses and don't overlap, by the contract of this function.
                unsafe { std::ptr::copy_nonoverlapping(std::ptr::with_exposed_provenance::<u8>(from), to, bytes) };
                note_written(to, bytes);
                Ok(())
            }
            Queue::Recording(_) => unreachable!("it isn't captured"),
        }
    }

    /// Sets all bytes of `target` to 0. Doesn't wait.
    ///
    /// Zeroes have to be a value, which those of this enum aren't:
    /// ```compile_fail,E0277
    /// # use cuda_std::DeviceCopy;
    /// # use warpsmith::device::{Device, DeviceError};
    /// #[derive(Clone, Copy, DeviceCopy)]
    /// #[repr(u8)]
    /// enum Sign {
    ///     Plus = b'+',
    ///     Minus = b'-',
    /// }
    /// # let device = Device::cpu();
    /// let mut signs = device.upload(&[Sign::Plus, Sign::Minus])?;
    /// device.stream()?.fill_zero(&mut signs)?;
    /// # Ok::<(), DeviceError>(())
    /// ```
    ///
    /// # Errors
    /// [`DeviceError::WrongDevice`].
    pub fn fill_zero<'a, T: DeviceCopy + Zeroable>(&self, target: impl Into<ViewMut<'a, T>>) -> Result<(), DeviceError> {
        // SAFETY: zeroes are a value of `T`.
        unsafe { self.fill_pattern(&target.into(), 0, 1) }
    }

    /// Sets all elements of `target` to `value`, whose bytes must be a repetition of 1, 2 or 4 of them. Doesn't wait.
    ///
    /// So a `u8`, `u16`, `f32` or `i32` may have any value, a `u64` one with two equal halves, such as 0 or `u64::MAX`.
    /// Padding has no bytes to compare: a structure with it isn't `NoUninit`.
    ///
    /// # Errors
    /// [`DeviceError::NotAPattern`] on either backend where it is no such repetition; [`DeviceError::WrongDevice`], and
    /// what earlier work on the device came to.
    pub fn fill<'a, T: DeviceCopy + NoUninit>(&self, target: impl Into<ViewMut<'a, T>>, value: T) -> Result<(), DeviceError> {
        let target = target.into();
        self.check_home(target.device())?;
        let (pattern, width) = pattern(bytemuck::bytes_of(&value)).ok_or(DeviceError::NotAPattern { size: size_of::<T>() })?;
        // SAFETY: the pattern is that of a value's bytes.
        unsafe { self.fill_pattern(&target, pattern, width) }
    }

    /// Sets `target` to repetitions of the `width` (1, 2 or 4) low bytes of `pattern`.
    ///
    /// # Safety
    /// As many as fit in an element, and they do without a rest, are the bytes of a value.
    unsafe fn fill_pattern<T: DeviceCopy>(&self, target: &ViewMut<'_, T>, pattern: u32, width: usize) -> Result<(), DeviceError> {
        self.check_home(target.device())?;
        let bytes = target.byte_len();
        // SAFETY: these are the target's bytes. It starts at a multiple of the element's size, and so of the pattern's
        // width.
        let on_gpu = |stream: &CudaStream| unsafe { stream.fill(target.as_device_ptr(), pattern, width, bytes / width) };
        let to = Address(target.first().cast::<u8>());
        self.work(bytes, target.access(true).into_iter(), &on_gpu, move || {
            let (first, n) = (to.get(), bytes / width);
            // SAFETY: as many bytes are there, borrowed mutably (where it is recorded, by the contract of
            // `Graph::launch`), and initialised if the pattern is wider than a byte, that of elements without padding.
            // They start at a multiple of the element's size, and so of the pattern's width.
            unsafe {
                match width {
                    // The elements may have padding, which isn't initialised.
                    1 => first.write_bytes(pattern as u8, n),
                    2 => std::slice::from_raw_parts_mut(first.cast::<u16>(), n).fill(pattern as u16),
                    _ => std::slice::from_raw_parts_mut(first.cast::<u32>(), n).fill(pattern),
                }
            }
            note_written(first, bytes);
        })
    }

    /// Copies the first elements of `source`, as many as `target` has, and lets the host go on meanwhile.
    ///
    /// # Errors
    /// [`DeviceError::LengthMismatch`] where `source` has fewer, [`DeviceError::WrongDevice`] also where `source` was
    /// made for the other backend. `source` is dropped then.
    pub fn upload_async<'a, T: DeviceCopy>(
        &self,
        source: PinnedBuffer<T>,
        target: impl Into<ViewMut<'a, T>>,
    ) -> Result<Pending<PinnedBuffer<T>>, DeviceError> {
        let target = target.into();
        self.check_home(target.device())?;
        self.check_pinned(&source, target.len())?;
        let event = Event::new(&self.device, false)?;
        // SAFETY: both are long enough; `pend` keeps the source as it is until the copy is done.
        let copied = unsafe { self.copy_from_host(&target, source.as_ptr()) };
        self.pend(copied, source, event)
    }

    /// Copies all elements of `source` to the front of `target`, and lets the host go on meanwhile.
    ///
    /// # Errors
    /// [`DeviceError::LengthMismatch`] where `target` is shorter, [`DeviceError::WrongDevice`] also where `target` was
    /// made for the other backend. `target` is dropped then.
    pub fn download_async<'a, T: DeviceCopy>(
        &self,
        source: impl Into<View<'a, T>>,
        mut target: PinnedBuffer<T>,
    ) -> Result<Pending<PinnedBuffer<T>>, DeviceError> {
        let source = source.into();
        self.check_home(source.device())?;
        self.check_pinned(&target, source.len())?;
        let event = Event::new(&self.device, false)?;
        // SAFETY: both are long enough; `pend` keeps the target from everyone until the copy is done.
        let copied = unsafe { self.copy_to_host(&source, target.as_mut_ptr()) };
        self.pend(copied, target, event)
    }

    fn check_pinned<T: DeviceCopy>(&self, buffer: &PinnedBuffer<T>, needed: usize) -> Result<(), DeviceError> {
        if buffer.len() < needed {
            return Err(DeviceError::LengthMismatch { what: "a pinned buffer", found: buffer.len(), expected: needed });
        }
        if !buffer.suits(&self.device) {
            let found = "the other backend".to_owned();
            return Err(DeviceError::WrongDevice { what: "a pinned buffer", found, expected: self.device.to_string() });
        }
        Ok(())
    }

    /// Waits for a copy, even if enqueueing it reported an error: it may be under way all the same.
    fn finish(&self, copied: Result<(), DeviceError>) -> Result<(), DeviceError> {
        let done = self.synchronize();
        copied.and(done)
    }

    /// Hands out a buffer together with the event behind its copy, if both could be enqueued.
    fn pend<B>(&self, copied: Result<(), DeviceError>, buffer: B, event: Event) -> Result<Pending<B>, DeviceError> {
        match copied.and_then(|()| self.record_into(&event)) {
            Ok(()) => Ok(Pending::new(buffer, event)),
            Err(error) => {
                // The copy may be under way all the same.
                if self.synchronize().is_err() {
                    std::mem::forget(buffer);
                }
                Err(error)
            }
        }
    }

    /// An event at this point of the stream's work.
    pub fn record(&self) -> Result<Event, DeviceError> {
        let event = Event::new(&self.device, true)?;
        self.record_into(&event)?;
        Ok(event)
    }

    /// Moves an event to this point of the stream's work.
    ///
    /// # Errors
    /// [`DeviceError::WrongDevice`].
    pub fn record_into(&self, event: &Event) -> Result<(), DeviceError> {
        self.at_once("an event")?;
        match (&self.queue, &self.device.inner, &event.kind) {
            (Queue::Cuda(lane), Inner::Cuda(cuda), Kind::Cuda { event: raw, clock }) if event.is_of(cuda) => {
                let mut clock = lock(clock);
                let now = lane.now();
                lane.queue.record(raw)?;
                *clock = Some(Arc::new(now));
                Ok(())
            }
            (Queue::Cpu(turn), _, Kind::Cpu(at)) => {
                let _turn = take_turn(turn);
                *lock(at) = Some(Instant::now());
                Ok(())
            }
            _ => Err(DeviceError::WrongDevice { what: "an event", found: event.home(), expected: self.device.to_string() }),
        }
    }

    /// Lets what is enqueued from now on wait until `event` is reached, which may be another device's. The host doesn't
    /// wait on CUDA.
    pub fn wait(&self, event: &Event) -> Result<(), DeviceError> {
        self.at_once("a wait for an event")?;
        match (&self.queue, &event.kind) {
            (Queue::Cuda(lane), Kind::Cuda { event, clock }) => {
                let clock = lock(clock);
                lane.queue.wait(event)?;
                if let Some(clock) = &*clock {
                    lane.comes_after(clock);
                }
                Ok(())
            }
            // The CPU works at once, so the wait has to be now; work that a CPU event recorded is
            // done.
            (_, Kind::Cuda { .. }) => event.synchronize(),
            (_, Kind::Cpu(_)) => Ok(()),
        }
    }

    /// Makes later work wait for everything enqueued on `other` so far. Streams of one
    /// [capture](Device::capture_branches) may wait for each other; a captured stream can't wait
    /// for others.
    ///
    /// # Errors
    /// [`DeviceError::InCapture`].
    pub fn wait_for(&self, other: &Stream) -> Result<(), DeviceError> {
        match (&self.queue, &other.queue, &self.device.inner) {
            (Queue::Cuda(own), Queue::Cuda(others), Inner::Cuda(cuda))
                if own.queue.is_captured() && others.queue.is_captured() =>
            {
                let reached = CudaEvent::new(cuda, false)?;
                others.queue.record(&reached)?;
                own.queue.wait(&reached)
            }
            // Branches on the CPU run in the order of recording.
            (Queue::Recording(own), Queue::Recording(others), _) if Arc::ptr_eq(own, others) => Ok(()),
            _ if std::ptr::eq(self, other) => Ok(()),
            _ => self.wait(&other.record()?),
        }
    }

    /// Returns the driver's handle of the stream, for other libraries; `None` on the CPU. It is
    /// valid as long as the stream lives.
    pub fn handle(&self) -> Option<u64> {
        self.cuda().map(CudaStream::handle)
    }

    /// Lets what is enqueued from now on wait for all work that another library has enqueued on the stream with this
    /// handle (1 is the legacy default stream, 2 this thread's). On the CPU it does nothing.
    ///
    /// # Errors
    /// [`DeviceError::InCapture`].
    ///
    /// # Safety
    /// The handle is of a stream of this stream's device, which lives until this returns.
    pub unsafe fn wait_for_handle(&self, handle: u64) -> Result<(), DeviceError> {
        self.at_once("a wait for another library's stream")?;
        match self.cuda() {
            // SAFETY: it is a live stream of the same device (this function's contract).
            Some(stream) => unsafe { stream.wait_for_handle(handle) },
            None => Ok(()),
        }
    }

    /// Waits until all is done.
    ///
    /// # Errors
    /// [`DeviceError::Fault`] where a kernel went wrong.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.at_once("a wait for the stream")?;
        match &self.queue {
            Queue::Cuda(lane) => {
                let now = lane.now();
                lane.queue.synchronize()?;
                now.note_done();
                Ok(())
            }
            Queue::Cpu(turn) => {
                let _turn = take_turn(turn);
                Ok(())
            }
            Queue::Recording(_) => Ok(()),
        }
    }

    /// Returns true if all work is done.
    ///
    /// # Errors
    /// [`DeviceError::Fault`] if a kernel failed.
    pub fn is_done(&self) -> Result<bool, DeviceError> {
        self.at_once("a question for what is done")?;
        match &self.queue {
            Queue::Cuda(lane) => {
                let now = lane.now();
                let done = lane.queue.is_done()?;
                if done {
                    now.note_done();
                }
                Ok(done)
            }
            Queue::Cpu(_) | Queue::Recording(_) => Ok(true),
        }
    }

    /// Waits for the work that `work` enqueues here, and returns the device's time for it in
    /// milliseconds.
    ///
    /// CUDA: between two events, so that the host's part counts only where the device waits for it.
    ///
    /// ```
    /// # use warpsmith::device::{Device, DeviceError};
    /// # let device = Device::cpu();
    /// let stream = device.stream()?;
    /// let mut values = device.alloc::<u32>(1000)?;
    /// let ms = stream.time(|stream| stream.fill(&mut values, 7))?;
    /// # assert!(ms >= 0.0);
    /// # Ok::<(), DeviceError>(())
    /// ```
    ///
    /// # Errors
    /// What `work` returns.
    pub fn time<E: From<DeviceError>>(&self, work: impl FnOnce(&Self) -> Result<(), E>) -> Result<f64, E> {
        // Both events are made before the clock starts.
        let (start, end) = (Event::new(&self.device, true)?, Event::new(&self.device, true)?);
        self.record_into(&start)?;
        work(self)?;
        self.record_into(&end)?;
        Ok(end.elapsed_ms(&start)?)
    }

    /// Copies as many elements as `target` has. Doesn't wait on CUDA.
    ///
    /// # Safety
    /// `source` is as long, and stays as it is until the copy is done. `target` is of this stream's device.
    unsafe fn copy_from_host<T: DeviceCopy>(&self, target: &ViewMut<'_, T>, source: *const T) -> Result<(), DeviceError> {
        self.at_once("an upload")?;
        let bytes = target.byte_len();
        // SAFETY: the source is as long and stays until the copy is done, by the contract of this function; the target is
        // of this device.
        let on_gpu = |stream: &CudaStream| unsafe { stream.copy_from_host(target.as_device_ptr(), source.cast(), bytes) };
        let (from, to) = (Address(source.cast_mut()), Address(target.first()));
        let n = target.len();
        self.work(bytes, target.access(true).into_iter(), &on_gpu, move || {
            // SAFETY: both are as long, by the contract of this function; a buffer's memory has no other owner, so that
            // they don't overlap.
            unsafe { std::ptr::copy_nonoverlapping(from.get(), to.get(), n) };
            note_written(to.get().cast(), bytes);
        })
    }

    /// Copies all elements of `source`. Doesn't wait on CUDA.
    ///
    /// # Safety
    /// There is room for as many at `target`, which nobody accesses until the copy is done. `source` is of this
    /// stream's device.
    unsafe fn copy_to_host<T: DeviceCopy>(&self, source: &View<'_, T>, target: *mut T) -> Result<(), DeviceError> {
        self.at_once("a download")?;
        let bytes = source.byte_len();
        // SAFETY: there is room at the target until the copy is done, by the contract of this function; the source is of
        // this device.
        let on_gpu = |stream: &CudaStream| unsafe { stream.copy_to_host(target.cast(), source.as_device_ptr(), bytes) };
        let (from, to) = (Address(source.first()), Address(target));
        let n = source.len();
        self.work(bytes, source.access(false).into_iter(), &on_gpu, move || {
            // SAFETY: there is room for all elements, by the contract of this function; a buffer's memory has no other
            // owner, so that the two don't overlap.
            unsafe { std::ptr::copy_nonoverlapping(from.get(), to.get(), n) };
        })
    }

    /// Does work on so many bytes, if any: enqueued on a GPU behind the earlier uses of what it accesses, and on the CPU
    /// at once, or whenever the graph is launched that the stream records.
    fn work(
        &self,
        bytes: usize,
        accesses: impl Iterator<Item = Access> + Clone,
        on_gpu: &dyn Fn(&CudaStream) -> Result<(), DeviceError>,
        on_cpu: impl Fn() + Send + Sync + 'static,
    ) -> Result<(), DeviceError> {
        match &self.queue {
            _ if bytes == 0 => return Ok(()),
            Queue::Cuda(lane) => return enqueue(lane, accesses, on_gpu),
            Queue::Cpu(turn) => {
                let _turn = take_turn(turn);
                on_cpu();
            }
            Queue::Recording(work) => lock(work).push(Work::new(move |_| {
                on_cpu();
                Ok(())
            })),
        }
        Ok(())
    }

    /// Sees to it that memory of `device` can be used on this stream.
    ///
    /// # Errors
    /// [`DeviceError::WrongDevice`] where it is another device than the stream's.
    pub fn check_home(&self, device: &Device) -> Result<(), DeviceError> {
        if device.location() == self.device.location() { Ok(()) } else { Err(self.wrong_device("a buffer", device)) }
    }

    fn wrong_device(&self, what: &'static str, found: &Device) -> DeviceError {
        DeviceError::WrongDevice { what, found: found.to_string(), expected: self.device.to_string() }
    }
}

/// Enqueues `work` behind what it has to come after.
fn enqueue(
    lane: &Arc<Lane<CudaStream>>,
    accesses: impl Iterator<Item = Access> + Clone,
    work: &dyn Fn(&CudaStream) -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    if lane.queue.is_captured() {
        // Nothing runs yet; the caller of `Graph::launch` is responsible for the order.
        return work(&lane.queue);
    }
    let wait = |other: &CudaStream| {
        let event = CudaEvent::new(other.cuda(), false)?;
        other.record(&event)?;
        lane.queue.wait(&event)
    };
    lane.enqueue(&lane.queue.cuda().ledger, accesses, wait, work)
}

/// Tells checked runs that these bytes, of the CPU, have values now.
fn note_written(first: *mut u8, bytes: usize) {
    memory::written(first.addr()..first.addr() + bytes);
}

/// The memory of a kernel's arguments, where a checked run watches it.
fn checked_memory(arguments: &Arguments) -> Option<Vec<Memory>> {
    cfg!(simt_check).then(|| {
        let memory = arguments.memory().iter();
        memory.map(|(memory, writes)| Memory { bytes: memory.bytes.clone(), writes: *writes }).collect()
    })
}

fn run_on_cpu(
    cpu: &Cpu,
    kernel: &KernelInfo,
    config: &LaunchConfig,
    memory: Option<&[Memory]>,
    body: &(dyn Fn() + Sync),
) -> Result<(), DeviceError> {
    let LaunchConfig { grid, block, shared } = *config;
    let launch = simt::Launch { kernel: kernel.name(), grid, block, dynamic_shared: shared };
    #[cfg(simt_check)]
    super::checked::note(kernel);
    if let Some(cluster) = kernel.contract.cluster {
        return Ok(cpu.executor.run_clusters(&launch, cluster, memory, body)?);
    }
    let run = if kernel.contract.cooperative { simt::Executor::run_cooperative } else { simt::Executor::run_over };
    Ok(run(&cpu.executor, &launch, memory, body)?)
}

/// The CPU's streams do one thing at a time.
fn take_turn(turn: &Mutex<()>) -> Option<MutexGuard<'_, ()>> {
    // A kernel that uses the stream it runs on would wait for itself. The executor has an error for it.
    (!simt::current::is_active()).then(|| lock(turn))
}

fn same_length(what: &'static str, found: usize, expected: usize) -> Result<(), DeviceError> {
    if found == expected { Ok(()) } else { Err(DeviceError::LengthMismatch { what, found, expected }) }
}

/// The shortest pattern of 1, 2 or 4 bytes that `bytes` are a repetition of, in the low bytes of a word, and its width.
fn pattern(bytes: &[u8]) -> Option<(u32, usize)> {
    [1, 2, 4].into_iter().find_map(|width| {
        let mut chunks = bytes.chunks_exact(width);
        let first = match chunks.next() {
            Some(first) => first,
            // No bytes at all repeat anything.
            None if bytes.is_empty() => &[0],
            None => return None,
        };
        if !chunks.remainder().is_empty() || chunks.any(|chunk| chunk != first) {
            return None;
        }
        let mut word = [0; 4];
        word[..first.len()].copy_from_slice(first);
        Some((u32::from_le_bytes(word), width))
    })
}

impl Device {
    /// A buffer with the elements of `values`, there when this returns.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    pub fn upload<T: DeviceCopy>(&self, values: &[T]) -> Result<Buffer<T>, DeviceError> {
        let buffer = Buffer::new(self, values.len())?;
        match &self.inner {
            _ if values.is_empty() || buffer.byte_len() == 0 => {}
            Inner::Cuda(cuda) => {
                let stream = cuda.service()?;
                // SAFETY: both are as long, nobody else knows of the buffer, and the values are borrowed until
                // `synchronize` returns.
                unsafe { stream.upload(buffer.as_device_ptr(), values.as_ptr().cast(), buffer.byte_len())? };
            }
            // SAFETY: the buffer is as long as the values, and nobody else knows of it.
            Inner::Cpu(_) => unsafe {
                std::ptr::copy_nonoverlapping(values.as_ptr(), buffer.as_view().first(), values.len());
                buffer.as_view().note_written();
            },
        }
        Ok(buffer)
    }

    /// A buffer of `len` elements whose bytes are all 0.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    pub fn alloc_zeroed<T: DeviceCopy + Zeroable>(&self, len: usize) -> Result<Buffer<T>, DeviceError> {
        let buffer = Buffer::new(self, len)?;
        if let Inner::Cuda(cuda) = &self.inner
            && buffer.byte_len() > 0
        {
            let stream = cuda.service()?;
            // SAFETY: these are the buffer's bytes, and nobody else knows of it.
            unsafe { stream.fill(buffer.as_device_ptr(), 0, 1, buffer.byte_len())? };
            stream.synchronize()?;
        }
        // On the CPU all memory is zero at first.
        buffer.as_view().note_written();
        Ok(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn patterns() {
        assert_eq!(pattern(&[7]), Some((7, 1)));
        assert_eq!(pattern(&[7; 8]), Some((7, 1)));
        assert_eq!(pattern(&0x0102u16.to_le_bytes()), Some((0x0102, 2)));
        assert_eq!(pattern(&0x0102_0102u32.to_le_bytes()), Some((0x0102, 2)));
        assert_eq!(pattern(&1.5f32.to_le_bytes()), Some((1.5f32.to_bits(), 4)));
        assert_eq!(pattern(&0x0102_0304_0102_0304u64.to_le_bytes()), Some((0x0102_0304, 4)));
        assert_eq!(pattern(&1u64.to_le_bytes()), None);
        assert_eq!(pattern(&[1, 2, 3]), None);
        assert_eq!(pattern(&[1, 2, 1, 2, 1, 2]), Some((0x0201, 2)));
        assert_eq!(pattern(&[]), Some((0, 1)));
    }
}
