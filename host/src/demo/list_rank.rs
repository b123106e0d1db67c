//! The demonstration of list ranking.

use rayon::prelude::*;

use super::{Error, Row, Setting, compare, timed};
use crate::{
    device::Backend,
    list_rank::{
        ListRanker, Options, Strategy,
        generate::{self, Permutation},
    },
};

/// Number of elements that the host walks.
const WALKED: usize = 500_000;

/// Ranks one random list by each strategy, and sums weights along it.
pub fn section(setting: &Setting) -> Result<Vec<Row>, Error> {
    let Setting { device, stream, .. } = setting;
    let n: u32 = if device.backend() == Backend::Cuda { 30_000_000 } else { 2_000_000 };
    let sized = |what: &str, elements: usize, ms, checked| Row {
        what: what.to_owned(),
        size: (elements, "elements".to_owned()),
        work: (elements, "elements"),
        ms,
        checked,
    };
    let row = |what: &str, ms, checked| sized(what, n as usize, ms, checked);

    let strategies = [
        ("ranks, strategy split", Strategy::Split),
        ("ranks, strategy grid", Strategy::Grid),
        ("ranks, strategy packed", Strategy::Packed),
        ("ranks, strategy binned", Strategy::Binned),
    ];
    let ranker = |(what, strategy)| (what, ListRanker::new(device, Options { strategy, timed: true, ..Options::default() }));
    let mut rankers = strategies.map(ranker);
    let mut adder = ListRanker::<i64>::new(device, Options { timed: true, ..Options::default() });
    let mut kernels = adder.kernels(n as usize, true);
    kernels.extend(rankers.iter().flat_map(|(_, ranker)| ranker.kernels(n as usize, false)));
    device.preload(&kernels);

    let (next, expected) = (generate::random(n, 0), generate::random_ranks(n, 0));
    let mut element = Permutation::new(n.into(), 0).apply(0) as usize;
    let (walked, ms) = timed(|| {
        let mut walk = Vec::with_capacity(WALKED);
        for _ in 0..WALKED {
            walk.push(expected[element]);
            element = next[element].max(0) as usize;
        }
        Ok::<_, Error>(walk)
    })?;
    let checked = compare("element of rank", &walked, &(0..WALKED as i32).collect::<Vec<_>>());
    let mut rows = vec![sized("sequential walk, one core of the host", WALKED, ms, checked)];

    // The sum of weights of 2 is twice the rank.
    let weights = vec![2i64; next.len()];
    let twice: Vec<i64> = expected.par_iter().map(|&rank| 2 * i64::from(rank)).collect();
    // Written to, so that no page of them is missing later.
    let (mut found, mut found_sums) = (vec![-1; next.len()], vec![-1; next.len()]);

    let _turn = setting.turn();
    let on_device = device.upload(&next)?;
    let mut ranks = device.alloc(next.len())?;
    // On the CPU, which has no use for it, binning only costs time.
    let on_cpu = device.backend() == Backend::Cpu;
    let worth = rankers.iter_mut().filter(|(_, ranker)| !on_cpu || ranker.options().strategy != Strategy::Binned);
    for (what, ranker) in worth {
        let ms = setting.best(2, || Ok(ranker.rank(stream, &on_device, None, &mut ranks)?.total_ms()))?;
        stream.download(&ranks, &mut found)?;
        rows.push(row(what, ms, compare("element", &found, &expected)));
    }

    let weights = device.upload(&weights)?;
    let mut sums = device.alloc(next.len())?;
    let ms = setting.best(2, || Ok(adder.prefix_sums(stream, &on_device, None, &weights, &mut sums)?.total_ms()))?;
    stream.download(&sums, &mut found_sums)?;
    rows.push(row("sums of int64 weights", ms, compare("element", &found_sums, &twice)));
    Ok(rows)
}
