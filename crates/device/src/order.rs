//! Order of work on memory among the streams of a device.
//!
//! Streams of a GPU run side by side, and to enqueue work only borrows its buffers while it is
//! enqueued. So a [`Lane`] numbers a stream's pieces of work, a [`Ledger`] keeps the numbers of
//! each allocation's last [`Uses`], and a [`Clock`] says how much of other lanes' work comes before
//! something: before what a lane does from now on, or before an event. A piece of work waits for a
//! conflicting earlier one on another lane, unless events or the host's own waits have ordered them
//! already. Two pieces conflict if they use the same bytes and one writes. What is ordered by hand
//! thus waits for nothing else, and work on one lane for nothing at all.
//!
//! A number is given when a piece has been enqueued, so a wait for that many pieces has waited for
//! this one. Two threads that enqueue at the same time have no conflict: the borrows of their
//! buffers, which last as long, exclude it. So nobody has to hold the ledger while the driver is
//! told.

use super::DeviceError;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Number of uses of an allocation that are kept apart.
const APART: usize = 64;

/// A stream, as the order of work sees it.
#[derive(Debug)]
pub(super) struct Lane<Q> {
    pub(super) queue: Q,
    /// Number of enqueued pieces of work.
    enqueued: AtomicU64,
    /// Number of pieces known to be done.
    done: AtomicU64,
    /// Work that precedes everything enqueued from now on.
    before: Mutex<Clock<Q>>,
}

/// This many pieces of work of each of these lanes.
#[derive(Debug)]
pub(super) struct Clock<Q>(Vec<(Weak<Lane<Q>>, u64)>);

/// The last uses of all memory of a device, behind one lock: a piece of work takes it twice, however many buffers it
/// uses. With a lock for each buffer, locking took longer than all else here.
pub(super) struct Ledger<Q>(Arc<Mutex<Pages<Q>>>);

struct Pages<Q> {
    uses: Vec<Uses<Q>>,
    /// Pages without an allocation.
    free: Vec<usize>,
}

/// An allocation's place in a ledger.
pub(super) struct Page<Q> {
    ledger: Ledger<Q>,
    number: usize,
}

/// The last uses of an allocation.
struct Uses<Q>(Vec<Use<Q>>);

struct Use<Q> {
    lane: Arc<Lane<Q>>,
    number: u64,
    /// Addresses.
    bytes: Range<usize>,
    writes: bool,
}

/// A use that is about to be made.
#[derive(Clone, Debug)]
pub(super) struct Access {
    /// The allocation's [`Page::number`].
    pub(super) page: usize,
    /// Addresses.
    pub(super) bytes: Range<usize>,
    pub(super) writes: bool,
}

/// Locks a mutex, even a poisoned one: nothing in this crate panics halfway through a change.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<Q> Clone for Clock<Q> {
    fn clone(&self) -> Self {
        Clock(self.0.clone())
    }
}

impl<Q> Clock<Q> {
    fn of(&self, lane: &Arc<Lane<Q>>) -> u64 {
        self.0.iter().find(|(other, _)| other.as_ptr() == Arc::as_ptr(lane)).map_or(0, |&(_, number)| number)
    }

    fn join(&mut self, other: &Self) {
        // Nothing is known any more of lanes that are gone.
        self.0.retain(|(lane, _)| lane.strong_count() > 0);
        for (lane, number) in &other.0 {
            match self.0.iter_mut().find(|(own, _)| own.ptr_eq(lane)) {
                Some((_, own)) => *own = (*own).max(*number),
                None => self.0.push((lane.clone(), *number)),
            }
        }
    }

    /// Notes that all of this is done.
    pub(super) fn note_done(&self) {
        for (lane, number) in &self.0 {
            if let Some(lane) = lane.upgrade() {
                lane.done.fetch_max(*number, Ordering::Release);
            }
        }
    }
}

