//! The figures of docs/performance.md on pairwise matrices: `cargo bench --bench figures -- pcf`.
//!
//! Without arguments it measures a table of cases, warm, each as the median of seven runs from host
//! data to a new host matrix. The compute time is the union of the compute spans in a trace of one
//! more run. `--gpus 1,2,4` measures the large case on 1, 2 and 4 GPUs. `--quick` takes small cases,
//! and `--shapes` sets with long functions.

use std::{error::Error, time::Instant};

use warpsmith::{
    device::{Backend, Device},
    engine::{Control, Engine, Report, Trace, advise_huge_pages, zeroed_vec},
    pcf::{Layout, Measure, Pairwise, PcfReal, PcfSet, random},
};

use crate::RUNS;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn engine(gpus: usize) -> Result<Engine> {
    let first = Device::best()?;
    Ok(match first.backend() {
        Backend::Cpu => Engine::new([first])?,
        Backend::Cuda => Engine::new((0..gpus as u32).map(Device::cuda).collect::<std::result::Result<Vec<_>, _>>()?)?,
    })
}

/// Computes a matrix into new memory; gives the time in ms, too.
fn once<T: PcfReal>(
    engine: &Engine,
    matrix: &Pairwise<'_, T>,
    layout: Layout,
    trace: Option<&Trace>,
) -> Result<(Vec<T>, f64, Report)> {
    let start = Instant::now();
    let mut out = zeroed_vec(matrix.shape(layout)?.iter().product())?;
    advise_huge_pages(&mut out);
    let report = matrix.compute_into(engine, layout, &mut out, Control { trace, ..Control::default() })?;
    Ok((out, 1e3 * start.elapsed().as_secs_f64(), report))
}

/// Time during which at least one block is computed or downloaded, in ms: the longest over the
/// GPUs. `lane` has the lane's first letters.
fn busy(trace: &Trace, lane: &str) -> f64 {
    let spans = trace.spans();
    let of = |process| {
        let mut spans: Vec<_> = spans.iter().filter(|span| span.process == process && span.lane.starts_with(lane)).collect();
        spans.sort_by(|a, b| a.start.total_cmp(&b.start));
        let (mut sum, mut end) = (0.0, f64::MIN);
        for span in spans {
            let to = span.start + span.duration;
            sum += (to - span.start.max(end)).max(0.0);
            end = end.max(to);
        }
        sum / 1e3
    };
    spans.iter().map(|span| span.process).max().map_or(0.0, |last| (0..=last).map(of).fold(0.0, f64::max))
}

fn measure<T: PcfReal>(engine: &Engine, name: &str, matrix: &Pairwise<'_, T>, layout: Layout) -> Result<f64> {
    let mut times = Vec::new();
    let mut side = 0;
    for run in 0..=RUNS {
        let (_, ms, report) = once(engine, matrix, layout, None)?;
        side = report.side;
        if run > 0 {
            times.push(ms);
        }
    }
    let (median, spread) = crate::median(times);
    let trace = Trace::new();
    let (_, _, report) = once(engine, matrix, layout, Some(&trace))?;
    let (compute, download) = (busy(&trace, "compute"), busy(&trace, "download"));
    let steps = matrix.merge_steps() as f64;
    println!(
        "{name:<44} {median:9.2} ms ({:4.1} %)  compute {compute:8.2} ms {:9.3e} steps/s  download {download:7.2} ms \
         {:5.1} GB/s  side {side} blocks {}",
        100.0 * spread,
        steps / compute * 1e3,
        report.downloaded as f64 / engine.devices().len() as f64 / download / 1e6,
        report.blocks
    );
    Ok(median)
}

fn table(quick: bool) -> Result<()> {
    let engine = engine(1)?;
    println!("{}: medians of {RUNS}, end to end", engine.devices()[0]);
    let n = |n: usize| if quick { n / 20 } else { n };
    let even: PcfSet<f32> = random::uniform(n(10_000), 100, 1)?;
    measure(&engine, "pdist L1, 10,000 x 100, f32", &Pairwise::pdist(&even, 1.0)?, Layout::Condensed)?;
    measure(&engine, "pdist L1, 10,000 x 100, f32, dense", &Pairwise::pdist(&even, 1.0)?, Layout::Dense)?;
    measure(&engine, "pdist L2, 10,000 x 100, f32", &Pairwise::pdist(&even, 2.0)?, Layout::Condensed)?;
    measure(&engine, "pdist p = 3.5, 10,000 x 100, f32", &Pairwise::pdist(&even, 3.5)?, Layout::Condensed)?;
    measure(&engine, "l2_kernel, 10,000 x 100, f32", &Pairwise::l2_kernel(&even), Layout::Packed)?;
    measure(&engine, "cdist L1, 10,000 x 100, f32", &Pairwise::cdist(&even, &even, Measure::Lp(1.0))?, Layout::Dense)?;
    let wide: PcfSet<f64> = random::uniform(n(10_000), 100, 1)?;
    measure(&engine, "pdist L1, 10,000 x 100, f64", &Pairwise::pdist(&wide, 1.0)?, Layout::Condensed)?;
    measure(&engine, "l2_kernel, 10,000 x 100, f64", &Pairwise::l2_kernel(&wide), Layout::Packed)?;
    let long: PcfSet<f32> = random::uniform(n(5_000), 1_000, 1)?;
    measure(&engine, "pdist L1, 5,000 x 1,000, f32", &Pairwise::pdist(&long, 1.0)?, Layout::Condensed)?;
    let many: PcfSet<f32> = random::uniform(n(40_000), 100, 1)?;
    measure(&engine, "pdist L1, 40,000 x 100, f32", &Pairwise::pdist(&many, 1.0)?, Layout::Condensed)?;
    let uneven: PcfSet<f32> = random::uneven(n(5_000), 5_000, 1)?;
    measure(&engine, "pdist L1, 5,000 x 1..5,000, f32", &Pairwise::pdist(&uneven, 1.0)?, Layout::Condensed)?;
    let uneven: PcfSet<f64> = random::uneven(n(5_000), 5_000, 1)?;
    measure(&engine, "pdist L1, 5,000 x 1..5,000, f64", &Pairwise::pdist(&uneven, 1.0)?, Layout::Condensed)?;
    Ok(())
}

