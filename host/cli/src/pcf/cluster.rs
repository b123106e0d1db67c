//! `warpsmith pcf cluster`.

use std::{path::PathBuf, sync::Arc};

use clap::{ArgGroup, Args, ValueEnum};
use kodama::{Method, linkage};
use serde_json::json;
use warpsmith::{
    engine::{Control, Engine},
    io::npz::Arrays,
    pcf::{Layout, Pairwise, PcfReal, PcfSet, io::PcfData},
};

use super::{
    Dtype,
    files::{Inputs, SetArgs},
};
use crate::{
    Global, count,
    failure::Failure,
    format,
    output::{Files, Format, write_rows},
    progress::Progress,
    terminal,
};

#[derive(Args, Debug)]
#[command(
    group = ArgGroup::new("number").required(true),
    override_usage = "warpsmith pcf cluster [OPTIONS] --output <GROUPS.CSV>\n       <--clusters <K>|--cut <D>> <A>...",
    long_about = "Group functions by hierarchical clustering of their L^p distances.\n\n\
        The output has a row for each function: its name and the number of its cluster. Clusters are numbered from 0 by their \
        first functions. An archive (.npz) has the arrays labels, names, and linkage as SciPy's, of shape (functions - 1, 4).",
    after_help = "Examples:\n  \
        warpsmith pcf cluster set.npz --clusters 4 --output groups.csv\n  \
        warpsmith pcf cluster clouds/*.txt --curve betti --dimension 1 --clusters 3 --output groups.csv\n  \
        warpsmith pcf cluster data.csv --until 60 --cut 0.5 --method complete --output groups.npz"
)]
pub struct ClusterArgs {
    /// The functions: .npz, .npy or tables; with --curve barcodes
    #[arg(value_name = "A", required = true)]
    set: Vec<PathBuf>,
    #[command(flatten)]
    options: SetArgs,
    /// Exponent of the distance, a number of at least 1, or inf
    #[arg(long, value_name = "P", value_parser = super::pairwise::exponent, default_value = "1")]
    p: f64,
    /// Distance of two clusters
    #[arg(long, value_enum, default_value_t = Linkage::Average)]
    method: Linkage,
    /// Number of clusters
    #[arg(long, value_name = "K", value_parser = count::up_to(count::MAX as usize), group = "number")]
    clusters: Option<usize>,
    /// Join clusters up to this distance
    #[arg(long, value_name = "D", value_parser = distance, group = "number")]
    cut: Option<f64>,
    /// Type of times, values and distances [default: the file's; f64 from text]
    #[arg(long, value_enum)]
    dtype: Option<Dtype>,
    /// Write the clusters: .csv or .npz
    #[arg(long, value_name = "GROUPS.CSV")]
    output: PathBuf,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Linkage {
    /// Distance of their nearest functions
    Single,
    /// Distance of their farthest functions
    Complete,
    /// Mean distance over all pairs of functions
    Average,
}

/// Reads a distance.
fn distance(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|&distance| distance >= 0.0).ok_or_else(|| "it must be a number from 0 on".to_owned())
}

/// Clusters of functions.
struct Clusters {
    labels: Vec<i32>,
    /// For each step, the numbers of the two clusters, their distance and the size of the new one.
    linkage: Vec<f64>,
    count: usize,
}

pub fn run(global: &Global, arguments: &ClusterArgs) -> Result<(), Failure> {
    let ClusterArgs { set, options, dtype, output, json, .. } = arguments;
    let format = Format::of(output, &[Format::Csv, Format::Npz])?;
    let destination = Files::reading(set).write(output)?;
    let progress = Progress::new(*json || global.verbose > 0);
    let inputs = Inputs(set);
    let (names, clusters) = match options.load(inputs, *dtype, progress)? {
        PcfData::F32(set) => (set.names().cloned(), arguments.clusters(global, &set, progress)?),
        PcfData::F64(set) => (set.names().cloned(), arguments.clusters(global, &set, progress)?),
    };
    let name = |index| name(names.as_ref(), index);
    destination.write(|file| match format {
        Format::Npz => {
            let mut arrays = Arrays::new(file);
            arrays.add("labels", &clusters.labels, &[clusters.labels.len()])?;
            arrays.add("linkage", &clusters.linkage, &[clusters.linkage.len() / 4, 4])?;
            names.as_ref().map_or(Ok(()), |names| arrays.add_texts("names", names))?;
            arrays.finish()
        }
        _ => {
            let rows = clusters.labels.iter().enumerate().map(|(index, label)| [name(index), label.to_string()]);
            write_rows(file, &["id", "cluster"], rows)
        }
    })?;
    let mut sizes = vec![0; clusters.count];
    clusters.labels.iter().for_each(|&label| sizes[label as usize] += 1);
    let output = output.display().to_string();
    if *json {
        let functions = clusters.labels.len();
        let of = json!({"system": "pcf", "functions": functions, "clusters": clusters.count, "sizes": sizes, "output": output});
        return terminal::print_json(&of);
    }
    const SHOWN: usize = 20;
    let mut table = terminal::table(["cluster", "functions", "first"], 0..2);
    for (cluster, &size) in sizes.iter().enumerate().take(SHOWN) {
        let first = clusters.labels.iter().position(|&label| label as usize == cluster).unwrap_or(0);
        table.add_row([format::grouped(cluster), format::grouped(size), name(first)]);
    }
    terminal::print(table)?;
    if sizes.len() > SHOWN {
        terminal::print(format_args!("... and {} more clusters", format::grouped(sizes.len() - SHOWN)))?;
    }
    terminal::print(format_args!("Written: {output}"))
}