impl<Q> Lane<Q> {
    pub(super) fn new(queue: Q) -> Arc<Self> {
        let (enqueued, done) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Lane { queue, enqueued, done, before: Mutex::new(Clock(Vec::new())) })
    }

    /// All that has been enqueued, and what that comes after. To be asked before the driver is told of an event.
    pub(super) fn now(self: &Arc<Self>) -> Clock<Q> {
        let number = self.enqueued.load(Ordering::Acquire);
        let mut clock = lock(&self.before).clone();
        clock.0.push((Arc::downgrade(self), number));
        clock
    }

    /// Notes that all that is enqueued from now on comes after `clock`, as the driver has been told.
    pub(super) fn comes_after(self: &Arc<Self>, clock: &Clock<Q>) {
        lock(&self.before).join(clock);
    }

    /// Returns true if everything enqueued from now on comes after this use.
    fn is_after(self: &Arc<Self>, earlier: &Use<Q>) -> bool {
        Arc::ptr_eq(self, &earlier.lane) || earlier.is_done() || lock(&self.before).of(&earlier.lane) >= earlier.number
    }

    /// Enqueues `work`, which makes these uses of memory, behind all that it has to come after. `wait` makes what is
    /// enqueued from now on come after all that the other lane has.
    pub(super) fn enqueue(
        self: &Arc<Self>,
        ledger: &Ledger<Q>,
        accesses: impl Iterator<Item = Access> + Clone,
        wait: impl Fn(&Q) -> Result<(), DeviceError>,
        work: impl FnOnce(&Q) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let accesses = accesses.filter(|access| !access.bytes.is_empty());
        let mut pages = lock(&ledger.0);
        for access in accesses.clone() {
            while let Some(other) = pages.uses[access.page].conflict(self, &access) {
                drop(pages);
                let clock = other.now();
                wait(&other.queue)?;
                self.comes_after(&clock);
                pages = lock(&ledger.0);
            }
        }
        drop(pages);
        let result = work(&self.queue);
        let mut pages = lock(&ledger.0);
        // After an error, too: some of it may have been enqueued. With the ledger locked, so that a lane's uses come to
        // a page in the order of their numbers, whichever threads they are of.
        let number = self.enqueued.fetch_add(1, Ordering::AcqRel) + 1;
        for Access { page, bytes, writes } in accesses {
            pages.uses[page].add(self, number, bytes, writes);
        }
        result
    }
}

impl<Q> Use<Q> {
    fn is_done(&self) -> bool {
        self.number <= self.lane.done.load(Ordering::Acquire)
    }
}

impl<Q> Default for Ledger<Q> {
    fn default() -> Self {
        Ledger(Arc::new(Mutex::new(Pages { uses: Vec::new(), free: Vec::new() })))
    }
}

impl<Q> Ledger<Q> {
    /// A page for a new allocation.
    pub(super) fn page(&self) -> Page<Q> {
        let mut pages = lock(&self.0);
        let number = pages.free.pop().unwrap_or_else(|| {
            pages.uses.push(Uses(Vec::new()));
            pages.uses.len() - 1
        });
        Page { ledger: Ledger(Arc::clone(&self.0)), number }
    }
}

impl<Q> Page<Q> {
    pub(super) fn number(&self) -> usize {
        self.number
    }
}

impl<Q> Drop for Page<Q> {
    fn drop(&mut self) {
        let mut pages = lock(&self.ledger.0);
        let uses = std::mem::take(&mut pages.uses[self.number].0);
        pages.free.push(self.number);
        // A stream may go with its last use, which the lock needn't wait for.
        drop(pages);
        drop(uses);
    }
}

impl<Q> Uses<Q> {
    /// A lane that `lane` has to wait for before it makes this access.
    fn conflict(&self, lane: &Arc<Lane<Q>>, access: &Access) -> Option<Arc<Lane<Q>>> {
        let meets = |other: &Range<usize>| other.start < access.bytes.end && access.bytes.start < other.end;
        let conflict =
            self.0.iter().find(|earlier| (access.writes || earlier.writes) && meets(&earlier.bytes) && !lane.is_after(earlier));
        conflict.map(|earlier| Arc::clone(&earlier.lane))
    }

