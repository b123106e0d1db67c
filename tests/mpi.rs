//! Ranks as processes: to be started with `mpirun -n 4`, in a build with the feature `mpi`. Each process runs all of
//! it.

#[path = "common/ranks.rs"]
mod common;

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
use warpsmith::ranks::{Communicator, mpi};
use warpsmith::spmv::Band;

fn main() {
    let ranks = mpi::init().expect("MPI starts");
    assert!(mpi::init().is_err(), "it can't start twice");
    common::all(&*ranks);
    other_threads(&ranks);
    every_schedule_multiplies(&ranks);
    refused_setups(&ranks);
    islands(&ranks);
    ranks.barrier().unwrap();
    if ranks.rank() == 0 {
        println!("test result: ok. 5 passed; 0 failed; 0 ignored; {} ranks under MPI", ranks.size());
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
