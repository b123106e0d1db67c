//! Ranks as processes that talk through MPI.
//!
//! Only the thread that called [`init`] may use it (`MPI_THREAD_FUNNELED`); others get an error.

use std::ffi::{c_int, c_void};
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{AsRaw as _, Communicator as _, CommunicatorCollectives as _, Root as _};

use super::{Communicator, Counter, Link, Message, Plan, RanksError, Region, check_parts};

/// This process among those that `mpirun` started; one alone without it. MPI ends when the last reference goes.
///
/// # Errors
/// [`RanksError::Mpi`] where MPI was started before, or has no threads.
pub fn init() -> Result<Arc<dyn Communicator>, RanksError> {
    let (universe, threading) = mpi::initialize_with_threading(mpi::Threading::Funneled)
        .ok_or_else(|| RanksError::Mpi("it was started before in this process".to_owned()))?;
    if threading < mpi::Threading::Funneled {
        return Err(RanksError::Mpi("the library doesn't support programs with threads".to_owned()));
    }
    let world = universe.world();
    Ok(Arc::new(MpiCommunicator {
        rank: world.rank() as usize,
        size: world.size() as usize,
        home: Home(thread::current().id()),
        world,
        _universe: universe,
    }))
}

/// The thread that may call MPI.
#[derive(Clone, Copy)]
struct Home(ThreadId);

impl Home {
    fn check(self) -> Result<(), RanksError> {
        if thread::current().id() == self.0 {
            return Ok(());
        }
        Err(RanksError::Mpi("only the thread that started it may use it".to_owned()))
    }
}

struct MpiCommunicator {
    rank: usize,
    size: usize,
    home: Home,
    world: SimpleCommunicator,
    /// Ends MPI when dropped: after the communicator.
    _universe: Universe,
}

// SAFETY: handles of MPI are plain values. Methods that hand one to MPI see to it that they run on the thread that may.
unsafe impl Send for MpiCommunicator {}
// SAFETY: handles of MPI are plain values. Methods that hand one to MPI see to it that they run on the thread that may.
unsafe impl Sync for MpiCommunicator {}

impl Drop for MpiCommunicator {
    fn drop(&mut self) {
        // The universe, which is dropped next, waits for all ranks.
        if thread::panicking() && self.home.check().is_ok() {
            self.abort("its thread has panicked");
        }
    }
}