    /// Notes a use that has been enqueued, and drops uses already implied by it.
    fn add(&mut self, lane: &Arc<Lane<Q>>, number: u64, bytes: Range<usize>, writes: bool) {
        let uses = &mut self.0;
        if let [only] = &mut uses[..]
            && Arc::ptr_eq(lane, &only.lane)
            && only.bytes == bytes
            && only.writes <= writes
        {
            // Fast path: a stream repeats the same use.
            (only.number, only.writes) = (number, writes);
            return;
        }
        // The place of a use that this one replaces, so that nothing is counted where one stream does the same again
        // and again.
        let mut place = None;
        let mut kept = 0;
        uses.retain_mut(|earlier| {
            let within = bytes.start <= earlier.bytes.start && earlier.bytes.end <= bytes.end;
            let same = Arc::ptr_eq(lane, &earlier.lane);
            let covered = within && (writes || (same && !earlier.writes));
            let keep = if covered { same && place.is_none() } else { !earlier.is_done() };
            if keep {
                if covered {
                    place = Some(kept);
                }
                kept += 1;
            }
            keep
        });
        match place {
            Some(place) => {
                let earlier = &mut uses[place];
                (earlier.number, earlier.bytes, earlier.writes) = (number, bytes, writes);
            }
            None => uses.push(Use { lane: Arc::clone(lane), number, bytes, writes }),
        }
        if uses.len() > APART {
            merge(uses);
        }
    }
}

