//! Explores the schedules of a program of one's own: a kernel doubles an array, the host sums it up, and a second host
//! operation may come at any time. `host/src/design_rules` has programs with several ranks.
//!
//! `cargo run --example explore_program`

use gpu_kernels::samples;
use std::sync::{Arc, Mutex};
use warpsmith::design_rules::platform::{Group, Program};
use warpsmith::design_rules::search::{Explorer, Mcts};
use warpsmith::design_rules::{Dag, OpId, Platform, RulesError};
use warpsmith::device::{Buffer, Device, Stream};
use warpsmith::{launch, ranks::Communicator};

struct Doubling {
    dag: Dag,
    stream: Stream,
    x: Buffer<f32>,
    y: Mutex<Buffer<f32>>,
    sum: Mutex<f32>,
}

impl Program for Doubling {
    fn dag(&self) -> &Dag {
        &self.dag
    }

    fn cpu(&self, op: OpId) -> Result<(), RulesError> {
        if self.dag.name_of(op) == "sum" {
            *self.sum.lock().unwrap() = self.stream.download_vec(&*self.y.lock().unwrap())?.iter().sum();
        }
        Ok(())
    }

    fn gpu(&self, _: OpId, stream: &Stream) -> Result<(), RulesError> {
        Ok(launch!(stream, samples::saxpy<<<1, 64>>>(1.0, &self.x, &mut *self.y.lock().unwrap()))?)
    }

    fn reset(&self) -> Result<(), RulesError> {
        // y = 1 x + y
        self.stream.copy(&self.x, &mut *self.y.lock().unwrap())?;
        self.stream.synchronize()?;
        *self.sum.lock().unwrap() = f32::NAN;
        Ok(())
    }

    fn difference(&self) -> Result<Option<String>, RulesError> {
        let sum = *self.sum.lock().unwrap();
        Ok((sum != 4032.0).then(|| format!("the sum is {sum}")))
    }
}

fn main() -> Result<(), RulesError> {
    let setup = |device: &Device, _: &Arc<dyn Communicator>| {
        let x: Vec<f32> = (0..64).map(|i| i as f32).collect();
        let dag = Dag::builder("doubling").gpu("double").cpu("sum").cpu("other").edge("double", "sum").build()?;
        let (x, y) = (device.upload(&x)?, Mutex::new(device.alloc_zeroed(64)?));
        Ok(Box::new(Doubling { dag, stream: device.stream()?, x, y, sum: Mutex::default() }) as Box<dyn Program>)
    };
    let mut group = Group::threads(&[Device::best()?], Arc::new(setup), 2)?;
    let dag = group.dag().clone();
    let mut explorer = Explorer::new(&dag, 2, Mcts::default(), 1)?;
    while let Some(schedule) = explorer.propose() {
        group.check(&schedule)?;
        explorer.record(&schedule, group.measure(&schedule)?)?;
    }
    // `other` may come first, last or anywhere between.
    assert_eq!(explorer.statistics().rollouts, 5);
    println!("5 schedules measured and checked");
    Ok(())
}
