//! List ranking against a sequential walk, on the backend that `WARPSMITH_BACKEND` names (by default whichever is
//! there).

#[path = "common/skip.rs"]
mod skip;
#[path = "common/walk.rs"]
mod walk;

use skip::skip;

use std::fmt::Debug;

use gpu_kernels::list_rank::{nodes, short};
use proptest::prelude::*;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use warpsmith::{
    device::{Backend, Device},
    list_rank::{
        ListError, ListRanker, Options, SHORT, SplitterRule, Strategy as Walk, Weight, generate, list_rank, rank_sequentially,
    },
};

fn expected(next: &[i32]) -> Vec<i32> {
    let next: Vec<i64> = next.iter().copied().map(i64::from).collect();
    walk::ranks(&next).into_iter().map(|rank| rank as i32).collect()
}

/// All ways to rank.
fn ways() -> Vec<Options> {
    let mut ways = Vec::new();
    for strategy in [Walk::Auto, Walk::Block, Walk::Grid, Walk::Runs, Walk::Split, Walk::Packed, Walk::Binned] {
        for splitters in [SplitterRule::Hashed, SplitterRule::First] {
            for trusted in [false, true] {
                ways.push(Options { strategy, splitters, trusted, ..Options::default() });
            }
        }
    }
    ways
}

fn rank(device: &Device, options: Options, next: &[i32], head: Option<i32>) -> Result<Vec<i32>, ListError> {
    let stream = device.stream()?;
    let next = device.upload(next)?;
    // Garbage, so that an element that isn't written shows.
    let mut ranks = device.upload(&vec![-7; next.len()])?;
    ListRanker::new(device, options).rank(&stream, &next, head, &mut ranks)?;
    Ok(stream.download_vec(&ranks)?)
}

#[test]
fn every_way_ranks_every_list() {
    let device = Device::best().unwrap();
    for n in [0, 1, 2, 31, 32, 33, 1000] {
        for (name, next) in walk::lists(n) {
            let expected = expected(&next);
            let head = expected.iter().position(|&rank| rank == 0).map(|head| head as i32);
            for options in ways() {
                for head in [None, head] {
                    let ranks = rank(&device, options.clone(), &next, head).unwrap();
                    assert_eq!(ranks, expected, "{name}, n = {n}, head {head:?}, {options:?}");
                }
            }
        }
    }
}

#[test]
fn a_million_elements() {
    let device = Device::best().unwrap();
    for (name, next) in walk::lists(1_000_000) {
        let expected = expected(&next);
        for strategy in [Walk::Grid, Walk::Runs, Walk::Split, Walk::Packed, Walk::Binned] {
            let ranks = rank(&device, Options { strategy, ..Options::default() }, &next, None).unwrap();
            assert!(ranks == expected, "{name}, {strategy:?}");
        }
        // Many sublists, so that their ranking recurses.
        let ranks = rank(&device, Options { sublists: Some(300_000), ..Options::default() }, &next, None).unwrap();
        assert!(ranks == expected, "{name}, many sublists");
    }
}

/// Numbers of sublists around the most of one thread, of one block, and of two levels.
#[test]
fn sublists_that_need_another_level() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let most = nodes::most(device.info().max_shared_per_block, 4) as u32;
    for sublists in [255, 256, 257, most - 1, most, most + 1, 6 * most, 6 * most + 1] {
        // Pairs have a splitter each.
        let next = generate::random(2 * sublists, 7);
        let expected = expected(&next);
        let on_device = device.upload(&next).unwrap();
        for strategy in [Walk::Grid, Walk::Split, Walk::Packed, Walk::Binned] {
            let options = Options { strategy, sublists: Some(sublists), ..Options::default() };
            let mut ranks = device.upload(&vec![-7; next.len()]).unwrap();
            let report = ListRanker::new(&device, options).rank(&stream, &on_device, None, &mut ranks).unwrap();
            assert_eq!(report.sublists, sublists as usize + 1, "{strategy:?}");
            assert!(stream.download_vec(&ranks).unwrap() == expected, "{sublists}, {strategy:?}");
        }
    }
}

