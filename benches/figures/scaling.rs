//! How the design rules of the distributed sparse matrix-vector multiplication change from 4 to 4,096 ranks, by
//! simulation: `cargo bench --bench figures -- scaling --out DIR`.
//!
//! Studies on hosts of 4 GPUs. In the one, the paper's matrix (150,000 rows, 1,500,000 nonzeros, n/4 to either side of
//! the diagonal) is divided over more and more ranks, which get more and more neighbours. In the other, each rank has
//! 37,500 rows with ten nonzeros each, and all it needs of others is at its two neighbours; once with exact times, and
//! once with times that vary (lognormal, 0.2), as means of eight runs.
//!
//! For each number of ranks the whole space of two streams is simulated, or, where that takes too long, schedules drawn
//! from it without replacement. It prints a table, and writes it as `scaling.csv` with `scaling-times` and
//! `scaling-decisions` as SVG and PNG. `--quick` stops at 64 ranks. `--progress always` has messages go on by
//! themselves, `--staging device` has them in the GPUs' memory.

use std::{collections::HashMap, error::Error, fs, path::PathBuf, time::Instant};

use plotters::{
    backend::{BitMapBackend, SVGBackend},
    coord::Shift,
    prelude::*,
    style::{FontStyle, register_font},
};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use rayon::prelude::*;
use warpsmith::{
    design_rules::{
        FeatureSet, LearnOptions, Model, Schedule, Traversal, TraversalTable,
        platform::Staging,
        programs::spmv,
        schedule::Schedules,
        sim::{Machine, Progress, Simulator, spmv::SpmvModel},
    },
    spmv::{Band, Csr, RankTraffic, Traffic, Transfer},
};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// About how many messages are simulated for one number of ranks.
const MESSAGES: usize = 200_000_000;
/// The fewest schedules that are drawn.
const LEAST: usize = 300;
const ROWS: usize = 37_500;
/// How often a schedule is simulated where times vary, and how many schedules at most.
const SAMPLES: usize = 8;
const MOST_WITH_NOISE: usize = 600;

/// What there is to know of one number of ranks.
struct Row {
    ranks: usize,
    schedules: usize,
    /// Messages that a rank sends, on average.
    neighbours: f64,
    /// Bytes that a rank sends, on average.
    bytes: f64,
    /// Fastest, median and slowest, in seconds.
    times: [f64; 3],
    /// The fastest schedule on the fewest ranks, here.
    carried: f64,
    fastest: String,
    classes: usize,
    /// Schedules in the fastest class.
    best: usize,
    /// The ruleset of the fastest class that most schedules heed.
    rules: Vec<String>,
    /// For each decision, as it is better taken, the share of the times' variance that it explains by itself.
    decisions: Vec<(String, f64)>,
    /// What a simulation takes on one thread, in seconds.
    cost: f64,
}

/// The traffic of `ranks` equal ranks that have neighbours to both sides: those in the middle are all like one of few.
fn chain(ranks: usize) -> Result<Traffic> {
    const FEW: usize = 8;
    let band = Band { rows: FEW * ROWS, nonzeros: 10 * FEW * ROWS, half_bandwidth: ROWS, seed: 1 };
    let few = Traffic::new(&band.matrix::<f32>()?, FEW)?;
    let like = |rank: usize| match rank {
        0 => 0,
        _ if rank + 1 == ranks => FEW - 1,
        _ => FEW / 2,
    };
    let mut all: Vec<_> = (0..ranks)
        .map(|rank| {
            let original = like(rank);
            let RankTraffic { rows, local_nnz, remote_nnz, ref receives, .. } = few.ranks[original];
            let moved = |message: &Transfer| Transfer { rank: message.rank + rank - original, ..*message };
            RankTraffic { rows, local_nnz, remote_nnz, sends: Vec::new(), receives: receives.iter().map(moved).collect() }
        })
        .collect();
    for rank in 0..ranks {
        for index in 0..all[rank].receives.len() {
            let Transfer { rank: from, entries } = all[rank].receives[index];
            all[from].sends.push(Transfer { rank, entries });
        }
    }
    Ok(Traffic { ranks: all })
}