impl Communicator for MpiCommunicator {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn kind(&self) -> &'static str {
        "MPI"
    }

    fn takes_device_memory(&self) -> bool {
        is_cuda_aware()
    }

    fn barrier(&self) -> Result<(), RanksError> {
        self.home.check()?;
        self.world.barrier();
        Ok(())
    }

    fn max(&self, value: f64) -> Result<f64, RanksError> {
        self.home.check()?;
        let mut greatest = value;
        self.world.all_reduce_into(&value, &mut greatest, SystemOperation::max());
        Ok(greatest)
    }

    fn broadcast(&self, mut bytes: Vec<u8>) -> Result<Vec<u8>, RanksError> {
        self.home.check()?;
        let root = self.world.process_at_rank(0);
        let mut len = bytes.len() as u64;
        root.broadcast_into(&mut len);
        bytes.resize(len as usize, 0);
        // Without bytes, their address may mean something else to MPI.
        if !bytes.is_empty() {
            root.broadcast_into(&mut bytes[..]);
        }
        Ok(bytes)
    }

    fn gather(&self, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, RanksError> {
        use mpi::traits::{Destination as _, Source as _};
        self.home.check()?;
        if self.rank != 0 {
            // One byte more, so that there is one: see `broadcast`.
            let more = [&bytes[..], &[0]].concat();
            self.world.process_at_rank(0).send(&more[..]);
            return Ok(Vec::new());
        }
        let mut all = vec![bytes];
        for rank in 1..self.size {
            let (mut bytes, _) = self.world.process_at_rank(rank as c_int).receive_vec::<u8>();
            bytes.pop();
            all.push(bytes);
        }
        Ok(all)
    }

    fn all_to_all(&self, bytes: &[u8]) -> Result<Vec<u8>, RanksError> {
        self.home.check()?;
        check_parts(bytes, self.size)?;
        let mut received = vec![0; bytes.len()];
        // Without bytes, their address may mean something else to MPI.
        if !bytes.is_empty() {
            self.world.all_to_all_into(bytes, &mut received[..]);
        }
        Ok(received)
    }

    fn counter(&self) -> Result<Box<dyn Counter>, RanksError> {
        self.home.check()?;
        let (mut base, mut window) = (std::ptr::null_mut::<u64>(), std::mem::MaybeUninit::uninit());
        let bytes = if self.rank == 0 { size_of::<u64>() } else { 0 };
        // SAFETY: MPI writes the address of the memory that it allocates, and the window's handle.
        let code = unsafe {
            let base: *mut *mut u64 = &mut base;
            ffi::MPI_Win_allocate(
                bytes as ffi::MPI_Aint,
                8,
                ffi::RSMPI_INFO_NULL,
                self.world.as_raw(),
                base.cast(),
                window.as_mut_ptr(),
            )
        };
        check("MPI_Win_allocate", code)?;
        // SAFETY: the call succeeded, and so has written it.
        let window = unsafe { window.assume_init() };
        if self.rank == 0 {
            // SAFETY: on rank 0 the window has one number, and before the barrier nobody else accesses it.
            unsafe { base.write(0) };
        }
        // SAFETY: the window exists, and this rank locks it from here to its end. Other ranks only
        // read and add atomically.
        check("MPI_Win_lock_all", unsafe { ffi::MPI_Win_lock_all(0, window) })?;
        self.world.barrier();
        Ok(Box::new(MpiCounter { home: self.home, window }))
    }

    unsafe fn link(&self, plan: Plan) -> Result<Box<dyn Link>, RanksError> {
        plan.check(self.rank, self.size)?;
        for message in plan.sends.iter().chain(&plan.receives) {
            if c_int::try_from(message.bytes.len()).is_err() {
                let (bytes, rank) = (message.bytes.len(), message.rank);
                return Err(RanksError::Message(format!("a message of {bytes} bytes for rank {rank} is too long for MPI")));
            }
        }
        let (sends, receives) = (Requests::new(plan.sends.len()), Requests::new(plan.receives.len()));
        Ok(Box::new(MpiLink { home: self.home, world: self.world.as_raw(), plan, sends, receives }))
    }

    fn abort(&self, reason: &str) {
        // Nobody else will say it: the processes end here.
        let host = mpi::environment::processor_name().unwrap_or_default();
        // At once: `mpirun` has something to say about it, too.
        let text = format!("error: rank {} on {host}: {reason}\n", self.rank);
        let _ = io::stderr().write_all(text.as_bytes());
        self.world.abort(2);
    }
}

/// Returns true if the library says that it takes addresses of GPU memory
/// (`MPIX_Query_cuda_support`, if it has this function).
fn is_cuda_aware() -> bool {
    // SAFETY: the name ends with a zero; looking it up has no effect.
    let query = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"MPIX_Query_cuda_support".as_ptr()) };
    if query.is_null() {
        return false;
    }
    // SAFETY: libraries that have a function of this name declare it as `int MPIX_Query_cuda_support(void)`.
    let query = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(query) };
    // SAFETY: it takes nothing.
    unsafe { query() == 1 }
}

/// A number in a window of rank 0.
struct MpiCounter {
    home: Home,
    window: ffi::MPI_Win,
}

// SAFETY: handles of MPI are plain values. Methods that hand one to MPI see to it that they run on the thread that may.
unsafe impl Send for MpiCounter {}
// SAFETY: handles of MPI are plain values. Methods that hand one to MPI see to it that they run on the thread that may.
unsafe impl Sync for MpiCounter {}

impl Counter for MpiCounter {
    fn next(&self) -> Result<u64, RanksError> {
        self.home.check()?;
        let (one, mut found) = (1u64, 0u64);
        // SAFETY: both numbers live until the flush, after which MPI is done with them; the window has a number at 0 on
        // rank 0, and is locked.
        let codes = unsafe {
            let (one, found): (*const u64, *mut u64) = (&one, &mut found);
            [
                ffi::MPI_Fetch_and_op(one.cast(), found.cast(), ffi::RSMPI_UINT64_T, 0, 0, ffi::RSMPI_SUM, self.window),
                ffi::MPI_Win_flush(0, self.window),
            ]
        };
        check("MPI_Fetch_and_op", codes[0])?;
        check("MPI_Win_flush", codes[1])?;
        Ok(found)
    }

