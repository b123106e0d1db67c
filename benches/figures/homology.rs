//! The figures of docs/performance.md on persistent homology: `cargo bench --bench figures -- homology`.
//!
//! Each time is of one call from points in host memory to bars in host memory, medians of seven calls after two to warm
//! up; beside it, the steps of the call of median time, and the memory that a cloud takes on the GPU. Arguments are the cases
//! to take: `COUNTxPOINTS`, with `:circle` for points near a circle in place of uniform ones in a cube, `:matrix` to go on to
//! the L1 distances of all pairs of Betti curves of degree 1, and `:f64`. `--quick` takes few small ones, `--save FOLDER`
//! writes the points of each case, for peers, and `--plot FILE.csv` draws what `benches/peers/homology.py` has measured.

use std::{error::Error, fs, path::Path, time::Instant};

use plotters::style::RGBColor;
use warpsmith::{
    device::Device,
    engine::{Control, Engine},
    homology::{Clouds, CurveReal, Options, Rips},
    pcf::{Layout, Pairwise, PcfSet, barcode::Curve},
};

use crate::{
    RUNS, measure,
    plot::{Plot, Series},
};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const CASES: [&str; 9] =
    ["10000x25", "10000x100", "10000x100:f64", "10000x100:matrix", "1000x300", "100x1000", "8x2000", "8x2000:circle", "1x5000"];
const QUICK: [&str; 5] = ["100x25", "100x100", "100x100:matrix", "10x300", "10x300:circle"];

/// Numbers in [0, 1) of a splitmix64 generator.
fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn points<T: CurveReal>(count: usize, circle: bool) -> Vec<T> {
    let mut random = uniform(1);
    let point = |_| {
        let [x, y, z] = [random(), random(), random()];
        let angle = std::f64::consts::TAU * x;
        let point = if circle { [angle.cos() + 0.1 * y, angle.sin() + 0.1 * z, 0.1 * random()] } else { [x, y, z] };
        point.map(T::from_f64)
    };
    (0..count).flat_map(point).collect()
}

fn case<T: CurveReal>(case: &str, clouds: usize, n: usize, save: Option<&str>) -> Result {
    let points = points::<T>(clouds * n, case.contains("circle"));
    if let Some(folder) = save {
        let path = format!("{folder}/{}.npy", case.replace(':', "-"));
        warpsmith::io::npy::write(std::fs::File::create(path)?, &points, &[clouds, n, 3])?;
    }
    let device = Device::best()?;
    let (stream, engine) = (device.stream()?, Engine::new([device.clone()])?);
    let free = device.memory()?.free;
    let mut rips = Rips::new(&device, true)?;
    let (mut bars, mut matrix) = (0, Vec::new());
    measure(case, clouds * n, || {
        let start = Instant::now();
        let input = Clouds::points(&points, 3, vec![n; clouds])?;
        let diagrams = rips.compute(&stream, &input, &Options { edges: false, ..Options::default() })?;
        if case.contains("matrix") {
            let curves: PcfSet<T> = rips.curves(&stream, &diagrams, 1, Curve::Betti, None)?;
            let pairwise = Pairwise::pdist(&curves, 1.0)?;
            matrix.resize(pairwise.shape(Layout::Condensed)?.iter().product(), T::ZERO);
            pairwise.compute_into(&engine, Layout::Condensed, &mut matrix, Control::default())?;
        } else {
            diagrams.fetch(0)?;
            diagrams.fetch(1)?;
        }
        let ms = 1e3 * start.elapsed().as_secs_f64();
        bars = diagrams.offsets(1)[clouds];
        Ok((ms, rips.steps().to_vec()))
    })?;
    let taken = free.saturating_sub(device.memory()?.free) as f64;
    println!("    {bars} bars of degree 1; {:.1} KiB per cloud", taken / 1024.0 / clouds as f64);
    Ok(())
}

/// Draws the columns of a CSV by clouds or points: by the one of the two that differs.
fn plot(csv: &Path) -> Result {
    const COLOURS: [RGBColor; 3] = [RGBColor(0x1b, 0x6c, 0xa8), RGBColor(0xd9, 0x5f, 0x02), RGBColor(0x33, 0x33, 0x33)];
    let text = fs::read_to_string(csv)?;
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let [names, rows @ ..] = &rows[..] else { return Err("an empty CSV".into()) };
    let by = usize::from(rows.iter().all(|row| row[0] == rows[0][0]));
    let series = |(column, name): (usize, &&str)| {
        let points = rows.iter().filter_map(|row| Some((row[by].parse().ok()?, row[column].parse().ok()?))).collect();
        Series { label: (*name).to_owned(), style: COLOURS[(column - 2) % COLOURS.len()].into(), points }
    };
    let fixed = rows.first().map_or("", |row| row[1 - by]);
    Plot {
        title: format!("From points in R³ to bars of degrees 0 and 1: {fixed} {}", ["points per cloud", "cloud at a time"][by]),
        x: ["clouds", "points of a cloud"][by],
        y: "ms",
        series: names.iter().enumerate().skip(2).map(series).collect(),
    }
    .draw(&csv.with_extension("svg"))
}

pub fn main(arguments: Vec<String>) -> Result {
    if let [option, csv] = &arguments[..]
        && option == "--plot"
    {
        return plot(Path::new(csv));
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let save = arguments.iter().position(|argument| argument == "--save").and_then(|at| arguments.get(at + 1));
    let named: Vec<_> = arguments
        .iter()
        .map(String::as_str)
        .filter(|argument| argument.contains('x') && Some(*argument) != save.map(String::as_str))
        .collect();
    println!("{}, medians of {RUNS}", Device::best()?);
    for name in if !named.is_empty() {
        named
    } else if quick {
        QUICK.to_vec()
    } else {
        CASES.to_vec()
    } {
        let sizes = name.split(':').next().and_then(|sizes| sizes.split_once('x'));
        let (clouds, n) = sizes.ok_or("a case is COUNTxPOINTS")?;
        let run = if name.ends_with(":f64") { case::<f64> } else { case::<f32> };
        run(name, clouds.parse()?, n.parse()?, save.map(String::as_str))?;
    }
    Ok(())
}
