//! Schedules measured by a program of somebody else's, which is asked on its standard input and answers on its standard
//! output: a line of JSON each.
//!
//! docs/design-rules.md has the protocol. At the end of a schedule all streams are
//! done, and the time is that of one invocation, in seconds. A program that ends, is silent for too long or gives an
//! invalid answer is started again; where that happens once more with the same schedule, the schedule has failed.

use std::{ffi::OsString, time::Duration};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::dialogue::{Dialogue, GRACE, Trouble};
use super::runs::MOST_RANKS;
use super::{Platform, Timeline};
use crate::common::Cancel;
use crate::design_rules::{Dag, OpId, RulesError, Schedule, Step, error::check_time, json::parse, schedule::check_streams};
use crate::io::quoted;

/// The version of the protocol.
const VERSION: u32 = 1;
/// The most time in which a program has to end by itself.
const PATIENCE: Duration = Duration::from_secs(10);
/// Number of retries of a schedule after the program broke down.
const RETRIES: usize = 1;

/// A program that measures schedules: see the [module's documentation](self).
#[derive(Debug)]
pub struct External {
    dag: Dag,
    streams: usize,
    command: Vec<OsString>,
    limit: Duration,
    cancel: Cancel,
    running: Option<Dialogue>,
    about: About,
}

/// The program's first answer.
#[derive(Debug, Deserialize)]
struct About {
    warpsmith: Option<u32>,
    platform: Option<String>,
    #[serde(default = "one")]
    ranks: usize,
}

fn one() -> usize {
    1
}

#[derive(Deserialize)]
struct Answer {
    seconds: Option<f64>,
    error: Option<String>,
}

impl External {
    /// Starts the program: the first of `command` with the others as its arguments. It has `limit` for each answer.
    /// `cancel` ends every wait, and the program with its process group.
    ///
    /// # Errors
    /// [`RulesError::Setup`] where it can't be started or doesn't answer; [`RulesError::Unasked`];
    /// [`RulesError::Streams`].
    ///
    /// # Panics
    /// If the command is empty.
    pub fn start(
        dag: &Dag,
        streams: usize,
        command: Vec<OsString>,
        limit: Duration,
        cancel: &Cancel,
    ) -> Result<Self, RulesError> {
        check_streams(streams)?;
        let about = About { warpsmith: None, platform: None, ranks: 1 };
        let cancel = cancel.clone();
        let mut external = External { dag: dag.clone(), streams, command, limit, cancel, running: None, about };
        external.about = external.greet("")?;
        let wrong = |reason| Err(RulesError::Setup(format!("{}: {reason}", external.name())));
        match external.about {
            About { warpsmith: Some(version), .. } if version != VERSION => {
                wrong(format!("it speaks version {version} of the protocol, and this is {VERSION}"))
            }
            About { ranks, .. } if !(1..=MOST_RANKS).contains(&ranks) => {
                wrong(format!("it says that it has {ranks} ranks: 1 to {MOST_RANKS} are possible"))
            }
            _ => Ok(external),
        }
    }

    fn name(&self) -> String {
        self.command[0].to_string_lossy().into_owned()
    }

    /// Starts the program, and hears who it is.
    fn greet(&mut self, when: &str) -> Result<About, RulesError> {
        let name = self.name();
        let setup = |reason| RulesError::Setup(format!("{name}{when}: {reason}"));
        let running = Dialogue::start(&self.command, self.cancel.clone());
        self.running = Some(running.map_err(|error| setup(format!("it can't be started: {error}")))?);
        let line = hello(&self.dag, self.streams);
        self.ask(&line).map_err(|trouble| match trouble {
            Trouble::Broken(reason) => setup(reason),
            trouble => self.error(trouble, ""),
        })
    }

    /// Returns the answer to a line. If there is no answer, the program is ended.
    fn ask<T: DeserializeOwned>(&mut self, line: &str) -> Result<T, Trouble> {
        let Some(running) = &mut self.running else { return Err(Trouble::Broken("it doesn't run".to_owned())) };
        let parsed =
            |answer: String| parse(&answer).map_err(|error| Trouble::Broken(format!("it answered {}: {error}", quoted(&answer))));
        let answer = running.ask(line, self.limit).and_then(parsed);
        answer.map_err(|trouble| self.broken(trouble))
    }

    /// Ends the program, and adds its status to the trouble.
    fn broken(&mut self, trouble: Trouble) -> Trouble {
        let status = self.running.take().and_then(|mut running| running.end(GRACE).ok()).flatten();
        match (trouble, status) {
            (Trouble::Broken(reason), Some(status)) if !status.success() => Trouble::Broken(format!("{reason} ({status})")),
            (trouble, _) => trouble,
        }
    }

    /// Returns the trouble with a schedule as an error.
    fn error(&self, trouble: Trouble, schedule: &str) -> RulesError {
        let failed = |reason| RulesError::Failed { schedule: schedule.to_owned(), reason };
        match trouble {
            Trouble::Broken(reason) => failed(reason),
            Trouble::Cancelled => failed("the search was stopped".to_owned()),
            Trouble::Unasked(line) => RulesError::Unasked { program: self.name(), line: quoted(&line) },
        }
    }
}

