//! The figures of docs/performance.md on list ranking: tables, and a CSV and plots of the time by the number of
//! sublists.
//!
//! `cargo bench --bench figures -- list_rank --n 1e8 --peer libpeer.so --out docs/figures`
//!
//! It measures on the GPU where there is one, each figure as the median of seven runs that take turns with those it is
//! compared with; the peer is benches/peers/list_rank.cu. `--plot FILE.csv` draws the plot of an earlier run's CSV
//! beside it, and measures nothing. `--variants` checks and times every variant at size `--n` instead: other seeds of
//! sublists, orders, weights, and forests. `--by-n FILE.csv` times variants by the number of elements, up to `--n`, into a
//! CSV with a plot of its own, within a minute.

use std::{error::Error, ffi::c_void, fs, path::PathBuf};

use gpu_kernels::floors;
use plotters::{
    prelude::*,
    style::{FontStyle, register_font},
};
use rayon::prelude::*;
use warpsmith::{
    device::{Buffer, Device, LaunchConfig, Stream},
    launch,
    list_rank::{ListRanker, Options, Report, SplitterRule, Strategy, generate, generate::Permutation},
};

mod by_n;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The document's number of sublists, which the peer has compiled in.
const DOCUMENT_SUBLISTS: u32 = 196_608;
const RUNS: usize = 7;

struct Arguments {
    n: u32,
    peer: Option<PathBuf>,
    out: Option<PathBuf>,
    plot: Option<PathBuf>,
    by_n: Option<PathBuf>,
    variants: bool,
}

