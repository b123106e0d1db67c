//! Lists over ranks against a plain walk, on the backend that `WARPSMITH_BACKEND` names. Ranks are threads; as
//! processes they are tested by tests/mpi.rs and ci/mpi-lists.

#[path = "common/walk.rs"]
mod walk;

use std::sync::Arc;

use gpu_kernels::list_rank::splitters::Splitters;
use warpsmith::{
    device::{Buffer, Device, Stream},
    list_rank::{
        ListError,
        distributed::{self, DistributedError, DistributedRanker, Options, Report, layout},
        generate,
    },
    ranks::{Communicator, threads},
};

/// Returns the results of `work` on all ranks, which take turns with the devices.
fn on_ranks<R: Send>(
    size: usize,
    work: impl Fn(&Device, Arc<dyn Communicator>) -> Result<R, DistributedError> + Sync,
) -> Result<Vec<R>, DistributedError> {
    let best = Device::best().unwrap();
    let all: Vec<_> = Device::all().unwrap().into_iter().filter(|device| device.backend() == best.backend()).collect();
    let devices: Vec<_> = all.into_iter().cycle().take(size).collect();
    threads::run(&devices, work)
}

/// Returns a rank's block of a list, and its ranker.
fn part(
    device: &Device,
    ranks: Arc<dyn Communicator>,
    next: &[i64],
    options: &Options,
) -> Result<(Stream, Buffer<i64>, DistributedRanker), DistributedError> {
    let layout = layout(next.len() as u64, ranks.size())?;
    let first = layout.first(ranks.rank()) as usize;
    let own = device.upload(&next[first..first + layout.len(ranks.rank())])?;
    Ok((device.stream()?, own, DistributedRanker::new(device, ranks, options.clone())))
}

/// The ranks of a whole list, or the error that all ranks get.
fn rank(size: usize, next: &[i64], head: Option<u64>, options: &Options) -> Result<(Vec<i64>, Report), DistributedError> {
    let n = next.len() as u64;
    let results = on_ranks(size, |device, ranks| {
        let (stream, own, mut ranker) = part(device, ranks, next, options)?;
        // Garbage, so that an element that isn't written shows.
        let mut result = device.upload(&vec![-7; own.len()])?;
        let report = match ranker.rank(&stream, n, &own, head, &mut result) {
            Err(error) if error.is_shared() => return Ok(Err(error)),
            report => report?,
        };
        ranker.verify(&stream, n, &own, &result)?;
        Ok(Ok((stream.download_vec(&result)?, report)))
    })?;
    let error = results.iter().find_map(|result| result.as_ref().err()).cloned();
    if let Some(error) = error {
        assert!(results.iter().all(|result| result.as_ref().err() == Some(&error)), "{results:?}");
        return Err(error);
    }
    let (parts, reports): (Vec<_>, Vec<_>) = results.into_iter().map(Result::unwrap).unzip();
    Ok((parts.concat(), reports[0].clone()))
}

fn wide(next: Vec<i32>) -> Vec<i64> {
    next.into_iter().map(i64::from).collect()
}

