//! `warpsmith rules fit`.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;
use warpsmith::{
    design_rules::{
        Runs,
        platform::Staging,
        sim::{
            Machine,
            fit::{self, Agreement, Fit, HeldOut, Options, Parameter},
        },
    },
    files::Destination,
};

use super::{
    learning::Origin,
    platform::{Input, Memory, parse_number, read_machine},
    program::Choice,
    scatter::Scatter,
};
use crate::cli::{Global, draw::Target, failure::Failure, format, output::Files, progress::Progress, terminal};

/// A rank correlation below which a machine is of no use.
const POOR: f64 = 0.5;

/// Options of `rules fit`.
#[derive(Args, Debug)]
#[command(
    long_about = "Fit the simulated machine to runs that were measured, so that simulations rest on measurements: MACHINE.JSON, for `warpsmith \
        rules explore --platform sim --machine MACHINE.JSON`.\n\n\
        All times and bandwidths are fitted (Levenberg and Marquardt, of their logarithms) to a random part of RUNS.CSV. What the runs say \
        nothing of stays near the machine that the fit starts from. The other runs say how good the result is: the root mean square of \
        ln(simulated / measured), Spearman's rank correlation, and how much longer the slowest schedule takes than the fastest.\n\n\
        Program and ranks are the file's. The program's input is not in it: say --matrix, --cells or --functions where it wasn't the \
        default.",
    after_help = "Examples:\n  \
        warpsmith rules fit full.csv --output machine.json\n  \
        warpsmith rules fit full.csv --output machine.json --plot scatter.svg\n  \
        warpsmith rules fit runs.csv --matrix m.mtx --sample 200 --machine start.json --output machine.json\n  \
        warpsmith rules fit four.csv --ranks-per-gpu 2 --output machine.json                where GPUs were shared\n  \
        warpsmith rules fit two.csv --predict four.csv --predict-ranks-per-gpu 2 --output machine.json\n  \
        warpsmith rules explore spmv --platform sim --machine machine.json --exhaustive --output simulated.csv"
)]
pub struct Arguments {
    /// Runs that `warpsmith rules explore` measured
    #[arg(value_name = "RUNS.CSV")]
    runs: PathBuf,
    #[command(flatten)]
    input: Input,
    /// Where messages lay while they were sent and received, for spmv and halo [default: where the file says]
    #[arg(long, value_enum)]
    staging: Option<Memory>,
    /// The machine to start from [default: one host with 4 H200s, by data sheets]
    #[arg(long, value_name = "START.JSON")]
    machine: Option<PathBuf>,
    /// How many ranks shared a GPU in RUNS.CSV [default: as in the machine]
    #[arg(long, value_name = "N", value_parser = parse_number)]
    ranks_per_gpu: Option<usize>,
    /// How many runs to fit to; at most half of them are taken
    #[arg(long, value_name = "N", default_value_t = Options::default().sample, value_parser = parse_number)]
    sample: usize,
    /// Seed of the choice of these
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Runs to predict with the fitted machine, of the same input on another number of ranks
    #[arg(long, value_name = "OTHER.CSV")]
    predict: Option<PathBuf>,
    /// How many ranks shared a GPU in those [default: as in the machine]
    #[arg(long, value_name = "N", requires = "predict", value_parser = parse_number)]
    predict_ranks_per_gpu: Option<usize>,
    /// The fitted machine
    #[arg(long, value_name = "MACHINE.JSON")]
    output: PathBuf,
    /// Draw measured against simulated times: .png or .svg
    #[arg(long, value_name = "OUT.SVG")]
    plot: Option<PathBuf>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Object<'a> {
    system: &'static str,
    command: &'static str,
    input_file: String,
    #[serde(flatten)]
    origin: Origin<'a>,
    runs: usize,
    sample: usize,
    converged: bool,
    parameters: &'a [Parameter],
    /// On the runs that the machine was not fitted to.
    before: Agreement,
    after: Agreement,
    predicted: Option<Prediction>,
    output: String,
    plot: Option<String>,
}

