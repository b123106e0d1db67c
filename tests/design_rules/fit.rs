//! The fit of the simulated machine: what it finds of machines that are known, and of measured runs.

use std::path::Path;

use proptest::prelude::*;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use warpsmith::{
    design_rules::{
        About, Dag, Platform, Run, Runs, Schedule,
        platform::Staging,
        schedule::{Prefix, Schedules},
        sim::{
            Machine, SimPlatform, Workload,
            fit::{Agreement, Fit, Options, fit, predict},
            halo::HaloModel,
            pipeline::PipelineModel,
            spmv::SpmvModel,
        },
    },
    spmv::{Band, Csr, Traffic},
};

fn multiplication(ranks: usize) -> SpmvModel {
    let matrix: Csr<f32> = Band::new(3000, 30_000, 1).matrix().unwrap();
    SpmvModel::new(Traffic::new(&matrix, ranks).unwrap())
}

/// A rollout: random steps to the end.
fn random_schedule(dag: &Dag, rng: &mut ChaCha8Rng) -> Schedule {
    let mut prefix = Prefix::new(dag, 2).unwrap();
    loop {
        let next = prefix.next();
        if next.is_empty() {
            return prefix.finish().unwrap();
        }
        prefix.push(next[rng.next_u32() as usize % next.len()]);
    }
}

/// Runs of these schedules on a simulated machine.
fn runs_on(workload: &dyn Workload, machine: &Machine, schedules: impl Iterator<Item = Schedule>) -> Runs {
    let dag = workload.dag();
    let mut platform = SimPlatform::new(workload, machine.clone()).unwrap();
    let about = About { ranks: workload.ranks(), streams: 2, ..About::program(dag) };
    let run = |schedule: Schedule| {
        let traversal = schedule.text(dag).parse().unwrap();
        Run::new(platform.measure(&schedule).unwrap(), traversal)
    };
    Runs { about, runs: schedules.map(run).collect(), failed: Vec::new() }
}

fn random_runs(workload: &dyn Workload, machine: &Machine, count: usize) -> Runs {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let schedules: Vec<_> = (0..count).map(|_| random_schedule(workload.dag(), &mut rng)).collect();
    runs_on(workload, machine, schedules.into_iter())
}

/// Some of the multiplication's.
fn few_runs(machine: &Machine) -> Runs {
    let model = multiplication(2);
    let schedules: Vec<_> = Schedules::new(model.dag(), 2).unwrap().step_by(15).collect();
    runs_on(&model, machine, schedules.into_iter())
}

/// The data sheet's machine with each number that differs by up to a factor of two either way.
fn another(seed: u64) -> Machine {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut value = serde_json::to_value(Machine::data_sheet()).unwrap();
    for part in ["host", "gpu", "network/inside"] {
        let fields = value.pointer_mut(&format!("/{part}")).unwrap().as_object_mut().unwrap();
        for (name, field) in fields.iter_mut().filter(|(name, _)| !["ranks", "threads"].contains(&name.as_str())) {
            let factor = 4f64.powf((rng.next_u32() as f64 / f64::from(u32::MAX)) - 0.5);
            *field = (field.as_f64().unwrap_or_else(|| panic!("{name}")) * factor).into();
        }
    }
    serde_json::from_value(value).unwrap()
}

fn close(fitted: &Fit, before: f64, after: f64) {
    let (was, is) = (&fitted.before, &fitted.after);
    assert!(fitted.converged && was.rms > before, "{was:?}");
    assert!(is.rms < after && is.spearman > 0.98 && is.spearman > was.spearman, "{was:?}\n{is:?}");
    assert!((is.simulated_ratio / is.measured_ratio - 1.0).abs() < 3.0 * after, "{is:?}");
}

#[test]
fn a_known_machine_is_found() {
    for seed in [1, 2] {
        let known = another(seed);
        let (model, runs) = (multiplication(2), few_runs(&known));
        let fitted = fit(&model, &Machine::data_sheet(), &runs, &Options { sample: 150, ..Options::default() }).unwrap();
        close(&fitted, 0.04, 0.004);
        // What the other schedules take, too, by a simulation of the test's own.
        let found = runs_on(
            &model,
            &fitted.machine,
            fitted
                .held_out
                .iter()
                .map(|held_out| Schedule::parse(model.dag(), 2, &runs.runs[held_out.run].traversal.to_string()).unwrap()),
        );
        for (held_out, run) in fitted.held_out.iter().zip(&found.runs) {
            assert_eq!((held_out.after, held_out.measured), (run.seconds, runs.runs[held_out.run].seconds));
            assert!((held_out.after / held_out.measured).ln().abs() < 0.03);
        }
        // The launch decides much by itself.
        let launch = fitted.parameters.iter().find(|parameter| parameter.name == "host.launch").unwrap();
        assert!(launch.determined && (launch.after / known.host.launch).ln().abs() < 0.1, "{launch:?} {}", known.host.launch);
        assert_eq!((launch.before, launch.after), (Machine::data_sheet().host.launch, fitted.machine.host.launch));
    }
}