/// Returns a function's name, or its number if functions have none.
fn name(names: Option<&Arc<[String]>>, index: usize) -> String {
    names.map_or_else(|| index.to_string(), |names| names[index].clone())
}

impl ClusterArgs {
    fn clusters<T: PcfReal>(&self, global: &Global, set: &PcfSet<T>, progress: Progress) -> Result<Clusters, Failure> {
        let n = set.len();
        if n == 0 {
            return Err(Failure::error(format_args!("{}: there are no functions", Inputs(&self.set))));
        }
        if let Some(clusters) = self.clusters.filter(|&clusters| clusters > n) {
            let are = if n == 1 { "is" } else { "are" };
            return Err(Failure::error(format_args!(
                "--clusters {clusters}: there {are} {}",
                format::counted(n, "function", "functions")
            )));
        }
        let pairwise = Pairwise::pdist(set, self.p)?;
        if let Some((i, j)) = pairwise.endless_pair() {
            let [i, j] = [i, j].map(|index| name(set.names(), index));
            return Err(Failure::error(format_args!(
                "{}: the distance of functions {i} and {j} is infinite, because they end on different values: set a time at which \
                 functions end (--until)",
                Inputs(&self.set)
            )));
        }
        let engine = Engine::new([global.open()?])?;
        let pairs = n * (n - 1) / 2;
        let work = progress.bar(pairs, "distances");
        let advance = |done, total| work.reach(done, total);
        let control = Control { progress: Some(&advance), ..Control::default() };
        let distances = pairwise.compute(&engine, Layout::Condensed, control)?;
        drop(work);
        let mut distances: Vec<f64> = distances.into_iter().map(T::to_f64).collect();
        if distances.iter().any(|distance| !distance.is_finite()) {
            return Err(Failure::error(format_args!("{}: distances are too large for {}", Inputs(&self.set), T::NAME)));
        }
        let _work = progress.spinner(pairs, "clustering");
        Ok(self.grouped(&mut distances, n))
    }

    /// Groups functions by their condensed distances.
    fn grouped(&self, distances: &mut [f64], n: usize) -> Clusters {
        let method = match self.method {
            Linkage::Single => Method::Single,
            Linkage::Complete => Method::Complete,
            Linkage::Average => Method::Average,
        };
        let dendrogram = linkage(distances, n, method);
        let steps = dendrogram.steps();
        let joined = match (self.clusters, self.cut) {
            (Some(clusters), _) => n - clusters,
            (None, cut) => steps.iter().take_while(|step| cut.is_some_and(|cut| step.dissimilarity <= cut)).count(),
        };
        // The step that joins each function or cluster to another, as far as they are joined.
        let mut above: Vec<usize> = (0..n + joined).collect();
        for (step, joins) in steps[..joined].iter().enumerate() {
            above[joins.cluster1] = n + step;
            above[joins.cluster2] = n + step;
        }
        // Steps are above what they join.
        for node in (0..n + joined).rev() {
            above[node] = above[above[node]];
        }
        let mut numbers = vec![-1; n + joined];
        let mut count = 0;
        let labels = (0..n)
            .map(|function| {
                let number = &mut numbers[above[function]];
                if *number < 0 {
                    *number = count;
                    count += 1;
                }
                *number
            })
            .collect();
        let row = |step: &kodama::Step<f64>| [step.cluster1 as f64, step.cluster2 as f64, step.dissimilarity, step.size as f64];
        Clusters { labels, linkage: steps.iter().flat_map(row).collect(), count: count as usize }
    }
}