/// This many of these, in their order: all, or drawn without replacement.
fn draw(mut from: Vec<usize>, count: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    for taken in 0..count.min(from.len()) {
        let other = taken + (rng.next_u64() % (from.len() - taken) as u64) as usize;
        from.swap(taken, other);
    }
    from.truncate(count);
    from.sort_unstable();
    from
}

fn study(
    name: &str,
    (machine, staging): (&Machine, Staging),
    sizes: &[usize],
    traffic: impl Fn(usize) -> Result<Traffic>,
) -> Result<Vec<Row>> {
    let dag = spmv::dag();
    let all: Vec<Schedule> = Schedules::new(&dag, 2)?.collect();
    let mut carried: Option<usize> = None;
    let mut rows = Vec::new();
    for &ranks in sizes {
        let model = SpmvModel::new(traffic(ranks)?).with_staging(staging);
        let per_rank = |of: fn(&RankTraffic) -> usize| model.traffic().ranks.iter().map(of).sum::<usize>() as f64 / ranks as f64;
        let (neighbours, entries) = (per_rank(|rank| rank.sends.len()), per_rank(RankTraffic::sent));
        // A rank without messages costs about as much as one with ten.
        let each = ranks * (10 + neighbours as usize);
        let varies = machine.noise > 0.0;
        let samples = if varies { SAMPLES } else { 1 };
        let count = (MESSAGES / (each * samples)).max(LEAST).min(if varies { MOST_WITH_NOISE } else { usize::MAX });
        let chosen = draw((0..all.len()).collect(), count, &mut ChaCha8Rng::seed_from_u64(ranks as u64));
        let simulator = Simulator::new(&model, machine.clone())?;
        let simulate = |simulator: &mut Simulator, schedule: usize| {
            let mut sum = 0.0;
            for sample in 0..samples {
                let seed = (schedule * samples + sample) as u64;
                sum += simulator.run(all[schedule].steps(), seed)?.seconds();
            }
            Ok::<f64, warpsmith::design_rules::RulesError>(sum / samples as f64)
        };
        let times: Vec<f64> = chosen
            .par_iter()
            .map_init(|| simulator.clone(), |simulator, &schedule| simulate(simulator, schedule))
            .collect::<std::result::Result<_, _>>()?;
        let mut own = simulator.clone();
        let mut cost = f64::INFINITY;
        for &schedule in chosen.iter().take(20) {
            let start = Instant::now();
            simulate(&mut own, schedule)?;
            cost = cost.min(start.elapsed().as_secs_f64() / samples as f64);
        }

        let traversals: Vec<Traversal> =
            chosen.iter().map(|&schedule| all[schedule].text(&dag).parse()).collect::<std::result::Result<_, _>>()?;
        let table = TraversalTable::new(&traversals);
        let learned = Model::learn_all(&table, &times, &LearnOptions::PAPER)?;
        let order = learned.labels.order();
        let first = learned.labels.all().next().ok_or("there are no classes")?;
        let rules = learned.rules.of_class(first).next().map(|ruleset| ruleset.rules.iter().map(ToString::to_string).collect());
        let best = carried.get_or_insert(chosen[order[0]]);
        rows.push(Row {
            ranks,
            schedules: times.len(),
            neighbours,
            bytes: 4.0 * entries,
            times: [0, times.len() / 2, times.len() - 1].map(|place| times[order[place]]),
            carried: simulate(&mut own, *best)?,
            fastest: traversals[order[0]].to_string(),
            classes: learned.labels.count(),
            best: learned.labels.places(first).len(),
            rules: rules.unwrap_or_default(),
            decisions: decisions(&table, &times),
            cost,
        });
        print(name, &rows[rows.len() - 1]);
    }
    Ok(rows)
}

/// What each decision by itself explains of the times.
fn decisions(table: &TraversalTable, times: &[f64]) -> Vec<(String, f64)> {
    let all: Vec<usize> = (0..table.len()).collect();
    let (features, columns) = FeatureSet::learn(table, &all);
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let variance: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    let mut found: Vec<_> = (0..features.len())
        .map(|feature| {
            let with: Vec<f64> = (0..table.len()).filter(|&row| columns.get(row, feature)).map(|row| times[row] - mean).collect();
            let (sum, count) = (with.iter().sum::<f64>(), with.len() as f64);
            let between = sum * sum * (1.0 / count + 1.0 / (times.len() as f64 - count));
            (features.rule(feature, sum < 0.0).to_string(), between / variance)
        })
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found
}