/// The size that the performance figures are for; on the CPU it would take minutes.
#[test]
fn a_hundred_million_elements_on_a_gpu() {
    let device = Device::best().unwrap();
    if device.backend() == Backend::Cpu {
        return skip("gpu", "no GPU");
    }
    let next = generate::random(100_000_000, 1);
    let expected = rank_sequentially(&next, None).unwrap();
    for strategy in [Walk::Grid, Walk::Split, Walk::Packed, Walk::Binned] {
        let ranks = rank(&device, Options { strategy, ..Options::default() }, &next, None).unwrap();
        assert!(ranks == expected, "{strategy:?}");
    }
}

/// Exclusive prefix sums in list order, in the plainest way.
fn expected_sums<V: Weight>(next: &[i32], weights: &[V]) -> Vec<V> {
    let ranks = expected(next);
    let mut order = vec![0; next.len()];
    ranks.iter().enumerate().for_each(|(element, &rank)| order[rank as usize] = element);
    let mut sums = weights.to_vec();
    let mut sum = V::ZERO;
    for element in order {
        sums[element] = sum;
        sum = sum.plus(weights[element]);
    }
    sums
}

/// Shared memory so small that 70,000 elements have windows that are put in place in parts, and 140,000 of 8 bytes such
/// that are binned once more.
const LITTLE: Option<usize> = Some(3200);

/// `binned` as it is on a GPU, with little shared memory, and with so little that windows are wide.
#[test]
fn binned_with_little_shared_memory() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    // Around the size that has 128 windows of 2 KiB, the most that a block of 32 threads bins; then
    // windows of two and four parts, and larger ones.
    for n in [1u32, 511, 512, 513, 65_535, 65_536, 65_537, 70_000, 131_072, 131_073, 262_145] {
        let next = generate::random(n, 77);
        let expected = expected(&next);
        let more = [Some(5000), Some(64 << 10), Some(99 << 10)];
        for &shared in [LITTLE].iter().chain(&more[..if n > 200_000 { 0 } else { 3 }]) {
            let options = Options { strategy: Walk::Binned, shared, ..Options::default() };
            let ranks = rank(&device, options.clone(), &next, None).unwrap();
            assert!(ranks == expected, "{n}, {shared:?}");
            // Its inverse, the same way.
            let (ranks, mut order) = (device.upload(&ranks).unwrap(), device.upload(&vec![-7; n as usize]).unwrap());
            ListRanker::new(&device, options).order(&stream, &ranks, &mut order).unwrap();
            let order = stream.download_vec(&order).unwrap();
            assert!(
                order.iter().enumerate().all(|(rank, &element)| expected[element as usize] == rank as i32),
                "{n}, {shared:?}"
            );
        }
    }
    // Sums of 8 bytes, through windows that are binned once more.
    let next = generate::random(140_000, 5);
    let weights: Vec<i64> = (0..140_000).map(|i| i * i).collect();
    let (list, on_device, mut sums) =
        (device.upload(&next).unwrap(), device.upload(&weights).unwrap(), device.alloc(140_000).unwrap());
    let options = Options { strategy: Walk::Binned, shared: LITTLE, ..Options::default() };
    ListRanker::new(&device, options).prefix_sums(&stream, &list, None, &on_device, &mut sums).unwrap();
    assert!(stream.download_vec(&sums).unwrap() == expected_sums(&next, &weights));
    let too_little = Options { strategy: Walk::Binned, shared: Some(1000), ..Options::default() };
    let error = rank(&device, too_little, &[1, -1], None).unwrap_err();
    assert!(error.to_string().contains("a block can't have the shared memory"), "{error}");
}