/// Makes one use of all of a kind on a lane, of whatever is between them, too.
fn merge<Q>(uses: &mut Vec<Use<Q>>) {
    let mut merged: Vec<Use<Q>> = Vec::new();
    for next in uses.drain(..) {
        let same = |use_: &&mut Use<Q>| Arc::ptr_eq(&use_.lane, &next.lane) && use_.writes == next.writes;
        match merged.iter_mut().find(same) {
            Some(use_) => {
                use_.bytes = use_.bytes.start.min(next.bytes.start)..use_.bytes.end.max(next.bytes.end);
                use_.number = use_.number.max(next.number);
            }
            None => merged.push(next),
        }
    }
    *uses = merged;
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{RngCore, SeedableRng};
    use std::cell::RefCell;
    use std::collections::HashSet;
    use std::sync::RwLock;

    impl<Q> Page<Q> {
        fn kept(&self) -> usize {
            lock(&self.ledger.0).uses[self.number].0.len()
        }
    }

    fn access(page: &Page<usize>, bytes: Range<usize>) -> impl Iterator<Item = Access> + Clone + use<> {
        std::iter::once(Access { page: page.number(), bytes, writes: true })
    }

    /// The lanes that a lane waits for as it enqueues work with this access.
    fn waits(lane: &Arc<Lane<usize>>, ledger: &Ledger<usize>, access: impl Iterator<Item = Access> + Clone) -> Vec<usize> {
        let waits = RefCell::new(Vec::new());
        let wait = |&lane: &usize| {
            waits.borrow_mut().push(lane);
            Ok(())
        };
        lane.enqueue(ledger, access, wait, |_| Ok(())).unwrap();
        waits.into_inner()
    }

    const LANES: usize = 4;
    const BUFFERS: usize = 3;
    const BYTES: usize = 12;

    /// One piece of work, on one buffer or two.
    #[derive(Clone, Debug)]
    struct Work {
        lane: usize,
        accesses: Vec<(usize, Range<usize>, bool)>,
    }

    impl Work {
        fn conflicts(&self, other: &Self) -> bool {
            self.accesses.iter().any(|(buffer, bytes, writes)| {
                other
                    .accesses
                    .iter()
                    .any(|(b, other, w)| b == buffer && (*writes || *w) && bytes.clone().any(|byte| other.contains(&byte)))
            })
        }
    }

    /// Enqueued work and its order by the driver's rules alone: sets in place of clocks.
    struct World {
        lanes: Vec<Arc<Lane<usize>>>,
        ledger: Ledger<usize>,
        buffers: Vec<Page<usize>>,
        work: Vec<Work>,
        /// Work that precedes everything a lane does from now on.
        known: RefCell<Vec<HashSet<usize>>>,
        /// Work that the host knows to be done.
        done: HashSet<usize>,
        /// Number of waits added.
        waits: RefCell<usize>,
    }

    impl World {
        fn new() -> Self {
            let ledger = Ledger::default();
            World {
                lanes: (0..LANES).map(Lane::new).collect(),
                buffers: (0..BUFFERS).map(|_| ledger.page()).collect(),
                ledger,
                work: Vec::new(),
                known: RefCell::new(vec![HashSet::new(); LANES]),
                done: HashSet::new(),
                waits: RefCell::default(),
            }
        }

        fn enqueue(&mut self, new: Work, precisely: bool) {
            let lane = new.lane;
            let unordered = |known: &HashSet<usize>| -> Vec<usize> {
                let earlier = self.work.iter().enumerate().filter(|(_, earlier)| earlier.conflicts(&new));
                earlier.map(|(i, _)| i).filter(|i| !known.contains(i) && !self.done.contains(i)).collect()
            };
            let accesses = new.accesses.iter().map(|(buffer, bytes, writes)| Access {
                page: self.buffers[*buffer].number(),
                bytes: bytes.clone(),
                writes: *writes,
            });
            let wait = |&other: &usize| {
                let mut known = self.known.borrow_mut();
                let needed = unordered(&known[lane]).iter().any(|&i| self.work[i].lane == other);
                assert!(!precisely || needed, "{lane} waits for {other} without need");
                let others = known[other].clone();
                known[lane].extend(others);
                *self.waits.borrow_mut() += 1;
                Ok(())
            };
            self.lanes[lane].enqueue(&self.ledger, accesses, wait, |_| Ok(())).unwrap();
            let unordered = unordered(&self.known.borrow()[lane]);
            assert!(unordered.is_empty(), "{new:?} is enqueued beside {unordered:?}");
            self.known.get_mut()[lane].insert(self.work.len());
            self.work.push(new);
        }
    }

    fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
        rng.next_u32() as usize % n
    }

    /// Work on a few of this many bytes.
    fn random_work(rng: &mut ChaCha8Rng, bytes: usize) -> Work {
        let accesses = (0..1 + below(rng, 2)).map(|_| {
            let start = below(rng, bytes);
            (below(rng, BUFFERS), start..start + below(rng, BYTES.min(bytes - start) + 1), below(rng, 5) < 2)
        });
        Work { accesses: accesses.collect(), lane: below(rng, LANES) }
    }

    /// Random programs of work, events and waits: all conflicts are in order, and (where uses are kept apart) no wait
    /// is added that the program's own order makes needless.
    #[test]
    fn conflicts_are_in_order_and_nothing_else_waits() {
        let mut waits = 0;
        for seed in 0..200 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            // With more bytes there come to be more uses than are kept apart.
            let (steps, bytes, precisely) = if seed % 8 == 0 { (600, 400, false) } else { (APART, BYTES, true) };
            let mut world = World::new();
            let mut events: Vec<(Clock<usize>, HashSet<usize>)> = Vec::new();
            for _ in 0..steps {
                let lane = below(&mut rng, LANES);
                match below(&mut rng, 10) {
                    0 => events.push((world.lanes[lane].now(), world.known.borrow()[lane].clone())),
                    1 | 2 if !events.is_empty() => {
                        let (clock, before) = &events[below(&mut rng, events.len())];
                        world.lanes[lane].comes_after(clock);
                        world.known.borrow_mut()[lane].extend(before);
                    }
                    3 if !events.is_empty() && below(&mut rng, 3) == 0 => {
                        let (clock, before) = &events[below(&mut rng, events.len())];
                        clock.note_done();
                        world.done.extend(before);
                    }
                    4 if below(&mut rng, 5) == 0 => {
                        world.lanes[lane].now().note_done();
                        let known = world.known.borrow()[lane].clone();
                        world.done.extend(known);
                    }
                    _ => world.enqueue(random_work(&mut rng, bytes), precisely),
                }
            }
            waits += *world.waits.borrow();
            assert!(world.buffers.iter().all(|page| page.kept() <= APART));
        }
        assert!(waits > 500, "{waits}");
    }

    /// Work on one lane, however its uses lie, waits for nothing, and leaves few of them.
    #[test]
    fn one_lane_never_waits() {
        let mut world = World::new();
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        for _ in 0..2000 {
            world.enqueue(Work { lane: 2, ..random_work(&mut rng, BYTES) }, true);
        }
        assert_eq!(*world.waits.borrow(), 0);
        let whole = |buffer| Work { lane: 2, accesses: vec![(buffer, 0..BYTES, true)] };
        (0..BUFFERS).for_each(|buffer| world.enqueue(whole(buffer), true));
        assert!(world.buffers.iter().all(|page| page.kept() == 1));
    }

    /// Pieces of a buffer that lanes take in turns: none waits, as long as the host waits for the oldest now and then.
    #[test]
    fn pieces_are_independent() {
        let mut world = World::new();
        for piece in 0..1000 {
            let lane = piece % LANES;
            if piece % 16 == 0 {
                world.lanes[lane].now().note_done();
                let known = world.known.borrow()[lane].clone();
                world.done.extend(known);
            }
            world.enqueue(Work { lane, accesses: vec![(0, piece % APART..piece % APART + 1, true)] }, false);
        }
        // A lane comes by its own pieces again, and by no other's.
        assert_eq!(*world.waits.borrow(), 0);
    }

    /// Uses beyond the limit are merged, and a conflict with one of them still waits.
    #[test]
    fn many_uses_become_few() {
        let ledger = Ledger::default();
        let page = ledger.page();
        let at = |byte| access(&page, byte..byte + 1);
        let (lane, partly, never) = (Lane::new(0), Lane::new(1), Lane::new(2));
        for piece in 0..=APART {
            assert_eq!(waits(&lane, &ledger, at(2 * piece)), [0; 0]);
            if piece == APART / 2 {
                partly.comes_after(&lane.now());
            }
        }
        assert_eq!(page.kept(), 1);
        for (other, byte) in [(&partly, 2 * APART), (&never, 0)] {
            assert_eq!(waits(other, &ledger, at(byte)), [0]);
        }
    }

    /// A lane that is gone is waited for as long as its work may go on, and then forgotten.
    #[test]
    fn lanes_that_are_gone() {
        let ledger = Ledger::default();
        let page = ledger.page();
        let (gone, lane) = (Lane::new(0), Lane::new(1));
        assert_eq!(waits(&gone, &ledger, access(&page, 0..8)), [0; 0]);
        let weak = Arc::downgrade(&gone);
        drop(gone);
        assert_eq!(waits(&lane, &ledger, access(&page, 0..8).map(|access| Access { writes: false, ..access })), [0]);
        assert_eq!(waits(&lane, &ledger, access(&page, 0..8)), [0; 0]);
        assert!(weak.upgrade().is_none());
    }

    /// An error of the wait keeps the work from being enqueued, and what it was to wait for is still to be waited for.
    #[test]
    fn a_wait_that_fails_is_made_again() {
        let ledger = Ledger::default();
        let page = ledger.page();
        let lanes = [Lane::new(0), Lane::new(1)];
        assert_eq!(waits(&lanes[0], &ledger, access(&page, 0..8).map(|access| Access { writes: false, ..access })), [0; 0]);
        let fails = |_: &usize| Err(DeviceError::NotRecorded);
        let refused = lanes[1].enqueue(&ledger, access(&page, 0..8), fails, |_| unreachable!());
        assert_eq!(refused, Err(DeviceError::NotRecorded));
        assert_eq!(waits(&lanes[1], &ledger, access(&page, 0..8)), [0]);
    }

    /// Threads that share lanes read buffers concurrently and write them exclusively, as borrows
    /// allow: conflicting work is ordered by the streams' waits. A stream is represented by the
    /// number of pieces of each stream that precede its next one.
    #[test]
    fn threads_share_lanes() {
        type Counts = [usize; LANES];
        /// A lock for the borrow, and those uses since the last write, the write too, that a next one may conflict
        /// with.
        struct Buffer {
            page: Page<Mutex<Counts>>,
            borrow: RwLock<()>,
            uses: Mutex<Vec<(usize, usize, bool)>>,
        }
        let ledger = Ledger::default();
        let lanes: Vec<_> = (0..LANES).map(|_| Lane::new(Mutex::new(Counts::default()))).collect();
        let buffer = |_| Buffer { page: ledger.page(), borrow: RwLock::default(), uses: Mutex::default() };
        let buffers: Vec<_> = (0..BUFFERS).map(buffer).collect();
        let waits = AtomicU64::new(0);
        let step = |rng: &mut ChaCha8Rng| {
            let (lane, writes) = (below(rng, LANES), std::array::from_fn::<_, BUFFERS, _>(|_| below(rng, 4) == 0));
            let first = below(rng, BUFFERS);
            let used: Vec<_> = buffers[first..].iter().zip(writes).collect();
            let (mut reading, mut writing) = (Vec::new(), Vec::new());
            for (buffer, writes) in &used {
                if *writes {
                    writing.push(buffer.borrow.write().unwrap());
                } else {
                    reading.push(buffer.borrow.read().unwrap());
                }
            }
            let accesses =
                used.iter().map(|(buffer, writes)| Access { page: buffer.page.number(), bytes: 0..8, writes: *writes });
            let wait = |other: &Mutex<Counts>| {
                let event = *lock(other);
                let mut before = lock(&lanes[lane].queue);
                *before = std::array::from_fn(|i| before[i].max(event[i]));
                waits.fetch_add(1, Ordering::Relaxed);
                Ok(())
            };
            let mut clock = Counts::default();
            let work = |queue: &Mutex<Counts>| {
                // Others come between what is before the driver's call and what is behind it.
                std::thread::yield_now();
                let mut queue = lock(queue);
                clock = *queue;
                queue[lane] += 1;
                Ok(())
            };
            lanes[lane].enqueue(&ledger, accesses, wait, work).unwrap();
            for (buffer, writes) in used {
                let mut uses = lock(&buffer.uses);
                for &(other, number, wrote) in uses.iter().filter(|(_, _, wrote)| writes || *wrote) {
                    assert!(clock[other] > number, "{lane} at {clock:?}, {other} {number}, {writes} {wrote}");
                }
                if writes {
                    uses.clear();
                }
                uses.push((lane, clock[lane], writes));
            }
        };
        std::thread::scope(|scope| {
            for seed in 0..4 {
                let step = &step;
                scope.spawn(move || {
                    let mut rng = ChaCha8Rng::seed_from_u64(seed);
                    (0..300).for_each(|_| step(&mut rng));
                });
            }
        });
        assert!(waits.into_inner() > 200);
    }

    /// A page that is given back is used again, without the uses that were on it.
    #[test]
    fn pages_are_used_again() {
        let ledger = Ledger::default();
        let lanes = [Lane::new(0), Lane::new(1)];
        let (kept, page) = (ledger.page(), ledger.page());
        for page in [&kept, &page] {
            assert_eq!(waits(&lanes[0], &ledger, access(page, 0..8)), [0; 0]);
        }
        let number = page.number();
        drop(page);
        let (again, new) = (ledger.page(), ledger.page());
        assert_eq!((again.number(), again.kept(), kept.kept()), (number, 0, 1));
        assert!(![kept.number(), number].contains(&new.number()));
        assert_eq!(waits(&lanes[1], &ledger, access(&again, 0..8)), [0; 0]);
    }
}
