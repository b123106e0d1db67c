//! The figures of docs/performance.md on persistent homology: `cargo bench --bench figures -- homology`.
//!
//! Each time is of one call from points in host memory to bars in host memory, medians of seven calls after two to warm
//! up; beside it, the steps of the call of median time. Arguments are the cases to take: `COUNTxPOINTS`, with `:circle` for
//! points near a circle in place of uniform ones in a cube, and `:f64`. `--quick` takes few small ones, and `--save FOLDER`
//! writes the points of each case, for peers.

use std::{error::Error, time::Instant};

use warpsmith::{
    device::Device,
    homology::{Clouds, HomologyReal, Options, Rips},
    io::npy::Element,
};

use crate::{RUNS, measure};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const CASES: [&str; 8] = ["10000x25", "10000x100", "10000x100:f64", "1000x300", "100x1000", "8x2000", "8x2000:circle", "1x5000"];
const QUICK: [&str; 4] = ["100x25", "100x100", "10x300", "10x300:circle"];

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

fn points<T: HomologyReal>(count: usize, circle: bool) -> Vec<T> {
    let mut random = uniform(1);
    let point = |_| {
        let [x, y, z] = [random(), random(), random()];
        let angle = std::f64::consts::TAU * x;
        let point = if circle { [angle.cos() + 0.1 * y, angle.sin() + 0.1 * z, 0.1 * random()] } else { [x, y, z] };
        point.map(T::from_f64)
    };
    (0..count).flat_map(point).collect()
}

fn case<T: HomologyReal + Element>(case: &str, clouds: usize, n: usize, save: Option<&str>) -> Result {
    let points = points::<T>(clouds * n, case.contains("circle"));
    if let Some(folder) = save {
        let path = format!("{folder}/{}.npy", case.replace(':', "-"));
        warpsmith::io::npy::write(std::fs::File::create(path)?, &points, &[clouds, n, 3])?;
    }
    let device = Device::best()?;
    let stream = device.stream()?;
    let mut rips = Rips::new(&device, true)?;
    let mut bars = 0;
    measure(case, clouds * n, || {
        let start = Instant::now();
        let barcodes = rips.compute(
            &stream,
            &Clouds::points(&points, 3, vec![n; clouds])?,
            &Options { edges: false, ..Options::default() },
        )?;
        bars = barcodes.values(1).len();
        Ok((1e3 * start.elapsed().as_secs_f64(), rips.steps().to_vec()))
    })?;
    println!("    {bars} bars of degree 1");
    Ok(())
}

pub fn main(arguments: Vec<String>) -> Result {
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