/// One block ranks what fits into its shared memory: as many sublists as it has threads, and a few elements more. One element
/// more has another strategy, or none.
#[test]
fn one_block() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let fits =
        |n: u32, shared: usize| n as usize <= short::MOST && short::static_shared(4) + short::list_bytes(n as usize, 0) <= shared;
    let all = device.info().max_shared_per_block;
    let most = (0..1 << 20).rfind(|&n| fits(n, all)).unwrap();
    for (n, shared) in [(most, all), (20_000, all), (8 * 1023, all), (8 * 1023 + 1, all), (100, short::static_shared(4) + 400)] {
        for next in [generate::random(n, 3), generate::sequential(n), generate::reversed(n)] {
            let options = Options { shared: Some(shared), strategy: Walk::Block, ..Options::default() };
            assert!(rank(&device, options, &next, None).unwrap() == expected(&next), "{n}");
        }
        for (n, is_short) in [(n, true), (n + 1, fits(n + 1, shared))] {
            let (next, mut ranks) = (generate::random(n, 4), device.alloc(n as usize).unwrap());
            let on_device = device.upload(&next).unwrap();
            let block = Options { shared: Some(shared), strategy: Walk::Block, ..Options::default() };
            let options = Options { strategy: Walk::Auto, ..block.clone() };
            let report = ListRanker::new(&device, options).rank(&stream, &on_device, None, &mut ranks).unwrap();
            assert!(stream.download_vec(&ranks).unwrap() == expected(&next), "{n}");
            // One launch of many blocks ranks longer lists sooner.
            let in_block = is_short && n <= 20_000 && device.backend() == Backend::Cuda;
            assert_eq!(report.strategy == Walk::Block, in_block, "{n}");
            let result = ListRanker::new(&device, block).rank(&stream, &on_device, None, &mut ranks);
            assert_eq!(result.is_ok(), is_short, "{n}: {result:?}");
            if let Err(error) = result {
                assert!(error.to_string().contains("shared memory doesn't hold the list"), "{error}");
            }
        }
    }
}

/// The longest list that one launch ranks, and the next one.
#[test]
fn strategies_by_length() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let (longest, [grid, binned]) = match device.backend() {
        Backend::Cuda => (device.info().l2_bytes as u32 / 24, [Walk::Grid, Walk::Binned]),
        Backend::Cpu => (1000, [Walk::Split; 2]),
    };
    for (n, strategy) in [(longest, grid), (longest + 1, binned)] {
        let next = generate::random(n, 5);
        let (on_device, mut ranks) = (device.upload(&next).unwrap(), device.alloc(n as usize).unwrap());
        let report = ListRanker::new(&device, Options::default()).rank(&stream, &on_device, None, &mut ranks).unwrap();
        assert_eq!(report.strategy, strategy, "{n}");
        assert!(stream.download_vec(&ranks).unwrap() == expected(&next), "{n}");
        // Weights and forests have no such launch.
        let (weights, mut sums) = (device.upload(&vec![1i32; n as usize]).unwrap(), device.alloc(n as usize).unwrap());
        let options = Options { strategy: Walk::Grid, ..Options::default() };
        let report =
            ListRanker::new(&device, options.clone()).prefix_sums(&stream, &on_device, None, &weights, &mut sums).unwrap();
        assert_eq!(report.strategy, Walk::Split);
        assert!(stream.download_vec(&sums).unwrap() == expected(&next), "{n}");
        let forest = ListRanker::new(&device, options).forest(&stream, &on_device, &mut ranks, &mut sums).unwrap();
        assert_eq!(forest.report.strategy, Walk::Split);
        assert!(stream.download_vec(&ranks).unwrap() == expected(&next), "{n}");
    }
}

/// A list of runs of 1 to `longest` neighbours, up and down, in random order; and the number of its runs.
fn of_runs(n: usize, longest: usize, seed: u64) -> (Vec<i32>, usize) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut first, mut runs) = (0, Vec::new());
    while first < n {
        let last = n.min(first + 1 + random.next_u32() as usize % longest);
        let mut run: Vec<_> = (first..last).collect();
        if random.next_u32() % 2 == 1 {
            run.reverse();
        }
        runs.push(run);
        first = last;
    }
    runs.sort_by_cached_key(|_| random.next_u64());
    let order = runs.concat();
    let mut next = vec![-1; n];
    order.windows(2).for_each(|pair| next[pair[0]] = pair[1] as i32);
    // Runs may meet at their ends.
    let joined = order.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) == 1).count();
    (next, n - joined)
}