fn print(name: &str, row: &Row) {
    let [fastest, median, slowest] = row.times.map(|time| 1e6 * time);
    println!(
        "{name:<7} {:>5} ranks {:>5} schedules {:>7.1} neighbours {:>8.0} B: {fastest:8.1} {median:8.1} {slowest:8.1} us, slowest/fastest {:.3}, carried {:.3}; {} classes, {} in the first; {:.1} us a simulation",
        row.ranks,
        row.schedules,
        row.neighbours,
        row.bytes,
        slowest / fastest,
        1e6 * row.carried / fastest,
        row.classes,
        row.best,
        1e6 * row.cost,
    );
    println!("        rules: {}", row.rules.join("; "));
    let decisions: Vec<_> = row.decisions.iter().take(6).map(|(name, share)| format!("{name} {:.0} %", 100.0 * share)).collect();
    println!("        decisions: {}", decisions.join("; "));
    println!("        fastest: {}", row.fastest);
}

/// A line of a chart.
type Line = (String, Vec<(f64, f64)>);

const SIZE: (u32, u32) = (1740, 540);
const COLOURS: [RGBColor; 8] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(23, 190, 207),
    RGBColor(140, 86, 75),
    RGBColor(120, 120, 120),
];

pub fn main(arguments: Vec<String>) -> Result {
    let value = |name: &str| arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1));
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let out = value("--out").map(PathBuf::from);
    let (mut machine, staging) = match value("--staging").map(String::as_str) {
        None | Some("host") => (Machine::cluster(), Staging::Host),
        Some("device") => (Machine::cluster_direct(), Staging::Device),
        Some(other) => return Err(format!("--staging {other}: there are `host` and `device`").into()),
    };
    match value("--progress").map(String::as_str) {
        None | Some("in-calls") => {}
        Some("always") => machine.network.progress = Progress::Always,
        Some(other) => return Err(format!("--progress {other}: there are `always` and `in-calls`").into()),
    }
    let sizes: Vec<usize> = (2..=if quick { 6 } else { 12 }).map(|power| 1 << power).collect();
    println!("{}, progress {:?}", machine.name, machine.network.progress);

    let paper: Csr<f32> = Band::default().matrix()?;
    let strong = study("strong", (&machine, staging), &sizes, |ranks| Ok(Traffic::new(&paper, ranks)?))?;
    let weak = study("weak", (&machine, staging), &sizes, chain)?;
    let noisy = study("noisy", (&Machine { noise: 0.2, ..machine.clone() }, staging), &sizes, chain)?;
    let Some(out) = out else { return Ok(()) };
    fs::create_dir_all(&out)?;
    let studies = [("150,000 rows divided", &strong), ("37,500 rows per rank", &weak), ("the same, times vary", &noisy)];
    fs::write(out.join("scaling.csv"), csv(&studies)?)?;
    draw_all(&out.join("scaling-times"), &studies.map(|(name, rows)| times_chart(name, rows)))?;
    draw_all(&out.join("scaling-decisions"), &studies.map(|(name, rows)| decisions_chart(name, rows)))
}

fn csv(studies: &[(&str, &Vec<Row>)]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "study",
        "ranks",
        "schedules",
        "neighbours",
        "bytes",
        "fastest_s",
        "median_s",
        "slowest_s",
        "carried_s",
        "classes",
        "fastest_class",
        "rules",
        "fastest",
    ])?;
    for (name, rows) in studies {
        for row in rows.iter() {
            let mut record = vec![(*name).to_owned(), row.ranks.to_string(), row.schedules.to_string()];
            record.extend([row.neighbours, row.bytes].map(|value| value.to_string()));
            record.extend(row.times.iter().chain([&row.carried]).map(|time| format!("{time:e}")));
            record.extend([row.classes.to_string(), row.best.to_string(), row.rules.join("; "), row.fastest.clone()]);
            writer.write_record(record)?;
        }
    }
    Ok(writer.into_inner()?)
}

/// What is drawn in one half.
struct Chart {
    title: String,
    y: &'static str,
    /// The least y.
    from: f64,
    lines: Vec<Line>,
}

