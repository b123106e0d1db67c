//! Ranks as threads of one process.
//!
//! Messages go from the sender's memory straight into the receiver's, copied by the receiver: as in many MPI libraries,
//! nothing moves but inside calls. In the host's memory the receiver's thread copies while it waits. In GPUs' memory it
//! has its GPU copy, on a stream of the link's own.

use std::collections::HashMap;
use std::fmt::Display;
use std::hint::spin_loop;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::{AbortOnPanic, Communicator, Counter, Link, Message, Plan, RanksError, Region, check_parts};
use crate::common::reason;
use crate::device::{Backend, Device, DeviceError, Stream};

/// Looks of a wait before it lets other threads run.
const SPINS: usize = 64;

/// Time for which a rank spins before it sleeps in a barrier. Waking takes some microseconds, so it
/// is longer than ranks that measure wait for each other.
const AWAKE: Duration = Duration::from_millis(20);

/// The most ranks that can be threads of one process.
pub const MAX_RANKS: usize = 1024;

/// Connections of `size` ranks, one for each: each goes to a thread of its own. Messages are in the host's memory.
pub fn communicators(size: usize) -> Vec<Arc<dyn Communicator>> {
    erase(connect(vec![None; size]))
}

/// The same for ranks that have these devices, and maybe share some. If all are GPUs, messages may
/// be in their memory.
pub fn on_devices(devices: &[Device]) -> Result<Vec<Arc<dyn Communicator>>, DeviceError> {
    of_devices(devices).map(erase)
}

/// Has a thread for each of these devices, which may be the same, do a rank's `work`; gives what they come to, in order.
/// A rank whose work fails or panics, or whose thread can't be started, gives up, so that no other waits for it.
///
/// # Errors
/// That of the rank that gave up first.
pub fn run<R: Send, E: From<RanksError> + Display + Send>(
    devices: &[Device],
    work: impl Fn(&Device, Arc<dyn Communicator>) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let ranks = of_devices(devices).map_err(RanksError::from)?;
    let work = &work;
    let mut results: Vec<Option<Result<R, E>>> = thread::scope(|scope| {
        let start = |(device, ranks): (_, &Arc<ThreadCommunicator>)| {
            let own = ranks.clone() as Arc<dyn Communicator>;
            let body = move || {
                let _guard = AbortOnPanic(own.clone());
                work(device, own.clone()).inspect_err(|error| own.abort(&error.to_string()))
            };
            let thread = thread::Builder::new().spawn_scoped(scope, body);
            thread.inspect_err(|error| ranks.abort(&format!("its thread can't be started: {}", reason(error)))).ok()
        };
        let running: Vec<_> = devices.iter().zip(&ranks).map(start).collect();
        running.into_iter().map(|thread| thread?.join().ok()).collect()
    });
    // Ranks that waited for a rank that gave up report that.
    if let Some(group) = ranks.first().map(|ranks| &ranks.group)
        && let Err(error) = group.check()
    {
        let RanksError::Aborted { rank, .. } = error else { return Err(error.into()) };
        return Err(results.swap_remove(rank).and_then(Result::err).unwrap_or_else(|| error.into()));
    }
    results.into_iter().flatten().collect()
}

fn erase(ranks: Vec<Arc<ThreadCommunicator>>) -> Vec<Arc<dyn Communicator>> {
    ranks.into_iter().map(|ranks| ranks as Arc<dyn Communicator>).collect()
}

fn of_devices(devices: &[Device]) -> Result<Vec<Arc<ThreadCommunicator>>, DeviceError> {
    if devices.iter().any(|device| device.backend() == Backend::Cpu) {
        return Ok(connect(vec![None; devices.len()]));
    }
    for device in devices {
        // If one can't, the driver copies through host memory.
        devices.iter().try_for_each(|other| device.enable_peer_access(other).map(drop))?;
    }
    Ok(connect(devices.iter().cloned().map(Some).collect()))
}

