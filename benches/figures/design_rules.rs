//! The figures of the distributed SpMV's design rules: `cargo bench --bench figures -- design_rules --out DIR`, and
//! with `--features mpi` under `mpirun -n 4`.
//!
//! Messages are in the GPUs' memory where MPI is CUDA-aware, else, and with `--host`, in the host's.
//!
//! With `--noise N`: N schedules at random, in passes, by mean and by median: how much of what differs is noise.
//!
//! With `--rule`: the textbook's schedule and the same by a rule, in turns.
//!
//! Measures all schedules on two streams in some passes, writes their medians as a file of runs, and then measures the
//! fastest, the median and the slowest in turns, so that their ratio is one of times taken side by side.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use warpsmith::design_rules::platform::{Group, Staging, Statistic};
use warpsmith::design_rules::programs::spmv::{self, Multiplication};
use warpsmith::design_rules::search::{Explorer, Random};
use warpsmith::design_rules::{About, Platform, Runs, Schedule, Survey};
use warpsmith::device::Device;
use warpsmith::files::Destination;
use warpsmith::spmv::Band;

/// How often the chosen schedules are measured in turns.
const TURNS: usize = 31;

/// What the command line asks for.
struct Wanted {
    out: PathBuf,
    ranks: usize,
    passes: usize,
    seconds: u64,
    rows: usize,
    mpi: bool,
    staging: Staging,
    noise: Option<usize>,
    rule: bool,
}

pub fn main(arguments: Vec<String>) -> Result<(), Box<dyn Error>> {
    let mut wanted = Wanted {
        out: PathBuf::from("."),
        ranks: 4,
        passes: 3,
        seconds: 300,
        rows: 150_000,
        mpi: false,
        staging: Staging::Auto,
        noise: None,
        rule: false,
    };
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} takes a value"));
        match argument.as_str() {
            "--out" => wanted.out = value()?.into(),
            "--ranks" => wanted.ranks = value()?.parse()?,
            "--passes" => wanted.passes = value()?.parse()?,
            "--seconds" => wanted.seconds = value()?.parse()?,
            "--rows" => wanted.rows = value()?.parse()?,
            "--noise" => wanted.noise = Some(value()?.parse()?),
            "--rule" => wanted.rule = true,
            "--mpi" => wanted.mpi = true,
            "--host" => wanted.staging = Staging::Host,
            _ => return Err(format!("unknown argument {argument}").into()),
        }
    }
    let band = Band { rows: wanted.rows, nonzeros: 10 * wanted.rows, half_bandwidth: wanted.rows / 4, seed: 1 };
    let setup = Arc::new(Multiplication::<f32>::new(band.matrix()?, wanted.staging));
    let devices = Device::all()?;
    if wanted.mpi {
        #[cfg(feature = "mpi")]
        {
            let communicator = warpsmith::ranks::mpi::init()?;
            let device = devices[communicator.rank() % devices.len()].clone();
            if communicator.rank() > 0 {
                return Ok(Group::follow(&device, communicator, &*setup, 2)?);
            }
            return figures(&wanted, Group::processes(&device, communicator, &*setup, 2)?);
        }
        #[cfg(not(feature = "mpi"))]
        return Err("--mpi takes a build with --features mpi".into());
    }
    let devices: Vec<_> = devices.into_iter().cycle().take(wanted.ranks).collect();
    figures(&wanted, Group::threads(&devices, setup, 2)?)
}

