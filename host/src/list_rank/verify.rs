//! Comparisons of results with a sequential walk of the list on the host.
//!
//! Each comparison walks once and proves the whole result: a walk that comes to the end after n elements with right
//! ranks has met all of them. Apart from one byte per element of a forest, nothing of the list's length is allocated.
//! `advance` is called with the number of elements that were passed since the last call.

use std::fmt::{self, Display};

use rayon::prelude::*;

use super::{Weight, check::find_head};

/// A result that differs from the walk's, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mismatch(String);

impl Mismatch {
    fn new<T>(text: fmt::Arguments<'_>) -> Result<T, Self> {
        Err(Mismatch(text.to_string()))
    }
}

/// Elements that a walk passes between two calls of `advance`.
const STRIDE: usize = 1 << 20;

/// Walks the list from its head and calls `visit` with each position and element, until `visit` fails.
///
/// # Errors
/// The error of `visit`, or a list that ends early, goes on or leaves the array.
pub fn walk(
    next: &[i32],
    head: Option<i32>,
    mut visit: impl FnMut(usize, usize) -> Result<(), Mismatch>,
    advance: impl Fn(usize),
) -> Result<(), Mismatch> {
    let n = next.len();
    let mut element = head.map_or_else(|| find_head(next), |head| head as usize);
    for position in 0..n {
        visit(position, element)?;
        if position % STRIDE == STRIDE - 1 {
            advance(STRIDE);
        }
        match successor(next, element)? {
            Some(successor) if position + 1 == n => {
                return Mismatch::new(format_args!("the walk goes on to {successor} after all {n} elements"));
            }
            Some(successor) => element = successor,
            None if position + 1 < n => {
                return Mismatch::new(format_args!("the walk ends after {} of {n} elements", position + 1));
            }
            None => {}
        }
    }
    Ok(())
}

/// Returns the element after this one, unless it is the last one of its list.
fn successor(next: &[i32], element: usize) -> Result<Option<usize>, Mismatch> {
    match (next[element], usize::try_from(next[element])) {
        (-1, _) => Ok(None),
        (_, Ok(successor)) if successor < next.len() => Ok(Some(successor)),
        (wrong, _) => Mismatch::new(format_args!("next[{element}] is {wrong}, which is neither an element nor -1")),
    }
}

/// Compares ranks.
///
/// # Errors
/// The first difference on the walk.
pub fn ranks(next: &[i32], head: Option<i32>, ranks: &[i32], advance: impl Fn(usize)) -> Result<(), Mismatch> {
    let check = |position: usize, element: usize| expect("rank", element, ranks[element], position as i32);
    walk(next, head, check, advance)
}

/// Compares an order with ranks that are known to be right.
///
/// # Errors
/// The difference of the first element.
pub fn order(ranks: &[i32], order: &[i32]) -> Result<(), Mismatch> {
    let wrong = ranks.par_iter().enumerate().find_map_first(|(element, &rank)| {
        let found = order[rank as usize];
        (found != element as i32).then(|| Mismatch(format!("order[{rank}] is {found}, but element {element} has that rank")))
    });
    wrong.map_or(Ok(()), Err)
}

/// Compares the ranks and the lists' numbers of a forest of `count` lists.
///
/// # Errors
/// The first difference on the walks.
pub fn forest(next: &[i32], ranks: &[i32], lists: &[i32], count: usize, advance: impl Fn(usize)) -> Result<(), Mismatch> {
    let n = next.len();
    let mut is_successor = vec![false; n];
    for &successor in next {
        if let Some(mark) = usize::try_from(successor).ok().and_then(|successor| is_successor.get_mut(successor)) {
            *mark = true;
        }
    }
    let (mut passed, mut list) = (0, 0);
    for head in (0..n).filter(|&element| !is_successor[element]) {
        let (mut element, mut rank) = (head, 0);
        loop {
            expect("rank", element, ranks[element], rank)?;
            expect("list", element, lists[element], list)?;
            rank += 1;
            passed += 1;
            if passed % STRIDE == 0 {
                advance(STRIDE);
            }
            match successor(next, element)? {
                Some(successor) if passed < n => element = successor,
                Some(_) => return Mismatch::new(format_args!("the walk of list {list} from element {head} has no end")),
                None => break,
            }
        }
        list += 1;
    }
    if passed != n {
        return Mismatch::new(format_args!("{passed} of {n} elements are on lists"));
    }
    if list as usize != count {
        return Mismatch::new(format_args!("{count} lists were counted, but there are {list}"));
    }
    Ok(())
}

