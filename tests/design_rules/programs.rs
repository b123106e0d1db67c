//! The exchange of ghost cells: kernels, results of sampled schedules, counts, simulation.

use std::collections::HashMap;
use std::sync::Arc;

use gpu_kernels::halo::{Brick, MAX_EXTENT, stencil};
use warpsmith::design_rules::platform::{Group, Program, Setup, Staging};
use warpsmith::design_rules::programs::halo::{self, Decomposition, HeatStep};
use warpsmith::design_rules::schedule::count;
use warpsmith::design_rules::sim::halo::HaloModel;
use warpsmith::design_rules::sim::{Machine, SimPlatform, Simulator, Workload};
use warpsmith::design_rules::{Dag, Kind, OpId, Platform, RulesError, Schedule, Step};
use warpsmith::device::{Device, Stream};
use warpsmith::launch;
use warpsmith::ranks::Communicator;

use crate::fixtures::{devices, sample};
use crate::machine::ideal;

/// Counts the schedules of a program on one stream, by the rules of [`Schedule`]: the linear
/// extensions of its operations and, for each edge from the GPU to the CPU, of a record and a wait.
fn one_stream(dag: &Dag) -> u128 {
    // For each step those that come before it, as a set.
    let mut before: Vec<u64> = dag.operations().map(|op| dag.predecessors(op).fold(0, |set, u| set | 1 << u.index())).collect();
    for u in dag.gpu_operations() {
        let mut users = dag.successors(u).filter(|&v| dag.kind(v) == Kind::Cpu);
        if let Some(v) = users.next() {
            assert!(users.next().is_none(), "then the record would come after what one of them needs, whichever");
            let needed = dag.predecessors(v).fold(0, |set, u| set | 1 << u.index());
            let record = before.len();
            before.push(needed);
            before.push(needed | 1 << record);
            before[v.index()] |= 1 << (record + 1);
        }
    }
    let all = (1u64 << before.len()) - 1;
    // By the set of steps that are done.
    let mut ways = HashMap::from([(0u64, 1u128)]);
    for _ in 0..before.len() {
        let mut longer = HashMap::new();
        for (done, ways) in ways {
            for step in (0..before.len()).filter(|&step| done & 1 << step == 0 && before[step] & !done == 0) {
                *longer.entry(done | 1 << step).or_insert(0) += ways;
            }
        }
        ways = longer;
    }
    ways[&all]
}

#[test]
fn counts_of_halo() {
    let dag = halo::dag();
    assert_eq!(dag.len(), 19);
    assert_eq!(one_stream(&dag), 45_137_561_040_000);
    for (streams, schedules) in [(1, 45_137_561_040_000), (2, 187_464_405_585_600_000), (3, 3_485_078_341_404_660_000)] {
        assert_eq!(count(&dag, streams).unwrap(), schedules);
    }
}

// Kernels.

/// Each kernel writes its own cells, and none of the ghost cells.
#[test]
fn kernels_write_their_cells() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let [nx, ny, nz] = [34, 11, 19];
    let brick = Brick { nx, ny, nz };
    let cells = device.upload(&vec![1.0; brick.padded_len()]).unwrap();
    let [mut inner, mut outer] = [(); 2].map(|()| device.upload(&vec![-1.0; brick.padded_len()]).unwrap());
    let grid = brick.shell_len().div_ceil(256);
    // SAFETY: all arrays are of the brick, and nothing else uses them.
    unsafe {
        launch!(stream, stencil::interior<<<(1, 2, 3), (32, 8)>>>(&cells, &mut inner, nx, ny, nz, 0.125)).unwrap();
        launch!(stream, stencil::shell<<<grid, 256>>>(&cells, &mut outer, nx, ny, nz, 0.125)).unwrap();
    }
    let [inner, outer] = [inner, outer].map(|array| stream.download_vec(&array).unwrap());
    let [row, plane] = [nx as usize + 2, (nx as usize + 2) * (ny as usize + 2)];
    for (index, found) in inner.iter().zip(&outer).enumerate() {
        let at = [(index % row, nx), (index % plane / row, ny), (index / plane, nz)];
        // 0 in ghost cells, 1 in the shell.
        let depth = at.map(|(at, extent)| at.min(extent as usize + 1 - at)).into_iter().min().unwrap();
        let expected = [if depth > 1 { 1.0 } else { -1.0 }, if depth == 1 { 1.0 } else { -1.0 }];
        assert_eq!([*found.0, *found.1], expected, "{at:?}");
    }
}

// Ranks.

