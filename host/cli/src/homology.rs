//! `warpsmith homology`.

use std::{path::PathBuf, time::Instant};

use clap::Args;
use serde::Serialize;
use warpsmith::{
    common::Cancel,
    device::DeviceError,
    homology::{
        Clouds, Diagrams, HomologyError, HomologyReal, Options, Rips,
        io::{self, CloudData, Format},
        rips,
    },
    io::{check_names, npy::Element},
};

use super::{
    Global, count, failure::Failure, format, output::Files, pcf::Dtype, processes::MOST_GPUS, progress::Progress,
    table::TableArgs, terminal,
};

#[derive(Args, Debug)]
#[command(
    long_about = "Persistent homology of point clouds: the bars of their Vietoris-Rips filtrations in degrees 0, 1 and 2, over Z/2.\n\n\
        Clouds are arrays (.npy) of shape (points, coordinates) or (clouds, points, coordinates), archives (.npz) with an array for \
        each cloud, or tables of numbers with a row for each point and optionally a column `cloud`. With --distances they are square \
        matrices instead; an array may also be what SciPy's pdist gives, and a text the lower triangle, as for ripser.\n\n\
        Bars of length 0 are left out. The filtration ends at the enclosing radius of a cloud, beyond which nothing changes, or at \
        --threshold; bars that don't end before have the death inf.\n\n\
        The output is an archive (.npz) of bars, offsets of clouds and edges, an array as of giotto-tda (.npy), a table (.csv) or JSON \
        as of ripser.py; for one cloud also what ripser prints (.txt) or GUDHI's format (.pers). `warpsmith pcf` reads all of them.",
    after_help = "Examples:\n  \
        warpsmith homology points.npy --output bars.npz\n  \
        warpsmith homology clouds/*.csv --threshold 0.5 --output bars.csv\n  \
        warpsmith homology matrix.npy --distances --output bars.txt\n  \
        warpsmith pcf cluster bars.npz --curve betti --dimension 1 --clusters 3 --output groups.csv"
)]
pub struct Arguments {
    /// The clouds
    #[arg(value_name = "CLOUDS", required = true)]
    clouds: Vec<PathBuf>,
    /// Read matrices of distances
    #[arg(long)]
    distances: bool,
    /// Largest length of an edge [default: each cloud's enclosing radius]
    #[arg(long, value_name = "T")]
    threshold: Option<f64>,
    /// Highest degree: 0 for components, 1 for cycles, 2 for cavities, too
    #[arg(long, visible_alias = "dimension", value_name = "D", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=2))]
    degree: u8,
    /// Type of distances and bars [default: the file's; f64 from text]
    #[arg(long, value_enum)]
    dtype: Option<Dtype>,
    /// Use the first N GPUs; on the CPU, N workers that each stand for one [default: 1, that of --device]
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_GPUS))]
    gpus: Option<usize>,
    /// Write the bars: .npz, .npy, .csv, .json, .txt or .pers
    #[arg(long, value_name = "BARS.NPZ")]
    output: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    table: TableArgs,
}

#[derive(Serialize)]
struct HomologyReport<'a> {
    system: &'static str,
    backend: String,
    device: String,
    clouds: usize,
    points: usize,
    dtype: &'static str,
    degrees: Vec<DegreeReport>,
    /// In ms, from points to bars.
    ms: f64,
    /// Sentences on first rows that may be names of columns.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    output: Option<String>,
}

/// Bars of a degree.
#[derive(Serialize)]
struct DegreeReport {
    degree: usize,
    bars: usize,
    endless: usize,
    /// Length of the longest bar that ends.
    longest: Option<f64>,
}

pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    let clouds = io::load(&arguments.clouds, arguments.distances, &arguments.table.options(&arguments.clouds)?)?;
    match arguments.dtype {
        Some(Dtype::F32) => compute::<f32>(global, arguments, &clouds),
        None if clouds.single => compute::<f32>(global, arguments, &clouds),
        _ => compute::<f64>(global, arguments, &clouds),
    }
}