fn times_chart(name: &str, rows: &[Row]) -> Chart {
    let line = |title: &str, of: fn(&Row) -> f64| {
        (title.to_owned(), rows.iter().map(|row| (row.ranks as f64, of(row) / row.times[0])).collect())
    };
    let lines = vec![
        line("slowest", |row| row.times[2]),
        line("median", |row| row.times[1]),
        line(&format!("fastest of {} ranks", rows[0].ranks), |row| row.carried),
    ];
    Chart { title: name.to_owned(), y: "time, as a multiple of the fastest schedule's", from: 1.0, lines }
}

/// The decisions that matter most on some number of ranks.
fn decisions_chart(name: &str, rows: &[Row]) -> Chart {
    let mut most: HashMap<&str, f64> = HashMap::new();
    for (name, share) in rows.iter().flat_map(|row| &row.decisions) {
        let known = most.entry(name).or_default();
        *known = known.max(*share);
    }
    let mut names: Vec<_> = most.into_iter().collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let lines = names.iter().take(COLOURS.len()).map(|(name, _)| {
        let share = |row: &Row| row.decisions.iter().find(|decision| decision.0 == *name).map_or(0.0, |decision| decision.1);
        ((*name).to_owned(), rows.iter().map(|row| (row.ranks as f64, 100.0 * share(row))).collect())
    });
    Chart { title: name.to_owned(), y: "% of the times' variance", from: 0.0, lines: lines.collect() }
}

/// Charts beside each other, as SVG and PNG.
fn draw_all(path: &std::path::Path, charts: &[Chart]) -> Result {
    register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular()).map_err(|_| "the font can't be read")?;
    let (svg, png) = (path.with_extension("svg"), path.with_extension("png"));
    draw_on(&SVGBackend::new(&svg, SIZE).into_drawing_area(), charts)?;
    let mut pixels = vec![255; (SIZE.0 * SIZE.1 * 3) as usize];
    draw_on(&BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area(), charts)?;
    let mut encoder = png::Encoder::new(fs::File::create(png)?, SIZE.0, SIZE.1);
    encoder.set_color(png::ColorType::Rgb);
    Ok(encoder.write_header()?.write_image_data(&pixels)?)
}

fn draw_on<DB: DrawingBackend>(root: &DrawingArea<DB, Shift>, charts: &[Chart]) -> Result
where
    DB::ErrorType: 'static,
{
    root.fill(&WHITE)?;
    for (area, chart) in root.split_evenly((1, charts.len())).iter().zip(charts) {
        let points = || chart.lines.iter().flat_map(|line| &line.1);
        let range = |of: fn(&(f64, f64)) -> f64| {
            points().map(of).fold((f64::INFINITY, 0.0f64), |(least, most), value| (least.min(value), most.max(value)))
        };
        let ((first, last), (_, high)) = (range(|point| point.0), range(|point| point.1));
        // Room for the legend.
        let top = chart.from + 1.75 * (high - chart.from).max(0.01);
        let mut context = ChartBuilder::on(area)
            .caption(&chart.title, ("sans-serif", 20))
            .margin(12)
            .set_label_area_size(LabelAreaPosition::Left, 70)
            .set_label_area_size(LabelAreaPosition::Bottom, 46)
            .build_cartesian_2d((first / 1.2..last * 1.2).log_scale().base(2.0), chart.from..top)?;
        context
            .configure_mesh()
            .light_line_style(BLACK.mix(0.05))
            .bold_line_style(BLACK.mix(0.12))
            .x_desc("ranks")
            .y_desc(chart.y)
            .x_label_formatter(&|x| format!("{x}"))
            .label_style(("sans-serif", 14))
            .axis_desc_style(("sans-serif", 16))
            .draw()?;
        for ((name, points), colour) in chart.lines.iter().zip(COLOURS) {
            let style = colour.stroke_width(2);
            context
                .draw_series(LineSeries::new(points.iter().copied(), style))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], style));
            context.draw_series(points.iter().map(|&point| Circle::new(point, 3, colour.filled())))?;
        }
        context
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .label_font(("sans-serif", 14))
            .background_style(WHITE)
            .border_style(BLACK.mix(0.2))
            .draw()?;
    }
    Ok(root.present()?)
}
