//! `warpsmith overlap lattice`.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use warpsmith::overlap::{
    Packings, Periodic,
    io::{Format, PoseLayout, read_shape, save_poses_at},
};

use super::draw::{Picture, Polygons};
use crate::{count, draw::Target, failure::Failure, format, output::Files, terminal, utf8};

#[derive(Args, Debug)]
#[command(
    long_about = "Search for the densest packings of the plane with one copy of a shape, or two, that repeat by a lattice.\n\n\
        Copies stand in rows, each let down on the one before. A grid over angles, widths and offsets is searched, and the best of it \
        refined. No two copies overlap, up to rounding.",
    after_help = "Examples:\n  \
        warpsmith overlap lattice                                                the tree of Santa 2025\n  \
        warpsmith overlap lattice --shape l.svg --copies 2 --plot lattice.svg    and a picture\n  \
        warpsmith overlap lattice --copies 2 --output cell.csv                   and the poses of a cell"
)]
pub struct LatticeArgs {
    /// The shape: `tree`, a file .json, .geojson, .svg, .dxf or .wkt, or WKT
    #[arg(long, value_name = "SHAPE", default_value = "tree", value_parser = utf8())]
    shape: String,
    /// Copies in a cell: 1 or 2 [default: both, one after the other]
    #[arg(long, value_name = "N", value_parser = count::up_to(2))]
    copies: Option<usize>,
    /// Seed of all that is random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Write the poses of the denser one's cell: .npy of shape (N, 3), or .csv
    #[arg(long, value_name = "POSES.CSV")]
    output: Option<PathBuf>,
    /// Draw the denser one: .png or .svg
    #[arg(long, value_name = "OUT.SVG")]
    plot: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    system: &'static str,
    command: &'static str,
    shape: &'a str,
    seed: u64,
    lattices: Vec<Row>,
    output: Option<String>,
    plot: Option<String>,
}

#[derive(Serialize)]
struct Row {
    copies: usize,
    density: f64,
    /// The cell's area over its copies.
    area_per_copy: f64,
    vectors: [[f64; 2]; 2],
    /// x, y, theta.
    poses: Vec<[f64; 3]>,
}

/// Number of cells to each side of the middle one, in a picture.
const CELLS: i32 = 3;

pub fn run(arguments: &LatticeArgs) -> Result<(), Failure> {
    let LatticeArgs { shape, copies, seed, output, plot, json } = arguments;
    let mut files = Files::reading([shape]);
    let poses = output.as_ref().map(|path| Ok::<_, Failure>((Format::of(path)?, files.write(path)?))).transpose()?;
    let picture = plot.as_ref().map(|path| Target::prepare(&mut files, path)).transpose()?;
    let shape = read_shape(shape)?;
    let find = |copies: usize| if copies == 1 { Periodic::single(&shape, *seed) } else { Periodic::double(&shape, *seed) };
    let found: Vec<Periodic> = copies.map_or_else(|| vec![1, 2], |copies| vec![copies]).into_iter().map(find).collect();
    let densest = found.iter().max_by(|a, b| a.density.total_cmp(&b.density)).unwrap_or(&found[0]);
    if let Some((format, destination)) = &poses {
        save_poses_at(&Packings::one(densest.poses.clone())?, PoseLayout::Single, destination, *format)?;
    }
    if let Some(picture) = &picture {
        let [a, b] = densest.lattice.vectors();
        let cells = (-CELLS..=CELLS).flat_map(|i| (-CELLS..=CELLS).map(move |j| (f64::from(i), f64::from(j))));
        let copies = cells.flat_map(|(i, j)| {
            densest.poses.iter().map(move |&[x, y, theta]| [x + i * a[0] + j * b[0], y + i * a[1] + j * b[1], theta])
        });
        let polygons = copies.map(|pose| Polygons { shape: 0, rings: shape.posed(pose).collect() }).collect();
        let title = format!("{}: density {:.6}", shape.name(), densest.density);
        // The cell.
        let container = vec![[0.0, 0.0], a, [a[0] + b[0], a[1] + b[1]], b];
        picture.write(&Picture { title: &title, names: vec![shape.name()], polygons, common: Vec::new(), container })?;
    }
    let row = |periodic: &Periodic| Row {
        copies: periodic.poses.len(),
        density: periodic.density,
        area_per_copy: periodic.area_per_copy(),
        vectors: periodic.lattice.vectors(),
        poses: periodic.poses.clone(),
    };
    let report = Report {
        system: "overlap",
        command: "lattice",
        shape: shape.name(),
        seed: *seed,
        lattices: found.iter().map(row).collect(),
        output: output.as_ref().map(|path| path.display().to_string()),
        plot: plot.as_ref().map(|path| path.display().to_string()),
    };
    if *json { terminal::print_json(&report) } else { report.print() }
}

impl Report<'_> {
    fn print(&self) -> Result<(), Failure> {
        let header = ["copies", "density", "area per copy"];
        let mut table = terminal::table(header, 0..header.len());
        for row in &self.lattices {
            table.add_row([row.copies.to_string(), format!("{:.4} %", 100.0 * row.density), format!("{:.9}", row.area_per_copy)]);
        }
        terminal::print(table)?;
        for row in &self.lattices {
            let numbers: Vec<String> = row.vectors.as_flattened().iter().map(f64::to_string).collect();
            terminal::print(format_args!(
                "{} in a cell: --lattice={}",
                format::counted(row.copies, "copy", "copies"),
                numbers.join(",")
            ))?;
        }
        for path in self.output.iter().chain(&self.plot) {
            terminal::print(format_args!("Written: {path}"))?;
        }
        Ok(())
    }
}
