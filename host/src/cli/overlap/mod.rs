//! `warpsmith overlap`: copies of polygons and the areas in which they overlap.

mod check;
mod draw;
mod files;
mod gradient;
mod input;
mod lattice;
mod pack;
mod pairs;
mod plot;
mod submission;
mod total;

use clap::{Args, Subcommand};

use super::{Global, failure::Failure};

/// Commands of `overlap`.
#[derive(Args, Debug)]
#[command(
    long_about = "Copies of polygons, and the areas in which they overlap, for packing.\n\n\
        A pose (x, y, theta) turns a shape by theta about the origin of its frame, counter-clockwise, and then moves that origin to \
        (x, y). POSES are one packing or several: .npy of shape (poses, 3) or (packings, poses, 3), .csv with the header x,y,theta \
        (with a column packing in front for several packings, with a column shape at the end for several shapes), or a submission \
        to Kaggle's Santa 2025: .csv with the header id,x,y,deg. Packings are numbered from 0, those of a submission by how many \
        trees they have.\n\n\
        A shape is `tree`, a file or text: .json with {\"outline\": [[x, y], ...]}, with {\"pieces\": [...]} of convex polygons or a \
        GeoJSON Polygon; .svg, of which the first closed path is taken, with y upwards and curves as lines; .wkt, or WKT itself.",
    after_help = "Examples:\n  \
        warpsmith overlap total submission.csv                      the score, and what breaks the contest's rules\n  \
        warpsmith overlap total poses.npy --boundary 4              areas of overlap and outside a square of side 4\n  \
        warpsmith overlap pairs poses.npy --output pairs.csv        the pairs that overlap\n  \
        warpsmith overlap gradient poses.npy --output gradient.npy  derivatives by every pose\n  \
        warpsmith overlap plot poses.npy packing.svg                a picture, overlaps in red\n  \
        warpsmith overlap pack --count 50 --output packed.csv       a small square for 50 trees\n  \
        warpsmith overlap improve submission.csv --time 10m         smaller squares for all that it has"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

// What stands about them in the list. Doc comments would take the place of the longer texts that the arguments have,
// too.
#[derive(Debug, Subcommand)]
enum Command {
    #[command(about = "Compute the areas of overlap, and outside a square; score and check a submission")]
    Total(total::Arguments),
    #[command(about = "List the pairs that overlap, and their areas")]
    Pairs(pairs::Arguments),
    #[command(about = "Compute the derivatives of the area of overlap by every pose")]
    Gradient(gradient::Arguments),
    #[command(about = "Draw a packing, overlaps in red")]
    Plot(plot::Arguments),
    #[command(about = "Pack copies of a shape into as small a square as can be found")]
    Pack(pack::Arguments),
    #[command(about = "Make the packings of a submission smaller")]
    Improve(submission::Arguments),
    #[command(about = "Find the densest packings that repeat by a lattice")]
    Lattice(lattice::Arguments),
}

/// Runs the command.
pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Total(arguments) => total::run(global, arguments),
        Command::Pairs(arguments) => pairs::run(global, arguments),
        Command::Gradient(arguments) => gradient::run(global, arguments),
        Command::Plot(arguments) => plot::run(global, arguments),
        Command::Pack(arguments) => pack::run(global, arguments),
        Command::Improve(arguments) => submission::run(global, arguments),
        Command::Lattice(arguments) => lattice::run(arguments),
    }
}
