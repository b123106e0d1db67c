//! `warpsmith overlap`: areas of overlap of polygons, and packing.

mod check;
mod draw;
mod evaluate;
mod files;
mod gradient;
mod input;
mod lattice;
mod pack;
mod pairs;
mod plot;
mod search;
mod submission;
mod total;

use clap::{Args, Subcommand};

use self::evaluate::Evaluating as _;
use super::{Global, failure::Failure};

/// Commands of `overlap`.
#[derive(Args, Debug)]
#[command(
    long_about = "Copies of polygons, and the areas in which they overlap, for packing.\n\n\
        A pose (x, y, theta) turns a shape by theta about the origin of its frame, counter-clockwise, and then moves that origin to \
        (x, y). POSES are one packing or several:\n  \
        .npy of shape (poses, 3) or (packings, poses, 3)\n  \
        .csv with the header x,y,theta; in front of it packing for several packings, behind it shape for several shapes\n  \
        .csv with the header id,x,y,deg, a submission to Kaggle's Santa 2025\n\n\
        Packings are numbered from 0, those of a submission by how many \
        trees they have.\n\n\
        A shape is `tree`, a file or text: .json with {\"outline\": [[x, y], ...], \"holes\": [...]}, with {\"pieces\": [...]} of convex \
        polygons or GeoJSON; .svg; .dxf; .wkt, or WKT itself. A file of several shapes stands for all of them: the closed paths of a \
        drawing, or the polygons of a MULTIPOLYGON or FeatureCollection. Drawings are read with y upwards, in mm if they tell their \
        size; a path within another one of the same element is a hole, and curves become lines outside of the material.",
    after_help = "Examples:\n  \
        warpsmith overlap total submission.csv                      the score, and broken rules\n  \
        warpsmith overlap total poses.npy --boundary 4              areas, and outside a square\n  \
        warpsmith overlap pairs poses.npy --output pairs.csv        the pairs that overlap\n  \
        warpsmith overlap gradient poses.npy --output gradient.npy  derivatives by every pose\n  \
        warpsmith overlap plot poses.npy --output packing.svg       a picture, overlaps in red\n  \
        warpsmith overlap pack --count 50 --output packed.csv       a small square for 50 trees\n  \
        warpsmith overlap improve submission.csv --time 10m         smaller squares for all its packings"
)]
pub struct OverlapArgs {
    #[command(subcommand)]
    command: Command,
}

// `about` is the line in the list of commands. Doc comments would also replace the longer texts of
// the arguments.
#[derive(Debug, Subcommand)]
enum Command {
    #[command(about = "Compute the areas of overlap, and outside a square; score and check a submission")]
    Total(total::TotalArgs),
    #[command(about = "List the pairs that overlap, and their areas")]
    Pairs(pairs::PairsArgs),
    #[command(about = "Compute the derivatives of the area of overlap by every pose")]
    Gradient(gradient::GradientArgs),
    #[command(about = "Draw a packing, overlaps in red")]
    Plot(plot::PlotArgs),
    #[command(about = "Pack copies of shapes into as small a container as possible")]
    Pack(pack::PackArgs),
    #[command(about = "Make the packings of a submission smaller")]
    Improve(pack::ImproveArgs),
    #[command(about = "Find the densest packings that repeat by a lattice")]
    Lattice(lattice::LatticeArgs),
}

pub fn run(global: &Global, arguments: &OverlapArgs) -> Result<(), Failure> {
    match &arguments.command {
        Command::Total(arguments) => arguments.run(global),
        Command::Pairs(arguments) => arguments.run(global),
        Command::Gradient(arguments) => arguments.run(global),
        Command::Plot(arguments) => plot::run(global, arguments),
        Command::Pack(arguments) => pack::run(global, arguments),
        Command::Improve(arguments) => pack::improve(global, arguments),
        Command::Lattice(arguments) => lattice::run(arguments),
    }
}