/// Ranks with the devices that copy their messages.
fn connect(devices: Vec<Option<Device>>) -> Vec<Arc<ThreadCommunicator>> {
    let size = devices.len();
    let group = Arc::new(Group {
        size,
        aborted: OnceLock::new(),
        arrived: AtomicUsize::new(0),
        round: AtomicUsize::new(0),
        sleepers: AtomicUsize::new(0),
        bed: Mutex::default(),
        opened: Condvar::new(),
        values: Mutex::new(vec![Vec::new(); size]),
        made: AtomicUsize::new(0),
        counter: Mutex::default(),
        mailboxes: Mutex::default(),
    });
    let connection = |(rank, device): (usize, Option<Device>)| {
        let links = Arc::default();
        Arc::new(ThreadCommunicator { rank, device, stream: Mutex::default(), group: group.clone(), links })
    };
    devices.into_iter().enumerate().map(connection).collect()
}

/// State that the ranks share.
struct Group {
    size: usize,
    aborted: OnceLock<RanksError>,
    /// Number of ranks in the barrier, and of times that it opened.
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// Ranks that have waited so long in the barrier that they sleep, or are about to.
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    opened: Condvar,
    /// Values of the ranks in collective calls.
    values: Mutex<Vec<Vec<u8>>>,
    /// Number of links that were made.
    made: AtomicUsize,
    /// The last counter that was made.
    counter: Mutex<Arc<AtomicU64>>,
    /// By sender, receiver and tag.
    mailboxes: Mutex<HashMap<(usize, usize, u16), Arc<Mailbox>>>,
}

/// Holds the address of a message until its receiver has copied it.
#[derive(Default)]
struct Mailbox {
    full: AtomicBool,
    /// Number of the link that posted last, with its message. Locked while a thread copies it.
    letter: Mutex<(usize, Letter)>,
}

#[derive(Default)]
enum Letter {
    #[default]
    None,
    /// Here the message is.
    Posted(Region, Message),
    /// It is copied on this stream.
    Copying(Arc<Stream>),
}

