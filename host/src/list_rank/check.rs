//! Ranks lists sequentially, and diagnoses invalid ones.

use rayon::prelude::*;

use super::{ListError, Weight};

/// No predecessor seen.
const NONE: u32 = u32::MAX;

/// Ranks a list by walking it from `head`: the reference that device ranks are verified against.
pub fn rank_sequentially(next: &[i32], head: Option<i32>) -> Result<Vec<i32>, ListError> {
    if let Some((ranks, _, 1)) = forest(next)
        && head.is_none_or(|head| ranks.get(head as usize) == Some(&0))
    {
        return Ok(ranks);
    }
    diagnose(next, head)?;
    Ok(Vec::new())
}

/// The elements of a list in their order, on the calling thread.
pub fn order_sequentially(next: &[i32], head: Option<i32>) -> Result<Vec<i32>, ListError> {
    let mut order = vec![0; next.len()];
    (0..).zip(rank_sequentially(next, head)?).for_each(|(element, rank)| order[rank as usize] = element);
    Ok(order)
}

/// The sums of the weights before each element, added up in the list's order on the calling thread. Integers wrap.
///
/// # Errors
/// As [`diagnose`], and [`ListError::Length`].
pub fn prefix_sums_sequentially<V: Weight>(next: &[i32], head: Option<i32>, weights: &[V]) -> Result<Vec<V>, ListError> {
    let (found, n) = (weights.len(), next.len());
    if found != n {
        return Err(ListError::Length { what: "weights", found, n });
    }
    let (mut sums, mut sum) = (vec![V::ZERO; n], V::ZERO);
    for element in order_sequentially(next, head)? {
        sums[element as usize] = sum;
        sum = sum.plus(weights[element as usize]);
    }
    Ok(sums)
}

/// Each element's rank on its list, the number of that list, and how many lists there are, on the calling thread. Lists
/// are numbered by their heads' indices, ascending.
///
/// # Errors
/// An element has two predecessors or lies on a cycle: the error names the first such element.
pub fn forest_sequentially(next: &[i32]) -> Result<(Vec<i32>, Vec<i32>, usize), ListError> {
    match forest(next) {
        Some(forest) => Ok(forest),
        None => diagnose_forest(next).map(|()| (Vec::new(), Vec::new(), 0)),
    }
}

/// The ranks, lists and number of lists; none of what is no forest.
fn forest(next: &[i32]) -> Option<(Vec<i32>, Vec<i32>, usize)> {
    let n = next.len();
    let mut is_head = vec![true; n];
    for &successor in next.iter().filter(|&&successor| successor != -1) {
        // False at a second predecessor.
        if !std::mem::take(is_head.get_mut(usize::try_from(successor).ok()?)?) {
            return None;
        }
    }
    let (mut ranks, mut lists, mut count, mut reached) = (vec![0; n], vec![0; n], 0, 0);
    for head in (0..n).filter(|&element| is_head[element]) {
        for (rank, element) in (0..).zip(walk(next, head)) {
            (ranks[element], lists[element]) = (rank, count as i32);
            reached += 1;
        }
        count += 1;
    }
    // Elements that aren't reached are on cycles.
    (reached == n).then_some((ranks, lists, count))
}

/// Returns the first flaw of a list: the first successor out of range; otherwise the first element
/// with two predecessors; otherwise a list without end, a wrong head, or the first element that the
/// head doesn't lead to. Takes O(n) time and 5 n bytes.
///
/// # Errors
/// The list is invalid.
pub fn diagnose(next: &[i32], head: Option<i32>) -> Result<(), ListError> {
    let n = next.len();
    if let Some(head) = head
        && !usize::try_from(head).is_ok_and(|head| head < n)
    {
        return Err(ListError::HeadOutOfRange { head: head.into(), n });
    }
    let predecessors = predecessors(next)?;
    if n == 0 {
        return Ok(());
    }
    let head = match head {
        Some(head) => head as usize,
        // Without a head there are only cycles.
        None => predecessors.iter().position(|&predecessor| predecessor == NONE).unwrap_or(0),
    };
    if !next.contains(&-1) {
        let length = 1 + walk(next, head).skip(1).take_while(|&element| element != head).count();
        return Err(ListError::NoTail { element: head, length });
    }
    if predecessors[head] != NONE {
        return Err(ListError::WrongHead { head, predecessor: predecessors[head] as usize });
    }
    let mut reached = vec![false; n];
    walk(next, head).for_each(|element| reached[element] = true);
    match reached.iter().position(|reached| !reached) {
        Some(element) => {
            // Without a second predecessor anywhere, an element is on a cycle or on a list.
            let cycle = walk(next, element).skip(1).any(|later| later == element);
            Err(ListError::Unreachable { element, head, cycle })
        }
        None => Ok(()),
    }
}

