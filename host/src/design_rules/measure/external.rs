//! Schedules measured by a program of somebody else's, which is asked on its standard input and answers on its standard
//! output: a line of JSON each.
//!
//! | from here | the answer |
//! | --- | --- |
//! | `{"warpsmith": 1, "program": "exchange", "streams": 2, "operations": [{"name": "Pack", "kind": "gpu"}, ..]}`, once | `{"warpsmith": 1, "platform": "2 H200s", "ranks": 2}`; `{}` will do |
//! | `{"schedule": "Pack@0;..", "steps": [..]}`, for each schedule | `{"seconds": 1.2e-4}`, or `{"error": "why not"}` |
//!
//! `warpsmith` is the version of this protocol; [`SCHEMA`] is its JSON schema. The steps are those
//! of the host, in this order:
//!
//! | step | what |
//! | --- | --- |
//! | `{"run": "Send"}` | an operation of the host |
//! | `{"run": "Pack", "stream": 0}` | an operation of the GPU, in this stream |
//! | `{"run": "y_L", "as": "tiles", "stream": 0}` | an operation of the alternative `tiles` |
//! | `{"record": "Pack", "stream": 0}` | `cudaEventRecord` of Pack's event, behind it in its stream |
//! | `{"wait": "Pack"}` | `cudaEventSynchronize`: the host waits for Pack's event |
//! | `{"wait": "Pack", "stream": 1}` | `cudaStreamWaitEvent`: the stream waits for it |
//!
//! At the end all streams are done. The time is that of one invocation, in seconds. Lines that
//! don't begin with `{` are ignored. The program ends at the end of its input.
//!
//! A program that ends, is silent for too long or answers something else is started again; where that happens once more
//! with the same schedule, the schedule has failed.

use std::{
    ffi::OsString,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Platform, Timeline};
use crate::design_rules::{Dag, Kind, OpId, RulesError, Schedule, Step, error::check_time, json::parse, schedule::check_streams};
use crate::io::quoted;

/// The JSON schema of all messages, of either side.
pub const SCHEMA: &str = include_str!("protocol.schema.json");
/// The version of the protocol.
const VERSION: u32 = 1;
/// The longest line that a program may write, in bytes.
const LONGEST: u64 = 1 << 20;
/// Time in which a program has to end by itself.
const PATIENCE: Duration = Duration::from_secs(2);
/// Number of retries of a schedule after the program broke down.
const RETRIES: usize = 1;

/// A program that measures schedules: see the [module's documentation](self).
#[derive(Debug)]
pub struct External {
    dag: Dag,
    streams: usize,
    command: Vec<OsString>,
    limit: Duration,
    running: Option<Running>,
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

#[derive(Serialize)]
struct Hello<'a> {
    warpsmith: u32,
    program: &'a str,
    streams: usize,
    operations: Vec<Operation<'a>>,
}

/// An operation, as messages have it.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Operation<'a> {
    /// Its name.
    pub name: &'a str,
    /// The processor that runs it.
    pub kind: Kind,
    /// The choice that it belongs to, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<&'a str>,
    /// And the alternative.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub alternative: Option<&'a str>,
}

impl<'a> Operation<'a> {
    /// The operation of a program.
    pub fn of(dag: &'a Dag, op: OpId) -> Self {
        let (choice, alternative) = dag.alternative_of(op).unzip();
        Operation { name: dag.name_of(op), kind: dag.kind(op), choice, alternative }
    }
}

#[derive(Serialize)]
struct Question<'a> {
    schedule: &'a str,
    steps: Vec<Asked<'a>>,
}

/// A step as the program is asked for it.
#[derive(Serialize)]
#[serde(untagged)]
enum Asked<'a> {
    Run {
        run: &'a str,
        #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
        alternative: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        stream: Option<u8>,
    },
    Record {
        record: &'a str,
        stream: u8,
    },
    Wait {
        wait: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        stream: Option<u8>,
    },
}

#[derive(Deserialize)]
struct Answer {
    seconds: Option<f64>,
    error: Option<String>,
}

/// The program while it runs.
#[derive(Debug)]
struct Running {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<io::Result<String>>,
}

