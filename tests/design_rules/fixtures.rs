//! Programs, schedules and devices that several tests need.

use std::{
    collections::{BTreeSet, HashMap},
    ops::RangeInclusive,
};

use proptest::prelude::*;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore as _, SeedableRng as _},
};
use warpsmith::{
    design_rules::{
        Dag, Kind, OpId, Schedule, Space,
        schedule::Prefix,
        search::{Explorer, SearchMethod},
    },
    device::Device,
};

/// A device for each rank: the GPUs in turns, or the CPU.
pub fn devices(ranks: usize) -> Vec<Device> {
    Device::all().unwrap().into_iter().cycle().take(ranks).collect()
}

/// Every assignment of streams to the operations of the GPU.
pub fn assignments(dag: &Dag, streams: usize) -> impl Iterator<Item = HashMap<OpId, u8>> {
    let count = dag.gpu_operations().count() as u32;
    let stream = move |code: usize, place: u32| (code / streams.pow(place) % streams) as u8;
    (0..streams.pow(count)).map(move |code| dag.gpu_operations().zip((0..).map(|place| stream(code, place))).collect())
}

/// Programs of so many operations, in which one in `rarity` of the possible edges is there.
pub fn programs(operations: RangeInclusive<usize>, rarity: u8) -> impl Strategy<Value = Dag> {
    operations.prop_flat_map(move |n| {
        let kinds = prop::collection::vec(prop_oneof![Just(Kind::Cpu), Just(Kind::Gpu)], n);
        let edges = prop::collection::vec(0..rarity, n * (n - 1) / 2);
        (kinds, edges).prop_map(move |(kinds, edges)| {
            let name = |index: usize| format!("op{index}");
            let named = kinds.iter().enumerate().map(|(index, &kind)| (name(index), kind));
            let builder = named.fold(Dag::builder("any"), |builder, (name, kind)| builder.operation(name, kind));
            let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
            let edges = pairs.zip(edges).filter(|&(_, edge)| edge == 0);
            edges.fold(builder, |builder, ((u, v), _)| builder.edge(name(u), name(v))).build().unwrap()
        })
    })
}

/// All orders of these steps, with 0 and with 1 for `?`.
pub fn orders(names: &[&str]) -> Vec<String> {
    let mut orders = vec![vec![]];
    for name in names {
        let grown = orders
            .iter()
            .flat_map(|order: &Vec<&str>| (0..=order.len()).map(move |at| [&order[..at], &[*name], &order[at..]].concat()));
        orders = grown.collect();
    }
    orders.iter().flat_map(|order| ["0", "1"].map(|stream| order.join(";").replace('?', stream))).collect()
}

/// A rollout: random steps to the end.
pub fn random_schedule(dag: &Dag, streams: usize, rng: &mut ChaCha8Rng) -> Schedule {
    let mut prefix = Prefix::new(dag, streams).unwrap();
    loop {
        let next = prefix.next();
        if next.is_empty() {
            return prefix.finish().unwrap();
        }
        prefix.push(next[rng.next_u32() as usize % next.len()]);
    }
}

/// Schedules from all over the space.
pub fn sample(dag: &Dag, streams: usize, schedules: usize, seed: u64) -> Vec<Schedule> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..schedules).map(|_| random_schedule(dag, streams, &mut rng)).collect()
}

/// Checks that each search goes through all schedules of a space, each once.
pub fn searches_exhaust(space: Space, dag: &Dag, streams: usize, seed: u64) {
    let all: BTreeSet<_> = space.schedules(dag, streams).unwrap().collect();
    // The model takes long in large spaces.
    let surrogate = (all.len() <= 200).then_some(SearchMethod::Surrogate);
    for method in [SearchMethod::Mcts, SearchMethod::Random, SearchMethod::Dfs].into_iter().chain(surrogate) {
        let mut explorer = Explorer::new(dag, streams, method.strategy(), seed).unwrap().in_space(space);
        let mut found = BTreeSet::new();
        while let Some(schedule) = explorer.propose() {
            explorer.record(&schedule, (found.len() % 5) as f64).unwrap();
            assert!(found.insert(schedule), "{method:?}: proposed twice");
        }
        assert_eq!(found, all, "{method:?}");
        assert_eq!(explorer.statistics().rollouts, all.len() as u64);
    }
}
