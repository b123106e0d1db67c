//! Ranks as threads. As processes they are tested by tests/mpi.rs.

#[path = "common/ranks.rs"]
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use warpsmith::device::{Backend, Device};
use warpsmith::ranks::{Communicator, Message, Plan, RanksError, Region, threads};

/// Runs `work` on each rank's own thread.
fn on_ranks(size: usize, work: impl Fn(&dyn Communicator) + Sync) {
    on_threads(&threads::communicators(size), work);
}

fn on_threads(ranks: &[Arc<dyn Communicator>], work: impl Fn(&dyn Communicator) + Sync) {
    std::thread::scope(|scope| {
        for communicator in ranks {
            let work = &work;
            scope.spawn(move || work(&**communicator));
        }
    });
}

#[test]
fn as_processes_do() {
    for size in [1, 2, 5] {
        on_ranks(size, |ranks| {
            assert_eq!((ranks.size(), ranks.kind(), ranks.takes_device_memory()), (size, "threads", false));
            common::all(ranks);
        });
    }
}

/// Ranks that wait for one that does something else for long, as they do between measurements, leave the processor
/// alone; and they hear of it when it gives up.
#[test]
#[cfg(target_os = "linux")]
fn idle_ranks_sleep() {
    use std::time::Instant;

    let busy = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes the time that this thread has run to `time`.
        let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        assert_eq!(result, 0);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    const LONG: Duration = Duration::from_millis(600);
    on_ranks(4, |ranks| {
        for round in 0..3 {
            let (start, before) = (Instant::now(), busy());
            if ranks.rank() == 0 {
                std::thread::sleep(LONG);
                if round == 2 {
                    return ranks.abort("it is tired");
                }
            }
            let result = ranks.barrier();
            // Threads don't start at the same time.
            assert!(start.elapsed() >= LONG / 2);
            assert!(busy() - before < LONG / 4, "{:?}", busy() - before);
            match result {
                Ok(()) => assert!(round < 2),
                Err(error) => assert_eq!((round, &*error.to_string()), (2, "rank 0 gave up: it is tired")),
            }
        }
    });
}

/// A link that goes leaves alone what a newer one of the same tag has posted.
#[test]
fn an_older_link_goes() {
    let received = AtomicBool::new(false);
    on_ranks(2, |ranks| {
        let rank = ranks.rank();
        let mut byte = [rank as u8];
        let region = Region::new(byte.as_mut_ptr(), 1);
        let messages = |of: usize| if rank == of { vec![Message { rank: 1 - of, bytes: 0..1 }] } else { Vec::new() };
        let plan = Plan { tag: 3, sends: messages(0), receives: messages(1), send: region, receive: region };
        // SAFETY: the byte outlives both links, and is accessed through them alone until the wait.
        let link = || unsafe { ranks.link(plan.clone()).unwrap() };
        let (older, newer) = (link(), link());
        newer.post_sends().unwrap();
        drop(older);
        ranks.barrier().unwrap();
        if rank == 0 {
            newer.wait_sends().unwrap();
            // The other rank would wait for ever.
            if !received.load(Ordering::SeqCst) {
                ranks.abort("its message is gone");
            }
        } else {
            // A send that is no longer posted is done at once.
            std::thread::sleep(Duration::from_millis(200));
            newer.post_receives().unwrap();
            received.store(true, Ordering::SeqCst);
            newer.wait_receives().unwrap();
            assert_eq!(byte, [0]);
        }
    });
}