fn parse(given: Vec<String>) -> Result<Arguments> {
    let mut arguments = Arguments { n: 0, peer: None, out: None, plot: None, by_n: None, variants: false };
    let mut given = given.into_iter();
    while let Some(name) = given.next() {
        match name.as_str() {
            "--n" => arguments.n = given.next().ok_or("--n wants a number")?.parse::<f64>()? as u32,
            "--peer" => arguments.peer = given.next().map(PathBuf::from),
            "--plot" => arguments.plot = given.next().map(PathBuf::from),
            "--by-n" => arguments.by_n = given.next().map(PathBuf::from),
            "--variants" => arguments.variants = true,
            "--out" => arguments.out = given.next().map(PathBuf::from),
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    Ok(arguments)
}

/// Median and spread (largest minus smallest over median) of times.
#[derive(Clone, Copy)]
struct Times {
    median: f64,
    spread: f64,
}

/// Runs all `works` in turn, `RUNS` times after one warm-up; each gives its time in ms.
fn side_by_side(works: &mut [(&str, &mut dyn FnMut() -> Result<f64>)]) -> Result<Vec<Times>> {
    let mut times = vec![Vec::new(); works.len()];
    for run in 0..=RUNS {
        for ((_, work), times) in works.iter_mut().zip(&mut times) {
            let ms = work()?;
            if run > 0 {
                times.push(ms);
            }
        }
    }
    let result: Vec<Times> = times
        .into_iter()
        .map(|mut times| {
            times.sort_by(f64::total_cmp);
            let median = times[RUNS / 2];
            Times { median, spread: (times[RUNS - 1] - times[0]) / median }
        })
        .collect();
    for ((name, _), times) in works.iter().zip(&result) {
        println!("  {name:<44} {:9.3} ms  (spread {:.1} %)", times.median, 100.0 * times.spread);
    }
    Ok(result)
}

/// Everything that the measurements share.
struct Bench {
    device: Device,
    stream: Stream,
    n: u32,
    next: Buffer<i32>,
    head: i32,
    ranks: Buffer<i32>,
}

impl Bench {
    fn ranker(&self, options: Options) -> ListRanker {
        ListRanker::new(&self.device, Options { timed: true, ..options })
    }

    fn rank(&mut self, ranker: &mut ListRanker) -> Result<Report> {
        Ok(ranker.rank(&self.stream, &self.next, Some(self.head), &mut self.ranks)?)
    }

    /// The time of the steps named in one ranking.
    fn steps(&mut self, ranker: &mut ListRanker, names: &[&str]) -> Result<f64> {
        let report = self.rank(ranker)?;
        Ok(report.steps.iter().filter(|step| names.contains(&step.name)).map(|step| step.ms).sum())
    }
}

pub fn main(arguments: Vec<String>) -> Result<()> {
    let arguments = parse(arguments)?;
    register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular()).map_err(|_| "the font can't be read")?;
    if let Some(csv) = arguments.plot {
        return if fs::read_to_string(&csv)?.starts_with("n,") { by_n::plot(&csv) } else { plot(&csv) };
    }
    let device = Device::best()?;
    let on_gpu = matches!(device.backend(), warpsmith::device::Backend::Cuda);
    if let Some(csv) = arguments.by_n {
        let most = match arguments.n {
            0 if on_gpu => i32::MAX as u32 - 1,
            0 => 10_000_000,
            n => n,
        };
        println!("{device}");
        fs::write(&csv, by_n::measure(&device, most)?)?;
        return by_n::plot(&csv);
    }
    let n = match arguments.n {
        0 if on_gpu => 100_000_000,
        0 => 1_000_000,
        n => n,
    };
    println!("{device}, n = {n}, medians of {RUNS}");
    if arguments.variants {
        return variants(&device, n);
    }
    let stream = device.stream()?;
    let host_next = generate::random(n, 1);
    let next = device.upload(&host_next)?;
    let ranks = device.alloc(n as usize)?;
    let all = i64::from(n) * (i64::from(n) - 1) / 2;
    let head = (all - host_next.iter().map(|&next| i64::from(next.max(0))).sum::<i64>()) as i32;
    drop(host_next);
    let mut bench = Bench { device, stream, n, next, head, ranks };

    walks(&mut bench, arguments.peer.as_deref())?;
    let gather = whole(&mut bench)?;
    steps(&mut bench)?;
    check(&mut bench)?;
    let curve = by_sublists(&mut bench, gather)?;
    if let Some(out) = arguments.out {
        fs::create_dir_all(&out)?;
        let csv = out.join("list_rank_by_sublists.csv");
        fs::write(&csv, curve)?;
        plot(&csv)?;
    }
    kinds(&mut bench)
}

/// (a) The walk kernels beside those that nvcc makes of the same algorithm.
fn walks(bench: &mut Bench, peer: Option<&std::path::Path>) -> Result<()> {
    println!("\nwalk, k = {DOCUMENT_SUBLISTS}, the document's splitters");
    let document = |strategy| Options {
        strategy,
        splitters: SplitterRule::First,
        sublists: Some(DOCUMENT_SUBLISTS.min(bench.n)),
        ..Options::default()
    };
    let (mut split, mut packed) = (bench.ranker(document(Strategy::Split)), bench.ranker(document(Strategy::Packed)));
    let bench = std::cell::RefCell::new(bench);
    let mut ours_split = || bench.borrow_mut().steps(&mut split, &["walk"]);
    let mut ours_packed = || bench.borrow_mut().steps(&mut packed, &["copy", "walk"]);
    let Some(peer) = peer else {
        side_by_side(&mut [("Rust, split", &mut ours_split), ("Rust, packed with its copy", &mut ours_packed)])?;
        return Ok(());
    };

    // SAFETY: the library is benches/peers/list_rank.cu, which runs nothing when it is loaded.
    let library = unsafe { libloading::Library::new(peer)? };
    type Split = unsafe extern "C" fn(i32, *const c_void, *mut c_void, *mut c_void) -> f32;
    type Packed = unsafe extern "C" fn(i32, *const c_void, *mut c_void, *mut c_void, i64) -> f32;
    // SAFETY: the signatures are those of its functions.
    let (peer_split, peer_packed) = unsafe { (library.get::<Split>(b"peer_split\0")?, library.get::<Packed>(b"peer_packed\0")?) };
    let (pairs, sublists) = {
        let bench = bench.borrow();
        (bench.device.alloc::<[i32; 2]>(bench.n as usize)?, bench.device.alloc::<[i32; 2]>(DOCUMENT_SUBLISTS as usize)?)
    };
    let pointers = (pairs.as_device_ptr() as *mut c_void, sublists.as_device_ptr() as *mut c_void);
    let checked = |ms: f32| if ms < 0.0 { Err("the peer failed".into()) } else { Ok(f64::from(ms)) };
    let mut theirs_split = || {
        let bench = bench.borrow();
        bench.stream.synchronize()?;
        // SAFETY: arrays of the sizes that the peer asks for, on the current device, which it shares with this process.
        checked(unsafe { peer_split(bench.head, bench.next.as_device_ptr() as *const c_void, pointers.0, pointers.1) })
    };
    let mut theirs_packed = || {
        let bench = bench.borrow();
        bench.stream.synchronize()?;
        let next = bench.next.as_device_ptr() as *const c_void;
        // SAFETY: arrays of the sizes that the peer asks for, on the current device, which it shares with this process.
        checked(unsafe { peer_packed(bench.head, next, pointers.0, pointers.1, i64::from(bench.n)) })
    };
    let times = side_by_side(&mut [
        ("Rust, split", &mut ours_split),
        ("nvcc, split", &mut theirs_split),
        ("Rust, packed with its copy", &mut ours_packed),
        ("nvcc, packed with its copy", &mut theirs_packed),
    ])?;
    println!("  Rust / nvcc: split {:.3}, packed {:.3}", times[0].median / times[1].median, times[2].median / times[3].median);
    Ok(())
}

/// (b) Whole rankings beside what the device can do at best.
/// Returns the time of the gather, in ms.
fn whole(bench: &mut Bench) -> Result<f64> {
    println!("\nwhole ranking on the device, head given");
    let mut default = bench.ranker(Options::default());
    let mut split = bench.ranker(Options { strategy: Strategy::Split, ..Options::default() });
    let mut packed = bench.ranker(Options { strategy: Strategy::Packed, ..Options::default() });
    let indices = bench.device.upload(&generate::random(bench.n, 2))?;
    let mut output = bench.device.alloc::<i32>(bench.n as usize)?;
    let bench = std::cell::RefCell::new(bench);
    let output = std::cell::RefCell::new(&mut output);
    let total = |ranker: &mut ListRanker| Ok(bench.borrow_mut().rank(ranker)?.total_ms());
    let times = side_by_side(&mut [
        ("default", &mut || total(&mut default)),
        ("split", &mut || total(&mut split)),
        ("packed", &mut || total(&mut packed)),
        ("random gather of n int32", &mut || {
            let bench = bench.borrow();
            let grid = LaunchConfig::for_elements(bench.n as usize, 256).grid;
            Ok(bench.stream.time(
                |stream| launch!(stream, floors::gather<<<grid, 256>>>(&bench.next, &indices, &mut **output.borrow_mut())),
            )?)
        }),
        ("random scatter of n int32", &mut || {
            let bench = bench.borrow();
            let grid = LaunchConfig::for_elements(bench.n as usize, 256).grid;
            // SAFETY: the output has n elements.
            Ok(bench.stream.time(|stream| unsafe {
                launch!(stream, floors::scatter<<<grid, 256>>>(&indices, &mut **output.borrow_mut(), bench.n))
            })?)
        }),
    ])?;
    println!(
        "  default / gather {:.2}, default / scatter {:.2}",
        times[0].median / times[3].median,
        times[0].median / times[4].median
    );
    Ok(times[3].median)
}

/// Where the time goes.
fn steps(bench: &mut Bench) -> Result<()> {
    for (name, options) in
        [("default", Options::default()), ("split", Options { strategy: Strategy::Split, ..Options::default() })]
    {
        let mut ranker = bench.ranker(options);
        bench.rank(&mut ranker)?;
        let report = bench.rank(&mut ranker)?;
        println!("\nsteps, {name}, {} sublists", report.sublists);
        for step in &report.steps {
            println!("  {:<44} {:9.3} ms  {:8.1} GB/s", step.name, step.ms, step.bytes as f64 / step.ms / 1e6);
        }
    }
    Ok(())
}

/// (d) What the check costs: wall time, since it makes the host wait.
fn check(bench: &mut Bench) -> Result<()> {
    println!("\nthe check, wall time from launch to synchronised");
    let options = |trusted| Options { trusted, ..Options::default() };
    let mut checked = ListRanker::new(&bench.device, options(false));
    let mut trusted = ListRanker::new(&bench.device, options(true));
    let bench = std::cell::RefCell::new(bench);
    let wall = |ranker: &mut ListRanker| -> Result<f64> {
        let mut bench = bench.borrow_mut();
        let start = std::time::Instant::now();
        bench.rank(ranker)?;
        bench.stream.synchronize()?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    };
    let times = side_by_side(&mut [("checked", &mut || wall(&mut checked)), ("trusted", &mut || wall(&mut trusted))])?;
    println!("  the check adds {:.1} %", 100.0 * (times[0].median / times[1].median - 1.0));
    Ok(())
}

/// Every variant's time at one size, in turns with nothing; its results are compared with what the list was made from.
fn variants(device: &Device, n: u32) -> Result<()> {
    let (stream, len) = (device.stream()?, n as usize);
    let random = Permutation::new(n.into(), 1);
    // The elements' ranks in the order of the one list of all that forests are cut from.
    let ranks: Vec<u32> = (0..n).into_par_iter().map(|element| random.invert(element.into()) as u32).collect();
    let options = || Options { timed: true, ..Options::default() };
    let show = |what: &str, mut run: Box<dyn FnMut() -> Result<Report> + '_>| -> Result<f64> {
        let mut reports = (0..=RUNS).map(|_| run()).collect::<Result<Vec<_>>>()?;
        reports.remove(0);
        reports.sort_by(|a, b| a.total_ms().total_cmp(&b.total_ms()));
        let median = &reports[RUNS / 2];
        let ms = median.total_ms();
        let steps: Vec<String> = median.steps.iter().map(|step| format!("{} {:.3}", step.name, step.ms)).collect();
        println!(
            "{n:>10} {what:<28} {ms:9.4} ms {:7.4} ns per element  {} {} sublists: {}",
            1e6 * ms / f64::from(n),
            median.strategy.name(),
            median.sublists,
            steps.join(", ")
        );
        Ok(ms)
    };
    let check = |what: &str, right: bool| if right { Ok(()) } else { Err(format!("{what}: wrong results")) };

    let next = device.upload(&generate::random(n, 1))?;
    let head = random.apply(0) as i32;
    let mut result = device.alloc::<i32>(len)?;
    for strategy in [Strategy::Auto, Strategy::Binned, Strategy::Split] {
        let mut ranker = ListRanker::new(device, Options { strategy, ..options() });
        let what = format!("ranks, {}", strategy.name());
        let ms = show(&what, Box::new(|| Ok(ranker.rank(&stream, &next, Some(head), &mut result)?)));
        match ms {
            Ok(_) => {}
            Err(error) => {
                println!("{what}: {error}");
                continue;
            }
        }
        let found = stream.download_vec(&result)?;
        check(&what, found.par_iter().zip(&ranks).all(|(&found, &rank)| found as u32 == rank))?;
    }
    let mut ranker = ListRanker::new(device, options());
    show("ranks, head found", Box::new(|| Ok(ranker.rank(&stream, &next, None, &mut result)?)))?;
    if n <= 200_000_000 {
        for factor in [1, 2, 4] {
            let sublists = Some(factor * n.isqrt() * 75);
            let mut ranker = ListRanker::new(device, Options { sublists, ..options() });
            show("ranks, other sublists", Box::new(|| Ok(ranker.rank(&stream, &next, Some(head), &mut result)?)))?;
        }
        for shared in [100 << 10, 64 << 10] {
            let mut ranker = ListRanker::new(device, Options { strategy: Strategy::Binned, shared: Some(shared), ..options() });
            let what = format!("ranks, {} KiB", shared >> 10);
            show(&what, Box::new(|| Ok(ranker.rank(&stream, &next, Some(head), &mut result)?)))?;
        }
        let sequential = device.upload(&generate::sequential(n))?;
        show("ranks, sequential", Box::new(|| Ok(ranker.rank(&stream, &sequential, Some(0), &mut result)?)))?;
        ranker.rank(&stream, &next, Some(head), &mut result)?;
    }
    let mut order = device.alloc_zeroed::<i32>(len)?;
    for run in 0..3 {
        let ms = stream.time(|stream| ranker.order(stream, &result, &mut order))?;
        if run == 2 {
            println!("{n:>10} {:<28} {ms:9.4} ms {:7.4} ns per element", "order", 1e6 * ms / f64::from(n));
        }
    }
    let found = stream.download_vec(&order)?;
    check("order", (0..len).into_par_iter().all(|rank| found[rank] as u64 == random.apply(rank as u64)))?;
    drop((order, found, ranker));

    macro_rules! weighted {
        ($($t:ident)*) => {$({
            let weights = device.upload(&vec![3 as $t; len])?;
            let mut sums = device.alloc::<$t>(len)?;
            let mut ranker = ListRanker::<$t>::new(device, options());
            let what = concat!("weights, ", stringify!($t));
            show(what, Box::new(|| Ok(ranker.prefix_sums(&stream, &next, Some(head), &weights, &mut sums)?)))?;
            let found = stream.download_vec(&sums)?;
            check(what, found.par_iter().zip(&ranks).all(|(&found, &rank)| {
                // Above 2^24, sums of f32 are rounded.
                found == (3 * i64::from(rank)) as $t || (3 * u64::from(rank) > 1 << 24 && size_of::<$t>() == 4)
            }))?;
        })*};
    }
    if n <= 1 << 30 {
        weighted!(i32 f32 i64 f64);
    }

    drop(next);
    let mut lists = device.alloc::<i32>(len)?;
    // Where the list of the element of rank r starts.
    let uniform = |length: u32| move |rank: u32| rank - rank % length;
    type Lengths = Box<dyn Fn(u32) -> u32 + Sync>;
    let forests: [(&str, Lengths); 6] = [
        ("forest, 1 list", Box::new(|_| 0)),
        ("forest, 1000 lists", Box::new(uniform(n.div_ceil(1000)))),
        ("forest, 100,000 lists", Box::new(uniform(n.div_ceil(100_000)))),
        ("forest, 2/3 and single ones", Box::new(move |rank| if rank < n / 3 * 2 { 0 } else { rank })),
        ("forest, lists of two", Box::new(uniform(2))),
        ("forest, single elements", Box::new(uniform(1))),
    ];
    for (what, start) in forests {
        let ends = |rank: u32| rank + 1 == n || start(rank + 1) == rank + 1;
        let successor = |&rank: &u32| if ends(rank) { -1 } else { random.apply(u64::from(rank) + 1) as i32 };
        let next = device.upload(&ranks.par_iter().map(successor).collect::<Vec<_>>())?;
        let mut ranker = ListRanker::new(device, options());
        show(what, Box::new(|| Ok(ranker.forest(&stream, &next, &mut result, &mut lists)?.report)))?;
        let found = stream.download_vec(&result)?;
        check(what, found.par_iter().zip(&ranks).all(|(&found, &rank)| found as u32 == rank - start(rank)))?;
        let found = stream.download_vec(&lists)?;
        let of_head = |rank: u32| found[random.apply(start(rank).into()) as usize];
        check(what, found.par_iter().zip(&ranks).all(|(&found, &rank)| found == of_head(rank)))?;
    }
    Ok(())
}

