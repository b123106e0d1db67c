//! Ranks as processes: to be started with `mpirun -n 4`, in a build with the feature `mpi`. Each process runs all of
//! it.

use std::sync::Arc;

use warpsmith::design_rules::platform::{Group, Staging};
use warpsmith::design_rules::programs::spmv::{self, Multiplication};
use warpsmith::design_rules::schedule::Schedules;
use warpsmith::design_rules::{Platform as _, RulesError};
use warpsmith::device::{Backend, Device};
use warpsmith::overlap::{
    Shape,
    pack::{Budget, Packer, Settings},
};
use warpsmith::ranks::{Communicator, Message, Plan, Region, mpi};
use warpsmith::spmv::Band;

fn main() {
    let ranks = mpi::init().expect("MPI starts");
    assert!(mpi::init().is_err(), "it can't start twice");
    collective(&*ranks);
    messages(&*ranks);
    bulk_exchanges(&*ranks);
    other_threads(&ranks);
    counters(&*ranks);
    every_schedule_multiplies(&ranks);
    refused_setups(&ranks);
    islands(&ranks);
    ranks.barrier().unwrap();
    if ranks.rank() == 0 {
        println!("test result: ok. 7 passed; 0 failed; 0 ignored; {} ranks under MPI", ranks.size());
    }
}

fn collective(ranks: &dyn Communicator) {
    let (rank, size) = (ranks.rank(), ranks.size());
    assert_eq!(ranks.max(rank as f64).unwrap(), (size - 1) as f64);
    let sent = if rank == 0 { vec![1, 2, 3] } else { vec![9; 7] };
    assert_eq!(ranks.broadcast(sent).unwrap(), [1, 2, 3]);
    let gathered = ranks.gather(vec![rank as u8; rank]).unwrap();
    let expected: Vec<_> = if rank == 0 { (0..size).map(|rank| vec![rank as u8; rank]).collect() } else { Vec::new() };
    assert_eq!(gathered, expected);
}

/// Each number is some rank's, and no two ranks'.
fn counters(ranks: &dyn Communicator) {
    for _ in 0..3 {
        let counter = ranks.counter().unwrap();
        let mine: Vec<u8> =
            std::iter::from_fn(|| counter.next().ok().filter(|&next| next < 200).map(|next| next as u8)).collect();
        assert!(mine.is_sorted());
        let mut all = ranks.gather(mine).unwrap().concat();
        all.sort_unstable();
        assert!(ranks.rank() > 0 || all.iter().copied().eq(0..200), "{all:?}");
        counter.end();
    }
}

/// Each rank sends each other one its own number, as many times as that one's number, several times over.
fn messages(ranks: &dyn Communicator) {
    let (rank, size) = (ranks.rank(), ranks.size());
    let others = || (0..size).filter(|&other| other != rank);
    let (mut send, mut receive) = (vec![0u8; size * size], vec![0u8; size * size]);
    let plan = Plan {
        tag: 3,
        sends: others().map(|other| Message { rank: other, bytes: other * size..other * size + other }).collect(),
        receives: others().map(|other| Message { rank: other, bytes: other * size..other * size + rank }).collect(),
        send: Region::new(send.as_mut_ptr(), send.len()),
        receive: Region::new(receive.as_mut_ptr(), receive.len()),
    };
    // SAFETY: both vectors live to the end of this function, and are touched only between waits and posts.
    let link = unsafe { ranks.link(plan).unwrap() };
    for round in 0..5u8 {
        send.fill(10 * round + rank as u8);
        link.post_sends().unwrap();
        link.post_receives().unwrap();
        link.wait_receives().unwrap();
        link.wait_sends().unwrap();
        for other in others() {
            let found = &receive[other * size..other * size + rank];
            assert!(found.iter().all(|&byte| byte == 10 * round + other as u8), "{found:?} from {other}");
        }
    }
    let bad = Plan {
        tag: 4,
        sends: vec![Message { rank: size, bytes: 0..1 }],
        receives: Vec::new(),
        send: Region::new(send.as_mut_ptr(), send.len()),
        receive: Region::new(receive.as_mut_ptr(), 0),
    };
    // SAFETY: it is refused.
    let error = unsafe { ranks.link(bad) }.err().expect("there is no such rank").to_string();
    assert!(error.contains(&format!("rank {size}")), "{error}");
}

