//! `--by-n`: the time per element of each variant by the number of elements, beside a random gather and a random scatter
//! of as many words, as CSV; and its plot.

use std::{collections::BTreeMap, fs, path::Path};

use gpu_kernels::floors;
use plotters::style::{Color as _, RGBColor};
use warpsmith::{
    device::{Device, DeviceError, LaunchConfig, Stream},
    launch,
    list_rank::{ListError, ListRanker, Options, Weight, generate, generate::Permutation},
};

use super::Result;
use crate::plot::{Plot, Series};

const RUNS: usize = 5;
/// About so many lists in a forest.
const LISTS: usize = 1000;
/// Ranks that are compared with the permutation that the list was made from.
const SAMPLE: usize = 100_000;

/// Names and colours of the columns.
const SERIES: [(&str, RGBColor); 9] = [
    ("gather", RGBColor(0x99, 0x99, 0x99)),
    ("scatter", RGBColor(0x33, 0x33, 0x33)),
    ("ranks", RGBColor(0x1a, 0x8a, 0x4c)),
    ("int32", RGBColor(0xa6, 0xcf, 0xee)),
    ("float32", RGBColor(0x1b, 0x6c, 0xa8)),
    ("int64", RGBColor(0xf8, 0xc1, 0x8a)),
    ("float64", RGBColor(0xd9, 0x5f, 0x02)),
    ("order", RGBColor(0x9b, 0x4f, 0x96)),
    ("forest", RGBColor(0xc4, 0x1e, 0x3a)),
];

/// Measures 1 and 3 times each power of ten from 10^4 on up to `most`, and `most`. Prints a table; returns the CSV.
pub fn measure(device: &Device, most: u32) -> Result<String> {
    let powers = (4..10).flat_map(|power| [1, 3].map(|factor| factor * 10u64.pow(power)));
    let mut sizes: Vec<u32> = powers.filter(|&n| n < most.into()).map(|n| n as u32).collect();
    sizes.push(most);
    println!("ns per element, medians of {RUNS}; a forest is of {LISTS} lists");
    println!("{:>10} {}", "n", SERIES.map(|(name, _)| format!("{name:>10}")).join(""));
    let mut csv = format!("n,{}\n", SERIES.map(|(name, _)| name).join(","));
    for n in sizes {
        let times = at(device, n)?;
        let each = SERIES.map(|(name, _)| times.get(name).map(|ms| 1e6 * ms / f64::from(n)));
        println!("{n:>10} {}", each.map(|ns| ns.map_or_else(|| format!("{:>10}", "-"), |ns| format!("{ns:10.4}"))).join(""));
        csv.push_str(&format!("{n},{}\n", each.map(|ns| ns.map_or_else(String::new, |ns| format!("{ns:.5}"))).join(",")));
    }
    Ok(csv)
}