#[test]
fn other_programs_and_messages_elsewhere() {
    let halo = HaloModel::new(2, [64; 3]).unwrap();
    let workloads: [Box<dyn Workload>; 4] = [
        Box::new(halo.clone()),
        Box::new(halo.with_staging(Staging::Device)),
        Box::new(PipelineModel::new(2, 2000, 100, 3).unwrap()),
        Box::new(multiplication(3).with_staging(Staging::Device)),
    ];
    for workload in workloads {
        let known = another(5);
        let runs = random_runs(&*workload, &known, 200);
        let fitted = fit(&*workload, &Machine::data_sheet(), &runs, &Options::default()).unwrap();
        assert_eq!((fitted.sample, fitted.held_out.len()), (100, 100));
        close(&fitted, 0.015, 0.004);
    }
}

#[test]
fn what_runs_do_not_tell_stays() {
    let known = another(3);
    let mut start = Machine::data_sheet();
    start.noise = 0.3;
    start.gpu.copy_stall = 0.0;
    let prior = 0.5;
    let options = Options { sample: 100, prior, ..Options::default() };
    let fitted = fit(&multiplication(2), &start, &few_runs(&known), &options).unwrap();
    assert_eq!(fitted.machine.network.between, start.network.between);
    assert_eq!((fitted.machine.noise, fitted.machine.gpu.copy_stall), (0.3, 0.0));
    let parameter = |name: &str| fitted.parameters.iter().find(|parameter| parameter.name == name).copied();
    for name in ["network.between.latency", "network.between.bandwidth", "host.sync"] {
        let parameter = parameter(name).unwrap();
        assert!(!parameter.determined && (parameter.deviation - prior).abs() < 1e-9, "{parameter:?}");
    }
    // There is none, and no number of ranks is fitted.
    assert_eq!([parameter("gpu.copy_stall"), parameter("gpu.threads")], [None, None]);
    assert!(fitted.parameters.iter().all(|parameter| parameter.deviation <= prior * (1.0 + 1e-9)));
    assert!(parameter("host.launch").unwrap().is_time && !parameter("gpu.memory_bandwidth").unwrap().is_time);
}

#[test]
fn a_stronger_prior_holds_more() {
    let (model, runs) = (multiplication(2), few_runs(&another(4)));
    let moved = |prior| {
        let options = Options { sample: 100, prior, ..Options::default() };
        let fitted = fit(&model, &Machine::data_sheet(), &runs, &options).unwrap();
        fitted.parameters.iter().map(|parameter| (parameter.after / parameter.before).ln().powi(2)).sum::<f64>()
    };
    let all = [1e-4, 0.03, 1.0].map(moved);
    assert!(all[0] < 1e-3 && all.is_sorted() && all[1] < 0.8 * all[2], "{all:?}");
}