/// Numbers of elements around those of a word, of a block, and of several.
#[test]
fn runs_of_neighbours() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let mut ranker = ListRanker::new(&device, Options { strategy: Walk::Runs, ..Options::default() });
    for n in [1, 2, 3, 31, 32, 33, 64, 65, 2047, 2048, 2049, 20_000] {
        for (longest, seed) in [(1, 0), (2, 1), (2, 2), (5, 3), (100, 4), (100_000, 5)] {
            let (next, runs) = of_runs(n, longest, seed);
            let (on_device, mut ranks) = (device.upload(&next).unwrap(), device.upload(&vec![-7; n]).unwrap());
            let report = ranker.rank(&stream, &on_device, None, &mut ranks).unwrap();
            let expected = expected(&next);
            assert_eq!(stream.download_vec(&ranks).unwrap(), expected, "{n}, {longest}");
            assert_eq!((report.strategy, report.sublists), (Walk::Runs, runs), "{n}, {longest}");
            assert_eq!(expected[report.head as usize], 0, "{n}, {longest}");
            // Forests have the same arrays.
            let mut lists = device.upload(&vec![-7; n]).unwrap();
            assert_eq!(ranker.forest(&stream, &on_device, &mut ranks, &mut lists).unwrap().lists, 1);
            assert_eq!(stream.download_vec(&ranks).unwrap(), expected, "{n}, {longest}");
        }
    }
}

/// All arrays of up to four elements, right and wrong ones.
#[test]
fn runs_of_any_few_elements() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let mut ranker = ListRanker::new(&device, Options { strategy: Walk::Runs, ..Options::default() });
    for n in 1..=4u32 {
        for number in 0..(n + 1).pow(n) {
            let next: Vec<i32> = (0..n).map(|i| (number / (n + 1).pow(i) % (n + 1)) as i32 - 1).collect();
            for head in [None, Some(0)] {
                let mut ranks = device.alloc(n as usize).unwrap();
                let report = ranker.rank(&stream, &device.upload(&next).unwrap(), head, &mut ranks);
                let expected = rank_sequentially(&next, head);
                assert_eq!(report.map(|_| stream.download_vec(&ranks).unwrap()), expected, "{next:?}, head {head:?}");
            }
        }
    }
}

/// On a GPU, long lists of long runs are ranked by these: not shorter lists, not others, and not where a call doesn't wait.
#[test]
fn long_runs_are_found() {
    let device = Device::best().unwrap();
    if device.backend() == Backend::Cpu {
        return skip("gpu", "no GPU");
    }
    let stream = device.stream().unwrap();
    let n = 1 << 24;
    let usual = Options::default();
    let trusted = Options { trusted: true, ..Options::default() };
    let cases = [(n, 8, &usual, true), (n, 3, &usual, false), (n - 1, 8, &usual, false), (n, 8, &trusted, false)];
    for (n, run, options, by_runs) in cases {
        let next = generate::block_shuffled(n, run, 3);
        let (on_device, mut ranks) = (device.upload(&next).unwrap(), device.alloc(n as usize).unwrap());
        let mut ranker = ListRanker::new(&device, options.clone());
        let report = ranker.rank(&stream, &on_device, None, &mut ranks).unwrap();
        assert_eq!(report.strategy == Walk::Runs, by_runs, "{n}, {run}");
        assert!(stream.download_vec(&ranks).unwrap() == expected(&next), "{n}, {run}");
        if by_runs {
            let mut circle = next;
            let tail = circle.iter().position(|&next| next == -1).unwrap();
            circle[tail] = tail as i32;
            let error = ranker.rank(&stream, &device.upload(&circle).unwrap(), None, &mut ranks).unwrap_err();
            assert!(matches!(error, ListError::TwoPredecessors { element, .. } if element == tail), "{error}");
        }
    }
}

