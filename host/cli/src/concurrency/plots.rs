//! The study's plots.

use warpsmith::concurrency::{BatchRow, Placement, Reduction, Spread, StreamsRow, Study, notebook};

use crate::{
    draw::chart::{Chart, Line},
    format,
};

/// One of the plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plot {
    Streams,
    Batch,
    FixedWork,
    Reductions,
    Placements,
    Phases,
}

impl Plot {
    /// All plots.
    pub const ALL: [Self; 6] = [Self::Streams, Self::Batch, Self::FixedWork, Self::Reductions, Self::Placements, Self::Phases];

    /// Returns the file's name without an extension.
    pub fn name(self) -> &'static str {
        match self {
            Self::Streams => "streams",
            Self::Batch => "batch",
            Self::FixedWork => "fixed-work",
            Self::Reductions => "reductions",
            Self::Placements => "placements",
            Self::Phases => "phases",
        }
    }

    /// Returns the chart of a study's figures.
    pub fn chart(self, study: &Study) -> Chart {
        let (title, y, logarithmic, lines) = match self {
            Self::Streams => ("Kernels per second by streams", "kernels per second", true, streams(study)),
            Self::Batch => ("Time by threads", "ms per launch", true, batch(study)),
            Self::FixedWork => ("The same number of comparisons by threads", "ms per launch", true, fixed(study)),
            Self::Reductions => ("Reductions", "time, as a multiple of that without a reduction", false, reductions(study)),
            Self::Placements => {
                ("Where the shape's pieces are", "time, as a multiple of that from global memory", false, placements(study))
            }
            Self::Phases => ("One phase against two", "ms per launch", true, phases(study)),
        };
        Chart {
            title: format!("{title}: {}", study.device.name),
            x: if self == Self::Streams { "streams" } else { "threads" }.to_owned(),
            y: y.to_owned(),
            logarithmic,
            lines,
        }
    }
}

fn ours(name: impl Into<String>, points: impl Iterator<Item = (usize, Spread)>) -> Line {
    let points = points.map(|(x, spread)| (x as f64, spread.median, spread.min, spread.max)).collect();
    Line { name: name.into(), points, theirs: false }
}

fn theirs(name: &str, points: impl Iterator<Item = (usize, f64)>) -> Line {
    Line { name: name.to_owned(), points: points.map(|(x, y)| (x as f64, y, y, y)).collect(), theirs: true }
}

fn streams(study: &Study) -> Vec<Line> {
    let rates = |name: &str, ms: fn(&StreamsRow) -> Spread| {
        ours(name, study.streams.iter().map(|row| (row.streams, row.rate(ms(row), study.options.iterations))))
    };
    vec![
        rates("launched one by one", |row| row.plain_ms),
        rates("a graph per stream", |row| row.graphs_ms),
        rates("one graph, a branch per stream", |row| row.branches_ms),
        rates("one launch, a block per stream", |row| row.blocks_ms),
        rates("empty kernels", |row| row.empty_ms),
        theirs("the notebook", notebook::STREAMS.iter().map(|row| (row.streams, row.kernels_per_s))),
    ]
}

fn times(study: &Study, name: &str, of: fn(&BatchRow) -> Spread) -> Line {
    ours(name, study.batch.iter().map(|row| (row.threads, of(row))))
}

fn batch(study: &Study) -> Vec<Line> {
    let name = format!("against {} poses", format::grouped(study.options.poses));
    vec![times(study, &name, BatchRow::one_phase), theirs("the notebook, against 500 poses", notebook::BATCH.into_iter())]
}

fn fixed(study: &Study) -> Vec<Line> {
    let line = |fixed: &warpsmith::concurrency::Fixed| {
        let name = format!("{} comparisons", format::grouped(fixed.total));
        ours(name, fixed.rows.iter().map(|row| (row.threads, row.ms)))
    };
    let mut lines: Vec<_> = study.fixed.iter().map(line).collect();
    lines.push(theirs("the notebook, 2,000 comparisons", notebook::FIXED.into_iter()));
    lines
}

/// Returns `spreads[index]` of each row as a multiple of the median of `spreads[one]`.
fn multiples(study: &Study, name: &str, spreads: fn(&BatchRow) -> &[Spread], index: usize, one: usize) -> Line {
    let points = study.batch.iter().filter_map(|row| {
        let (spread, one) = (spreads(row).get(index)?, spreads(row).get(one)?.median);
        Some((row.threads, spread.map(|ms| ms / one)))
    });
    ours(name, points)
}

fn reductions(study: &Study) -> Vec<Line> {
    let all = Reduction::ALL.iter().enumerate();
    all.map(|(index, reduction)| {
        let name = if *reduction == Reduction::Separate { "none".to_owned() } else { reduction.name() };
        multiples(study, &name, |row| &row.reductions, index, Reduction::ALL.len() - 1)
    })
    .collect()
}

fn placements(study: &Study) -> Vec<Line> {
    let all = Placement::ALL.iter().enumerate();
    let mut lines: Vec<_> =
        all.map(|(index, placement)| multiples(study, &placement.name(), |row| &row.placements, index, 0)).collect();
    let ratios = notebook::PLACEMENTS.into_iter().map(|(threads, global, constant)| (threads, global / constant));
    lines.push(theirs("the notebook, constant", ratios));
    lines
}

fn phases(study: &Study) -> Vec<Line> {
    vec![
        times(study, "one phase", BatchRow::one_phase),
        times(study, "two phases", |row| row.two_phase),
        times(study, "of which turning", |row| row.transform),
        times(study, "the library's evaluator", |row| row.engine),
    ]
}
