//! Walks over successors that are no list: each element's is drawn at random, so that many walks pass one element, at
//! the same time.
//!
//! Under ThreadSanitizer (CONTRIBUTING.md says how) this shows stores that race. Without it, a record that is made of
//! two threads' halves.

use gpu_kernels::list_rank::{Offset, Placed8, Status, Value, splitters::Splitters, walk};
use simt::{Executor, Launch};

const N: u32 = 60_000;
const BLOCK: u32 = 64;

/// A buffer that kernels write: what `*mut T` is to a launch.
#[derive(Clone, Copy)]
struct Out<T>(*mut T);

// SAFETY: kernels access it from several threads as they say.
unsafe impl<T> Send for Out<T> {}
// SAFETY: the address itself is only read.
unsafe impl<T> Sync for Out<T> {}

impl<T> Out<T> {
    fn of(values: &mut [T]) -> Self {
        Out(values.as_mut_ptr())
    }

    fn ptr(self) -> *mut T {
        self.0
    }
}

/// Successors of which any may be any element, or none, or no element at all.
fn successors(seed: u32) -> Vec<i32> {
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    (0..N)
        .map(|_| match random() % 500 {
            0 => -1,
            1 => N as i32,
            // Few elements are the successors of many.
            2..250 => (random() % 50) as i32,
            _ => (random() % N) as i32,
        })
        .collect()
}

fn splitters(seed: u32) -> Splitters {
    Splitters::hashed(N, 8, seed)
}

/// Runs `body` once for each node: the splitters and a head.
fn run(splitters: Splitters, body: &(dyn Fn() + Sync)) {
    let launch =
        Launch { kernel: "walk", grid: (splitters.count + 1).div_ceil(BLOCK).into(), block: BLOCK.into(), dynamic_shared: 0 };
    Executor::new(8).run(&launch, body).unwrap();
}

/// Whether `element` is `offset` steps from where the walk of node `sublist` starts.
fn is_there(next: &[i32], splitters: Splitters, sublist: i32, offset: i64, element: usize) -> bool {
    let start = if (sublist as u32) < splitters.count { splitters.element(sublist as u32) } else { 0 };
    let mut at = start as i32;
    for _ in 0..offset {
        at = next[at as usize];
    }
    at as usize == element
}

/// What a walk writes for each node.
struct Nodes<V> {
    next: Vec<i32>,
    length: Vec<i32>,
    sum: Vec<V>,
    of_head: [i32; 1],
    status: [Status; 1],
}

impl<V: Value> Nodes<V> {
    fn new(splitters: Splitters) -> Self {
        let count = splitters.count as usize + 1;
        let status = [Status { ranked: 0, out_of_range: 0, circles: 0, head: 0, overflows: 0 }];
        Nodes { next: vec![0; count], length: vec![0; count], sum: vec![V::ZERO; count], of_head: [0], status }
    }
}

/// Calls a walk of `$nodes`, whose first arguments are given.
macro_rules! walk {
    ($kernel:ident($($array:expr),*), $nodes:ident, $splitters:expr) => {{
        let (next, length, sum) = (Out::of(&mut $nodes.next), Out::of(&mut $nodes.length), Out::of(&mut $nodes.sum));
        let (of_head, status) = (Out::of(&mut $nodes.of_head), Out::of(&mut $nodes.status));
        run($splitters, &|| {
            // SAFETY: all arrays are as long as the kernel asks, and alive until `run` returns.
            unsafe {
                let nodes = walk::Nodes {
                    heads: &[0],
                    head_nodes: of_head.ptr(),
                    next: next.ptr(),
                    length: length.ptr(),
                    sum: sum.ptr(),
                    status: status.ptr(),
                };
                walk::$kernel($($array,)* nodes, $splitters);
            }
        });
        assert!($nodes.status[0].out_of_range > 0 && $nodes.length.iter().all(|&length| length >= 0));
    }};
}

#[test]
fn records_are_one_walk_s() {
    for seed in 0..10 {
        let (next, splitters) = (successors(seed), splitters(seed));
        let mut placed = vec![Offset { sublist: -1, offset: 0 }; N as usize];
        let mut nodes = Nodes::<i32>::new(splitters);
        let out = Out::of(&mut placed);
        walk!(split(&next, out.ptr()), nodes, splitters);
        for (element, record) in placed.iter().enumerate().filter(|(_, record)| record.sublist >= 0) {
            assert!(is_there(&next, splitters, record.sublist, record.offset.into(), element), "{element}: {record:?}");
        }
    }
}

/// With weights of 1, offsets are numbers of steps. A record of 16 bytes is two words, of which either may be another
/// walk's.
#[test]
fn weighted_walks_end() {
    let (next, splitters, weights) = (successors(20), splitters(3), vec![1i64; N as usize]);
    let mut placed = vec![Placed8 { sublist: -1, reserved: 0, offset: 0i64 }; N as usize];
    let mut nodes = Nodes::<i64>::new(splitters);
    let out = Out::of(&mut placed);
    walk!(weighted(&next, &weights, out.ptr()), nodes, splitters);
    let count = splitters.count as i32;
    assert!(placed.iter().all(|record| (-1..=count).contains(&record.sublist) && record.reserved == 0));
}

/// Walks that read what others overwrite end, too.
#[test]
fn packed_walks_end() {
    for seed in 30..40 {
        let splitters = splitters(seed);
        let mut placed: Vec<_> = successors(seed).into_iter().map(|sublist| Offset { sublist, offset: 0 }).collect();
        let mut nodes = Nodes::<i32>::new(splitters);
        let out = Out::of(&mut placed);
        walk!(packed(out.ptr(), N), nodes, splitters);
    }
}

/// The nodes of one level as the elements of the next.
#[test]
fn walks_over_nodes_end() {
    let (next, splitters, lengths, sums) = (successors(50), splitters(5), vec![1i32; N as usize], vec![1f64; N as usize]);
    let (mut sublists, mut length_offsets, mut sum_offsets) =
        (vec![-1i32; N as usize], vec![0i32; N as usize], vec![0f64; N as usize]);
    let mut nodes = Nodes::<f64>::new(splitters);
    let outs = (Out::of(&mut sublists), Out::of(&mut length_offsets), Out::of(&mut sum_offsets));
    let lower = || walk::Lower {
        next: &next,
        length: &lengths,
        sum: &sums,
        sublist: outs.0.ptr(),
        length_offset: outs.1.ptr(),
        sum_offset: outs.2.ptr(),
    };
    walk!(nodes(lower()), nodes, splitters);
    let count = splitters.count as i32;
    assert!(sublists.iter().all(|sublist| (-1..=count).contains(sublist)));
    assert!(length_offsets.iter().zip(&sum_offsets).all(|(&length, &sum)| length >= 0 && sum >= 0.0));
}