impl Mailbox {
    /// Takes back what this link has posted. Nobody accesses it when this returns.
    fn withdraw(&self, link: usize) {
        let mut letter = lock(&self.letter);
        if letter.0 != link {
            // A newer link has posted since.
            return;
        }
        if let Letter::Copying(stream) = mem::take(&mut letter.1) {
            // After an error the device does nothing more.
            _ = stream.synchronize();
        }
        self.full.store(false, Ordering::Release);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Group {
    /// Waits until `done`, or until a rank gave up.
    fn wait(&self, mut done: impl FnMut() -> Result<bool, RanksError>) -> Result<(), RanksError> {
        for turn in 0usize.. {
            if done()? {
                break;
            }
            if let Err(error) = self.check() {
                // It may have been done before the other gave up.
                return if done()? { Ok(()) } else { Err(error) };
            }
            pause(turn);
        }
        Ok(())
    }

    /// That no rank gave up.
    fn check(&self) -> Result<(), RanksError> {
        self.aborted.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Returns when all ranks have called it, or one gave up. A rank that waits for long sleeps.
    fn barrier(&self) -> Result<(), RanksError> {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.size {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::SeqCst);
            self.wake();
            return Ok(());
        }
        let is_open = || self.round.load(Ordering::SeqCst) != round;
        let start = Instant::now();
        for turn in 0usize.. {
            if is_open() {
                return Ok(());
            }
            if let Err(error) = self.check() {
                // It may have opened before the other gave up.
                return if is_open() { Ok(()) } else { Err(error) };
            }
            if turn % SPINS == 0 && start.elapsed() > AWAKE {
                break;
            }
            pause(turn);
        }
        let mut bed = lock(&self.bed);
        // Either the rank that opens the barrier sees this and takes the lock, or this rank sees
        // that it is open.
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        // Likewise for the rank that gives up: the load of `aborted` alone might go before the count.
        fence(Ordering::SeqCst);
        while !is_open() && self.aborted.get().is_none() {
            bed = self.opened.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        drop(bed);
        if is_open() { Ok(()) } else { self.check() }
    }

    /// Wakes the ranks that sleep, after what they wait for has been stored.
    fn wake(&self) {
        // The store and this load are in the one order of all sequentially consistent accesses, as are a sleeper's
        // count and load.
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            // A sleeper has the lock until it sleeps.
            drop(lock(&self.bed));
            self.opened.notify_all();
        }
    }
}

/// Between two looks.
fn pause(turn: usize) {
    if turn % SPINS == SPINS - 1 { thread::yield_now() } else { spin_loop() }
}

struct ThreadCommunicator {
    rank: usize,
    /// The device that copies messages in GPU memory.
    device: Option<Device>,
    /// The stream of exchanges.
    stream: Mutex<Option<Arc<Stream>>>,
    group: Arc<Group>,
    /// This rank's links. A rank that waits copies all that it is to receive, because the senders
    /// may wait for that.
    links: Arc<Mutex<Vec<Weak<Receives>>>>,
}

impl ThreadCommunicator {
    /// Returns the result of `read` for the bytes of all ranks, in order.
    fn share<R>(&self, bytes: Vec<u8>, read: impl FnOnce(&[Vec<u8>]) -> R) -> Result<R, RanksError> {
        lock(&self.group.values)[self.rank] = bytes;
        self.barrier()?;
        let result = read(&lock(&self.group.values));
        // Nobody may give the next before all have these.
        self.barrier()?;
        Ok(result)
    }

    /// Connects the messages of a plan, which are copied on `stream` where they are in a GPU's memory.
    fn connect(
        &self,
        plan: Plan,
        stream: impl FnOnce(&Device) -> Result<Arc<Stream>, DeviceError>,
    ) -> Result<ThreadLink, RanksError> {
        plan.check(self.rank, self.group.size)?;
        let Plan { tag, sends, receives, send, receive } = plan;
        if self.device.is_none() && (send.is_on_device() || receive.is_on_device()) {
            let reason = "messages are to be in a GPU's memory, but the ranks have no GPUs to copy them";
            return Err(RanksError::Message(reason.to_owned()));
        }
        let mailbox = |from: usize, to: usize| lock(&self.group.mailboxes).entry((from, to, tag)).or_default().clone();
        let sends = sends.into_iter().map(|message| (mailbox(self.rank, message.rank), message)).collect();
        let receives: Vec<_> = receives.into_iter().map(|message| (mailbox(message.rank, self.rank), message)).collect();
        let stream = match &self.device {
            Some(device) if receive.is_on_device() => Some(stream(device)?),
            _ => None,
        };
        let pending = AtomicUsize::new(0);
        let done = receives.iter().map(|_| AtomicBool::new(true)).collect();
        let receives = Arc::new(Receives { region: receive, stream, messages: receives, done, pending });
        let mut links = lock(&self.links);
        links.retain(|link| link.strong_count() > 0);
        links.push(Arc::downgrade(&receives));
        let number = self.group.made.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(ThreadLink { number, group: self.group.clone(), links: self.links.clone(), region: send, sends, receives })
    }
}

struct ThreadCounter(Arc<AtomicU64>);

impl Counter for ThreadCounter {
    fn next(&self) -> Result<u64, RanksError> {
        Ok(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

impl Communicator for ThreadCommunicator {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.group.size
    }

    fn kind(&self) -> &'static str {
        "threads"
    }

    fn takes_device_memory(&self) -> bool {
        self.device.is_some()
    }

    fn barrier(&self) -> Result<(), RanksError> {
        self.group.barrier()
    }

    fn max(&self, value: f64) -> Result<f64, RanksError> {
        let values = self.share(value.to_le_bytes().to_vec(), <[_]>::to_vec)?;
        let number = |bytes: Vec<u8>| bytes.try_into().map_or(f64::NAN, f64::from_le_bytes);
        Ok(values.into_iter().map(number).fold(f64::NEG_INFINITY, f64::max))
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>, RanksError> {
        let own = if self.rank == 0 { bytes } else { Vec::new() };
        self.share(own, |values| values[0].clone())
    }

    fn gather(&self, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, RanksError> {
        self.share(bytes, |values| if self.rank == 0 { values.to_vec() } else { Vec::new() })
    }

    fn counter(&self) -> Result<Box<dyn Counter>, RanksError> {
        let mut shared = lock(&self.group.counter).clone();
        if self.rank == 0 {
            shared = Arc::default();
            *lock(&self.group.counter) = shared.clone();
        }
        self.barrier()?;
        if self.rank > 0 {
            shared = lock(&self.group.counter).clone();
        }
        // Nobody may ask for another one before all have this one.
        self.barrier()?;
        Ok(Box::new(ThreadCounter(shared)))
    }

    fn all_to_all(&self, bytes: &[u8]) -> Result<Vec<u8>, RanksError> {
        check_parts(bytes, self.group.size)?;
        let part = bytes.len() / self.group.size;
        let mine = self.rank * part..(self.rank + 1) * part;
        let parts = |all: &[Vec<u8>]| {
            all.iter().map(|bytes| bytes.get(mine.clone())).collect::<Option<Vec<_>>>().map(|parts| parts.concat())
        };
        let parts = self.share(bytes.to_vec(), parts)?;
        parts.ok_or_else(|| RanksError::Message("ranks give unequal numbers of bytes".to_owned()))
    }

    unsafe fn link(&self, plan: Plan) -> Result<Box<dyn Link>, RanksError> {
        Ok(Box::new(self.connect(plan, |device| Ok(Arc::new(device.stream()?)))?))
    }

    unsafe fn exchange(&self, plan: &Plan) -> Result<(), RanksError> {
        // Making a stream takes longer than many a message.
        let kept = |device: &Device| match &mut *lock(&self.stream) {
            Some(stream) => Ok(stream.clone()),
            none => Ok(none.insert(Arc::new(device.stream()?)).clone()),
        };
        let link = self.connect(plan.clone(), kept)?;
        link.post_receives()?;
        link.post_sends()?;
        link.wait_receives()?;
        link.wait_sends()
    }

    fn abort(&self, reason: &str) {
        // The first one is the cause.
        _ = self.group.aborted.set(RanksError::Aborted { rank: self.rank, reason: reason.to_owned() });
        self.group.wake();
    }
}

struct ThreadLink {
    /// Differs from those of all other links, and from 0.
    number: usize,
    group: Arc<Group>,
    links: Arc<Mutex<Vec<Weak<Receives>>>>,
    region: Region,
    sends: Vec<(Arc<Mailbox>, Message)>,
    receives: Arc<Receives>,
}

/// A link's messages from others.
struct Receives {
    region: Region,
    /// For copies into a GPU's memory.
    stream: Option<Arc<Stream>>,
    messages: Vec<(Arc<Mailbox>, Message)>,
    /// The messages that have arrived; all if none were asked for.
    done: Vec<AtomicBool>,
    /// Number of requested messages that have not arrived.
    pending: AtomicUsize,
}

impl Receives {
    /// Copies the requested messages that have arrived. Only its rank's thread calls it.
    fn progress(&self) -> Result<(), RanksError> {
        if self.pending.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        for ((mailbox, message), done) in self.messages.iter().zip(&self.done) {
            if done.load(Ordering::Relaxed) || !mailbox.full.load(Ordering::Acquire) {
                continue;
            }
            let mut letter = lock(&mailbox.letter);
            match mem::take(&mut letter.1) {
                // The sender has taken it back: it gave up.
                Letter::None => continue,
                Letter::Posted(region, sent) => {
                    if let Some(stream) = self.copy(&region, &sent, message)? {
                        letter.1 = Letter::Copying(stream);
                        continue;
                    }
                }
                Letter::Copying(stream) => {
                    if !stream.is_done()? {
                        letter.1 = Letter::Copying(stream);
                        continue;
                    }
                }
            }
            done.store(true, Ordering::Relaxed);
            self.pending.fetch_sub(1, Ordering::Relaxed);
            mailbox.full.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// Copies a message, or has a stream do it.
    fn copy(&self, region: &Region, sent: &Message, message: &Message) -> Result<Option<Arc<Stream>>, RanksError> {
        let bytes = sent.bytes.len();
        let wrong = |reason: String| Err(RanksError::Message(format!("rank {} sent {reason}", message.rank)));
        if bytes != message.bytes.len() {
            return wrong(format!("{bytes} bytes where {} were expected", message.bytes.len()));
        }
        if region.is_on_device() != self.region.is_on_device() {
            let place = |region: &Region| if region.is_on_device() { "a GPU's memory" } else { "the host's memory" };
            return wrong(format!("from {} what is to be received in {}", place(region), place(&self.region)));
        }
        let (from, to) = (region.at(sent), self.region.at(message));
        let Some(stream) = &self.stream else {
            // SAFETY: `Plan::check` saw to it that both messages lie within their regions, which are as long here. The
            // sender has posted its message and the receiver's memory was posted, so that by the contract of `link`
            // both are live and nobody else accesses them; the sender's link takes the message back before it goes, and
            // waits for the lock to do so.
            unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
            return Ok(None);
        };
        // SAFETY: `Plan::check` saw to it that both messages lie within their regions, of GPUs' memory, and they are
        // equally long. Both are live and nobody else accesses them, by the contract of `link`. The copy is done before
        // the message counts as received or sent; whichever of both links goes before that waits for the stream.
        unsafe { stream.copy_bytes(to.addr() as u64, from.addr() as u64, bytes)? };
        Ok(Some(stream.clone()))
    }
}

impl Drop for Receives {
    fn drop(&mut self) {
        if let Some(stream) = &self.stream {
            // After an error the device does nothing more.
            _ = stream.synchronize();
        }
    }
}

impl Drop for ThreadLink {
    fn drop(&mut self) {
        self.sends.iter().for_each(|(mailbox, _)| mailbox.withdraw(self.number));
    }
}

impl ThreadLink {
    /// Has the GPU copy what is there already. The thread itself copies during a wait.
    fn start_copies(&self) -> Result<(), RanksError> {
        if self.receives.stream.is_some() { self.receives.progress() } else { Ok(()) }
    }

    fn wait(&self, done: impl Fn() -> bool) -> Result<(), RanksError> {
        self.group.wait(|| {
            // The usual case first, without the lock.
            self.receives.progress()?;
            if done() {
                return Ok(true);
            }
            for link in lock(&self.links).iter().filter_map(Weak::upgrade) {
                link.progress()?;
            }
            Ok(false)
        })
    }
}

impl Link for ThreadLink {
    fn post_sends(&self) -> Result<(), RanksError> {
        for (mailbox, message) in &self.sends {
            *lock(&mailbox.letter) = (self.number, Letter::Posted(self.region, message.clone()));
            mailbox.full.store(true, Ordering::Release);
        }
        self.start_copies()
    }

    fn post_receives(&self) -> Result<(), RanksError> {
        let Receives { done, pending, .. } = &*self.receives;
        done.iter().for_each(|done| done.store(false, Ordering::Relaxed));
        pending.store(done.len(), Ordering::Relaxed);
        self.start_copies()
    }

    fn wait_sends(&self) -> Result<(), RanksError> {
        self.wait(|| self.sends.iter().all(|(mailbox, _)| !mailbox.full.load(Ordering::Acquire)))
    }

    fn wait_receives(&self) -> Result<(), RanksError> {
        self.wait(|| self.receives.pending.load(Ordering::Relaxed) == 0)
    }
}