#[test]
fn decompositions() {
    for ranks in 1..=200 {
        let [x, y, z] = Decomposition::new(ranks).ranks;
        assert!(x * y * z == ranks && x <= y && y <= z, "{ranks}");
        let least = (1..=ranks)
            .flat_map(|a| (1..=ranks / a).map(move |b| [a, b, ranks / a / b]))
            .filter(|[a, b, c]| a * b * c == ranks)
            .map(|[a, b, c]| a + b + c)
            .min();
        assert_eq!(Some(x + y + z), least, "{ranks}");
        // Neighbours are so mutually, and one step apart.
        let division = Decomposition::new(ranks);
        let mut pairs = 0;
        for rank in 0..ranks {
            let at = division.coordinates(rank);
            for (d, sides) in division.neighbours(rank).into_iter().enumerate() {
                for (side, neighbour) in sides.into_iter().enumerate() {
                    let Some(neighbour) = neighbour else { continue };
                    let mut expected = at;
                    expected[d] = if side == 1 { at[d] + 1 } else { at[d] - 1 };
                    assert_eq!(division.coordinates(neighbour), expected);
                    assert_eq!(division.neighbours(neighbour)[d][1 - side], Some(rank));
                    pairs += 1;
                }
            }
        }
        assert_eq!(pairs, 2 * ((x - 1) * y * z + x * (y - 1) * z + x * y * (z - 1)));
    }
}

/// A program that leaves out one of its operations, or does all.
struct Without {
    inner: Box<dyn Program>,
    operation: Option<String>,
}

impl Without {
    fn leaves_out(&self, op: OpId) -> bool {
        self.operation.as_deref() == Some(self.dag().name_of(op))
    }
}

impl Program for Without {
    fn dag(&self) -> &Dag {
        self.inner.dag()
    }

    fn cpu(&self, op: OpId) -> Result<(), RulesError> {
        if self.leaves_out(op) { Ok(()) } else { self.inner.cpu(op) }
    }

    fn gpu(&self, op: OpId, stream: &Stream) -> Result<(), RulesError> {
        if self.leaves_out(op) { Ok(()) } else { self.inner.gpu(op, stream) }
    }

    fn reset(&self) -> Result<(), RulesError> {
        self.inner.reset()
    }

    fn difference(&self) -> Result<Option<String>, RulesError> {
        self.inner.difference()
    }
}

/// A group whose last rank leaves out an operation.
fn group_without(setup: impl Setup + 'static, ranks: usize, streams: usize, operation: Option<String>) -> Group {
    let setup = move |device: &Device, ranks: &Arc<dyn Communicator>| {
        let inner = setup.rank(device, ranks)?;
        let operation = operation.clone().filter(|_| ranks.rank() + 1 == ranks.size());
        Ok(Box::new(Without { inner, operation }) as Box<dyn Program>)
    };
    Group::threads(&devices(ranks), Arc::new(setup), streams).unwrap()
}

/// Runs sampled schedules on 1 to 3 streams.
fn schedules_compute(dag: &Dag, schedules: usize, group: impl Fn(usize) -> Group) {
    for (streams, schedules) in [(1, schedules / 4), (2, schedules / 2), (3, schedules / 4)] {
        let mut group = group(streams);
        assert_eq!(group.dag().signature(), dag.signature());
        for schedule in sample(dag, streams, schedules, streams as u64) {
            group.check(&schedule).unwrap();
        }
    }
}

fn halo_computes(ranks: usize, cells: [usize; 3], schedules: usize) {
    schedules_compute(&halo::dag(), schedules, |streams| {
        let step = HeatStep::new(cells, Staging::Auto).unwrap();
        Group::threads(&devices(ranks), Arc::new(step), streams).unwrap()
    });
}

#[test]
fn halos_compute() {
    for (ranks, cells) in [(1, [5, 4, 6]), (2, [5, 4, 6]), (4, [3, 5, 4]), (8, [4, 3, 5])] {
        halo_computes(ranks, cells, 200);
    }
}

/// Bricks without inner cells, ranks with two neighbours in a dimension, messages in the host's memory and where they
/// are best.
#[test]
fn odd_halos() {
    for (ranks, cells) in [
        (8, [1, 1, 1]),
        (8, [1, 2, 3]),
        (3, [2, 2, 2]),
        (12, [2, 5, 1]),
        (1, [1, 1, 1]),
        (4, [70, 19, 21]),
        (2, [40, 3, 1]),
        (2, [3, 1, 40]),
        (2, [34, 11, 19]),
        (4, [5, 4, 7]),
    ] {
        for staging in [Staging::Host, Staging::Auto] {
            let step = HeatStep::new(cells, staging).unwrap();
            let mut group = Group::threads(&devices(ranks), Arc::new(step), 2).unwrap();
            for schedule in sample(&halo::dag(), 2, 8, 77) {
                group.check(&schedule).unwrap();
            }
        }
    }
}

/// Any operation that is left out is noticed: no result remains from before.
#[test]
fn halo_misses_every_operation() {
    let dag = halo::dag();
    let schedules = sample(&dag, 2, 3, 5);
    for op in dag.gpu_operations() {
        let step = HeatStep::new([3, 4, 5], Staging::Auto).unwrap();
        let name = dag.name_of(op).to_owned();
        let mut group = group_without(step, 8, 2, Some(name.clone()));
        for schedule in &schedules {
            assert!(matches!(group.check(schedule), Err(RulesError::Wrong { .. })), "without {name}");
        }
    }
    group_without(HeatStep::new([3, 4, 5], Staging::Auto).unwrap(), 8, 2, None).check(&schedules[0]).unwrap();
}