/// Other runs, predicted.
#[derive(Serialize)]
struct Prediction {
    input_file: String,
    ranks: usize,
    #[serde(flatten)]
    agreement: Agreement,
}

/// Runs the command.
pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    let others = [&arguments.input.matrix, &arguments.machine, &arguments.predict];
    let inputs = [&arguments.runs].into_iter().chain(others.into_iter().flatten());
    let mut files = Files::reading(inputs);
    let destination = files.write(&arguments.output)?;
    let plot = arguments.plot.as_ref().map(|path| Target::prepare(&mut files, path)).transpose()?;
    let runs = Runs::read(&arguments.runs)?;
    let choice = Choice::of(&runs, &arguments.runs)?;
    let mut start = arguments.machine.as_deref().map_or_else(|| Ok(Machine::data_sheet()), read_machine)?;
    start.gpu.ranks = arguments.ranks_per_gpu.unwrap_or(start.gpu.ranks);
    // Before anything is computed: it may be of another program.
    let to_predict = arguments.predict.as_deref().map(|path| read_other(path, &choice)).transpose()?;

    let spinner = Progress::new(arguments.json || global.verbose > 0).spinner(usize::MAX, "fitting");
    let in_file = |path: &Path, error| Failure::error(format_args!("{}: {error}", path.display()));
    let (workload, _) = arguments.input.model(&choice, runs.about.ranks, arguments.staging(&runs))?;
    let options = Options { sample: arguments.sample, seed: arguments.seed, ..Options::default() };
    let mut fitted = fit::fit(&*workload, &start, &runs, &options).map_err(|error| in_file(&arguments.runs, error))?;
    let name = arguments.runs.file_name().unwrap_or_default().to_string_lossy();
    fitted.machine.name = format!("fitted to {name}: {}", runs.about.platform);
    if !fitted.converged {
        tracing::warn!("the fit was given up before it came to a minimum");
    }
    let predicted = match (&arguments.predict, &to_predict) {
        (Some(path), Some(other)) => {
            spinner.say("predicting");
            Some(arguments.predict(&choice, &fitted.machine, path, other)?)
        }
        _ => None,
    };
    drop(spinner);
    // What can't be drawn is said before the machine is written.
    if let Some(target) = plot {
        target.write(&scatter(&runs, &fitted.held_out))?;
    }
    write(&destination, &fitted.machine)?;
    let object = Object {
        system: "rules",
        command: "fit",
        input_file: arguments.runs.display().to_string(),
        origin: Origin::of(&runs),
        runs: runs.runs.len(),
        sample: fitted.sample,
        converged: fitted.converged,
        parameters: &fitted.parameters,
        before: fitted.before,
        after: fitted.after,
        predicted,
        output: arguments.output.display().to_string(),
        plot: arguments.plot.as_ref().map(|path| path.display().to_string()),
    };
    if arguments.json { terminal::print_json(&object) } else { object.print(&fitted) }
}

/// Reads other runs of this program.
fn read_other(path: &Path, choice: &Choice) -> Result<Runs, Failure> {
    let other = Runs::read(path)?;
    other.check_program(&choice.dag()?, path)?;
    if other.runs.is_empty() {
        return Err(Failure::error(format_args!("{}: it has no runs", path.display())));
    }
    Ok(other)
}

/// Writes the machine whole, beside its name first.
fn write(destination: &Destination, machine: &Machine) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(machine).map_err(Failure::error)?;
    Ok(destination.write(|file| writeln!(file, "{text}"))?)
}

impl Arguments {
    /// Where the messages of these runs lay.
    fn staging(&self, runs: &Runs) -> Memory {
        match self.staging {
            Some(Memory::Host) => Memory::Host,
            Some(Memory::Device) => Memory::Device,
            // No option of the pipeline, which sends nothing.
            _ if runs.about.program == "pipeline" => Memory::Auto,
            _ if runs.about.platform.contains(Staging::Device.words()) => Memory::Device,
            _ => Memory::Host,
        }
    }

