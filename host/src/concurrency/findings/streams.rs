//! Streams and launches.

use serde::Serialize;

use super::{At, GAIN, IN_PROPORTION, furthest};
use crate::concurrency::measure::Spread;
use crate::concurrency::study::{StreamsRow, Study};

/// What becomes of the rate as there are more streams.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// It grows in proportion to them up to the most. On a GPU with room for more blocks at a time, there is for so
    /// many.
    ToTheEnd(Option<u32>),
    /// It grows in proportion to them up to the first of these, and not to the next. The first may be the fewest
    /// streams.
    UpTo(At, At),
    /// The most streams do no more than the fewest.
    No,
    /// They do less.
    Shrinks,
}

/// What holds streams up, where the rate doesn't grow to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// The CPU does a stream's work as it is enqueued.
    Order,
    /// Kernels that do nothing aren't much faster.
    Launching,
    /// So many hardware queues: the growth ends where there are more streams.
    Queues(u32),
    /// One launch of as many blocks does more, and none of these is why.
    Unknown,
    /// One launch of as many blocks does no more, and there is a block for each multiprocessor.
    Device,
    /// It does no more, and there isn't.
    PartOfDevice,
}

/// From the fewest streams to the most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Streams {
    /// Kernels per second with the fewest, launched one by one.
    pub fewest: At,
    /// The same with the most.
    pub most: At,
    /// How the rate grows from one to the other.
    pub growth: Growth,
    /// Why it doesn't grow to the end; none where it does.
    pub hold: Option<Hold>,
    /// How many times as much as the most streams one launch of as many blocks does.
    pub blocks: f64,
    /// Whether that counts as more.
    pub blocks_do_more: bool,
    /// How many times as much one launch of as many blocks as the most streams does as one of as many as the fewest.
    pub blocks_gain: f64,
    /// How many times as much as the most streams a graph with as many branches does; none where it isn't more.
    pub branches: Option<f64>,
    /// Kernels that do nothing, per second, by the most streams.
    pub empty_per_s: f64,
}

impl Streams {
    pub(super) fn of(study: &Study) -> Option<Self> {
        let [first, .., last] = study.streams.as_slice() else { return None };
        let per_s = |row: &StreamsRow, ms: Spread| row.rate(ms, study.options.iterations).median;
        let rates: Vec<At> = study.streams.iter().map(|row| At { n: row.streams, value: per_s(row, row.plain_ms) }).collect();
        let (fewest, most) = (*rates.first()?, *rates.last()?);
        let in_proportion = |rate: &&At| rate.value / fewest.value >= IN_PROPORTION * rate.n as f64 / fewest.n as f64;
        let knee = rates.iter().take_while(in_proportion).count().saturating_sub(1);
        let of_blocks = per_s(last, last.blocks_ms);
        let blocks_do_more = of_blocks / most.value >= GAIN;
        let branches = per_s(last, last.branches_ms) / most.value;
        let empty_per_s = per_s(last, last.empty_ms);

        let device = &study.device;
        let (growth, hold) = match rates.get(knee + 1) {
            None => {
                let room = device.multiprocessors * device.blocks_per_multiprocessor.max(1);
                (Growth::ToTheEnd(Some(room).filter(|&room| device.is_gpu() && most.n < room as usize)), None)
            }
            Some(&next) => {
                let growth = match most.value / fewest.value {
                    gain if knee > 0 || gain >= GAIN => Growth::UpTo(rates[knee], next),
                    gain if gain > 1.0 / GAIN => Growth::No,
                    _ => Growth::Shrinks,
                };
                let hold = match device.queues.filter(|&queues| (rates[knee].n..next.n).contains(&(queues as usize))) {
                    _ if !device.is_gpu() => Hold::Order,
                    _ if !blocks_do_more && device.multiprocessors as usize <= most.n => Hold::Device,
                    _ if !blocks_do_more => Hold::PartOfDevice,
                    _ if empty_per_s < 1.5 * most.value => Hold::Launching,
                    Some(queues) => Hold::Queues(queues),
                    None => Hold::Unknown,
                };
                (growth, Some(hold))
            }
        };
        Some(Streams {
            fewest,
            most,
            growth,
            hold,
            blocks: of_blocks / most.value,
            blocks_do_more,
            blocks_gain: of_blocks / per_s(first, first.blocks_ms),
            branches: Some(branches).filter(|&gain| gain >= GAIN),
            empty_per_s,
        })
    }
}

/// What launching costs, and what graphs help: multiples of the time of launches one by one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Launches {
    /// Of kernels that do nothing, where it is largest.
    pub empty: At,
    /// Of a graph per stream, where it is furthest from 1; none where it isn't by more than runs differ.
    pub graphs: Option<At>,
    /// The same of one graph with a branch per stream.
    pub branches: Option<At>,
}

impl Launches {
    pub(super) fn of(study: &Study) -> Option<Self> {
        let rows = || study.streams.iter();
        let differs = |ms: fn(&StreamsRow) -> Spread| {
            let (n, value) = furthest(rows().map(|row| (row.streams, row.plain_ms, ms(row))))?;
            Some(At { n, value })
        };
        let empty = rows().map(|row| At { n: row.streams, value: row.empty_ms.median / row.plain_ms.median });
        Some(Launches {
            empty: empty.max_by(|a, b| a.value.total_cmp(&b.value))?,
            graphs: differs(|row| row.graphs_ms),
            branches: differs(|row| row.branches_ms),
        })
    }
}