impl External {
    /// Starts the program: the first of `command` with the others as its arguments. It has `limit` for each answer.
    ///
    /// # Errors
    /// [`RulesError::Setup`] where it can't be started or doesn't answer; [`RulesError::Streams`].
    ///
    /// # Panics
    /// If the command is empty.
    pub fn start(dag: &Dag, streams: usize, command: Vec<OsString>, limit: Duration) -> Result<Self, RulesError> {
        check_streams(streams)?;
        let about = About { warpsmith: None, platform: None, ranks: 1 };
        let mut external = External { dag: dag.clone(), streams, command, limit, running: None, about };
        external.about = external.greet().map_err(|reason| RulesError::Setup(format!("{}: {reason}", external.name())))?;
        if let Some(version) = external.about.warpsmith.filter(|&version| version != VERSION) {
            let name = external.name();
            return Err(RulesError::Setup(format!("{name}: it speaks version {version} of the protocol, and this is {VERSION}")));
        }
        if external.about.ranks == 0 {
            return Err(RulesError::Setup(format!("{}: it says that it has 0 ranks", external.name())));
        }
        Ok(external)
    }

    fn name(&self) -> String {
        self.command[0].to_string_lossy().into_owned()
    }

    /// Starts the program, and hears who it is.
    fn greet(&mut self) -> Result<About, String> {
        let running = Running::start(&self.command).map_err(|error| format!("it can't be started: {error}"))?;
        self.running = Some(running);
        let line = hello(&self.dag, self.streams);
        self.ask(&line)
    }

    /// Returns the answer to a line. If there is no answer, the program is ended.
    fn ask<T: DeserializeOwned>(&mut self, line: &str) -> Result<T, String> {
        let Some(running) = &mut self.running else { return Err("it doesn't run".to_owned()) };
        let answer = running
            .ask(line, self.limit)
            .and_then(|answer| parse(&answer).map_err(|error| format!("it answered {}: {error}", quoted(&answer))));
        answer.map_err(|reason| match self.running.take().and_then(Running::end) {
            Some(status) if !status.success() => format!("{reason} ({status})"),
            _ => reason,
        })
    }

    fn try_once(&mut self, question: &str) -> Result<Answer, RulesError> {
        if self.running.is_none() {
            let name = self.name();
            self.greet().map_err(|reason| RulesError::Setup(format!("{name}, started again: {reason}")))?;
        }
        self.ask(question).map_err(|reason| RulesError::Failed { schedule: String::new(), reason })
    }
}

/// The message that says what is to be measured.
fn hello(dag: &Dag, streams: usize) -> String {
    let operations = dag.operations().filter(|&op| op != dag.end()).map(|op| Operation::of(dag, op)).collect();
    let hello = Hello { warpsmith: VERSION, program: dag.name(), streams, operations };
    serde_json::to_string(&hello).expect("its keys are strings")
}

/// The message that asks for a schedule's time, as one line.
pub fn question(dag: &Dag, schedule: &Schedule) -> String {
    let question = Question { schedule: &schedule.text(dag), steps: steps(dag, schedule) };
    serde_json::to_string(&question).expect("its keys are strings")
}