/// Each rank sends each other one another number of elements, rank 0 none, from the memory of its device, which it may
/// share.
#[test]
fn messages_in_devices_memory() {
    const SIZE: usize = 5;
    const LEN: usize = 3000;
    let devices: Vec<_> = Device::all().unwrap().into_iter().cycle().take(SIZE).collect();
    let value = |from: usize, to: usize, at: usize, round: usize| (at * 31 + round * 7919 + from * 104_729 + to) as u32;
    on_threads(&threads::on_devices(&devices).unwrap(), |ranks| {
        let rank = ranks.rank();
        let device = &devices[rank];
        let stream = device.stream().unwrap();
        let (mut send, mut receive) = (device.alloc_zeroed(SIZE * LEN).unwrap(), device.alloc_zeroed(SIZE * LEN).unwrap());
        let gpu = device.backend() == Backend::Cuda;
        assert_eq!(ranks.takes_device_memory(), gpu);
        let region = |address: u64, len: usize| {
            if gpu {
                Region::on_device(address, len)
            } else {
                Region::new(std::ptr::with_exposed_provenance_mut(address as usize), len)
            }
        };
        let others = || (0..SIZE).filter(|&other| other != rank);
        let message = |other: usize, elements: usize| {
            let first = other * LEN;
            Message { rank: other, bytes: 4 * first..4 * (first + elements) }
        };
        // SAFETY: the buffers outlive the link, which is dropped first, and are touched only between waits and posts.
        let link = unsafe {
            ranks.link(Plan {
                tag: 9,
                sends: others().map(|other| message(other, 700 * rank)).collect(),
                receives: others().map(|other| message(other, 700 * other)).collect(),
                send: region(send.as_device_ptr(), send.byte_len()),
                receive: region(receive.as_device_ptr(), receive.byte_len()),
            })
        }
        .unwrap();
        for round in 0..30 {
            let values: Vec<u32> = (0..SIZE * LEN).map(|i| value(rank, i / LEN, i % LEN, round)).collect();
            stream.upload(&mut send, &values).unwrap();
            stream.fill(&mut receive, u32::MAX).unwrap();
            stream.synchronize().unwrap();
            // Some wait for their sends first, and some post late.
            if (rank + round) % 2 == 0 {
                link.post_receives().unwrap();
                link.post_sends().unwrap();
                link.wait_sends().unwrap();
                link.wait_receives().unwrap();
            } else {
                link.post_sends().unwrap();
                link.post_receives().unwrap();
                link.wait_receives().unwrap();
                link.wait_sends().unwrap();
            }
            let found: Vec<u32> = stream.download_vec(&receive).unwrap();
            for (i, &found) in found.iter().enumerate() {
                let (from, at) = (i / LEN, i % LEN);
                let sent = from != rank && at < 700 * from;
                let expected = if sent { value(from, rank, at, round) } else { u32::MAX };
                assert_eq!(found, expected, "round {round}, element {at} from rank {from} on rank {rank}");
            }
        }
        drop(link);
    });
}

/// Ranks without GPUs don't follow addresses of a GPU's memory.
#[test]
fn device_memory_is_refused_where_nobody_can_copy_it() {
    let ranks = threads::communicators(2);
    let region = Region::on_device(4096, 8);
    let plan = Plan { tag: 0, sends: Vec::new(), receives: Vec::new(), send: region, receive: region };
    // SAFETY: it is refused.
    let error = unsafe { ranks[0].link(plan) }.err().expect("it can't be").to_string();
    assert_eq!(error, "messages are to be in a GPU's memory, but the ranks have no GPUs to copy them");
}

/// A rank that fails or panics ends the others' waits, and its error is the one that is told.
#[test]
fn one_fails_and_none_waits() {
    let devices = vec![Device::cpu(); 3];
    let all = threads::run(&devices, |_, ranks| ranks.max(ranks.rank() as f64).map(|most| (ranks.rank(), most)));
    assert_eq!(all, Ok(vec![(0, 2.0), (1, 2.0), (2, 2.0)]));
    let stops = |how: fn() -> Result<(), RanksError>| {
        threads::run(&devices, |_, ranks| {
            ranks.barrier()?;
            if ranks.rank() == 1 {
                how()?;
            }
            ranks.barrier()
        })
    };
    assert_eq!(stops(|| Err(RanksError::Message("no".to_owned()))), Err(RanksError::Message("no".to_owned())));
    let reason = "its thread has panicked".to_owned();
    assert_eq!(stops(|| panic!("on purpose")), Err(RanksError::Aborted { rank: 1, reason }));
}

/// A barrier that opened before a rank gave up has opened for those that come later.
#[test]
fn a_barrier_that_opened_is_no_error() {
    for _ in 0..200 {
        on_ranks(3, |ranks| {
            ranks.barrier().unwrap();
            if ranks.rank() == 0 {
                ranks.abort("it is tired");
            }
        });
    }
}

/// Messages of lengths that don't fit are an error for the receiver; that it gives up is one for the others.
#[test]
fn nobody_waits_for_one_who_gave_up() {
    on_ranks(3, |ranks| {
        let rank = ranks.rank();
        let mut bytes = [0u8; 8];
        let region = Region::new(bytes.as_mut_ptr(), 8);
        let message = |rank: usize, len: usize| vec![Message { rank, bytes: 0..len }];
        let (sends, receives) = match rank {
            0 => (message(1, 4), Vec::new()),
            1 => (Vec::new(), message(0, 5)),
            _ => (Vec::new(), Vec::new()),
        };
        // SAFETY: the array lives to the end of this function, where nobody waits any more, and isn't touched.
        let link = unsafe { ranks.link(Plan { tag: 0, sends, receives, send: region, receive: region }).unwrap() };
        link.post_receives().unwrap();
        link.post_sends().unwrap();
        match rank {
            1 => {
                let error = link.wait_receives().unwrap_err();
                assert_eq!(error, RanksError::Message("rank 0 sent 4 bytes where 5 were expected".to_owned()));
                ranks.abort(&error.to_string());
            }
            _ => {
                // Rank 0's message is taken, so that its wait may end; the barrier can't.
                let error = ranks.barrier().unwrap_err();
                assert_eq!(error.to_string(), "rank 1 gave up: rank 0 sent 4 bytes where 5 were expected");
            }
        }
    });
}