    fn end(mut self: Box<Self>) {
        if self.home.check().is_ok() {
            // SAFETY: the window exists, is locked by this rank, and is not used any more.
            unsafe {
                ffi::MPI_Win_unlock_all(self.window);
                ffi::MPI_Win_free(&mut self.window);
            }
        }
    }
}

struct MpiLink {
    home: Home,
    world: ffi::MPI_Comm,
    plan: Plan,
    sends: Requests,
    receives: Requests,
}

// SAFETY: handles of MPI are plain values. Methods that hand one to MPI see to it that they run on the thread that may.
unsafe impl Send for MpiLink {}
// SAFETY: methods that use MPI see to it that they run on the one thread that may, and the requests, which alone
// change, are behind a lock.
unsafe impl Sync for MpiLink {}

/// Operations under way.
struct Requests(Mutex<Vec<ffi::MPI_Request>>);

impl Requests {
    fn new(capacity: usize) -> Self {
        Requests(Mutex::new(Vec::with_capacity(capacity)))
    }

    fn post(
        &self,
        (region, messages): (&Region, &[Message]),
        start: impl Fn(*mut c_void, c_int, c_int, *mut ffi::MPI_Request) -> c_int,
    ) -> Result<(), RanksError> {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for message in messages {
            let mut request = std::mem::MaybeUninit::uninit();
            let code =
                start(region.at(message).cast(), message.bytes.len() as c_int, message.rank as c_int, request.as_mut_ptr());
            check("a message", code)?;
            // SAFETY: the call succeeded, and so has written it.
            requests.push(unsafe { request.assume_init() });
        }
        Ok(())
    }

    fn wait(&self) -> Result<(), RanksError> {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: these are requests that were started and not waited for yet; the constant stands for statuses that
        // nobody wants.
        let code = unsafe { ffi::MPI_Waitall(requests.len() as c_int, requests.as_mut_ptr(), ffi::RSMPI_STATUSES_IGNORE) };
        requests.clear();
        check("MPI_Waitall", code)
    }
}

fn check(what: &str, code: c_int) -> Result<(), RanksError> {
    if code == ffi::MPI_SUCCESS as c_int { Ok(()) } else { Err(RanksError::Mpi(format!("{what} failed with code {code}"))) }
}

impl Link for MpiLink {
    fn post_sends(&self) -> Result<(), RanksError> {
        self.home.check()?;
        let tag = c_int::from(self.plan.tag);
        self.sends.post((&self.plan.send, &self.plan.sends), |first, len, rank, request| {
            // SAFETY: `Plan::check` saw to it that as many bytes are there, and by the contract of `link` they stay as
            // they are until the wait.
            unsafe { ffi::MPI_Isend(first, len, ffi::RSMPI_UINT8_T, rank, tag, self.world, request) }
        })
    }

    fn post_receives(&self) -> Result<(), RanksError> {
        self.home.check()?;
        let tag = c_int::from(self.plan.tag);
        self.receives.post((&self.plan.receive, &self.plan.receives), |first, len, rank, request| {
            // SAFETY: `Plan::check` saw to it that as many bytes are there, and by the contract of `link` nobody else
            // accesses them until the wait.
            unsafe { ffi::MPI_Irecv(first, len, ffi::RSMPI_UINT8_T, rank, tag, self.world, request) }
        })
    }

    fn wait_sends(&self) -> Result<(), RanksError> {
        self.home.check()?;
        self.sends.wait()
    }

    fn wait_receives(&self) -> Result<(), RanksError> {
        self.home.check()?;
        self.receives.wait()
    }
}

impl Drop for MpiLink {
    fn drop(&mut self) {
        // The memory may go when the link has gone.
        if self.home.check().is_ok() {
            _ = self.sends.wait();
            _ = self.receives.wait();
        }
    }
}
