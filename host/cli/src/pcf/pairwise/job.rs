//! Computes a matrix: files of functions in, a file of the matrix or of a part of it out.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, BufWriter},
    ops::Range,
    path::Path,
    thread,
    time::Instant,
};

use warpsmith::{
    device::Device,
    engine::{Control, Parts, Settings, Trace, condensed_len, dense_len},
    io::{
        check_names,
        files::is_standard,
        npy::{self, Kind},
        zeroed,
    },
    pcf::{Layout, Measure, Pairwise, PairwiseError, PcfReal, PcfSet, entries::count_infinite, io::PcfData},
};

use super::{
    MatrixArgs,
    show::Shown,
    task::{Job, Kept, Outcome, Tools},
    text::{self, Labels},
};
use crate::{
    Global,
    failure::Failure,
    format,
    interrupt::Interrupt,
    opening::Opening,
    output::Files,
    pcf::{Dtype, files::Inputs},
    processes,
    progress::Progress,
    terminal,
    timeline::Timeline,
};

/// Writes what is kept of a matrix.
type Write = Box<dyn FnOnce(&mut BufWriter<&File>) -> io::Result<()>>;

fn device_names(devices: &[Device]) -> Vec<String> {
    devices.iter().map(|device| device.name().to_owned()).collect()
}

/// The first function of a part, or of all.
fn start(part: &Option<Range<usize>>) -> usize {
    part.as_ref().map_or(0, |part| part.start)
}

fn is_text(path: &Path) -> bool {
    is_standard(path) || path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
}

impl<'a> Job<'a> {
    pub fn new(
        command: &'static str,
        inputs: Vec<Inputs<'a>>,
        measure: Measure,
        (layout, default): (Option<Layout>, Layout),
        options: &'a MatrixArgs,
    ) -> Self {
        let (as_text, kept) = (is_text(&options.output), Kept::new(layout.unwrap_or(default), options));
        Job { command, inputs, measure, kept, as_text, layout, options }
    }

    /// The inputs in words.
    pub fn title(&self) -> String {
        self.inputs.iter().map(Inputs::to_string).collect::<Vec<_>>().join(" x ")
    }