/// The functions of some sets, one of each in turn.
fn in_turns<T: PcfReal>(sets: &[PcfSet<T>]) -> PcfSet<T> {
    let longest = sets.iter().map(PcfSet::len).max().unwrap_or(0);
    let turn = |k: usize| sets.iter().filter(move |set| k < set.len()).map(move |set| set.get(k).to_pcf());
    PcfSet::from_functions((0..longest).flat_map(turn))
}

fn shapes_of<T: PcfReal>(quick: bool) -> Result<()> {
    let engine = engine(1)?;
    let n = |n: usize| if quick { n.div_ceil(20) } else { n };
    let pdist = |name: &str, set: &PcfSet<T>| {
        let name = format!("{name}, {}", T::NAME);
        measure(&engine, &name, &Pairwise::pdist(set, 1.0)?, Layout::Condensed)
    };
    pdist("10,000 x 100", &random::uniform(n(10_000), 100, 1)?)?;
    pdist("5,000 x 1,000", &random::uniform(n(5_000), 1_000, 1)?)?;
    pdist("5,000 x 1..5,000", &random::uneven(n(5_000), 5_000, 1)?)?;
    pdist("64 x 300,000", &random::uniform(64, n(300_000), 1)?)?;
    pdist(
        "20,000 x 10 and 1 x 1,000,000",
        &in_turns(&[random::uniform(n(20_000), 10, 1)?, random::uniform(1, n(1_000_000), 2)?]),
    )?;
    let points = |i: usize| if i == 0 { 2_000 } else { 10 + 3 * i };
    let sets = (0..32).map(|i| random::uniform(n(625), points(i), i as u64)).collect::<std::result::Result<Vec<_>, _>>()?;
    pdist("20,000 x 13..103, one in 32 x 2,000", &in_turns(&sets))?;
    pdist("2,000 x 20,000", &random::uniform(n(2_000), 20_000, 1)?)?;
    Ok(())
}

/// The median time in ms of a matrix that is written to memory which has been used before, so that the system has no
/// pages to find.
fn into_the_same<T: PcfReal>(engine: &Engine, matrix: &Pairwise<'_, T>) -> Result<f64> {
    let mut out = zeroed_vec(matrix.shape(Layout::Condensed)?.iter().product())?;
    advise_huge_pages(&mut out);
    let mut times = Vec::new();
    for run in 0..=RUNS {
        let start = Instant::now();
        matrix.compute_into(engine, Layout::Condensed, &mut out, Control::default())?;
        if run > 0 {
            times.push(1e3 * start.elapsed().as_secs_f64());
        }
    }
    Ok(crate::median(times).0)
}

fn scaling(gpus: &str, quick: bool) -> Result<()> {
    let set: PcfSet<f32> = random::uniform(if quick { 2_000 } else { 80_000 }, 100, 1)?;
    let matrix = Pairwise::pdist(&set, 1.0)?;
    let mut first = None;
    for gpus in gpus.split(',') {
        let gpus: usize = gpus.parse()?;
        let engine = engine(gpus)?;
        let ms = measure(&engine, &format!("pdist L1, {} x 100, f32, {gpus} GPUs", set.len()), &matrix, Layout::Condensed)?;
        let again = into_the_same(&engine, &matrix)?;
        let (one, one_again, of) = *first.get_or_insert((ms, again, gpus));
        let efficiency = |one: f64, ms: f64| one * of as f64 / (ms * gpus as f64);
        println!("    efficiency against {of}: {:.3}", efficiency(one, ms));
        let bytes = matrix.shape(Layout::Condensed)?[0] * size_of::<f32>();
        println!(
            "    into the same memory: {again:.2} ms, {:.1} GB/s of output, efficiency {:.3}",
            bytes as f64 / again / 1e6,
            efficiency(one_again, again)
        );
    }
    Ok(())
}

pub fn main(arguments: Vec<String>) -> Result<()> {
    let (mut gpus, mut quick, mut shapes) = (None, false, false);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--gpus" => gpus = Some(arguments.next().ok_or("--gpus wants numbers")?),
            "--quick" => quick = true,
            "--shapes" => shapes = true,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    if shapes {
        shapes_of::<f64>(quick)?;
        return shapes_of::<f32>(quick);
    }
    gpus.map_or_else(|| table(quick), |gpus| scaling(&gpus, quick))
}