/// Returns the first flaw of a forest.
///
/// # Errors
/// The forest is invalid.
pub(super) fn diagnose_forest(next: &[i32]) -> Result<(), ListError> {
    let predecessors = predecessors(next)?;
    let mut reached = vec![false; next.len()];
    for head in (0..next.len()).filter(|&element| predecessors[element] == NONE) {
        walk(next, head).for_each(|element| reached[element] = true);
    }
    match reached.iter().position(|reached| !reached) {
        Some(element) => Err(ListError::Cycle { element }),
        None => Ok(()),
    }
}

/// Each element's predecessor, or [`NONE`].
fn predecessors(next: &[i32]) -> Result<Vec<u32>, ListError> {
    let n = next.len();
    let in_range = |value: i32| value == -1 || usize::try_from(value).is_ok_and(|value| value < n);
    if let Some(element) = next.iter().position(|&value| !in_range(value)) {
        return Err(ListError::NextOutOfRange { element, next: next[element].into(), n });
    }
    let mut predecessors = vec![NONE; n];
    let mut twice: Option<usize> = None;
    for (element, &successor) in next.iter().enumerate() {
        let Ok(successor) = usize::try_from(successor) else {
            continue;
        };
        if predecessors[successor] == NONE {
            predecessors[successor] = element as u32;
        } else if twice.is_none_or(|earlier| successor < earlier) {
            twice = Some(successor);
        }
    }
    if let Some(element) = twice {
        let mut before = next.iter().enumerate().filter(|&(_, &next)| next as usize == element).map(|(before, _)| before);
        if let (Some(first), Some(second)) = (before.next(), before.next()) {
            return Err(ListError::TwoPredecessors { element, first, second });
        }
    }
    Ok(predecessors)
}

/// The elements from `first` on. Endless on a cycle.
fn walk(next: &[i32], first: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(first), |&element| usize::try_from(next[element]).ok())
}

/// Returns the head: the element that the sum of all successors lacks. If `next` is not a list, returns some element.
pub(super) fn find_head(next: &[i32]) -> usize {
    let n = next.len() as i64;
    let sum: i64 = next.par_iter().map(|&next| i64::from(next.max(0))).sum();
    (n * (n - 1) / 2 - sum).clamp(0, (n - 1).max(0)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_ranks() {
        assert_eq!(rank_sequentially(&[3, -1, 0, 1], None), Ok(vec![1, 3, 0, 2]));
        assert_eq!(rank_sequentially(&[], None), Ok(vec![]));
        assert_eq!(rank_sequentially(&[3, -1, 0, 1], Some(0)), Err(ListError::WrongHead { head: 0, predecessor: 2 }));
        assert_eq!(rank_sequentially(&[-1, -1], None), Err(ListError::Unreachable { element: 1, head: 0, cycle: false }));
        assert_eq!(order_sequentially(&[3, -1, 0, 1], Some(2)), Ok(vec![2, 0, 3, 1]));
        assert_eq!(
            prefix_sums_sequentially(&[3, -1, 0, 1], None, &[1i32, 2, i32::MAX, 4]),
            Ok(vec![i32::MAX, i32::MIN + 4, 0, i32::MIN])
        );
        let two = ListError::Length { what: "weights", found: 2, n: 1 };
        assert_eq!(prefix_sums_sequentially(&[-1], None, &[1.5, 2.0]), Err(two));
        assert_eq!(forest_sequentially(&[2, -1, -1, 1]), Ok((vec![0, 1, 1, 0], vec![0, 1, 0, 1], 2)));
        assert_eq!(forest_sequentially(&[]), Ok((vec![], vec![], 0)));
        assert_eq!(forest_sequentially(&[-1, 2, 1]), Err(ListError::Cycle { element: 1 }));
    }
}