/// The steps of a schedule, without choices and the end.
fn steps<'a>(dag: &'a Dag, schedule: &Schedule) -> Vec<Asked<'a>> {
    let stream_of = |op| schedule.stream_of(op).expect("what is recorded is in a stream");
    let run = |op, stream| {
        let alternative = dag.alternative_of(op).map(|(_, alternative)| alternative);
        Some(Asked::Run { run: dag.name_of(op), alternative, stream })
    };
    let asked = |step: &Step| match *step {
        Step::Cpu(op) if op == dag.end() => None,
        Step::Cpu(op) => run(op, None),
        Step::Gpu { op, stream } => run(op, Some(stream)),
        Step::EventRecord { after } => Some(Asked::Record { record: dag.name_of(after), stream: stream_of(after) }),
        Step::EventSync { after, .. } => Some(Asked::Wait { wait: dag.name_of(after), stream: None }),
        Step::StreamWait { after, stream, .. } => Some(Asked::Wait { wait: dag.name_of(after), stream: Some(stream) }),
        Step::Choose { .. } => None,
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

    /// # Errors
    /// [`RulesError::Failed`] where the program says that it could not, or broke down twice: it may be asked for others.
    /// [`RulesError::Setup`] where it can't be started again.
    fn measure(&mut self, schedule: &Schedule) -> Result<f64, RulesError> {
        let text = schedule.text(&self.dag);
        let question = question(&self.dag, schedule);
        let failed = |reason| RulesError::Failed { schedule: text.clone(), reason };
        let mut tries = 0;
        let answer = loop {
            match self.try_once(&question) {
                Ok(answer) => break answer,
                Err(RulesError::Failed { reason, .. }) if tries == RETRIES => return Err(failed(reason)),
                Err(RulesError::Failed { .. }) => tries += 1,
                Err(error) => return Err(error),
            }
        };
        match answer {
            Answer { error: Some(reason), .. } => Err(failed(reason)),
            Answer { seconds: Some(seconds), .. } => {
                check_time(seconds).map_err(|error| failed(error.to_string()))?;
                Ok(seconds)
            }
            Answer { .. } => Err(failed("its answer has neither `seconds` nor `error`".to_owned())),
        }
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

impl Running {
    fn start(command: &[OsString]) -> io::Result<Self> {
        let mut command_line = Command::new(&command[0]);
        command_line.args(&command[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C is for this program, which lets the other one end.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command_line, 0);
        let mut child = command_line.spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (sender, lines) = channel();
        thread::spawn(move || {
            let Some(output) = output else { return };
            let mut output = BufReader::new(output);
            loop {
                let mut line = Vec::new();
                let read = output.by_ref().take(LONGEST).read_until(b'\n', &mut line);
                let line = match read {
                    Ok(0) => return,
                    Ok(_) if line.ends_with(b"\n") => Ok(String::from_utf8_lossy(&line).trim().to_owned()),
                    Ok(_) if line.len() as u64 == LONGEST => {
                        Err(io::Error::other(format!("a line is longer than {LONGEST} bytes")))
                    }
                    Ok(_) => Ok(String::from_utf8_lossy(&line).trim().to_owned()),
                    Err(error) => Err(error),
                };
                let last = line.is_err();
                if sender.send(line).is_err() || last {
                    return;
                }
            }
        });
        Ok(Running { child, input, lines })
    }

    fn ask(&mut self, line: &str, limit: Duration) -> Result<String, String> {
        let start = Instant::now();
        let input = self.input.as_mut().ok_or("it has no input")?;
        // A write to a program that has ended fails; the missing answer reports it.
        let _ = input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush());
        loop {
            match self.lines.recv_timeout(limit.saturating_sub(start.elapsed())) {
                Ok(Ok(line)) if line.starts_with('{') => return Ok(line),
                Ok(Ok(line)) => tracing::debug!("{line}"),
                Ok(Err(error)) => return Err(format!("its output can't be read: {error}")),
                Err(RecvTimeoutError::Timeout) => return Err(format!("no answer in {} s", limit.as_secs_f64())),
                Err(RecvTimeoutError::Disconnected) => return Err("it ended without an answer".to_owned()),
            }
        }
    }

    /// Lets the program end, and sees to it that it does.
    fn end(mut self) -> Option<ExitStatus> {
        self.stop()
    }

    fn stop(&mut self) -> Option<ExitStatus> {
        self.input = None;
        let start = Instant::now();
        let mut asked = false;
        while start.elapsed() < 2 * PATIENCE {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if !asked && start.elapsed() > PATIENCE => {
                    // `mpirun` ends its processes when it is asked to end, and can't when it is killed.
                    signal(&self.child, false);
                    asked = true;
                }
                _ => thread::sleep(Duration::from_millis(2)),
            }
        }
        signal(&self.child, true);
        self.child.kill().and_then(|()| self.child.wait()).ok()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Asks all processes of the program's group to end, or ends them.
#[cfg(target_os = "linux")]
fn signal(child: &Child, end: bool) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, if end { Signal::KILL } else { Signal::TERM });
    }
}

#[cfg(not(target_os = "linux"))]
fn signal(_: &Child, _: bool) {}
