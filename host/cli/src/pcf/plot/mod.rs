//! `warpsmith pcf plot`.

mod draw;
mod matrix;

use std::path::PathBuf;

use clap::Args;
use draw::Picture;
use matrix::Matrix;
use serde_json::json;
use warpsmith::pcf::Layout;

use crate::{Global, draw::Target, failure::Failure, format, output::Files, progress::Progress, terminal, utf8};

#[derive(Args, Debug)]
#[command(
    long_about = "Draw a matrix as a heat map.\n\n\
        The matrix is float32 or float64: dense (2-D), or the half of a symmetric one (1-D). Of the latter, files that \
        `warpsmith pcf` wrote tell the layout; others are taken for condensed ones unless --layout says otherwise. A matrix is read in \
        pieces, so that it may be larger than the memory. Where it is larger than the picture, a pixel has the mean of its entries; infinite entries and NaNs \
        have colours of their own, and so has a pixel with one of them.",
    after_help = "Examples:\n  \
        warpsmith pcf plot distances.npy --output heat.png            of a condensed or dense matrix\n  \
        warpsmith pcf plot theirs.npy --output heat.svg --layout packed        of another program's lower triangle\n  \
        warpsmith pcf plot distances.npy --output heat.svg --title 'Distances of Betti curves'"
)]
pub struct PlotArgs {
    /// The matrix
    #[arg(value_name = "MATRIX.NPY")]
    matrix: PathBuf,
    /// The picture: .png or .svg
    #[arg(long, value_name = "OUT.PNG")]
    output: PathBuf,
    /// Layout of a symmetric matrix in a 1-D array of plain numbers [default: condensed]
    #[arg(long, value_enum)]
    layout: Option<Layout>,
    /// Text above the picture [default: the matrix's name and size]
    #[arg(long, value_name = "TEXT", value_parser = utf8())]
    title: Option<String>,
    /// Print one JSON object instead of a line
    #[arg(long)]
    json: bool,
}

pub fn run(global: &Global, arguments: &PlotArgs) -> Result<(), Failure> {
    let (input, output) = (&arguments.matrix, &arguments.output);
    let target = Target::prepare(&mut Files::reading([input]), output)?;
    let progress = Progress::new(arguments.json || global.verbose > 0);
    let matrix = Matrix::open(input, arguments.layout)?;
    let (rows, columns) = (matrix.rows, matrix.columns);
    let work = progress.bar(matrix.entries(), format!("reading {}", input.display()));
    let heat = matrix.average(draw::SIDE, |n| work.advance(n))?;
    drop(work);

    let size = format!("{} x {}", format::grouped(rows), format::grouped(columns));
    let default_title = || format!("{}, {size}", input.file_name().unwrap_or_default().to_string_lossy());
    let title = arguments.title.clone().unwrap_or_else(default_title);
    let drawn = Picture { title: &title, rows, columns, heat: &heat };
    target.write(&drawn)?;

    let stats = &heat.entries;
    let finite = stats.min <= stats.max;
    if arguments.json {
        return terminal::print_json(&json!({
            "input": input.display().to_string(), "output": output.display().to_string(), "rows": rows, "columns": columns,
            "dtype": matrix.kind.name(), "min": finite.then_some(stats.min), "max": finite.then_some(stats.max),
            "infinite": stats.infinite, "nan": stats.nan,
        }));
    }
    let range = if finite { format!("entries from {:?} to {:?}", stats.min, stats.max) } else { "no finite entries".to_owned() };
    let special = [(stats.infinite, "infinite"), (stats.nan, "NaN")];
    let special: String =
        special.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!(", {} {name}", format::grouped(*n as usize))).collect();
    terminal::print(format_args!("Written: {} ({size}, {range}{special})", output.display()))
}
