//! `warpsmith overlap plot`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use warpsmith::overlap::{Boundary, Overlap, OverlapReal as _, Packings, Shape, Wanted, io::PoseLayout};

use super::{
    draw::{Picture, Polygons},
    evaluate::area,
    input::{Input, Loaded, parse_side},
};
use crate::{Global, draw::Target, failure::Failure, format, output::Files, progress::Progress, terminal, utf8};

#[derive(Args, Debug)]
#[command(
    long_about = "Draw a packing: its poses, their overlaps in red, and a square: the boundary, or else the smallest one with sides \
        along the axes around all vertices.",
    after_help = "Examples:\n  \
        warpsmith overlap plot poses.npy --output packing.svg\n  \
        warpsmith overlap plot ensembles.npy --output packing.png --packing 7 --boundary 4\n  \
        warpsmith overlap plot submission.csv --output packing.png --packing 50    the packing of 50 trees"
)]
pub struct PlotArgs {
    #[command(flatten)]
    input: Input,
    /// The picture: .png or .svg
    #[arg(long, value_name = "OUT.SVG")]
    output: PathBuf,
    /// Index of the packing, from 0; in a submission, its number of trees [default: the first]
    #[arg(long, value_name = "I", value_parser = parse_packing)]
    packing: Option<usize>,
    /// Draw a square of this side around the origin, with sides along the axes
    #[arg(long, value_name = "H", value_parser = parse_drawn, allow_hyphen_values = true)]
    boundary: Option<f64>,
    /// Text above the picture [default: number of poses, the square's side, and the area of
    /// overlap]
    #[arg(long, value_name = "TEXT", value_parser = utf8())]
    title: Option<String>,
    /// Print one JSON object instead of a line
    #[arg(long)]
    json: bool,
}

pub fn run(global: &Global, arguments: &PlotArgs) -> Result<(), Failure> {
    let picture = Target::prepare(&mut Files::reading(arguments.input.files(None)), &arguments.output)?;
    let loaded = arguments.input.load::<f64>(None)?;
    let packing = arguments.find(&loaded)?;
    let range = loaded.packings.range(packing);
    let poses = &loaded.packings.poses()[range.clone()];
    if poses.is_empty() {
        return Err(Failure::error(format_args!("{}: packing {packing} has no poses", arguments.input.poses.display())));
    }
    let shape_of = |pose: usize| loaded.packings.shape_of(range.start + pose) as usize;
    let one = Packings::one(poses.to_vec())?.with_shapes((0..poses.len()).map(|pose| shape_of(pose) as u32).collect())?;

    let device = global.open()?;
    let progress = Progress::new(arguments.json || global.verbose > 0);
    let work = progress.spinner(1000 * poses.len(), format!("evaluating on {device}"));
    let mut overlap = Overlap::<f64>::new(&device, &loaded.shapes)?.deterministic(true);
    let total = overlap.evaluate(&one, Wanted::TOTALS)?.totals[0];
    let pairs = overlap.pairs(&one)?;
    drop(overlap);
    let count = format::counted(poses.len(), "pose", "poses");
    let vertices =
        (0..poses.len()).map(|pose| loaded.shapes[shape_of(pose)].outlines().iter().map(Vec::len).sum::<usize>()).sum();
    picture.check_memory(format_args!("a picture of {count}"), vertices)?;
    let common = pairs.iter().flat_map(|pair| pair.common(&one, &loaded.shapes, None)).collect();

    let [low, high] = loaded.packings.bounds(packing, &loaded.shapes).unwrap_or_default();
    let (middle, side) = match arguments.boundary {
        Some(side) => ([0.0, 0.0], side),
        None => ([0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1])], loaded.packings.side(packing, &loaded.shapes)),
    };
    let corners = Boundary::square().outline(side);
    let container = corners.iter().map(|corner| [middle[0] + corner[0], middle[1] + corner[1]]).collect();
    let default_title = || format!("{count}, side {side:.6}, overlap {}", area(total));
    let title = arguments.title.clone().unwrap_or_else(default_title);
    let posed = |pose: usize| loaded.shapes[shape_of(pose)].posed(poses[pose]);
    let polygons = (0..poses.len()).map(|pose| Polygons { shape: shape_of(pose), rings: posed(pose).collect() }).collect();
    let names = loaded.shapes.iter().map(Shape::name).collect();
    picture.write(&Picture { title: &title, names, polygons, common, container })?;
    drop(work);

    let output = arguments.output.display().to_string();
    if arguments.json {
        return terminal::print_json(&json!({
            "system": "overlap", "command": "plot", "input": arguments.input.poses.display().to_string(),
            "packing": loaded.label(packing), "poses": poses.len(), "side": side, "overlap": total, "pairs": pairs.len(),
            "output": output,
        }));
    }
    terminal::print(format_args!("Written: {output} ({count}, side {side:.6}, overlap {})", area(total)))
}

/// Reads the side of a square that can be drawn.
fn parse_drawn(text: &str) -> Result<f64, String> {
    let most = f64::MAX_POSITION;
    parse_side(text)
        .and_then(|side| if side <= most { Ok(side) } else { Err(format!("not a side's length: it must be at most {most:e}")) })
}

/// Reads a packing's number.
fn parse_packing(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "not a whole number from 0 on".to_owned())
}

impl PlotArgs {
    /// The index of the packing that is asked for.
    fn find(&self, loaded: &Loaded) -> Result<usize, Failure> {
        let packings = loaded.packings.len();
        let fail = |text: String| Err(Failure::error(format_args!("{}: {text}", self.input.poses.display())));
        if packings == 0 {
            return fail("holds no packings".to_owned());
        }
        let Some(wanted) = self.packing else { return Ok(0) };
        if let Some(found) = (0..packings).find(|&packing| loaded.label(packing) == wanted) {
            return Ok(found);
        }
        match loaded.layout {
            PoseLayout::Submission => fail(format!("there is no packing of {wanted} trees")),
            _ if packings == 1 => fail(format!("there is no packing {wanted}: the only one is 0")),
            _ => fail(format!("there is no packing {wanted}: they are 0 to {}", packings - 1)),
        }
    }
}