/// A weight that can be summed on the host, too.
pub trait Summand: Weight + Display {
    /// A sum, as exact as it must be.
    type Sum: Default;
    /// Adds `self`.
    fn add(self, sum: &mut Self::Sum);
    /// Compares `self` with the sum of the first `count` weights.
    ///
    /// # Errors
    /// The right sum, in words.
    fn agrees(self, sum: &Self::Sum, count: usize) -> Result<(), String>;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Summand for $type {
            type Sum = $type;
            fn add(self, sum: &mut $type) {
                *sum = sum.wrapping_add(self);
            }
            fn agrees(self, sum: &$type, _count: usize) -> Result<(), String> {
                if self == *sum { Ok(()) } else { Err(sum.to_string()) }
            }
        }
    )*};
}
integers!(i32 i64);

/// A compensated sum (Neumaier), and the sum of the magnitudes.
#[derive(Debug, Default)]
pub struct Compensated {
    sum: f64,
    lost: f64,
    magnitudes: f64,
}

impl Compensated {
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.lost += if self.sum.abs() >= value.abs() { (self.sum - sum) + value } else { (value - sum) + self.sum };
        self.sum = sum;
        self.magnitudes += value.abs();
    }

    /// Checks that a sum of `count` values in another order, by additions with this relative error,
    /// may be `found`.
    fn agrees(&self, found: f64, count: usize, epsilon: f64) -> Result<(), String> {
        let expected = self.sum + self.lost;
        // The worst case of `count` additions is `count` epsilons of the magnitudes. Errors of many cancel, as a random
        // walk does.
        let tolerance = 8.0 * epsilon * (count as f64).sqrt() * self.magnitudes;
        if (found - expected).abs() <= tolerance || (!expected.is_finite() && !found.is_finite()) {
            return Ok(());
        }
        Err(format!("{expected} (to {tolerance:.1e})"))
    }
}

macro_rules! floats {
    ($($type:ty)*) => {$(
        impl Summand for $type {
            type Sum = Compensated;
            fn add(self, sum: &mut Compensated) {
                sum.add(f64::from(self));
            }
            fn agrees(self, sum: &Compensated, count: usize) -> Result<(), String> {
                sum.agrees(f64::from(self), count, f64::from(<$type>::EPSILON))
            }
        }
    )*};
}
floats!(f32 f64);

/// Compares prefix sums: integers exactly, floating-point numbers within what the order of additions allows.
///
/// # Errors
/// The first difference on the walk.
pub fn sums<V: Summand>(
    next: &[i32],
    head: Option<i32>,
    weights: &[V],
    sums: &[V],
    advance: impl Fn(usize),
) -> Result<(), Mismatch> {
    let mut sum = V::Sum::default();
    let check = |position: usize, element: usize| {
        let found = sums[element];
        found
            .agrees(&sum, position)
            .map_err(|expected| Mismatch(format!("the sum of element {element} is {found}, and by the walk {expected}")))?;
        weights[element].add(&mut sum);
        Ok(())
    };
    walk(next, head, check, advance)
}