    /// Does the job.
    pub fn run(&self, global: &Global) -> Result<(), Failure> {
        if matches!((self.kept, self.measure), (Kept::Nearest(_) | Kept::Below(_), Measure::Inner)) {
            return Err(Failure::error("--nearest and --below are for distances, not for inner products"));
        }
        let MatrixArgs { output, trace, dtype, gpus, json, resume, .. } = self.options;
        let expected = self.kept.extension();
        if !self.as_text && output.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case(expected)) {
            let output = output.display();
            return Err(Failure::error(format_args!("{output}: the name must end in .{expected} or, for a table, in .csv")));
        }
        if self.as_text && self.layout.is_some_and(|layout| layout != Layout::Dense) {
            return Err(Failure::error("--layout is for matrices in .npy files: tables are dense"));
        }
        if self.as_text && *resume {
            return Err(Failure::error("--resume is for matrices in .npy files"));
        }
        let mut written = Files::reading(self.inputs.iter().flat_map(|inputs| inputs.0));
        let output = written.write(output)?;
        let trace = trace.as_ref().map(|path| Ok::<_, Failure>((Trace::new(), written.write(path)?))).transpose()?;
        let ranks = processes::several(*gpus)?;
        if ranks.is_some() && (self.as_text || !matches!(self.kept, Kept::All(_))) {
            return Err(Failure::error(
                "tables, --nearest, --below and --row-sums are computed by one process, not under mpirun",
            ));
        }
        let open = || processes::devices(global, ranks.as_deref(), *gpus);
        thread::scope(|scope| {
            let devices = Opening::start(scope, open)?;
            let parts = Parts { resume: *resume, ranks: ranks.clone() };
            let verbose = global.verbose > 0;
            let progress = Progress::new(*json || verbose);
            let tools = Tools { devices, parts, output, trace, progress, timeline: Timeline::new(), verbose };
            tools.timeline.end("starting");
            let result = self.load(*dtype, &tools);
            if let (Err(error), Some(ranks)) = (&result, &ranks) {
                // Ends all of them.
                ranks.abort(&error.to_string());
            }
            result
        })
    }

    fn load(&self, dtype: Option<Dtype>, tools: &Tools<'_>) -> Result<(), Failure> {
        let sets: Vec<_> =
            self.inputs.iter().map(|input| self.options.set.load(*input, dtype, tools.progress)).collect::<Result<_, _>>()?;
        let double = sets.iter().any(|set| set.kind() == Kind::F64);
        if double { self.compute::<f64>(sets, tools) } else { self.compute::<f32>(sets, tools) }
    }

    /// Computes the matrix in one precision, which is at least that of each set.
    fn compute<T: PcfReal>(&self, sets: Vec<PcfData>, tools: &Tools<'_>) -> Result<(), Failure> {
        let cast = |(set, input): (PcfData, &Inputs<'_>)| set.into_set::<T>().map_err(|error| input.fail(error));
        let sets: Vec<PcfSet<T>> = sets.into_iter().zip(&self.inputs).map(cast).collect::<Result<_, _>>()?;
        tools.timeline.end("reading");
        if let Measure::Lp(p) = self.measure
            && p.is_finite()
            && !T::from_f64(p).is_finite()
        {
            return Err(Failure::error(format_args!("p = {p:e} is too large for {}", T::NAME)));
        }
        let last = sets.len() - 1;
        let rows = self.selected(&sets[0], 0, "rows", self.options.rows.as_ref())?;
        let columns = self.selected(&sets[last], last, "cols", self.options.cols.as_ref())?;
        let has_columns = last > 0 || self.options.is_part();
        let mut pairwise = Pairwise::new(&rows, has_columns.then_some(&columns), self.measure)?;
        if self.options.is_part() {
            pairwise = pairwise.part_of(&sets[0], &sets[last]);
        }
        let outcome = match self.kept {
            Kept::All(layout) if !self.as_text => self.all(&pairwise, layout, tools),
            _ => {
                let labels = |set: &PcfSet<T>, part: &Option<Range<usize>>| Labels(set.names().cloned(), start(part));
                let names = [labels(&rows, &self.options.rows), labels(&columns, &self.options.cols)];
                self.reduced(&pairwise, names, tools).map(Some)
            }
        }?;
        // Rank 0 says it.
        let Some(outcome) = outcome else { return Ok(()) };
        let sets: &[&PcfSet<T>] = if has_columns { &[&rows, &columns] } else { &[&rows] };
        Shown::new(self, tools, sets, pairwise.merge_steps(), &outcome)?.print(self.options.json, tools.verbose)?;
        if outcome.infinite > 0 {
            self.warn(&outcome, &pairwise);
        }
        Ok(())
    }

    /// The functions of the set of file `input` that an option selects.
    fn selected<'s, T: PcfReal>(
        &self,
        set: &'s PcfSet<T>,
        input: usize,
        option: &str,
        range: Option<&Range<usize>>,
    ) -> Result<Cow<'s, PcfSet<T>>, Failure> {
        let Some(range) = range else { return Ok(Cow::Borrowed(set)) };
        if range.end > set.len() {
            let input = self.inputs[input];
            let found = format::counted(set.len(), "function", "functions");
            return Err(Failure::error(format_args!("--{option} {}..{}: {input} has {found}", range.start, range.end)));
        }
        Ok(Cow::Owned(set.take(&range.clone().collect::<Vec<_>>())?))
    }

    fn settings(&self) -> Settings {
        Settings { memory_budget: self.options.memory_budget, ..Settings::default() }
    }

    /// Runs `compute` with a progress bar of `entries`, and lets an interrupt end it early.
    fn with_control<R>(
        &self,
        steps: u128,
        entries: usize,
        tools: &Tools<'_>,
        interrupt: &Interrupt,
        compute: impl FnOnce(Control<'_>) -> Result<R, PairwiseError>,
    ) -> Result<R, PairwiseError> {
        let cost = usize::try_from(steps / entries.max(1) as u128).unwrap_or(usize::MAX);
        let names: Vec<_> = self.inputs.iter().map(Inputs::to_string).collect();
        let work = tools.progress.costly_bar(entries, cost, format!("{} of {}", self.command, names.join(" and ")));
        let advance = |done, total| work.reach(done, total);
        let trace = tools.trace.as_ref().map(|(trace, _)| trace);
        let result = compute(Control { progress: Some(&advance), cancel: Some(interrupt.cancel()), trace, ..Control::default() });
        tools.timeline.end("computing");
        result
    }

    /// Writes the output to the disk by `write`, and the trace.
    fn to_disk<E: Into<Failure>>(
        &self,
        entries: usize,
        tools: &Tools<'_>,
        interrupt: &Interrupt,
        write: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), Failure> {
        let _work = tools.progress.spinner(entries, format!("writing {}", tools.output.name().display()));
        interrupt.cancel().check()?;
        match &tools.trace {
            Some((trace, destination)) => {
                trace.time(0, "host", "to the disk", write).map_err(Into::into)?;
                Ok(trace.write_to(destination)?)
            }
            None => write().map_err(Into::into),
        }
    }

    /// Computes a matrix into its file. Of several ranks, only the first returns an outcome.
    fn all<T: PcfReal>(&self, pairwise: &Pairwise<'_, T>, layout: Layout, tools: &Tools<'_>) -> Result<Option<Outcome>, Failure> {
        // The devices are waited for while a thread takes the file's room.
        let begun = pairwise.begin_file(tools.output.clone(), layout, tools.parts.clone())?;
        let devices = tools.devices.devices()?;
        let (engine, mut matrix) = pairwise.open_file(begun, layout, devices, self.settings())?;
        let entries = matrix.as_slice().len();
        // Until here a signal ends the process at once, also while it waits for other ranks.
        let interrupt = Interrupt::first_sets("stopping after the blocks under way");
        tools.timeline.end("getting ready");
        let mut report = self.with_control(pairwise.merge_steps(), entries, tools, &interrupt, |control| {
            pairwise.compute_file(&engine, layout, &mut matrix, control)
        })?;
        let found = matrix.blocks_found();
        let of_ranks = matrix.join(&mut report, &format!("{}: {}", processes::host(), devices[0].name()))?;
        if !tools.parts.is_first() {
            return Ok(None);
        }
        let devices = if of_ranks.is_empty() { device_names(devices) } else { of_ranks };
        // The output may be larger than the memory: it isn't read again without need.
        let infinite = if pairwise.is_finite() { 0 } else { count_infinite(matrix.as_slice()) };
        let start = Instant::now();
        self.to_disk(entries, tools, &interrupt, || matrix.flush())?;
        interrupt.commit(|| matrix.finish())?;
        let written = start.elapsed();
        tools.timeline.end("writing");
        drop(engine);
        tools.timeline.end("freeing memory");
        Ok(Some(Outcome { shape: pairwise.shape(layout)?, kind: T::KIND, infinite, entries, devices, found, report, written }))
    }

    /// Computes a reduction of a matrix, or a matrix to write as a table, and writes it. `names` are those of the rows and the
    /// columns.
    fn reduced<T: PcfReal>(&self, pairwise: &Pairwise<'_, T>, names: [Labels; 2], tools: &Tools<'_>) -> Result<Outcome, Failure> {
        if self.as_text && matches!(self.kept, Kept::Nearest(_) | Kept::Below(_)) {
            let output = self.options.output.display();
            let check = |labels: &Labels| check_names(labels.given(), true, |function| format!("function {function}"));
            names.iter().try_for_each(check).map_err(|reason| Failure::error(format_args!("{output}: {reason}")))?;
        }
        let engine = pairwise.engine(tools.devices.devices()?, self.settings())?;
        tools.timeline.end("getting ready");
        let (rows, columns) = pairwise.size();
        let interrupt = Interrupt::first_sets("stopping after the blocks under way");
        let all = if pairwise.is_symmetric() { condensed_len(rows) } else { dense_len(rows, columns) }?;
        let steps = pairwise.merge_steps();
        let as_text = self.as_text;
        let (shape, kind, infinite, entries, write, report): (_, _, _, _, Write, _) = match self.kept {
            Kept::Nearest(count) => {
                let compute = |control: Control<'_>| pairwise.nearest(&engine, count, control);
                let (nearest, report) = self.with_control(steps, all, tools, &interrupt, compute)?;
                let (infinite, entries) = (count_infinite(&nearest.distances), nearest.distances.len());
                let write: Write = Box::new(move |file| match as_text {
                    true => text::nearest(&nearest, &names, file),
                    false => nearest.write_npz(file, names[0].given()),
                });
                (vec![rows, count], T::KIND, infinite, entries, write, report)
            }
            Kept::Below(bound) => {
                let compute = |control: Control<'_>| pairwise.below(&engine, T::from_f64(bound), control);
                let (sparse, report) = self.with_control(steps, all, tools, &interrupt, compute)?;
                let entries = sparse.values.len();
                let write: Write = Box::new(move |file| match as_text {
                    true => text::sparse(&sparse, &names, file),
                    false => sparse.write_npz(file, names[0].given()),
                });
                (vec![rows, columns], T::KIND, 0, entries, write, report)
            }
            Kept::RowSums => {
                let compute = |control: Control<'_>| pairwise.row_sums(&engine, control);
                let (sums, report) = self.with_control(steps, all, tools, &interrupt, compute)?;
                let (infinite, entries) = (count_infinite(&sums), sums.len());
                let write: Write = Box::new(move |file| match as_text {
                    true => text::sums(&sums, &names[0], file),
                    false => npy::write(file, &sums, &[rows]),
                });
                (vec![rows], Kind::F64, infinite, entries, write, report)
            }
            Kept::All(_) => {
                let entries = dense_len(rows, columns)?;
                let mut matrix = zeroed::<T>(entries).map_err(|_| {
                    Failure::error(format_args!(
                        "a table of {rows} x {columns} entries takes more memory than there is; write .npy"
                    ))
                })?;
                let compute = |control: Control<'_>| pairwise.compute_into(&engine, Layout::Dense, &mut matrix, control);
                let report = self.with_control(steps, all, tools, &interrupt, compute)?;
                let infinite = count_infinite(&matrix);
                let write: Write = Box::new(move |file| text::matrix(&matrix, (rows, columns), &names, file));
                (vec![rows, columns], T::KIND, infinite, entries, write, report)
            }
        };
        let start = Instant::now();
        interrupt.commit(|| self.to_disk(entries, tools, &interrupt, || tools.output.write(write)))?;
        let written = start.elapsed();
        tools.timeline.end("writing");
        Ok(Outcome { shape, kind, infinite, entries, devices: device_names(engine.devices()), found: 0, report, written })
    }

    /// Says that entries are infinite, and why.
    fn warn<T: PcfReal>(&self, outcome: &Outcome, pairwise: &Pairwise<'_, T>) {
        let what = match (self.kept, self.measure) {
            (Kept::RowSums, _) => "sums",
            (_, Measure::Lp(_)) => "distances",
            (_, Measure::Inner) => "inner products",
        };
        let why = match (self.measure, pairwise.endless_pair()) {
            (Measure::Lp(_), Some(pair)) => {
                format!("functions that end on different values differ for ever, such as {}", self.pair(pair))
            }
            (Measure::Inner, Some(pair)) => {
                format!("that of two functions is where neither ends on 0, such as {}", self.pair(pair))
            }
            (_, None) => format!("their numbers are too large for {}", T::NAME),
        };
        let condensed = self.kept == Kept::All(Layout::Condensed) && !self.as_text;
        terminal::warn(format_args!(
            "{}: {} of {} {what} are infinite: {why}.{}",
            self.options.output.display(),
            format::grouped(outcome.infinite),
            format::grouped(outcome.entries),
            if condensed { " SciPy's linkage takes no such matrix." } else { "" }
        ));
    }

    /// Two functions by their numbers.
    fn pair(&self, (i, j): (usize, usize)) -> String {
        let (i, j) = (i + start(&self.options.rows), j + start(&self.options.cols));
        match &self.inputs[..] {
            [rows, columns] => format!("{i} of {rows} and {j} of {columns}"),
            _ => format!("{i} and {j}"),
        }
    }
}
