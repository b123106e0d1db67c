//! Diagnoses invalid lists, and verifies ranks.

use gpu_kernels::list_rank::{
    TAIL,
    distributed::{self, Blocks, PartArgs, THREADS},
};

use super::{DistributedError, group::Group, travel::Travel};
use crate::{
    device::{Buffer, Stream},
    launch,
    list_rank::{
        ListError,
        launches::{BLOCK, blocks},
    },
};

/// Number of elements that send something at a time.
const CHUNK: usize = if cfg!(test) { 16 } else { 1 << 24 };
const NONE: u64 = u64::MAX;

/// Returns the first flaw of a list: the first successor out of range; otherwise the first element
/// with two predecessors; otherwise a missing head, several heads, or a head that isn't the first
/// element. Cycles beside the list are not found. Takes O(n) time and 16 bytes of host memory per
/// element of a rank.
pub fn diagnose(
    group: &mut Group,
    stream: &Stream,
    layout: Blocks,
    next: &Buffer<i64>,
    head: Option<u64>,
) -> Result<(), DistributedError> {
    let (n, first) = (layout.n, layout.first(group.rank()));
    let next = stream.download_vec(next)?;
    let is_valid = |next: i64| next == i64::from(TAIL) || (next as u64) < n;
    let wrong = next.iter().position(|&next| !is_valid(next));
    let mine = wrong.map_or([NONE, 0], |element| [first + element as u64, next[element] as u64]);
    if let Some([element, next]) = group.share(mine)?.into_iter().find(|&[element, _]| element != NONE) {
        return Err(ListError::NextOutOfRange { element: element as usize, next: next as i64, n: n as usize }.into());
    }

    // Predecessors.
    let mut predecessors = vec![NONE; next.len()];
    let mut twice = NONE;
    let chunks = group.share(next.len().div_ceil(CHUNK) as u64)?.into_iter().max().unwrap_or(0) as usize;
    for chunk in 0..chunks {
        let mut sent = vec![Vec::new(); group.size()];
        let from = (chunk * CHUNK).min(next.len());
        for (element, &next) in next[from..].iter().take(CHUNK).enumerate().filter(|&(_, &next)| next >= 0) {
            let (rank, local) = layout.place(next as u64);
            sent[rank as usize].push([u64::from(local), first + (from + element) as u64]);
        }
        for [element, predecessor] in group.exchange_vecs(&sent)? {
            let known = &mut predecessors[element as usize];
            if *known == NONE {
                *known = predecessor;
            } else {
                twice = twice.min(first + element);
            }
        }
    }
    let twice = group.share(twice)?.into_iter().min().unwrap_or(NONE);
    if twice != NONE {
        let mut before = next.iter().enumerate().filter(|&(_, &next)| next as u64 == twice).map(|(i, _)| first + i as u64);
        let mine = [before.next().unwrap_or(NONE), before.next().unwrap_or(NONE)];
        let mut all = group.share(mine)?.concat();
        all.sort_unstable();
        let [element, first, second] = [twice, all[0], all[1]].map(|element| element as usize);
        return Err(ListError::TwoPredecessors { element, first, second }.into());
    }

    let mut heads = predecessors.iter().enumerate().filter(|&(_, &before)| before == NONE).map(|(i, _)| first + i as u64);
    let two = [heads.next().unwrap_or(NONE), heads.next().unwrap_or(NONE)];
    let count = two.iter().filter(|&&head| head != NONE).count() + heads.count();
    let all = group.share([count as u64, two[0], two[1]])?;
    let mut named: Vec<u64> = all.iter().flat_map(|of_rank| [of_rank[1], of_rank[2]]).filter(|&head| head != NONE).collect();
    named.sort_unstable();
    match named[..] {
        [] => return Err(DistributedError::NoHead { n }),
        [first, second, ..] => {
            let lists = all.iter().map(|of_rank| of_rank[0]).sum();
            return Err(DistributedError::SeveralHeads { lists, first, second });
        }
        [_] => {}
    }
    if let Some(head) = head {
        let (rank, local) = layout.place(head);
        let mine = if rank as usize == group.rank() { predecessors[local as usize] } else { NONE };
        if let Some(predecessor) = group.share(mine)?.into_iter().find(|&predecessor| predecessor != NONE) {
            return Err(ListError::WrongHead { head: head as usize, predecessor: predecessor as usize }.into());
        }
    }
    Ok(())
}

/// Returns the first element whose rank is negative.
pub fn unreached(group: &Group, stream: &Stream, layout: Blocks, ranks: &Buffer<i64>) -> Result<Option<u64>, DistributedError> {
    let first = layout.first(group.rank());
    let element = stream.download_vec(ranks)?.iter().position(|&rank| rank < 0);
    let mine = element.map_or(NONE, |element| first + element as u64);
    Ok(group.share(mine)?.into_iter().find(|&element| element != NONE))
}