    fn predict(&self, choice: &Choice, machine: &Machine, path: &Path, other: &Runs) -> Result<Prediction, Failure> {
        let mut machine = machine.clone();
        machine.gpu.ranks = self.predict_ranks_per_gpu.unwrap_or(machine.gpu.ranks);
        let (workload, _) = self.input.model(choice, other.about.ranks, self.staging(other))?;
        let times = fit::predict(&*workload, &machine, other)
            .map_err(|error| Failure::error(format_args!("{}: {error}", path.display())))?;
        let agreement = Agreement::of(&times, &other.times());
        Ok(Prediction { input_file: path.display().to_string(), ranks: other.about.ranks, agreement })
    }
}

/// Measured against simulated times, before and after.
fn scatter(runs: &Runs, held_out: &[HeldOut]) -> Scatter {
    let micro = |seconds: f64| 1e6 * seconds;
    let points = |of: fn(&HeldOut) -> f64| held_out.iter().map(|run| (micro(run.measured), micro(of(run)))).collect();
    Scatter {
        title: format!("{}, {}", runs.about.program, runs.about.platform),
        x: "measured, µs".to_owned(),
        y: "simulated, µs".to_owned(),
        before: points(|run| run.before),
        after: points(|run| run.after),
    }
}

/// A time or bandwidth with its unit.
fn quantity(parameter: &Parameter, value: f64) -> String {
    if parameter.is_time { format!("{:.3} µs", 1e6 * value) } else { format!("{:.1} GB/s", value / 1e9) }
}

impl Object<'_> {
    fn print(&self, fitted: &Fit) -> Result<(), Failure> {
        let Origin { program, platform, .. } = &self.origin;
        terminal::print(format_args!("{}: {program}, {platform}", self.input_file))?;
        let mut table = terminal::table(["", "start", "fitted", "factor", "known to"], 1..5);
        for parameter in &fitted.parameters {
            let Parameter { before, after, deviation, determined, .. } = *parameter;
            table.add_row([
                parameter.name.to_owned(),
                quantity(parameter, before),
                quantity(parameter, after),
                format!("{:.2}", after / before),
                if determined { format::percent(deviation) } else { "not known".to_owned() },
            ]);
        }
        terminal::print(table)?;
        let header = ["schedules", "", "RMS error", "common factor", "RMS without it", "rank correlation", "slowest/fastest"];
        let mut table = terminal::table(header, [0, 2, 3, 4, 5, 6]).keys(2);
        let mut row = |what: String, agreement: &Agreement| {
            table.add_row([
                format::grouped(agreement.runs),
                what,
                format!("{:.2} %", 100.0 * agreement.rms),
                format!("{:.3}", agreement.bias.exp()),
                format!("{:.2} %", 100.0 * agreement.deviation),
                format!("{:.3}", agreement.spearman),
                format!("{:.3} (measured {:.3})", agreement.simulated_ratio, agreement.measured_ratio),
            ]);
        };
        row("held out, start".to_owned(), &self.before);
        row("held out, fitted".to_owned(), &self.after);
        if let Some(Prediction { input_file, agreement, .. }) = &self.predicted {
            row(format!("{input_file}, predicted"), agreement);
        }
        terminal::print(table)?;
        terminal::print(format_args!(
            "Fitted to {} of {}.",
            format::grouped(self.sample),
            format::counted(self.runs, "run", "runs")
        ))?;
        if self.after.spearman < POOR {
            terminal::print(
                "The fitted machine doesn't put these schedules in order: either chance is as large as what they differ by, or the model \
                 is not of such a machine, as where ranks ran on a CPU.",
            )?;
        }
        let plot = self.plot.as_ref().map_or(String::new(), |plot| format!(" and {plot}"));
        terminal::print(format_args!("Written: {}{plot}", self.output))
    }
}
