//! Ranks that run a program together: threads of this process, or processes under MPI.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use serde::{Deserialize, Serialize};

use super::rank::{Rank, Statistic};
use super::{Platform, Span, Timeline};
use crate::common::{chain, reason};
use crate::design_rules::program::Setup;
use crate::design_rules::program::guarded;
use crate::design_rules::schedule::check_streams;
use crate::design_rules::{Dag, RulesError, Schedule};
use crate::device::Device;
use crate::ranks::{AbortOnPanic, Communicator, RanksError, threads};

/// A request of rank 0 to all ranks. `None` ends them.
#[derive(Debug, Serialize, Deserialize)]
enum Request {
    Measure(String, Statistic),
    Check(String),
    Timeline(String),
}

/// The answer of a rank.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Seconds(f64),
    Difference(Option<String>),
    Spans(Vec<Span>),
}

/// Runs a program on a group of ranks; this process has the first. On GPUs, it uses CUDA streams
/// and events; on the CPU, streams are threads that run the same kernels.
///
/// It measures as in the paper (section III-C3): invocations with barriers between them for at
/// least [`MEASUREMENT`](super::MEASUREMENT), and the time of the slowest rank. The time of a rank
/// is the median of its invocations, or another statistic, such as the paper's mean
/// ([`with_statistic`](Self::with_statistic)).
pub struct Group {
    rank: Rank,
    dag: Dag,
    description: String,
    threads: Vec<JoinHandle<()>>,
    statistic: Statistic,
    /// After an error ranks may wait for each other for ever.
    broken: bool,
}

impl Group {
    /// Ranks as threads of this process. `devices` has one for each; they may share one. Messages may be in the GPUs'
    /// memory, where all devices are GPUs.
    ///
    /// # Errors
    /// What `setup` says; [`RulesError::Streams`]; [`RulesError::Setup`] where there are no devices or more than
    /// [`MAX_RANKS`](threads::MAX_RANKS), and where a thread can't be started.
    pub fn threads(devices: &[Device], setup: Arc<dyn Setup>, streams: usize) -> Result<Self, RulesError> {
        if devices.is_empty() {
            return Err(RulesError::Setup("there must be at least one rank".to_owned()));
        }
        if devices.len() > threads::MAX_RANKS {
            let (ranks, most) = (devices.len(), threads::MAX_RANKS);
            return Err(RulesError::Setup(format!("{ranks} ranks are too many to be threads: there can be {most}")));
        }
        let mut communicators = threads::on_devices(devices)?.into_iter();
        let first = communicators.next().expect("as many as devices");
        let mut others = Vec::with_capacity(devices.len() - 1);
        for (communicator, device) in communicators.zip(&devices[1..]) {
            let (setup, device, rank) = (setup.clone(), device.clone(), communicator.rank());
            let thread = thread::Builder::new().spawn(move || {
                let _guard = AbortOnPanic(communicator.clone());
                // Rank 0 hears of errors by their gathering or by the abort.
                _ = Self::follow(&device, communicator, &*setup, streams);
            });
            match thread {
                Ok(thread) => others.push(thread),
                Err(error) => {
                    let reason = format!("the thread of rank {rank} can't be started: {}", reason(&error));
                    first.abort(&reason);
                    others.into_iter().for_each(|thread: JoinHandle<()>| _ = thread.join());
                    return Err(RulesError::Setup(reason));
                }
            }
        }
        Self::lead(&devices[0], first, &*setup, streams, others)
    }

    /// Rank 0 of a group of processes. The others call [`follow`](Self::follow).
    pub fn processes(
        device: &Device,
        communicator: Arc<dyn Communicator>,
        setup: &dyn Setup,
        streams: usize,
    ) -> Result<Self, RulesError> {
        Self::lead(device, communicator, setup, streams, Vec::new())
    }

    fn lead(
        device: &Device,
        communicator: Arc<dyn Communicator>,
        setup: &dyn Setup,
        streams: usize,
        threads: Vec<JoinHandle<()>>,
    ) -> Result<Self, RulesError> {
        let mut description = format!(
            "{}, {} {} by {}",
            device.name(),
            communicator.size(),
            if communicator.size() == 1 { "rank" } else { "ranks" },
            communicator.kind()
        );
        let result = Self::start(device, &communicator, setup, streams).and_then(|rank| {
            let details = guarded::call(|| "the program's description".to_owned(), || Ok(rank.program.details()));
            // The others are ready, and wait.
            let details = details.inspect_err(|error| communicator.abort(&chain(error)))?;
            Ok((rank, details))
        });
        match result {
            Ok((rank, details)) => {
                let dag = rank.dag().clone();
                if !details.is_empty() {
                    description = format!("{description}, {details}");
                }
                Ok(Group { rank, dag, description, threads, statistic: Statistic::default(), broken: false })
            }
            Err(error) => {
                threads.into_iter().for_each(|thread| _ = thread.join());
                Err(error)
            }
        }
    }

    /// Serves rank 0 until it is done: what all ranks but 0 do.
    ///
    /// # Errors
    /// What `setup` says on any rank, and what went wrong here.
    pub fn follow(
        device: &Device,
        communicator: Arc<dyn Communicator>,
        setup: &dyn Setup,
        streams: usize,
    ) -> Result<(), RulesError> {
        let mut rank = Self::start(device, &communicator, setup, streams)?;
        loop {
            let request = communicator.broadcast(Vec::new())?;
            let request: Option<Request> =
                serde_json::from_slice(&request).map_err(|error| RulesError::Setup(error.to_string()))?;
            let Some(request) = request else { return Ok(()) };
            Self::answer(&mut rank, &request)?;
        }
    }

