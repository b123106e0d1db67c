//! The demonstration of list ranking.

use warpsmith::{
    device::Backend,
    list_rank::{ListRanker, Options, Strategy, generate, verify},
};

use super::{Checked, Row, Setting, compare, timed};
use crate::cli::{failure::Failure, format};

/// Ranks one random list by each strategy, sums weights along it, and ranks it cut into a forest.
pub fn section(setting: &Setting) -> Result<Vec<Row>, Failure> {
    let Setting { device, stream, progress } = setting;
    let n: u32 = if device.backend() == Backend::Cuda { 30_000_000 } else { 2_000_000 };
    let spinner = progress.spinner(n as usize, "generating a list, and walking it on the host");
    let size = format!("{} elements", format::grouped(n as usize));
    let work = (n as usize, "elements");
    let row = |what: &str, ms, checked| Row { what: what.to_owned(), size: size.clone(), work, ms, checked };

    let next = generate::random(n, 0);
    let mut expected = vec![0; n as usize];
    let visit = |position, element: usize| {
        expected[element] = position as i32;
        Ok(())
    };
    let walked = timed(|| verify::walk(&next, None, visit, |_| {}));
    let (_, ms) = walked.map_err(|wrong| Failure::Verification(wrong.to_string()))?;
    let mut rows = vec![row("sequential walk, one core of the host", ms, Checked::Reference)];
    drop(spinner);

    let _spinner = progress.spinner(n as usize, format!("ranking on {device}"));
    let on_device = device.upload(&next)?;
    let mut ranks = device.alloc(next.len())?;
    let strategies = [
        ("ranks, strategy split", Strategy::Split),
        ("ranks, strategy packed", Strategy::Packed),
        ("ranks, strategy binned", Strategy::Binned),
    ];
    // On the CPU, which has no use for it, binning only costs time.
    let on_cpu = device.backend() == Backend::Cpu;
    for (what, strategy) in strategies.into_iter().filter(|(_, strategy)| !on_cpu || *strategy != Strategy::Binned) {
        let mut ranker = ListRanker::new(device, Options { strategy, timed: true, ..Options::default() });
        let ms = setting.best(2, || Ok(ranker.rank(stream, &on_device, None, &mut ranks)?.total_ms()))?;
        rows.push(row(what, ms, compare("element", &stream.download_vec(&ranks)?, &expected)));
    }

    // The sum of weights of 2 is twice the rank.
    let weights = device.upload(&vec![2i64; next.len()])?;
    let mut sums = device.alloc(next.len())?;
    let mut ranker = ListRanker::<i64>::new(device, Options { timed: true, ..Options::default() });
    let ms = setting.best(2, || Ok(ranker.prefix_sums(stream, &on_device, None, &weights, &mut sums)?.total_ms()))?;
    let twice: Vec<_> = expected.iter().map(|&rank| 2 * i64::from(rank)).collect();
    rows.push(row("sums of int64 weights", ms, compare("element", &stream.download_vec(&sums)?, &twice)));
    Ok(rows)
}