fn check_weights<V: Weight + Debug + PartialEq>(n: u32, weight: impl Fn(u32) -> V, agree: impl Fn(V, V) -> bool) {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let next = generate::random(n, 9);
    let weights: Vec<V> = (0..n).map(weight).collect();
    let expected = expected_sums(&next, &weights);
    let (bytes, size) = (device.info().max_shared_per_block, size_of::<V>());
    let in_block = short::static_shared(size) + short::list_bytes(n as usize, size) <= bytes;
    let block = in_block.then_some((Walk::Block, None));
    for (strategy, shared) in [(Walk::Split, None), (Walk::Binned, None), (Walk::Binned, LITTLE)].into_iter().chain(block) {
        for sublists in [None, Some(n / 3)] {
            let options = Options { sublists, strategy, shared, ..Options::default() };
            let mut ranker = ListRanker::new(&device, options.clone());
            let (next, weights) = (device.upload(&next).unwrap(), device.upload(&weights).unwrap());
            let mut sums = device.alloc(n as usize).unwrap();
            ranker.prefix_sums(&stream, &next, None, &weights, &mut sums).unwrap();
            let sums = stream.download_vec(&sums).unwrap();
            for (element, (&found, &expected)) in sums.iter().zip(&expected).enumerate() {
                assert!(agree(found, expected), "{options:?}, element {element}: {found:?} for {expected:?}");
            }
        }
    }
}

#[test]
fn weights_of_every_type() {
    let hash = |i: u32| i.wrapping_mul(2_654_435_769) >> 16;
    for n in [1, 33, 1000, 16_001, 60_000] {
        // Wraps around often.
        check_weights::<i32>(n, |i| (hash(i) as i32).wrapping_mul(65_521), |a, b| a == b);
        check_weights::<i64>(n, |i| i64::from(hash(i)) - 20_000, |a, b| a == b);
        // Sums of whole numbers below 2^24 and 2^53 are exact in any order.
        check_weights::<f32>(n, |i| (hash(i) % 256) as f32, |a, b| a == b);
        check_weights::<f64>(n, |i| f64::from(hash(i)) * 0.5, |a, b| a == b);
        // The error bound of recursive summation (Higham, 4.2): n u times the sum of magnitudes, here of weights up
        // to 1.
        let bound = f64::from(n) * f64::from(n) * f64::EPSILON;
        check_weights::<f64>(n, |i| f64::from(hash(i)) / 65_536.0, move |a, b| (a - b).abs() <= bound);
    }
}

#[test]
fn order_inverts_ranks() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let next = generate::random(5000, 3);
    let ranks = device.upload(&expected(&next)).unwrap();
    let mut order = device.alloc(5000).unwrap();
    ListRanker::new(&device, Options::default()).order(&stream, &ranks, &mut order).unwrap();
    let order = stream.download_vec(&order).unwrap();
    // The order is the list's: each is followed by its successor.
    for pair in order.windows(2) {
        assert_eq!(next[pair[0] as usize], pair[1]);
    }
    assert_eq!(next[order[4999] as usize], -1);
}

/// Ranks and list numbers of a forest, in the plainest way.
fn expected_forest(next: &[i32]) -> (Vec<i32>, Vec<i32>) {
    let mut is_successor = vec![false; next.len()];
    next.iter().filter(|&&next| next >= 0).for_each(|&next| is_successor[next as usize] = true);
    let (mut ranks, mut lists) = (vec![-1; next.len()], vec![-1; next.len()]);
    for (list, head) in (0..next.len()).filter(|&element| !is_successor[element]).enumerate() {
        let mut element = head as i32;
        for rank in 0.. {
            if element < 0 {
                break;
            }
            ranks[element as usize] = rank;
            lists[element as usize] = list as i32;
            element = next[element as usize];
        }
    }
    (ranks, lists)
}

fn check_forests(options: &Options, sizes: &[u32]) {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let mut ranker = ListRanker::new(&device, options.clone());
    for &n in sizes {
        // Lists cut out of a random one: few, which alone are tried of long ones; none, many, and every element on its
        // own. Then one long list and single elements, and many of two.
        let all = [1000, u32::MAX, 3, 1, 0, 2];
        for &every in &all[..if n > 100_000 { 1 } else { 6 }] {
            let mut next = generate::random(n, 17);
            let ranks = expected(&next);
            let ends = |element: u32| match every {
                0 => ranks[element as usize] as u32 >= n / 3,
                2 => ranks[element as usize] % 2 == 1,
                _ => element.wrapping_mul(2_654_435_769).is_multiple_of(every),
            };
            for element in (0..n).filter(|&element| ends(element)) {
                next[element as usize] = -1;
            }
            let (ranks, lists) = expected_forest(&next);
            let next = device.upload(&next).unwrap();
            let (mut found_ranks, mut found_lists) = (device.alloc(n as usize).unwrap(), device.alloc(n as usize).unwrap());
            let forest = ranker.forest(&stream, &next, &mut found_ranks, &mut found_lists).unwrap();
            assert_eq!(forest.lists, lists.iter().max().map_or(0, |last| *last as usize + 1));
            assert!(stream.download_vec(&found_ranks).unwrap() == ranks, "n = {n}, cut every {every}, {options:?}");
            assert!(stream.download_vec(&found_lists).unwrap() == lists, "n = {n}, cut every {every}, {options:?}");
        }
    }
}