/// Each rank sends each other one as many bytes as its own number, and its own number as what all have in common.
fn bulk_exchanges(ranks: &dyn Communicator) {
    let (rank, size) = (ranks.rank(), ranks.size());
    let for_all: Vec<u8> = (0..size).flat_map(|to| [rank as u8, to as u8]).collect();
    let from_all: Vec<u8> = (0..size).flat_map(|from| [from as u8, rank as u8]).collect();
    assert_eq!(ranks.all_to_all(&for_all).unwrap(), from_all);
    assert!(ranks.all_to_all(&[]).unwrap().is_empty());
    let others = || (0..size).filter(|&other| other != rank);
    let (mut send, mut receive) = (vec![rank as u8; size], vec![u8::MAX; size * size]);
    let sends = others().map(|to| Message { rank: to, bytes: 0..rank }).collect();
    let receives = others().map(|from| Message { rank: from, bytes: from * size..from * size + from }).collect();
    let (send, received) = (Region::new(send.as_mut_ptr(), send.len()), Region::new(receive.as_mut_ptr(), receive.len()));
    // SAFETY: both vectors live longer than the call, and nobody else has them.
    unsafe { ranks.exchange(&Plan { tag: 6, sends, receives, send, receive: received }).unwrap() };
    for from in others() {
        assert!(receive[from * size..from * size + from].iter().all(|&byte| byte == from as u8), "{receive:?}");
    }
}

/// MPI was started for one thread.
fn other_threads(ranks: &Arc<dyn Communicator>) {
    let elsewhere = ranks.clone();
    let result = std::thread::spawn(move || elsewhere.max(1.0)).join().unwrap();
    assert!(result.is_err());
}

fn device(ranks: &dyn Communicator) -> Device {
    Device::of_process(ranks.rank() as u32, Backend::wished().unwrap()).unwrap()
}

fn every_schedule_multiplies(ranks: &Arc<dyn Communicator>) {
    let matrix = Band { rows: 96, nonzeros: 600, half_bandwidth: 24, seed: 5 }.matrix::<f64>().unwrap();
    let setup = Multiplication::new(matrix, Staging::Auto);
    let device = device(&**ranks);
    if ranks.rank() > 0 {
        return Group::follow(&device, ranks.clone(), &setup, 2).unwrap();
    }
    let mut group = Group::processes(&device, ranks.clone(), &setup, 2).unwrap();
    let mut n = 0;
    for schedule in Schedules::new(&spmv::dag(), 2).unwrap() {
        group.check(&schedule).unwrap();
        if n % 1000 == 0 {
            assert!(group.measure(&schedule).unwrap() > 0.0);
            assert!(!group.timeline(&schedule).unwrap().spans.is_empty());
        }
        n += 1;
    }
    assert_eq!(n, 5390);
}

/// All ranks hear of it when a setup fails.
fn refused_setups(ranks: &Arc<dyn Communicator>) {
    let rows = ranks.size() - 1;
    if rows == 0 {
        return;
    }
    let matrix = Band { rows, nonzeros: rows, half_bandwidth: 1, seed: 5 }.matrix::<f64>().unwrap();
    let setup = Multiplication::new(matrix, Staging::Auto);
    let device = device(&**ranks);
    let result = if ranks.rank() > 0 {
        Group::follow(&device, ranks.clone(), &setup, 2)
    } else {
        Group::processes(&device, ranks.clone(), &setup, 2).map(drop)
    };
    assert!(matches!(result, Err(RulesError::Spmv(_))), "{result:?}");
}

/// All get the same packing: that of as many threads.
fn islands(ranks: &Arc<dyn Communicator>) {
    let device = device(&**ranks);
    // They meet after 6,000 steps.
    let settings = Settings { starts: Some(1), seed: 2, budget: Budget::Steps(7300), ..Settings::of([(Shape::tree(), 3)]) };
    let packed = Packer::new(&device, settings.clone()).unwrap().among(ranks).run(|_| {}).unwrap();
    let all = ranks.gather(bytemuck::cast_slice(&packed.packings[0].poses).to_vec()).unwrap();
    if ranks.rank() == 0 {
        let others = vec![device.clone(); ranks.size() - 1];
        let threads = Packer::new(&device, settings).unwrap().also_on(&others).run(|_| {}).unwrap();
        assert!(all.iter().all(|poses| poses == bytemuck::cast_slice::<_, u8>(&threads.packings[0].poses)));
    }
}
