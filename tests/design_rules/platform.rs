//! Programs on real streams and ranks: every schedule computes the right result.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warpsmith::design_rules::platform::{Group, MEASUREMENT, Program, Staging};
use warpsmith::design_rules::programs::spmv::{self, Multiplication};
use warpsmith::design_rules::schedule::Schedules;
use warpsmith::design_rules::{Dag, OpId, Platform as _, RulesError, Schedule};
use warpsmith::device::{Backend, Device, Stream};
use warpsmith::ranks::Communicator;
use warpsmith::spmv::{Band, Csr};

use crate::fixtures::devices;

fn band(rows: usize) -> Csr<f64> {
    Band { rows, nonzeros: 6 * rows, half_bandwidth: rows / 4, seed: 5 }.matrix().unwrap()
}

fn multiplication(ranks: usize, rows: usize, staging: Staging) -> Group {
    Group::threads(&devices(ranks), Arc::new(Multiplication::new(band(rows), staging)), 2).unwrap()
}

fn every_schedule_multiplies(ranks: usize, staging: Staging) {
    let mut group = multiplication(ranks, 96, staging);
    let dag = spmv::dag();
    let mut n = 0;
    for schedule in Schedules::new(&dag, 2).unwrap() {
        group.check(&schedule).unwrap();
        n += 1;
    }
    assert_eq!(n, 5390);
}

#[test]
fn every_schedule_multiplies_on_one_rank() {
    every_schedule_multiplies(1, Staging::Auto);
}

#[test]
fn every_schedule_multiplies_on_two_ranks() {
    every_schedule_multiplies(2, Staging::Auto);
}

#[test]
fn every_schedule_multiplies_on_four_ranks() {
    every_schedule_multiplies(4, Staging::Auto);
}

#[test]
fn every_schedule_multiplies_by_way_of_the_host() {
    every_schedule_multiplies(3, Staging::Host);
}

/// Schedules far apart in the order of the list.
fn some_schedules(dag: &Dag) -> Vec<Schedule> {
    Schedules::new(dag, 2).unwrap().step_by(700).collect()
}

#[test]
fn measures_and_shows_times() {
    let mut group = multiplication(3, 900, Staging::Auto);
    assert_eq!(group.ranks(), 3);
    let dag = spmv::dag();
    for schedule in some_schedules(&dag) {
        let seconds = group.measure(&schedule).unwrap();
        assert!(seconds > 0.0 && seconds < 100.0 * MEASUREMENT, "{seconds}");
        let timeline = group.timeline(&schedule).unwrap();
        for rank in 0..3 {
            let host: Vec<_> = timeline.spans.iter().filter(|span| span.rank == rank && span.stream.is_none()).collect();
            let names: Vec<_> = host.iter().map(|span| span.name.clone()).collect();
            let mut expected = schedule.names(&dag);
            expected.pop();
            assert_eq!(names, expected);
            assert!(host.iter().all(|span| span.start <= span.end));
            assert!(host.windows(2).all(|pair| pair[0].end <= pair[1].start));
            // Each operation of a GPU is in its stream once, and after what it depends on.
            let at = |name: &str| {
                let mut found = timeline.spans.iter().filter(|span| span.rank == rank && span.name == name);
                let host = found.next().expect("on the host");
                let span = found.next().unwrap_or(host).clone();
                assert!(found.next().is_none());
                span
            };
            // The clocks of host and device agree to some microseconds, and events around a kernel are not the kernel.
            let slack = if timeline.spans.iter().any(|span| span.stream.is_some()) { 30e-6 } else { 0.0 };
            for (before, after) in dag.edges().filter(|&(_, after)| after != dag.end()) {
                let (before, after) = (at(dag.name_of(before)), at(dag.name_of(after)));
                assert!(before.end <= after.start + slack, "{before:?} {after:?}");
            }
        }
    }
}

/// A matrix without remote nonzeros, and one with ranks that send but don't receive.
#[test]
fn lopsided_exchanges() {
    let diagonal = Csr::from_triplets((40, 40), (0..40).map(|i| (i, i, 2.0))).unwrap();
    let lower = Csr::from_triplets((40, 40), (0..40).map(|i| (i, i / 2, 3.0))).unwrap();
    let both = |matrix: Csr<f64>| [(matrix.clone(), Staging::Host), (matrix, Staging::Auto)];
    for (matrix, staging) in [diagonal, lower].into_iter().flat_map(both) {
        let mut group = Group::threads(&devices(4), Arc::new(Multiplication::<f64>::new(matrix, staging)), 2).unwrap();
        for schedule in some_schedules(&spmv::dag()) {
            group.check(&schedule).unwrap();
        }
    }
}