#[test]
fn forests() {
    for sublists in [None, Some(5000)] {
        check_forests(&Options { sublists, ..Options::default() }, &[0, 1, 2, 33, 1000, 50_000]);
    }
}

/// Several lists in a chunk, heads that are splitters, and ranks that come through windows of all kinds.
#[test]
fn binned_forests() {
    for (sublists, shared, longest) in [(None, None, 40_000), (Some(5000), LITTLE, 140_000)] {
        check_forests(&Options { strategy: Walk::Binned, sublists, shared, ..Options::default() }, &[1, 2, 33, 1000, longest]);
    }
}

#[test]
fn bad_forests_are_named() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    for strategy in [Walk::Split, Walk::Binned] {
        let forest = |next: &[i32]| {
            let (mut ranks, mut lists) = (device.alloc(next.len())?, device.alloc(next.len())?);
            let mut ranker = ListRanker::new(&device, Options { strategy, ..Options::default() });
            ranker.forest(&stream, &device.upload(next)?, &mut ranks, &mut lists)
        };
        assert_eq!(forest(&[1, -1, 3, 2]), Err(ListError::Cycle { element: 2 }));
        assert_eq!(forest(&[1, 0]), Err(ListError::Cycle { element: 0 }));
        assert_eq!(forest(&[2, 2, -1]), Err(ListError::TwoPredecessors { element: 2, first: 0, second: 1 }));
        // The numbers of elements and of ends agree, but one element is on a cycle.
        assert_eq!(forest(&[2, 2, -1, 3]), Err(ListError::TwoPredecessors { element: 2, first: 0, second: 1 }));
        assert_eq!(forest(&[1, 7, -1]), Err(ListError::NextOutOfRange { element: 1, next: 7, n: 3 }));
        assert_eq!(forest(&[1, -2, -1]), Err(ListError::NextOutOfRange { element: 1, next: -2, n: 3 }));
    }
}

/// Heads are sought in buckets of 64 elements that have fewer successors. In these lists, numbers of successors, of ends and
/// of elements agree with those of a forest, though two lists meet and one has a head in a bucket of 64 successors.
#[test]
fn a_head_hides_in_a_bucket() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let n = 4096;
    for length in 1..=32 {
        // Lists from 0 and 128 meet at 64. A list from 96 has as many elements as they have in common.
        let (met, hidden) = (64 + length, 96 + length);
        let lists = [(0..64).chain(64..met).collect(), (128..n).chain(met..96).chain(hidden..128).chain([64]).collect()];
        let mut next = vec![-1; n];
        for list in lists.into_iter().chain([(96..hidden).collect::<Vec<_>>()]) {
            list.windows(2).for_each(|pair| next[pair[0]] = pair[1] as i32);
        }
        for sublists in [None, Some(2), Some(1000)] {
            for seed in 0..4 {
                let options = Options { strategy: Walk::Binned, sublists, seed, ..Options::default() };
                let (mut ranks, mut lists) = (device.alloc(n).unwrap(), device.alloc(n).unwrap());
                let on_device = device.upload(&next).unwrap();
                let found = ListRanker::new(&device, options).forest(&stream, &on_device, &mut ranks, &mut lists);
                assert!(matches!(found, Err(ListError::TwoPredecessors { element: 64, .. })), "{length}, {found:?}");
            }
        }
    }
}