fn lists(n: u32) -> [(&'static str, Vec<i64>); 5] {
    walk::lists(n).map(|(name, next)| (name, wide(next)))
}

#[test]
fn every_list_on_any_number_of_ranks() {
    for n in [0, 1, 2, 3, 7, 33, 1000] {
        for (name, next) in lists(n) {
            let expected = walk::ranks(&next);
            let head = expected.iter().position(|&rank| rank == 0).map(|head| head as u64);
            for (turn, (size, group, remainder)) in
                [(1, 2, 0), (1, 32, 100), (2, 2, 0), (2, 5, 1 << 20), (3, 3, 10), (4, 32, 0), (7, 2, 50)].into_iter().enumerate()
            {
                let options = Options { group, remainder, seed: group };
                let head = head.filter(|_| turn % 2 == 1);
                let (ranks, report) = rank(size, &next, head, &options).unwrap();
                assert_eq!(ranks, expected, "{name}, n = {n}, {size} ranks, head {head:?}, {options:?}");
                assert_eq!(report.n, u64::from(n));
            }
        }
    }
}

/// Splitters of splitters, so often that few remain, and messages enough for several blocks of threads.
#[test]
fn several_levels() {
    for (name, next) in lists(60_000) {
        let expected = walk::ranks(&next);
        for (size, group, remainder) in [(2, 4, 0), (3, 4, 2000), (4, 32, 1 << 28)] {
            let (ranks, report) = rank(size, &next, None, &Options { group, remainder, seed: 1 }).unwrap();
            assert!(ranks == expected, "{name}, {size} ranks");
            let levels = report.nodes.len();
            assert!(if remainder == 0 { levels >= 6 } else { levels <= 3 }, "{report:?}");
            // A list that seldom leaves a rank needs few messages.
            assert!(name != "sequential" || report.rounds <= 2 * size * levels, "{report:?}");
            assert_eq!(report.steps.iter().map(|step| step.name).collect::<Vec<_>>(), ["measure", "remainder", "number"]);
        }
    }
}

#[test]
fn generated_lists() {
    for (n, run) in [(5000u64, 1), (5000, 64), (5001, 5001), (10, 64), (0, 1)] {
        let parts = on_ranks(3, |device, ranks| {
            let (rank, layout, stream) = (ranks.rank(), layout(n, 3)?, device.stream()?);
            let next = distributed::generate(&stream, layout, rank, run, 9)?;
            let mut result = device.alloc(next.len())?;
            let mut ranker = DistributedRanker::new(device, ranks, Options::default());
            ranker.rank(&stream, n, &next, None, &mut result)?;
            Ok((stream.download_vec(&next)?, stream.download_vec(&result)?))
        });
        let (next, ranks): (Vec<_>, Vec<_>) = parts.unwrap().into_iter().unzip();
        let next = next.concat();
        assert_eq!(ranks.concat(), walk::ranks(&next), "{n} elements, runs of {run}");
        if run == 64 {
            assert_eq!(next, wide(generate::block_shuffled(n as u32, 64, 9)));
        }
    }
}

/// Each element's rank in turn is wrong, including the head's and the last one's.
#[test]
fn wrong_ranks_are_found() {
    let next = wide(generate::random(40, 8));
    let ranks = walk::ranks(&next);
    let is = |element: usize, error: &DistributedError| *error == DistributedError::WrongRank { element: element as u64 };
    let all = on_ranks(3, |device, communicator| {
        let first = layout(40, 3)?.first(communicator.rank()) as usize;
        let (stream, own, mut ranker) = part(device, communicator, &next, &Options::default())?;
        let mut verify = |change: &dyn Fn(usize) -> i64| {
            let changed: Vec<_> = (first..first + own.len()).map(|element| ranks[element] + change(element)).collect();
            ranker.verify(&stream, 40, &own, &device.upload(&changed)?)
        };
        verify(&|_| 0)?;
        let shifted = verify(&|_| 1).unwrap_err();
        let errors = (0..40).map(|wrong| verify(&|element| i64::from(element == wrong)).unwrap_err());
        Ok((shifted, errors.collect::<Vec<_>>()))
    });
    for (shifted, errors) in all.unwrap() {
        assert!(is(ranks.iter().position(|&rank| rank == 39).unwrap(), &shifted), "{shifted}");
        for (element, error) in errors.into_iter().enumerate() {
            // Nobody comes before the head, but its successor shows.
            let own = (ranks[element] > 0).then_some(element);
            let first = own.into_iter().chain(usize::try_from(next[element]).ok()).min().unwrap();
            assert!(is(first, &error), "{element}: {error}");
        }
    }
}

/// A list that is right, and passes so many elements without a splitter that it is checked on the way.
#[test]
fn long_sublists() {
    let n = 2000;
    let options = Options { group: 2, ..Options::default() };
    let splitters = Splitters::hashed(n / 2, options.group, options.seed);
    let (mut order, mut last) = (Vec::new(), Vec::new());
    for element in 0..n / 2 {
        let list = if splitters.number(element).is_some() { &mut last } else { &mut order };
        list.extend([element, element + n / 2]);
    }
    order.append(&mut last);
    let mut next = vec![-1; n as usize];
    order.windows(2).for_each(|pair| next[pair[0] as usize] = i64::from(pair[1]));
    let (ranks, report) = rank(2, &next, None, &options).unwrap();
    assert_eq!(ranks, walk::ranks(&next));
    // Half of the elements, each on another rank than the next, both times.
    assert!(report.rounds >= n as usize, "{report:?}");
}

/// A given head that others come before, whatever is a splitter: where it is found is up to chance.
#[test]
fn heads_amid_the_list() {
    let next = wide(generate::random(24, 2));
    let ranks = walk::ranks(&next);
    let at = |rank: i64| ranks.iter().position(|&found| found == rank).unwrap() as u64;
    for seed in 0..3 {
        for (group, remainder) in [(2, 0), (4, 1 << 20), (12, 1 << 20)] {
            for rank_of_head in 1..24 {
                let (head, predecessor) = (at(rank_of_head), at(rank_of_head - 1));
                let options = Options { group, remainder, seed };
                let error = rank(2, &next, Some(head), &options).unwrap_err();
                let expected = ListError::WrongHead { head: head as usize, predecessor: predecessor as usize };
                assert_eq!(error, expected.into(), "{options:?}");
            }
        }
    }
}

#[test]
fn bad_lists_are_named() {
    use DistributedError as Error;
    let good = wide(generate::random(200, 3));
    let ranks = walk::ranks(&good);
    let at = |rank: i64| ranks.iter().position(|&found| found == rank).unwrap();
    let with = |changes: &[(usize, i64)]| {
        let mut next = good.clone();
        changes.iter().for_each(|&(element, successor)| next[element] = successor);
        next
    };
    let (head, tail) = (at(0), at(199));
    let two =
        |element, a: usize, b: usize| Error::List(ListError::TwoPredecessors { element, first: a.min(b), second: a.max(b) });
    let heads = |a: usize, b: usize| Error::SeveralHeads { lists: 2, first: a.min(b) as u64, second: a.max(b) as u64 };
    let on_cycle = (101..=150).map(at).min().unwrap() as u64;
    let first_cycle = (0..200).filter(|&element| (101..=150).contains(&ranks[element])).min().unwrap() as u64;
    assert_eq!(on_cycle, first_cycle);
    for (size, groups) in [(1, &[2, 1000][..]), (2, &[4]), (3, &[16, 1000]), (7, &[5])] {
        for &group in groups {
            let options = Options { group, ..Options::default() };
            let error = |next: &[i64], head| rank(size, next, head, &options).unwrap_err();
            let n = 200;
            for bad in [200, -2, i64::MAX, i64::MIN, 1 << 40] {
                let expected = ListError::NextOutOfRange { element: at(5).min(at(7)), next: bad, n: 200 };
                assert_eq!(error(&with(&[(at(5), bad), (at(7), bad)]), None), expected.into());
            }
            assert_eq!(error(&with(&[(at(100), at(61) as i64)]), None), two(at(61), at(60), at(100)));
            assert_eq!(error(&with(&[(tail, head as i64)]), None), Error::NoHead { n });
            assert_eq!(error(&with(&[(tail, head as i64)]), Some(head as u64)), Error::NoHead { n });
            assert_eq!(error(&with(&[(at(100), -1)]), None), heads(head, at(101)));
            // A loop to itself leaves the element after it without predecessor.
            assert_eq!(error(&with(&[(at(150), at(150) as i64)]), None), two(at(150), at(149), at(150)));
            assert_eq!(error(&with(&[(at(150), -1)]), None), heads(head, at(151)));
            let wrong = ListError::WrongHead { head: at(30), predecessor: at(29) };
            assert_eq!(error(&good, Some(at(30) as u64)), wrong.into());
            assert_eq!(error(&good, Some(200)), ListError::HeadOutOfRange { head: 200, n: 200 }.into());
            // The elements of ranks 101 to 150 go round and round, beside the list.
            let cycle = with(&[(at(100), at(151) as i64), (at(150), at(101) as i64)]);
            let expected = Error::Cycle { element: on_cycle, head: head as u64, reached: 150, n };
            assert_eq!(error(&cycle, None), expected);
            assert_eq!(error(&cycle, Some(head as u64)), expected);
        }
    }
    // Two elements of two ranks that lead to each other, and no splitter among them.
    let mut next = wide(generate::sequential(40));
    (next[10], next[30]) = (30, 10);
    let expected = two(10, 9, 30);
    for seed in 0..4 {
        assert_eq!(rank(2, &next, Some(0), &Options { group: 20, seed, ..Options::default() }).unwrap_err(), expected);
    }
}

#[test]
fn what_the_ranks_were_given() {
    let lengths = on_ranks(2, |device, ranks| {
        let (stream, mut result) = (device.stream()?, device.alloc(5)?);
        let next = device.upload(&vec![-1i64; 5 + ranks.rank()])?;
        let mut ranker = DistributedRanker::new(device, ranks, Options::default());
        Ok(ranker.rank(&stream, 10, &next, None, &mut result).unwrap_err().to_string())
    });
    assert_eq!(lengths.unwrap(), ["next of rank 1 has 6 elements, but its block has 5"; 2]);
    let other = on_ranks(2, |device, ranks| {
        let (stream, mut result) = (device.stream()?, device.alloc(2)?);
        let (head, next) = (Some(ranks.rank() as u64), device.upload(&[1i64, -1])?);
        let mut ranker = DistributedRanker::new(device, ranks, Options::default());
        Ok(ranker.rank(&stream, 4, &next, head, &mut result).unwrap_err())
    });
    assert_eq!(other.unwrap(), [DistributedError::Different, DistributedError::Different]);
    assert_eq!(
        layout(5_000_000_000, 2).unwrap_err().to_string(),
        "a list of 5000000000 elements is too long for 2 ranks: at most 2^31 - 2 for each"
    );
    for ranks in [1, 2, 8192] {
        let longest = ranks as u64 * ((1 << 31) - 2);
        assert!(layout(longest, ranks).is_ok());
        assert_eq!(layout(longest + 1, ranks).unwrap_err(), DistributedError::TooLong { n: longest + 1, ranks });
    }
    for ranks in [0, 8193] {
        assert_eq!(layout(4, ranks).unwrap_err(), DistributedError::Count { ranks });
        assert_eq!(layout(u64::MAX, ranks).unwrap_err(), DistributedError::Count { ranks });
    }
}