/// Time by the number of sublists, as CSV.
fn by_sublists(bench: &mut Bench, gather: f64) -> Result<String> {
    println!("\ntime by number of sublists");
    let mut csv = String::from(
        "sublists,gather_ms,split_walk_ms,split_total_ms,packed_walk_ms,packed_total_ms,binned_walk_ms,binned_total_ms\n",
    );
    let mut sublists = 16_384u32;
    while sublists <= (bench.n / 8).min(1 << 23) {
        let mut row = format!("{sublists},{gather:.4}");
        for strategy in [Strategy::Split, Strategy::Packed, Strategy::Binned] {
            let mut ranker = bench.ranker(Options { strategy, sublists: Some(sublists), ..Options::default() });
            let mut times: Vec<(f64, f64)> = Vec::new();
            for _ in 0..4 {
                let report = bench.rank(&mut ranker)?;
                times.push((
                    report.steps.iter().filter(|step| ["copy", "walk"].contains(&step.name)).map(|step| step.ms).sum(),
                    report.total_ms(),
                ));
            }
            times.remove(0);
            times.sort_by(|a, b| a.1.total_cmp(&b.1));
            row.push_str(&format!(",{:.4},{:.4}", times[1].0, times[1].1));
        }
        println!("  {row}");
        csv.push_str(&row);
        csv.push('\n');
        sublists *= 2;
    }
    Ok(csv)
}

