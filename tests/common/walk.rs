//! Lists, and their ranks by the plainest walk there is.

use warpsmith::list_rank::generate;

/// Returns each element's rank; -1 for elements that the list doesn't contain.
pub fn ranks(next: &[i64]) -> Vec<i64> {
    let mut is_successor = vec![false; next.len()];
    next.iter().filter(|&&next| next >= 0).for_each(|&next| is_successor[next as usize] = true);
    let mut element = is_successor.iter().position(|&successor| !successor).map_or(-1, |head| head as i64);
    let mut ranks = vec![-1; next.len()];
    for rank in 0.. {
        if element < 0 {
            break;
        }
        ranks[element as usize] = rank;
        element = next[element as usize];
    }
    ranks
}

/// Lists of each kind, with their names.
#[allow(dead_code, reason = "the command generates its own")]
pub fn lists(n: u32) -> [(&'static str, Vec<i32>); 5] {
    [
        ("random", generate::random(n, 42)),
        ("sequential", generate::sequential(n)),
        ("reversed", generate::reversed(n)),
        ("strided", generate::strided(n, 96)),
        ("block-shuffled", generate::block_shuffled(n, 32, 42)),
    ]
}