/// Checks that each successor's rank is one more than its element's, and that the last element's
/// rank is `n - 1`. For a valid list, this proves all ranks.
pub fn verify(
    group: &mut Group,
    travel: &mut Travel,
    stream: &Stream,
    layout: Blocks,
    next: &Buffer<i64>,
    ranks: &Buffer<i64>,
) -> Result<(), DistributedError> {
    let first = layout.first(group.rank());
    let none = stream.device().empty();
    let mut wrong = stream.device().upload(&[u32::MAX])?;
    let chunks = group.share(next.len().div_ceil(CHUNK) as u64)?.into_iter().max().unwrap_or(0) as usize;
    for chunk in 0..chunks {
        let from = (chunk * CHUNK).min(next.len());
        let mut count = (next.len() - from).min(CHUNK);
        travel.all.ensure(count)?;
        let claimed = travel.round(group, stream, &mut count, false, |travel, args| {
            let (grid, shared) = (args.grid, args.shared);
            let (part, claims) = (PartArgs { next, weights: &none, first }, travel.args(&args).0);
            // SAFETY: each traveller has a thread, each rank's count has shared memory, and each
            // element from `from` on has a traveller and a rank.
            unsafe { launch!(stream, distributed::claim<<<grid, THREADS, shared>>>(part, layout, ranks, from as u32, claims)) }
        })?;
        if claimed && count > 0 {
            let claims = travel.all.view(..count)?;
            // SAFETY: there is a number.
            unsafe { launch!(stream, distributed::confirm<<<blocks(count, BLOCK), BLOCK>>>(claims, ranks, &mut wrong))? };
        }
    }
    let wrong = stream.download_vec(&wrong)?;
    let mine = if wrong[0] == u32::MAX { NONE } else { first + u64::from(wrong[0]) };
    match group.share(mine)?.into_iter().min() {
        Some(element) if element != NONE => Err(DistributedError::WrongRank { element }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::Device,
        list_rank::{
            distributed::{DistributedRanker, Options, layout},
            generate,
        },
        ranks::threads,
    };

    /// Blocks of less than a chunk, of a chunk, of more and of several; a flaw in each element.
    #[test]
    fn flaws_in_any_chunk() {
        for n in [31, 32, 33, 34, 70] {
            let next: Vec<i64> = generate::random(n as u32, 5).into_iter().map(i64::from).collect();
            let before = |element: usize| next.iter().position(|&next| next == element as i64);
            let head = (0..n).find(|&element| before(element).is_none()).unwrap();
            let mut order = vec![head];
            order.extend((1..n).scan(head, |last, _| (*last = next[*last] as usize, Some(*last)).1));
            let rank_of = |element: usize| order.iter().position(|&other| other == element).unwrap() as i64;
            let all = threads::run(&[Device::cpu(), Device::cpu()], |device, ranks| {
                let layout = layout(n as u64, 2)?;
                let first = layout.first(ranks.rank()) as usize;
                let (stream, own) = (device.stream()?, first..first + layout.len(ranks.rank()));
                let mut ranker = DistributedRanker::new(device, ranks, Options::default());
                let good = device.upload(&next[own.clone()])?;
                for wrong in 0..=n {
                    let ranks: Vec<_> = own.clone().map(|element| rank_of(element) + i64::from(element == wrong)).collect();
                    let found = ranker.verify(&stream, n as u64, &good, &device.upload(&ranks)?);
                    // Nobody comes before the head, but its successor shows.
                    let shown = (wrong != head).then_some(wrong).into_iter().chain(next.get(wrong).map(|&next| next as usize));
                    let expected = |element| Err(DistributedError::WrongRank { element: element as u64 });
                    assert_eq!(found, shown.filter(|&element| element < n).min().map_or(Ok(()), expected), "{n}, {wrong}");
                }
                for k in 1..n {
                    let error = ranker.rank(&stream, n as u64, &good, Some(order[k] as u64), &mut device.alloc(own.len())?);
                    let wrong = ListError::WrongHead { head: order[k], predecessor: order[k - 1] };
                    assert_eq!(error.unwrap_err(), wrong.into(), "{n}");
                }
                let (element, other) = (order[n / 3], order[n - 1]);
                let mut bad = next.clone();
                bad[other] = next[element];
                let (bad, mut ranks) = (device.upload(&bad[own.clone()])?, device.alloc(own.len())?);
                let (first, second) = (element.min(other), element.max(other));
                let two = ListError::TwoPredecessors { element: next[element] as usize, first, second };
                assert_eq!(ranker.rank(&stream, n as u64, &bad, None, &mut ranks).unwrap_err(), two.into());
                Ok::<_, DistributedError>(())
            });
            all.unwrap();
        }
    }
}