/// Draws the CSV of [`by_sublists`] as an SVG beside it: whole rankings and walks by number of sublists, with the
/// gather as a line.
fn plot(csv: &std::path::Path) -> Result<()> {
    let text = fs::read_to_string(csv)?;
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().ok_or("an empty CSV")?.split(',').collect();
    let rows: Vec<Vec<f64>> = lines
        .map(|line| line.split(',').map(str::parse).collect::<std::result::Result<_, _>>())
        .collect::<std::result::Result<_, _>>()?;
    let column = |name: &str| -> Result<Vec<(f64, f64)>> {
        let index = names.iter().position(|&found| found == name).ok_or_else(|| format!("no column {name}"))?;
        Ok(rows.iter().map(|row| (row[0], row[index])).collect())
    };
    let (first, last) = (rows.first().ok_or("no rows")?[0], rows.last().ok_or("no rows")?[0]);

    let svg = csv.with_extension("svg");
    let area = SVGBackend::new(&svg, (860, 520)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("List ranking of 10^8 elements in random order on an H200", ("sans-serif", 20))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d((first..last).log_scale(), (2f64..300f64).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("sublists")
        .y_desc("ms")
        .label_style(("sans-serif", 14))
        .x_label_formatter(&|x| format!("{}k", x / 1000.0))
        .y_label_formatter(&|y| format!("{y}"))
        .light_line_style(WHITE)
        .draw()?;
    for (label, name, color) in [
        ("packed", "packed", RGBColor(0xd9, 0x5f, 0x02)),
        ("split", "split", RGBColor(0x1b, 0x6c, 0xa8)),
        ("binned", "binned", RGBColor(0x1a, 0x8a, 0x4c)),
    ] {
        let total = column(&format!("{name}_total_ms"))?;
        chart
            .draw_series(LineSeries::new(total.clone(), color.stroke_width(2)).point_size(3))?
            .label(format!("{label}, whole ranking"))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], color.stroke_width(2)));
        let walk = column(&format!("{name}_walk_ms"))?;
        chart
            .draw_series(DashedLineSeries::new(walk, 4, 4, color.stroke_width(1)))?
            .label(format!("{label}, walk"))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], color.stroke_width(1)));
    }
    chart
        .draw_series(LineSeries::new(column("gather_ms")?, BLACK.stroke_width(1)))?
        .label("a random gather of as many int32")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 22, y)], BLACK.stroke_width(1)));
    label(&mut chart)?;
    area.present()?;
    println!("{}", svg.display());
    Ok(())
}