/// Description, `next`, the given head, and the error.
type BadList = (&'static str, Vec<i32>, Option<i32>, ListError);

/// A list of 20,000 elements with one flaw after another.
fn bad_lists() -> Vec<BadList> {
    let n = 20_000;
    let good = generate::random(n, 8);
    let ranks = expected(&good);
    let at = |rank: i32| ranks.iter().position(|&found| found == rank).unwrap();
    let (head, tail) = (at(0), at(n as i32 - 1));
    let with = |changes: &[(usize, i32)]| {
        let mut next = good.clone();
        changes.iter().for_each(|&(element, value)| next[element] = value);
        next
    };
    let len = n as usize;
    let head_given = Some(head as i32);
    // The list cut in two: the second part is unreachable, as a list or as a cycle.
    let (cut, after) = (at(6000), at(6001));
    let unreached = (0..len).find(|&element| ranks[element] > 6000).unwrap();
    let out_of_range = |next: i32| ListError::NextOutOfRange { element: 700, next: next.into(), n: len };
    let two = |element, a: usize, b: usize| ListError::TwoPredecessors { element, first: a.min(b), second: a.max(b) };
    let cut_off = |cycle| ListError::Unreachable { element: unreached, head, cycle };
    vec![
        ("past the end", with(&[(700, n as i32), (900, -5)]), None, out_of_range(n as i32)),
        ("below -1", with(&[(700, i32::MIN)]), head_given, out_of_range(i32::MIN)),
        ("far past the end", with(&[(700, i32::MAX)]), head_given, out_of_range(i32::MAX)),
        ("cycle of all", with(&[(tail, head as i32)]), head_given, ListError::NoTail { element: head, length: len }),
        ("self-loop", with(&[(tail, tail as i32)]), head_given, two(tail, tail, at(n as i32 - 2))),
        ("two predecessors", with(&[(at(9), at(5000) as i32)]), head_given, two(at(5000), at(4999), at(9))),
        ("wrong head", good.clone(), Some(at(77) as i32), ListError::WrongHead { head: at(77), predecessor: at(76) }),
        ("head past the end", good.clone(), Some(n as i32), ListError::HeadOutOfRange { head: n.into(), n: len }),
        ("head below 0", good.clone(), Some(-1), ListError::HeadOutOfRange { head: -1, n: len }),
        ("cut in two", with(&[(cut, -1)]), head_given, cut_off(false)),
        ("cut in two, the second part a cycle", with(&[(cut, -1), (tail, after as i32)]), head_given, cut_off(true)),
    ]
}

#[test]
fn bad_lists_are_named() {
    let device = Device::best().unwrap();
    for (name, next, head, error) in bad_lists() {
        for options in ways().into_iter().filter(|options| !options.trusted) {
            assert_eq!(rank(&device, options.clone(), &next, head), Err(error.clone()), "{name}, {options:?}");
        }
    }
}

/// A trusted run of an invalid list computes garbage from memory that nobody wrote, but it ends, and ends well.
#[test]
fn trusted_runs_end_on_any_list() {
    let device = Device::best().unwrap();
    for (name, next, head, error) in bad_lists() {
        for options in ways().into_iter().filter(|options| options.trusted) {
            let is_out_of_range = matches!(error, ListError::HeadOutOfRange { .. });
            match rank(&device, options, &next, head) {
                Ok(ranks) => assert!(ranks.len() == next.len() && !is_out_of_range, "{name}"),
                Err(found) => assert!(found == error && is_out_of_range, "{name}: {found}"),
            }
        }
    }
}

/// A trusted ranking waits for nothing, except by `runs`. The ranker's arrays, which its calls share, put them in order.
#[test]
fn a_trusted_ranker_may_change_streams() {
    let device = Device::best().unwrap();
    let streams = [device.stream().unwrap(), device.stream().unwrap()];
    let n = 300_000;
    let lists: Vec<_> = (0..6).map(|seed| generate::random(n, seed)).collect();
    for options in ways().into_iter().filter(|options| options.trusted && options.strategy != Walk::Block) {
        let mut ranker = ListRanker::new(&device, options);
        let next: Vec<_> = lists.iter().map(|next| device.upload(next).unwrap()).collect();
        let mut ranks: Vec<_> = lists.iter().map(|_| device.alloc(n as usize).unwrap()).collect();
        for (i, (next, ranks)) in next.iter().zip(&mut ranks).enumerate() {
            ranker.rank(&streams[i % 2], next, None, ranks).unwrap();
        }
        for (next, ranks) in lists.iter().zip(&ranks) {
            assert!(streams[0].download_vec(ranks).unwrap() == expected(next));
        }
    }
}

#[test]
fn lengths_must_agree() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let next = device.upload(&[1, -1]).unwrap();
    let mut ranks = device.alloc(3).unwrap();
    let error = ListRanker::new(&device, Options::default()).rank(&stream, &next, None, &mut ranks);
    assert_eq!(error, Err(ListError::Length { what: "ranks", found: 3, n: 2 }));
}