/// The message that says what is to be measured.
fn hello(dag: &Dag, streams: usize) -> String {
    let operations = dag.operations().filter(|&op| op != dag.end()).map(|op| operation(dag, op));
    let operations: Vec<_> = operations.collect();
    let mut hello = json!({ "warpsmith": VERSION, "program": dag.name(), "streams": streams, "operations": operations });
    let settings = dag.choices().iter().filter(|choice| choice.is_setting());
    let settings: Vec<_> = settings
        .map(|setting| json!({ "name": setting.name(), "alternatives": setting.alternatives().collect::<Vec<_>>() }))
        .collect();
    if !settings.is_empty() {
        hello["settings"] = settings.into();
    }
    hello.to_string()
}

/// The message that asks for a schedule's time, as one line.
pub fn question(dag: &Dag, schedule: &Schedule) -> String {
    json!({ "schedule": schedule.text(dag), "steps": steps(dag, schedule) }).to_string()
}

/// Returns an operation as messages have it: its name and kind, and the choice and the alternative that it belongs to.
pub fn operation(dag: &Dag, op: OpId) -> Value {
    let mut object = json!({ "name": dag.name_of(op), "kind": dag.kind(op) });
    if let Some((choice, alternative)) = dag.alternative_of(op) {
        (object["choice"], object["as"]) = (json!(choice), json!(alternative));
    }
    object
}

/// The steps of a schedule, without the end and the choices that operations tell.
fn steps(dag: &Dag, schedule: &Schedule) -> Vec<Value> {
    let run = |op| {
        let mut object = json!({ "run": dag.name_of(op) });
        if let Some((_, alternative)) = dag.alternative_of(op) {
            object["as"] = json!(alternative);
        }
        object
    };
    let asked = |step: &Step| {
        let (mut object, stream) = match *step {
            Step::Cpu(op) if op == dag.end() => return None,
            Step::Choose { choice, alternative } => {
                let choice = dag.choices().get(usize::from(choice)).filter(|choice| choice.is_setting())?;
                let alternative = choice.alternatives().nth(usize::from(alternative));
                (json!({ "set": choice.name(), "as": alternative }), None)
            }
            Step::Cpu(op) => (run(op), None),
            Step::Gpu { op, stream } => (run(op), Some(stream)),
            Step::EventRecord { after } => (json!({ "record": dag.name_of(after) }), schedule.stream_of(after)),
            Step::EventSync { after, .. } => (json!({ "wait": dag.name_of(after) }), None),
            Step::StreamWait { after, stream, .. } => (json!({ "wait": dag.name_of(after) }), Some(stream)),
        };
        if let Some(stream) = stream {
            object["stream"] = json!(stream);
        }
        Some(object)
    };
    schedule.steps().iter().filter_map(asked).collect()
}

impl Platform for External {
    fn dag(&self) -> &Dag {
        &self.dag
    }

    fn ranks(&self) -> usize {
        self.about.ranks
    }

    fn description(&self) -> String {
        self.about.platform.clone().unwrap_or_else(|| self.name())
    }

    fn conditions(&self) -> String {
        self.command.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// # Errors
    /// [`RulesError::Failed`] where the program says that it could not, or broke down twice: it may be asked for others.
    /// [`RulesError::Setup`] where it can't be started again. [`RulesError::Unasked`] where it wrote a line that begins
    /// with `{` before it was asked.
    fn measure(&mut self, schedule: &Schedule) -> Result<f64, RulesError> {
        let text = schedule.text(&self.dag);
        let question = question(&self.dag, schedule);
        let mut tries = 0;
        let answer = loop {
            if self.running.is_none() {
                self.greet(", started again")?;
            }
            let answer = self.ask(&question).and_then(|answer| match answer {
                Answer { seconds: None, error: None } => {
                    Err(self.broken(Trouble::Broken("its answer has neither `seconds` nor `error`".to_owned())))
                }
                answer => Ok(answer),
            });
            match answer {
                Ok(answer) => break answer,
                Err(Trouble::Broken(_)) if tries < RETRIES => tries += 1,
                Err(trouble) => return Err(self.error(trouble, &text)),
            }
        };
        let failed = |reason| RulesError::Failed { schedule: text.clone(), reason };
        match answer {
            Answer { error: Some(reason), .. } => Err(failed(reason)),
            Answer { seconds, .. } => {
                let seconds = seconds.unwrap_or_default();
                check_time(seconds).map_err(|error| failed(error.to_string()))?;
                if seconds == 0.0 {
                    return Err(failed("it took 0 seconds, and a time must be above 0".to_owned()));
                }
                Ok(seconds)
            }
        }
    }

    /// Lets the program end.
    ///
    /// # Errors
    /// [`RulesError::Unasked`] if it has more to say.
    fn finish(&mut self) -> Result<(), RulesError> {
        let ended = self.running.take().map_or(Ok(None), |mut running| running.end(self.limit.min(PATIENCE)));
        ended.map(drop).map_err(|trouble| self.error(trouble, ""))
    }

    fn has_timelines(&self) -> bool {
        false
    }

    fn check(&mut self, _: &Schedule) -> Result<(), RulesError> {
        Err(RulesError::Setup(format!("{} checks its results itself", self.name())))
    }

    fn timeline(&mut self, _: &Schedule) -> Result<Timeline, RulesError> {
        Err(RulesError::Setup(format!("{} doesn't say when its steps are under way", self.name())))
    }
}