/// Says what each line of a plot is.
fn label<'a, DB, CT>(chart: &mut ChartContext<'a, DB, CT>) -> Result<()>
where
    DB: DrawingBackend + 'a,
    DB::ErrorType: 'static,
    CT: CoordTranslate,
{
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .border_style(BLACK.mix(0.3))
        .background_style(WHITE.mix(0.9))
        .label_font(("sans-serif", 14))
        .draw()?;
    Ok(())
}

/// (c) Regular lists.
fn kinds(bench: &mut Bench) -> Result<()> {
    println!("\nwhole ranking by kind of list");
    let n = bench.n;
    for (kind, next) in [
        ("random", generate::random(n, 1)),
        ("sequential", generate::sequential(n)),
        ("reversed", generate::reversed(n)),
        ("strided by 1,024", generate::strided(n, 1024)),
        ("strided by 1,000,003", generate::strided(n, 1_000_003.min(n / 2).max(1))),
        ("blocks of 32 shuffled", generate::block_shuffled(n, 32, 1)),
    ] {
        bench.stream.upload(&mut bench.next, &next)?;
        for (name, strategy) in [("default", Options::default().strategy), ("split", Strategy::Split)] {
            let mut ranker = bench.ranker(Options { strategy, ..Options::default() });
            // The head is found: it differs from list to list.
            let mut times: Vec<f64> = (0..=RUNS)
                .map(|_| Ok(ranker.rank(&bench.stream, &bench.next, None, &mut bench.ranks)?.total_ms()))
                .collect::<Result<_>>()?;
            times.remove(0);
            times.sort_by(f64::total_cmp);
            println!("  {:<44} {:9.3} ms", format!("{kind}, {name}, head found"), times[RUNS / 2]);
        }
    }
    Ok(())
}