fn compute<T: HomologyReal + Element>(global: &Global, arguments: &Arguments, data: &CloudData) -> Result<(), Failure> {
    let Arguments { threshold, degree, gpus, output, json, .. } = arguments;
    let mut files = Files::reading(&arguments.clouds);
    let target = output.as_ref().map(|path| Ok::<_, Failure>((Format::of(path)?, files.write(path)?))).transpose()?;
    let file = |cloud: usize| arguments.clouds[data.files[cloud]].display();
    if let Some((format, destination)) = &target
        && format.is_by_name()
    {
        let check =
            check_names(data.names.as_deref(), *format == Format::Csv, |cloud| format!("cloud {cloud} ({})", file(cloud)));
        check.map_err(|reason| Failure::error(format_args!("{}: {reason}", destination.name().display())))?;
    }
    let named = |error: HomologyError| match (error.cloud(), &data.names) {
        (Some(cloud), Some(names)) => Failure::error(format_args!("{}: {}: {error}", file(cloud), names[cloud])),
        (Some(cloud), None) => Failure::error(format_args!("{}: {error}", file(cloud))),
        _ => Failure::error(error),
    };
    let numbers: Vec<T> = data.numbers.iter().map(|&number| T::from_f64(number)).collect();
    let sizes = data.sizes.clone();
    let clouds = match data.dimension {
        Some(dimension) => Clouds::points(&numbers, dimension, sizes),
        None => Clouds::distances(&numbers, sizes),
    };
    let clouds = clouds.map_err(named)?;
    let devices = global.open_several(*gpus)?;
    let edges = matches!(target, Some((Format::Npz, _)));
    let options = Options { threshold: threshold.unwrap_or(f64::INFINITY), degree: usize::from(*degree), edges };
    let start = Instant::now();
    let edges: usize = data.sizes.iter().map(|&n| n * n.saturating_sub(1) / 2).sum();
    let diagrams = {
        let line = Progress::new(*json || global.verbose > 0).costly_bar(clouds.len(), edges / clouds.len().max(1), "clouds");
        let workers = devices.iter().map(|device| Ok((device.stream()?, Rips::new(device, false)?)));
        let mut workers = workers.collect::<Result<Vec<_>, DeviceError>>()?;
        let workers = workers.iter_mut().map(|(stream, rips)| (&*stream, rips)).collect();
        rips(workers, &clouds, &options, &Cancel::new(), |done| line.advance(done)).map_err(named)?
    };
    (0..diagrams.degrees()).try_for_each(|degree| diagrams.fetch(degree)).map_err(|error| named(error.into()))?;
    let ms = 1e3 * start.elapsed().as_secs_f64();
    if let Some((format, destination)) = &target {
        io::save(&diagrams, data.names.as_deref(), destination, *format)?;
    }
    let report = HomologyReport {
        system: "homology",
        backend: devices[0].backend().to_string(),
        device: devices.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        clouds: clouds.len(),
        points: data.sizes.iter().sum(),
        dtype: T::NAME,
        degrees: (0..diagrams.degrees()).map(|degree| DegreeReport::of(&diagrams, degree)).collect(),
        ms,
        notes: &data.notes,
        output: output.as_ref().map(|path| path.display().to_string()),
    };
    if *json { terminal::print_json(&report) } else { report.print() }
}

impl DegreeReport {
    fn of<T: HomologyReal>(diagrams: &Diagrams<T>, degree: usize) -> Self {
        let bars = diagrams.values(degree);
        let lengths = bars.iter().map(|[birth, death]| death.to_f64() - birth.to_f64());
        DegreeReport {
            degree,
            bars: bars.len(),
            endless: bars.iter().filter(|[_, death]| !death.is_finite()).count(),
            longest: lengths.filter(|length| length.is_finite()).max_by(f64::total_cmp),
        }
    }
}

impl HomologyReport<'_> {
    fn print(&self) -> Result<(), Failure> {
        let mut table = terminal::table(["degree", "bars", "without end", "longest other"], [1, 2, 3]);
        for DegreeReport { degree, bars, endless, longest } in &self.degrees {
            let longest = longest.map_or_else(|| "-".to_owned(), format::digits);
            table.add_row([degree.to_string(), format::grouped(*bars), format::grouped(*endless), longest]);
        }
        terminal::print(format_args!(
            "{}, {}, {} on {}: {}",
            format::counted(self.clouds, "cloud", "clouds"),
            format::counted(self.points, "point", "points"),
            self.dtype,
            self.device,
            format::time(self.ms)
        ))?;
        terminal::print(table)?;
        self.notes.iter().try_for_each(terminal::print)?;
        match &self.output {
            Some(output) => terminal::print(format_args!("Written: {output}")),
            None => Ok(()),
        }
    }
}