#[test]
fn bad_halos() {
    for (cells, named) in [([4, 0, 4], "0"), ([1, 1, MAX_EXTENT as usize + 1], "16385")] {
        let texts = [
            HeatStep::new(cells, Staging::Auto).map(drop).unwrap_err().to_string(),
            HaloModel::new(2, cells).map(drop).unwrap_err().to_string(),
        ];
        assert!(texts.iter().all(|text| text.contains(&format!(": {named} is not"))), "{texts:?}");
    }
    let most = [1, 1, MAX_EXTENT as usize];
    assert!(HeatStep::new(most, Staging::Auto).is_ok() && HaloModel::new(2, most).is_ok());
}

// Simulation.

/// No operation starts too early, and none waits for ever, also where every message waits for its receiver.
fn passes_simulation(model: &dyn Workload, schedules: usize) {
    let mut strict = Machine::cluster();
    strict.network.eager_limit = 0;
    let mut noisy = Machine::h200_node();
    noisy.noise = 0.5;
    for machine in [Machine::cluster(), strict, noisy, ideal()] {
        let mut platform = SimPlatform::new(model, machine).unwrap();
        for streams in 1..=3 {
            for schedule in sample(model.dag(), streams, schedules, 10 + streams as u64) {
                platform.check(&schedule).unwrap();
            }
        }
    }
}

#[test]
fn halo_is_simulated_without_races_and_deadlocks() {
    for (ranks, schedules) in [(1, 100), (2, 100), (4, 100), (8, 100), (27, 20)] {
        passes_simulation(&HaloModel::new(ranks, [256; 3]).unwrap(), schedules);
    }
}

/// All operations of the exchange one after the other, on one stream.
fn serial_halo(posts: [&str; 2]) -> Schedule {
    let [first, second] = posts;
    let exchange = |d: &str| {
        let pack = format!("Pack_{d}@0;CER-after-Pack_{d};CES-b4-PostSend_{d};{first}_{d};{second}_{d};");
        pack + &format!("WaitRecv_{d};Unpack_{d}@0;")
    };
    let end = ["Interior", "Boundary"].map(|op| format!("CER-after-{op};CES-b4-end-after-{op}")).join(";");
    let text = ["x", "y", "z"].map(exchange).concat() + "WaitSend;Interior@0;Boundary@0;" + &end;
    Schedule::parse(&halo::dag(), 1, &text).unwrap()
}

/// Without these edges, ranks would wait for each other.
#[test]
fn halo_deadlocks_without_edges() {
    let dag = halo::dag();
    let mut simulator = Simulator::new(&HaloModel::new(2, [8; 3]).unwrap(), ideal()).unwrap();
    for (wait, [before, after]) in [("WaitRecv_z", ["PostRecv", "PostSend"]), ("WaitSend", ["PostSend", "PostRecv"])] {
        let mut steps = serial_halo([before, after]).steps().to_vec();
        simulator.run(&steps, 0).unwrap();
        let step = |name: &str| Step::Cpu(dag.find(name).unwrap());
        steps.retain(|&other| other != step(wait));
        let at = steps.iter().position(|&other| other == step(&format!("{after}_z"))).unwrap();
        steps.insert(at, step(wait));
        match simulator.run(&steps, 0).map(|outcome| outcome.seconds()) {
            Err(RulesError::Rank { reason, .. }) => assert!(reason.contains(&format!("`{wait}`")), "{reason}"),
            other => panic!("{wait} before {after}_z: {other:?}"),
        }
    }
}

/// A time in closed form: all one after the other.
#[test]
fn halo_one_after_the_other() {
    let schedule = serial_halo(["PostRecv", "PostSend"]);
    let seconds = |ranks| {
        let mut platform = SimPlatform::new(&HaloModel::new(ranks, [4, 5, 6]).unwrap(), ideal()).unwrap();
        platform.measure(&schedule).unwrap()
    };
    // Inner cells are 2 x 3 x 4; of the others 2 x 3 x 4 are the ends of rows whose other cells are inner ones.
    let step = 8.0 * (120.0 + 24.0) + 32.0 * 72.0 + 64.0 * 24.0;
    assert_eq!(seconds(1), step);
    // Faces of 20 cells across z; of 24 across y; of 30 across x. Kernel, copy, message, copy, kernel.
    let [z, y] = [20.0, 24.0].map(|cells| (16.0 + 8.0 + 8.0 + 8.0 + 16.0) * cells);
    let x = (40.0 + 8.0 + 8.0 + 8.0 + 40.0) * 30.0;
    assert_eq!(seconds(2), z + step);
    assert_eq!(seconds(4), y + z + step);
    assert_eq!(seconds(8), x + y + z + step);
}