fn expect(what: &str, element: usize, found: i32, expected: i32) -> Result<(), Mismatch> {
    if found == expected {
        Ok(())
    } else {
        Mismatch::new(format_args!("the {what} of element {element} is {found}, and by the walk {expected}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 2 -> 0 -> 3 -> 1
    const NEXT: [i32; 4] = [3, -1, 0, 1];

    #[test]
    fn every_wrong_rank_shows() {
        let right = [1, 3, 0, 2];
        assert_eq!(ranks(&NEXT, None, &right, |_| {}), Ok(()));
        assert_eq!(ranks(&NEXT, Some(2), &right, |_| {}), Ok(()));
        for element in 0..4 {
            let mut wrong = right;
            wrong[element] += 1;
            assert!(ranks(&NEXT, None, &wrong, |_| {}).unwrap_err().0.contains(&format!("of element {element} is")));
        }
        assert_eq!(ranks(&[], None, &[], |_| {}), Ok(()));
    }

    #[test]
    fn what_is_no_list_is_found() {
        assert!(ranks(&NEXT, Some(0), &[0, 2, 3, 1], |_| {}).unwrap_err().0.contains("ends after 3 of 4"));
        assert!(ranks(&[1, 0], Some(0), &[0, 1], |_| {}).unwrap_err().0.contains("goes on to 0"));
        assert!(ranks(&[1, -2], Some(0), &[0, 1], |_| {}).unwrap_err().0.contains("next[1] is -2"));
        assert!(ranks(&[7, -1], Some(0), &[0, 1], |_| {}).unwrap_err().0.contains("next[0] is 7"));
    }

    #[test]
    fn orders_and_forests() {
        assert_eq!(order(&[1, 3, 0, 2], &[2, 0, 3, 1]), Ok(()));
        assert!(order(&[1, 3, 0, 2], &[2, 0, 1, 3]).is_err());
        // 1 -> 0 and 2 -> 3
        let next = [-1, 0, 3, -1];
        assert_eq!(forest(&next, &[1, 0, 0, 1], &[0, 0, 1, 1], 2, |_| {}), Ok(()));
        assert!(forest(&next, &[1, 0, 0, 1], &[0, 0, 1, 1], 3, |_| {}).is_err());
        assert!(forest(&next, &[1, 0, 0, 1], &[0, 0, 0, 1], 2, |_| {}).unwrap_err().0.contains("list of element 2"));
        assert!(forest(&next, &[1, 0, 0, 0], &[0, 0, 1, 1], 2, |_| {}).unwrap_err().0.contains("rank of element 3"));
        let wrong_end = forest(&[-2, 0, 3, -1], &[1, 0, 0, 1], &[0, 0, 1, 1], 2, |_| {}).unwrap_err();
        assert_eq!(wrong_end.0, "next[0] is -2, which is neither an element nor -1");
        assert!(forest(&[-1, 2, 1], &[0, 0, 0], &[0, 0, 0], 1, |_| {}).unwrap_err().0.contains("1 of 3"));
    }

    #[test]
    fn sums_agree_as_far_as_they_must() {
        assert_eq!(sums(&NEXT, None, &[1i64, 2, 3, 4], &[3, 8, 0, 4], |_| {}), Ok(()));
        assert!(sums(&NEXT, None, &[1i64, 2, 3, 4], &[3, 8, 0, 5], |_| {}).is_err());
        let weights = [0.1f64, 0.2, 0.3, 0.4];
        assert_eq!(sums(&NEXT, None, &weights, &[0.3, 0.1 + 0.7, 0.0, 0.4], |_| {}), Ok(()));
        assert!(sums(&NEXT, None, &weights, &[0.3, 0.801, 0.0, 0.4], |_| {}).is_err());
        assert!(sums(&NEXT, None, &weights, &[0.3, f64::NAN, 0.0, 0.4], |_| {}).is_err());
        assert_eq!(sums(&NEXT, None, &[0.0, 0.0, f32::NAN, 0.0], &[f32::NAN, f32::NAN, 0.0, f32::NAN], |_| {}), Ok(()));
    }
}