fn figures(wanted: &Wanted, mut group: Group) -> Result<(), Box<dyn Error>> {
    let end = Instant::now() + Duration::from_secs(wanted.seconds);
    println!("{}", group.description());
    group = group.with_statistic(Statistic::Low);
    let dag = group.dag().clone();
    if wanted.rule {
        let parse = |text| Schedule::parse(&dag, 2, text);
        let chosen = [("textbook", parse(spmv::TEXTBOOK)?), ("by the rule", parse(spmv::BY_THE_RULE)?)];
        chosen.iter().try_for_each(|(_, schedule)| group.check(schedule))?;
        return in_turns(&mut group, &chosen);
    }
    if let Some(schedules) = wanted.noise {
        return noise(wanted, group, schedules);
    }
    let mut survey = Survey::new(group.dag(), 2)?;
    for pass in 0..wanted.passes {
        let start = Instant::now();
        let in_time = || if Instant::now() < end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        let flow = survey.pass(pass as u64, |schedule| group.measure(schedule), in_time)?;
        println!("pass {pass}: {:.1} s for {} schedules", start.elapsed().as_secs_f64(), survey.len());
        if flow.is_break() {
            println!("cut short");
            break;
        }
    }
    let about = About {
        input: format!("band matrix, {} rows, {} nonzeros, f32", wanted.rows, 10 * wanted.rows),
        platform: group.description(),
        ranks: group.ranks(),
        streams: 2,
        search: "exhaustive".to_owned(),
        space: Some(survey.len().to_string()),
        ..About::program(group.dag())
    };
    let mut runs = Runs { about, runs: survey.runs(), failed: Vec::new() };
    let mut sorted = runs.runs.clone();
    sorted.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let parse = |index: usize| Schedule::parse(&dag, 2, &sorted[index].traversal.to_string());
    let chosen = [parse(0)?, parse(sorted.len() / 2)?, parse(sorted.len() - 1)?];
    chosen.iter().try_for_each(|schedule| group.check(schedule))?;
    runs.about.fastest = Some(group.timeline(&chosen[0])?);
    runs.about.slowest = Some(group.timeline(&chosen[2])?);
    let name = if wanted.mpi { "spmv-mpi.csv" } else { "spmv-threads.csv" };
    runs.write(&Destination::prepare(&wanted.out.join(name))?)?;
    // Two measurements of one space, where there are enough passes.
    let half = wanted.passes / 2;
    if half > 0 && survey.times().iter().all(|times| times.len() == wanted.passes) {
        for (half, passes) in [("first", 0..half), ("second", half..wanted.passes)] {
            let part = Runs { about: runs.about.clone(), runs: survey.runs_of(passes), failed: Vec::new() };
            part.write(&Destination::prepare(&wanted.out.join(name.replace(".csv", &format!("-{half}.csv"))))?)?;
        }
    }
    let passes: Vec<String> = survey
        .times()
        .iter()
        .map(|times| times.iter().map(|seconds| format!("{:.4}", 1e6 * seconds)).collect::<Vec<_>>().join(","))
        .collect();
    std::fs::write(wanted.out.join(name.replace(".csv", "-passes.csv")), passes.join("\n") + "\n")?;
    println!(
        "{} measured, fastest {:.2} us, slowest {:.2} us, ratio {:.3}, spread of passes {:.2} %",
        sorted.len(),
        1e6 * sorted[0].seconds,
        1e6 * sorted[sorted.len() - 1].seconds,
        sorted[sorted.len() - 1].seconds / sorted[0].seconds,
        100.0 * survey.spread()
    );

    let [fastest, middle, slowest] = chosen;
    in_turns(&mut group, &[("fastest", fastest), ("median", middle), ("slowest", slowest)])
}

/// Measures schedules one after the other, again and again; the ratio is of the last to the first.
fn in_turns(group: &mut Group, chosen: &[(&str, Schedule)]) -> Result<(), Box<dyn Error>> {
    let mut times = vec![Vec::new(); chosen.len()];
    for _ in 0..TURNS {
        for ((_, schedule), times) in chosen.iter().zip(&mut times) {
            times.push(1e6 * group.measure(schedule)?);
        }
    }
    let ratios: Vec<f64> = times[chosen.len() - 1].iter().zip(&times[0]).map(|(last, first)| last / first).collect();
    for times in &mut times {
        times.sort_by(f64::total_cmp);
    }
    for ((name, schedule), times) in chosen.iter().zip(&times) {
        let (least, middle, greatest) = (times[0], times[TURNS / 2], times[TURNS - 1]);
        println!("{name} in turns: {middle:.2} us ({least:.2} to {greatest:.2}): {}", schedule.text(group.dag()));
    }
    let mut sorted = ratios;
    sorted.sort_by(f64::total_cmp);
    println!("ratio in turns: {:.3} ({:.3} to {:.3})", sorted[TURNS / 2], sorted[0], sorted[TURNS - 1]);
    Ok(())
}

/// Of some schedules' times, how much they differ between passes of one and between schedules.
fn noise(wanted: &Wanted, mut group: Group, n: usize) -> Result<(), Box<dyn Error>> {
    let dag = group.dag().clone();
    let mut explorer = Explorer::new(&dag, 2, Random, 7)?;
    let mut chosen = Vec::new();
    while chosen.len() < n {
        let Some(schedule) = explorer.propose() else { break };
        explorer.record(&schedule, 1.0)?;
        chosen.push(schedule);
    }
    let mut times = vec![Vec::new(); chosen.len()];
    for _ in 0..wanted.passes {
        for (schedule, times) in chosen.iter().zip(&mut times) {
            times.push(group.times(schedule)?);
        }
    }
    for (name, statistic) in [("mean", Statistic::Mean), ("median", Statistic::Median), ("low", Statistic::Low)] {
        let values: Vec<Vec<f64>> = times.iter().map(|of| of.iter().map(|times| times.by(statistic)).collect()).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let variance = |values: &[f64]| {
            let center = mean(values);
            values.iter().map(|value| (value - center).powi(2)).sum::<f64>() / (values.len() - 1) as f64
        };
        let within = values.iter().map(|values| variance(values)).sum::<f64>() / values.len() as f64;
        let means: Vec<_> = values.iter().map(|values| mean(values)).collect();
        let between = (variance(&means) - within / wanted.passes as f64).max(0.0);
        let center = mean(&means);
        println!(
            "{name}: {:.2} us, noise of one measurement {:.2} %, schedules differ by {:.2} % (standard deviations)",
            1e6 * center,
            100.0 * within.sqrt() / center,
            100.0 * between.sqrt() / center
        );
    }
    Ok(())
}