/// The median of some runs after one, in ms; none where memory doesn't suffice.
fn median<E: std::error::Error + 'static>(
    is_out_of_memory: impl Fn(&E) -> bool,
    mut run: impl FnMut() -> std::result::Result<f64, E>,
) -> Result<Option<f64>> {
    let mut times = Vec::new();
    for _ in 0..=RUNS {
        match run() {
            Ok(ms) => times.push(ms),
            Err(error) if is_out_of_memory(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    times.remove(0);
    Ok(Some(crate::median(times).0))
}

fn device_is_full(error: &DeviceError) -> bool {
    matches!(error, DeviceError::OutOfMemory { .. })
}

fn ranker_is_full(error: &ListError) -> bool {
    matches!(error, ListError::Device(error) if device_is_full(error))
}

/// Each variant's time, in ms.
fn at(device: &Device, n: u32) -> Result<BTreeMap<&'static str, f64>> {
    let (stream, len) = (device.stream()?, n as usize);
    let mut times = BTreeMap::new();
    let mut put = |name, ms: Option<f64>| times.extend(ms.map(|ms| (name, ms)));
    let random = Permutation::new(n.into(), 1);
    let mut list = generate::random(n, 1);
    let mut next = device.upload(&list)?;
    let head = Some(random.apply(0) as i32);
    let mut result = device.alloc::<i32>(len)?;

    // The list's successors are random places, each once.
    let grid = LaunchConfig::for_elements(len, 256).grid;
    let mut gather = |stream: &Stream| launch!(stream, floors::gather<<<grid, 256>>>(&next, &next, &mut result));
    put("gather", median(device_is_full, || stream.time(&mut gather))?);
    // SAFETY: the result has n elements.
    let mut scatter = |stream: &Stream| unsafe { launch!(stream, floors::scatter<<<grid, 256>>>(&next, &mut result, n)) };
    put("scatter", median(device_is_full, || stream.time(&mut scatter))?);

    let options = || Options { timed: true, ..Options::default() };
    let mut ranker = ListRanker::<i32>::new(device, options());
    put("ranks", median(ranker_is_full, || Ok(ranker.rank(&stream, &next, head, &mut result)?.total_ms()))?);
    let mut sample = vec![0; len.min(SAMPLE)];
    stream.download(result.view(..sample.len())?, &mut sample)?;
    if !sample.iter().enumerate().all(|(element, &rank)| random.invert(element as u64) == rank as u64) {
        return Err(format!("wrong ranks of {n} elements").into());
    }
    let mut order = device.alloc::<i32>(len)?;
    let mut invert = |stream: &Stream| ranker.order(stream, &result, &mut order);
    put("order", median(ranker_is_full, || stream.time(&mut invert))?);
    drop((ranker, order));

    macro_rules! weights {
        ($($name:literal: $t:ty),*) => {$(put($name, weighted::<$t>(device, &stream, &next, head)?);)*};
    }
    weights!("int32": i32, "float32": f32, "int64": i64, "float64": f64);

    list.iter_mut().step_by(len.div_ceil(LISTS)).for_each(|next| *next = -1);
    stream.upload(&mut next, &list)?;
    drop(list);
    let mut lists = device.alloc::<i32>(len)?;
    let mut ranker = ListRanker::<i32>::new(device, options());
    let forest = || Ok(ranker.forest(&stream, &next, &mut result, &mut lists)?.report.total_ms());
    put("forest", median(ranker_is_full, forest)?);
    Ok(times)
}

/// The time of prefix sums of weights of a type: all 0, as time doesn't depend on them.
fn weighted<V: Weight>(
    device: &Device,
    stream: &Stream,
    next: &warpsmith::device::Buffer<i32>,
    head: Option<i32>,
) -> Result<Option<f64>> {
    let arrays = device.alloc_zeroed::<V>(next.len()).and_then(|weights| Ok((weights, device.alloc::<V>(next.len())?)));
    let (weights, mut sums) = match arrays {
        Ok(arrays) => arrays,
        Err(error) if device_is_full(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut ranker = ListRanker::<V>::new(device, Options { timed: true, ..Options::default() });
    median(ranker_is_full, || Ok(ranker.prefix_sums(stream, next, head, &weights, &mut sums)?.total_ms()))
}

/// Draws the CSV of [`measure`] as an SVG beside it. The file's name says what it was measured on.
pub fn plot(csv: &Path) -> Result<()> {
    let text = fs::read_to_string(csv)?;
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().ok_or("an empty CSV")?.split(',').collect();
    let rows: Vec<Vec<Option<f64>>> = lines.map(|line| line.split(',').map(|cell| cell.parse().ok()).collect()).collect();
    let series = |(name, color): (&str, RGBColor)| -> Result<Series> {
        let index = names.iter().position(|&found| found == name).ok_or_else(|| format!("no column {name}"))?;
        let points = rows.iter().filter_map(|row| Some((row[0]?, row.get(index).copied()??))).collect();
        let label = match name {
            "gather" => "a random gather of words",
            "scatter" => "a random scatter of words",
            "order" => "order from ranks",
            "forest" => "ranks in a forest",
            _ => name,
        };
        let weights = if label == name && name != "ranks" { "sums of " } else { "" };
        // Integers are broad, so that floats of the same time don't hide them.
        let style = color.stroke_width(if name.starts_with("int") { 6 } else { 2 });
        Ok(Series { label: format!("{weights}{label}"), style, points })
    };
    let device = csv.file_stem().and_then(|stem| stem.to_str()?.rsplit('_').next()).unwrap_or_default().to_uppercase();
    Plot {
        title: format!("Time per element of a random list, by its length ({device})"),
        x: "elements",
        y: "ns per element",
        series: SERIES.into_iter().map(series).collect::<Result<_>>()?,
    }
    .draw(&csv.with_extension("svg"))
}