    /// A rank, once all have theirs; where one hasn't, an error on all.
    fn start(
        device: &Device,
        communicator: &Arc<dyn Communicator>,
        setup: &dyn Setup,
        streams: usize,
    ) -> Result<Rank, RulesError> {
        let set_up = || {
            check_streams(streams)?;
            Rank::new(device, communicator, setup.rank(device, communicator)?, streams)
        };
        let rank = guarded::call(|| "the setup".to_owned(), set_up);
        let own = rank.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let all = communicator.gather(own.clone().into_bytes())?;
        // Ranks that fail alike need no name.
        let first = all.iter().position(|reason| !reason.is_empty());
        let verdict = first.map(|rank| {
            let reason = String::from_utf8_lossy(&all[rank]).into_owned();
            if all.iter().all(|other| *other == all[rank]) { reason } else { format!("rank {rank}: {reason}") }
        });
        let verdict = communicator.broadcast(verdict.unwrap_or_default().into_bytes())?;
        match rank {
            Ok(rank) if verdict.is_empty() => Ok(rank),
            Ok(_) => Err(RulesError::Setup(String::from_utf8_lossy(&verdict).into_owned())),
            Err(error) if own.as_bytes() == verdict => Err(error),
            Err(_) => Err(RulesError::Rank { rank: communicator.rank(), reason: own }),
        }
    }

    /// Does what rank 0 asks for; on rank 0, what all answer.
    fn answer(rank: &mut Rank, request: &Request) -> Result<Vec<Answer>, RulesError> {
        let answer = guarded::call(|| "the rank's part".to_owned(), || Self::act(rank, request)).map_err(|error| {
            // The others may wait for this rank.
            rank.ranks.abort(&chain(&error));
            match error {
                // Another was first, and is named already.
                RulesError::Ranks(RanksError::Aborted { .. }) => error,
                error => RulesError::Rank { rank: rank.ranks.rank(), reason: chain(&error) },
            }
        })?;
        let own = serde_json::to_vec(&answer).map_err(|error| RulesError::Setup(error.to_string()))?;
        let all = rank.ranks.gather(own)?;
        let parse = |bytes: &Vec<u8>| serde_json::from_slice(bytes).map_err(|error| RulesError::Setup(error.to_string()));
        all.iter().map(parse).collect()
    }

    fn act(rank: &mut Rank, request: &Request) -> Result<Answer, RulesError> {
        let parse = |rank: &Rank, text: &str| Schedule::parse(rank.dag(), rank.streams, text);
        Ok(match request {
            Request::Measure(text, statistic) => {
                let schedule = parse(rank, text)?;
                Answer::Seconds(rank.measure(&schedule, *statistic)?)
            }
            Request::Check(text) => Answer::Difference(rank.check(&parse(rank, text)?)?),
            Request::Timeline(text) => Answer::Spans(rank.timeline(&parse(rank, text)?)?),
        })
    }

    /// Lets [`measure`](Platform::measure) give another statistic than the median.
    pub fn with_statistic(mut self, statistic: Statistic) -> Self {
        self.statistic = statistic;
        self
    }

    fn request(&mut self, request: &Request) -> Result<Vec<Answer>, RulesError> {
        if self.broken {
            return Err(RulesError::Setup("the ranks have stopped after an error".to_owned()));
        }
        let bytes = serde_json::to_vec(request).map_err(|error| RulesError::Setup(error.to_string()))?;
        let answers =
            self.rank.ranks.broadcast(bytes).map_err(RulesError::from).and_then(|_| Self::answer(&mut self.rank, request));
        self.broken = answers.is_err();
        answers
    }
}

impl Platform for Group {
    fn dag(&self) -> &Dag {
        &self.dag
    }

    fn ranks(&self) -> usize {
        self.rank.ranks.size()
    }

    fn description(&self) -> String {
        self.description.clone()
    }

    fn conditions(&self) -> String {
        format!("{:?}", self.statistic).to_lowercase()
    }

    fn measure(&mut self, schedule: &Schedule) -> Result<f64, RulesError> {
        let answers = self.request(&Request::Measure(schedule.text(&self.dag), self.statistic))?;
        // All ranks have the same, of the slowest.
        match answers.first() {
            Some(Answer::Seconds(seconds)) => Ok(*seconds),
            _ => Err(RulesError::Setup("rank 0 has not measured".to_owned())),
        }
    }

    fn check(&mut self, schedule: &Schedule) -> Result<(), RulesError> {
        let text = schedule.text(&self.dag);
        let answers = self.request(&Request::Check(text.clone()))?;
        for (rank, answer) in answers.into_iter().enumerate() {
            if let Answer::Difference(Some(difference)) = answer {
                return Err(RulesError::Wrong { schedule: text, reason: format!("rank {rank}: {difference}") });
            }
        }
        Ok(())
    }

    fn timeline(&mut self, schedule: &Schedule) -> Result<Timeline, RulesError> {
        let answers = self.request(&Request::Timeline(schedule.text(&self.dag)))?;
        let spans = |answer| if let Answer::Spans(spans) = answer { spans } else { Vec::new() };
        Ok(Timeline { spans: answers.into_iter().flat_map(spans).collect() })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.broken {
            // No request, as JSON.
            _ = self.rank.ranks.broadcast(b"null".to_vec());
        }
        self.threads.drain(..).for_each(|thread| _ = thread.join());
    }
}