#[test]
fn the_seed_chooses_the_runs() {
    let (model, runs) = (multiplication(2), few_runs(&another(6)));
    let with = |seed| fit(&model, &Machine::data_sheet(), &runs, &Options { sample: 80, seed, ..Options::default() }).unwrap();
    let (first, second, other) = (with(1), with(1), with(2));
    assert_eq!(first, second);
    let held_out = |fitted: &Fit| fitted.held_out.iter().map(|held_out| held_out.run).collect::<Vec<_>>();
    assert_ne!(held_out(&first), held_out(&other));
    assert_eq!((first.sample, first.held_out.len()), (80, runs.runs.len() - 80));
    assert!(held_out(&first).windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let start = Machine::data_sheet();
    let (model, runs) = (multiplication(2), few_runs(&start));
    let error = |model: &SpmvModel, start: &Machine, runs: &Runs, options: &Options| {
        let error = fit(model, start, runs, options).unwrap_err().to_string();
        assert!(options != &Options::default() || predict(model, start, runs).is_err() || runs.runs.len() < 92);
        error
    };
    let usual = Options::default();
    let first = |count: usize| Runs { about: runs.about.clone(), runs: runs.runs[..count].to_vec(), failed: Vec::new() };
    assert_eq!(
        error(&model, &start, &first(91), &usual),
        "nothing to learn: 23 numbers can't be fitted to 45 of 91 runs: it takes 46, and as many to judge by"
    );
    fit(&model, &start, &first(92), &usual).unwrap();
    assert!(error(&model, &start, &first(0), &usual).contains("can't be fitted to 0 of 0 runs"));
    let few = Options { sample: 45, ..Options::default() };
    assert!(error(&model, &start, &runs, &few).contains("can't be fitted to 45 of"));
    assert_eq!(error(&multiplication(3), &start, &runs, &usual), "the runs are of 2 ranks, and the workload is of 3");
    let halo = HaloModel::new(2, [8; 3]).unwrap();
    let other = fit(&halo, &start, &runs, &usual).unwrap_err().to_string();
    assert_eq!(other, "the runs are of the program `spmv`, and the workload is of `halo`");
    let pipeline = |blocks| PipelineModel::new(2, 100, 100, blocks).unwrap();
    let other = fit(&pipeline(3), &start, &random_runs(&pipeline(2), &start, 100), &usual).unwrap_err().to_string();
    assert_eq!(other, "the runs are of the program `pipeline`, and the workload is of another one of that name");
    for (seconds, text) in [(0.0, "a run took 0 s"), (f64::NAN, "a run took NaN s"), (f64::INFINITY, "a run took inf s")] {
        let mut odd = runs.clone();
        odd.runs[50].seconds = seconds;
        assert!(error(&model, &start, &odd, &usual).contains(text));
    }
    let mut odd = runs.clone();
    odd.runs[50].traversal = "Pack@0;end".parse().unwrap();
    assert!(error(&model, &start, &odd, &usual).starts_with("the schedule `Pack@0;end` of program `spmv`"));
    for (noise, prior) in [(0.0, 0.3), (0.01, 0.0), (f64::NAN, 0.3), (0.01, f64::INFINITY)] {
        let options = Options { noise, prior, ..Options::default() };
        assert!(error(&model, &start, &runs, &options).contains("are not both finite and positive"));
    }
    let mut odd = start.clone();
    odd.gpu.gap = -1.0;
    assert!(error(&model, &odd, &runs, &usual).contains("gpu.gap = -1"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Whatever the times are: an error or a machine that can be, and no panic.
    #[test]
    fn any_times_give_a_machine_or_an_error(
        exponents in prop::collection::vec(-9.0f64..3.0, 100..130), sample in 1usize..200, seed in any::<u64>(),
    ) {
        let mut runs = few_runs(&Machine::data_sheet());
        runs.runs.truncate(exponents.len());
        for (run, exponent) in runs.runs.iter_mut().zip(&exponents) {
            run.seconds = 10f64.powf(*exponent);
        }
        let options = Options { sample, seed, ..Options::default() };
        match fit(&multiplication(2), &Machine::data_sheet(), &runs, &options) {
            Ok(fitted) => {
                prop_assert!(sample >= 46);
                fitted.machine.validate().unwrap();
                prop_assert!(fitted.after.rms.is_finite() && fitted.parameters.iter().all(|parameter| parameter.deviation > 0.0));
            }
            Err(error) => prop_assert!(sample < 46, "{error}"),
        }
    }
}

/// The presets' comments say how well they agree with the runs that they were fitted to.
#[test]
fn presets_agree_with_what_was_measured() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/figures/design_rules");
    let matrix: Csr<f32> = Band::default().matrix().unwrap();
    let agreement = |file: &str, staging, machine: Machine| {
        let runs = Runs::read(&folder.join(file)).unwrap();
        let model = SpmvModel::new(Traffic::new(&matrix, runs.about.ranks).unwrap()).with_staging(staging);
        Agreement::of(&predict(&model, &machine, &runs).unwrap(), &runs.times())
    };
    let host = agreement("spmv_2h200.csv", Staging::Host, Machine::h200_node());
    assert!(host.rms < 0.0097 && host.spearman > 0.945, "{host:?}");
    let direct = agreement("spmv_2h200_device.csv", Staging::Device, Machine::h200_node_direct());
    assert!(direct.rms < 0.0085 && direct.spearman > 0.97, "{direct:?}");
    let mut shared = Machine::h200_node_direct();
    shared.gpu.ranks = 2;
    let four = agreement("spmv_4ranks_device.csv", Staging::Device, shared);
    assert!(four.deviation < 0.0165 && four.spearman > 0.92 && (0.03..0.05).contains(&four.bias), "{four:?}");
    for (file, staging) in [("spmv_2h200.csv", Staging::Host), ("spmv_4ranks_device.csv", Staging::Device)] {
        let mut before = Machine::data_sheet();
        before.gpu.ranks = if file.contains("4ranks") { 2 } else { 1 };
        assert!(agreement(file, staging, before).rms > 0.1);
    }
}