#[test]
fn bad_setups() {
    let error = |matrix: Csr<f64>, ranks: usize, staging: Staging| match Group::threads(
        &devices(ranks),
        Arc::new(Multiplication::new(matrix, staging)),
        2,
    ) {
        Ok(_) => panic!("it is there"),
        Err(error) => error.to_string(),
    };
    let wide = Csr::from_triplets((3, 4), [(0, 0, 1.0)]).unwrap();
    assert!(error(wide, 2, Staging::Auto).contains("3"), "names the shape");
    let text = error(band(96), 97, Staging::Auto);
    assert!(text.contains("97") && text.contains("96"), "{text}");
    let gpu = Device::best().unwrap();
    if gpu.backend() == Backend::Cuda {
        // A rank without a GPU has no memory to send from.
        let setup = Arc::new(Multiplication::new(band(96), Staging::Device));
        let text = Group::threads(&[gpu, Device::cpu()], setup, 2).err().expect("it can't be").to_string();
        assert!(text.contains("memory of the host only"), "{text}");
    }
    assert!(matches!(Group::threads(&[], Arc::new(Multiplication::new(band(96), Staging::Auto)), 2), Err(RulesError::Setup(_))));
}

/// Computes nothing, fails or panics where it is told to, and gives a wrong result where it is told to.
struct Faulty {
    dag: Dag,
    rank: usize,
    fails: &'static str,
    panics: &'static str,
    wrong: AtomicBool,
}

impl Program for Faulty {
    fn dag(&self) -> &Dag {
        &self.dag
    }

    fn cpu(&self, op: OpId) -> Result<(), RulesError> {
        assert!(self.dag.name_of(op) != self.panics, "it is odd");
        if self.dag.name_of(op) == self.fails { Err(RulesError::Setup(format!("no {}", self.fails))) } else { Ok(()) }
    }

    fn gpu(&self, op: OpId, _: &Stream) -> Result<(), RulesError> {
        self.cpu(op)
    }

    fn reset(&self) -> Result<(), RulesError> {
        assert!(self.panics != "reset", "it is odd");
        self.wrong.store(self.rank == 1, Ordering::Relaxed);
        Ok(())
    }

    fn difference(&self) -> Result<Option<String>, RulesError> {
        Ok(self.wrong.load(Ordering::Relaxed).then(|| "it is wrong".to_owned()))
    }
}

/// Three ranks; the third fails in the named call.
fn faulty(fails: &'static str) -> Group {
    faulty_on(2, fails, "").unwrap()
}

fn faulty_on(odd: usize, fails: &'static str, panics: &'static str) -> Result<Group, RulesError> {
    let setup = move |_: &Device, ranks: &Arc<dyn Communicator>| {
        let (rank, wrong) = (ranks.rank(), AtomicBool::new(false));
        let [fails, panics] = [fails, panics].map(|name| if rank == odd { name } else { "" });
        assert!(panics != "setup", "it is odd");
        Ok(Box::new(Faulty { dag: spmv::dag(), rank, fails, panics, wrong }) as Box<dyn Program>)
    };
    Group::threads(&devices(3), Arc::new(setup), 2)
}

/// A panic ends the run on all ranks, with an error that names the rank and where it was; nothing hangs, however
/// threads run.
#[test]
fn panics_are_errors() {
    let all: Vec<_> = some_schedules(&spmv::dag());
    for (odd, schedule) in [0, 1, 2].into_iter().flat_map(|odd| all.iter().map(move |schedule| (odd, schedule))) {
        for operation in ["y_R", "Pack", "WaitSend"] {
            let mut group = faulty_on(odd, "", operation).unwrap();
            let error = group.measure(schedule).unwrap_err().to_string();
            assert!(error.starts_with(&format!("rank {odd}")), "{error}");
            assert!(error.ends_with(&format!(": `{operation}` panicked: it is odd")), "{error}");
            assert!(group.check(schedule).is_err());
        }
        let error = faulty_on(odd, "", "reset").unwrap().check(schedule).unwrap_err().to_string();
        assert!(error.starts_with(&format!("rank {odd}")) && error.ends_with(" panicked: it is odd"), "{error}");
        let error = faulty_on(odd, "", "setup").err().expect("it can't start").to_string();
        assert_eq!(error, format!("rank {odd}: the setup panicked: it is odd"));
    }
}

#[test]
fn streams_and_ranks_that_cannot_be() {
    let setup = |streams: usize, ranks: usize| {
        let setup = Arc::new(Multiplication::new(band(96), Staging::Auto));
        Group::threads(&vec![Device::cpu(); ranks], setup, streams).err().expect("it can't be").to_string()
    };
    for streams in [0, 9, usize::MAX] {
        assert_eq!(setup(streams, 2), format!("{streams} streams are not possible: it takes 1 to 8"));
    }
    assert_eq!(setup(2, 1025), "1025 ranks are too many to be threads: there can be 1024");
}

#[test]
fn faults_are_named() {
    let schedule = Schedules::new(&spmv::dag(), 2).unwrap().next().unwrap();
    // A wrong result names its rank.
    match faulty("").check(&schedule) {
        Err(RulesError::Wrong { reason, .. }) => assert_eq!(reason, "rank 1: it is wrong"),
        other => panic!("{other:?}"),
    }
    // An operation that fails on one rank ends all, on the CPU's streams and on the host; nothing hangs.
    for operation in ["y_R", "WaitSend"] {
        let mut group = faulty(operation);
        let error = group.measure(&schedule).unwrap_err().to_string();
        assert!(error.contains("rank 2 gave up") && error.contains(&format!("no {operation}")), "{error}");
        assert!(group.measure(&schedule).is_err());
    }
}