#[test]
fn a_ranker_allocates_once() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let mut ranker = ListRanker::new(&device, Options { strategy: Walk::Split, timed: true, ..Options::default() });
    let mut ranks = device.alloc(100_000).unwrap();
    for seed in 0..3 {
        let next = generate::random(100_000, seed);
        let report = ranker.rank(&stream, &device.upload(&next).unwrap(), None, &mut ranks).unwrap();
        assert_eq!(stream.download_vec(&ranks).unwrap(), expected(&next));
        assert_eq!(report.steps.iter().map(|step| step.name).collect::<Vec<_>>(), ["head", "walk", "sublists", "ranks"]);
        assert!(report.total_ms() > 0.0);
    }
}

/// Short lists are ranked on the host, and longer ones on the device.
#[test]
fn lists_in_host_memory() {
    for n in [0, 1, 2, 1000, SHORT as u32, SHORT as u32 + 1, 3 * SHORT as u32] {
        let next = generate::random(n, 5);
        assert_eq!(list_rank(&Device::best().unwrap(), &next, None).unwrap(), expected(&next));
        if n > 1 {
            let mut circle = next;
            let tail = circle.iter().position(|&next| next == -1).unwrap();
            circle[tail] = tail as i32;
            let error = list_rank(&Device::best().unwrap(), &circle, None).unwrap_err();
            assert!(matches!(error, ListError::TwoPredecessors { element, .. } if element == tail), "{n}: {error}");
        }
    }
}

/// Under random schedules a missing barrier in the solving block would show.
#[test]
fn any_schedule_gives_the_same_ranks() {
    for (seed, strategy) in
        (0..4).flat_map(|seed| [Walk::Split, Walk::Binned, Walk::Block, Walk::Grid, Walk::Runs].map(|strategy| (seed, strategy)))
    {
        let executor = simt::Executor::new(2).with_schedule(simt::Schedule::Random { seed });
        let next = generate::random(3000, seed);
        let device = Device::cpu_with(executor);
        let (stream, mut ranks) = (device.stream().unwrap(), device.alloc(3000).unwrap());
        let mut ranker = ListRanker::new(&device, Options { strategy, ..Options::default() });
        ranker.rank(&stream, &device.upload(&next).unwrap(), None, &mut ranks).unwrap();
        assert_eq!(stream.download_vec(&ranks).unwrap(), expected(&next));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_list(n in 0u32..3000, seed in any::<u64>(), sublists in proptest::option::of(1u32..4000), splitter_seed in any::<u32>()) {
        let device = Device::best().unwrap();
        let next = generate::random(n, seed);
        for strategy in [Walk::Auto, Walk::Block] {
            let options = Options { strategy, sublists, seed: splitter_seed, ..Options::default() };
            prop_assert_eq!(rank(&device, options, &next, None).unwrap(), expected(&next));
        }
    }

    /// Whatever `next` holds, the device agrees with the host on whether it is a list, and on what is wrong.
    #[test]
    fn any_array(next in prop::collection::vec(-1i32..40, 0..40), head in -1i32..41) {
        let device = Device::best().unwrap();
        for strategy in [Walk::Block, Walk::Grid, Walk::Runs, Walk::Split, Walk::Packed, Walk::Binned] {
            let options = Options { strategy, sublists: Some(5), ..Options::default() };
            prop_assert_eq!(rank(&device, options, &next, Some(head)), rank_sequentially(&next, Some(head)));
        }
    }
}
