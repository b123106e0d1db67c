//! Walks over successors that are no list: each element's is drawn at random, so that many walks pass one element, at
//! the same time.
//!
//! Under ThreadSanitizer (CONTRIBUTING.md says how) this shows stores that race. Without it, a record that is made of
//! two threads' halves.

use cuda_std::{I32x4, U32x2};
use gpu_kernels::list_rank::{NONE, Status, Value, binned, nodes, short, splitters::Splitters, walk};
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

/// Runs `body` in blocks of so many threads, with so much dynamic shared memory.
fn run(threads: u32, block: u32, dynamic_shared: usize, body: &(dyn Fn() + Sync)) {
    let launch = Launch { kernel: "walk", grid: threads.div_ceil(block).into(), block: block.into(), dynamic_shared };
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

/// What a walk of elements writes for each node.
struct Nodes<V: Value> {
    next: Vec<i32>,
    length: Vec<i32>,
    sum: Vec<V>,
    bases: Vec<V::Record>,
    status: [Status; 1],
}

impl<V: Value> Nodes<V> {
    fn new(splitters: Splitters) -> Self {
        let count = splitters.count as usize;
        let bases = vec![V::record(NONE, V::ZERO); count];
        Nodes { next: vec![0; count], length: vec![0; count], sum: vec![V::ZERO; count], bases, status: [Status::default()] }
    }
}

/// Calls a walk of elements with `$nodes` in blocks of `$block` threads: `$kernel` of its first arguments, then the
/// bases, the nodes and the splitters.
macro_rules! walk {
    ($kernel:path, ($($array:expr),*), $nodes:ident, $splitters:expr, $block:expr, $shared:expr) => {{
        let (next, length, sum) = (Out::of(&mut $nodes.next), Out::of(&mut $nodes.length), Out::of(&mut $nodes.sum));
        let (bases, status) = (Out::of(&mut $nodes.bases), Out::of(&mut $nodes.status));
        run($splitters.count + 1, $block, $shared, &|| {
            // SAFETY: all arrays are as long as the kernel asks, and alive until `run` returns.
            unsafe {
                let nodes = walk::Nodes {
                    heads: &[0],
                    heads_per_unit: 1,
                    next: next.ptr(),
                    length: length.ptr(),
                    sum: sum.ptr(),
                    status: status.ptr(),
                };
                $kernel($($array,)* bases.ptr(), nodes, $splitters);
            }
        });
        assert!($nodes.status[0].out_of_range > 0 && $nodes.length.iter().all(|&length| length >= 0));
    }};
}

#[test]
fn records_are_one_walk_s() {
    for seed in 0..10 {
        let (next, splitters) = (successors(seed), splitters(seed));
        let mut placed = vec![i32::record(-1, 0); N as usize];
        let mut nodes = Nodes::<i32>::new(splitters);
        let out = Out::of(&mut placed);
        walk!(walk::split::<i32>, (&next, &[], out.ptr()), nodes, splitters, BLOCK, 0);
        for (element, (sublist, offset)) in
            placed.into_iter().map(i32::parts).enumerate().filter(|(_, (sublist, _))| *sublist >= 0)
        {
            assert!(is_there(&next, splitters, sublist, offset.into(), element), "{element}: {sublist}, {offset}");
        }
    }
}

/// With weights of 1, offsets are numbers of steps. A record of 16 bytes is two words, of which either may be another
/// walk's.
#[test]
fn weighted_walks_end() {
    let (next, splitters, weights) = (successors(20), splitters(3), vec![1i64; N as usize]);
    let mut placed = vec![i64::record(-1, 0); N as usize];
    let mut nodes = Nodes::<i64>::new(splitters);
    let out = Out::of(&mut placed);
    walk!(walk::split::<i64>, (&next, &weights, out.ptr()), nodes, splitters, BLOCK, 0);
    let count = splitters.count as i32;
    assert!(placed.iter().all(|record| (-1..=count).contains(&i64::parts(*record).0) && record.x >> 32 == 0));
}

/// Walks that read what others overwrite end, too.
#[test]
fn packed_walks_end() {
    for seed in 30..40 {
        let splitters = splitters(seed);
        let mut placed: Vec<U32x2> = successors(seed).into_iter().map(|next| i32::record(next, 0)).collect();
        let mut nodes = Nodes::<i32>::new(splitters);
        let out = Out::of(&mut placed);
        walk!(walk::packed, (out.ptr(), N), nodes, splitters, BLOCK, 0);
    }
}

/// Walks that would take more chunks than there are are cut off, and what they have written is elements in order.
#[test]
fn chunks_hold_one_walk_s_elements() {
    let (next, splitters) = (successors(40), splitters(2));
    // Less than any list takes.
    let capacity = 8;
    let mut chunks = vec![I32x4::splat(-1); capacity * binned::CHUNK_VECTORS];
    let (mut values, mut counters) = ([0i32; 0], [0u32; 2]);
    let mut nodes = Nodes::<i32>::new(splitters);
    let outs = (Out::of(&mut chunks), Out::of(&mut values), Out::of(&mut counters));
    let chunks_of =
        || binned::Chunks { vectors: outs.0.ptr(), values: outs.1.ptr(), counters: outs.2.ptr(), capacity: capacity as u32 };
    let shared = binned::walk_shared(0);
    walk!(binned::walk::<i32>, (&next, &[], chunks_of()), nodes, splitters, binned::WALK_THREADS, shared);
    assert!(nodes.status[0].overflows > 0 && counters[0] as usize > capacity);
    for chunk in chunks.chunks(binned::CHUNK_VECTORS) {
        let words: Vec<i32> = chunk.iter().flat_map(|vector| vector.to_array()).collect();
        for (place, &element) in words[2..].iter().take_while(|&&element| element >= 0).enumerate() {
            let offset = i64::from(words[1]) + place as i64;
            assert!(is_there(&next, splitters, words[0], offset, element as usize), "{words:?}");
        }
    }
}

/// The nodes of one level as the elements of the next.
#[test]
fn walks_over_nodes_end() {
    let (next, splitters, sums) = (successors(50), splitters(5), vec![1f64; N as usize]);
    // Every tenth node is a root.
    let bases: Vec<_> = (0..N as i32).map(|node| f64::record(if node % 10 == 0 { 0 } else { NONE }, 0.0)).collect();
    let mut visits = vec![f64::record(NONE, 0.0); N as usize];
    let mut nodes = Nodes::<f64>::new(splitters);
    let (visits_out, bases_out) = (Out::of(&mut visits), Out::of(&mut nodes.bases));
    let (upper_next, upper_sum, status) = (Out::of(&mut nodes.next), Out::of(&mut nodes.sum), Out::of(&mut nodes.status));
    run(splitters.count + N, BLOCK, 0, &|| {
        // SAFETY: all arrays are as long as the kernel asks, and alive until `run` returns.
        unsafe {
            let lower = walk::Lower { next: &next, sum: &sums };
            let upper = walk::Upper { next: upper_next.ptr(), sum: upper_sum.ptr() };
            walk::nodes::<f64>(lower, &bases, visits_out.ptr(), upper, bases_out.ptr(), splitters, status.ptr());
        }
    });
    let count = splitters.count as i32;
    assert!(nodes.status[0].out_of_range > 0);
    assert!(nodes.next.iter().all(|&next| (-3..count).contains(&next)) && nodes.sum.iter().all(|&sum| sum >= 0.0));
    for (sublist, offset) in visits.into_iter().map(f64::parts) {
        assert!((walk::ROOT..count).contains(&sublist) && offset >= 0.0, "{sublist}, {offset}");
    }
}

/// In one block, with a thread for each splitter or one for all nodes: what has a base is what roots lead to, on some way.
#[test]
fn nodes_without_a_root_before_them_have_no_base() {
    const M: usize = 3000;
    for (seed, threads) in [(1, 512), (2, 64), (3, 1)] {
        let next: Vec<i32> =
            successors(seed).into_iter().take(M).map(|next| if next < M as i32 { next } else { next % 7 - 3 }).collect();
        let group = M.div_ceil(threads as usize) as u32;
        let splitters = if threads == 1 { Splitters::first(0) } else { Splitters::hashed(M as u32, group, seed) };
        let is_root = |node: usize| node % 100 == 7;
        let mut bases: Vec<_> = (0..M).map(|node| i64::record(if is_root(node) { 0 } else { NONE }, 1)).collect();
        let (sums, lengths, mut status) = (vec![1i64; M], vec![1; M], vec![Status::default()]);
        let (bases_out, status_out) = (Out::of(&mut bases), Out::of(&mut status));
        run(threads, threads, short::list_bytes(M, 8), &|| {
            // SAFETY: all arrays are as long as the kernel asks, and alive until `run` returns.
            unsafe { nodes::solve::<i64>(&next, &sums, bases_out.ptr(), &lengths, splitters, status_out.ptr()) };
        });
        let mut is_reached: Vec<bool> = (0..M).map(is_root).collect();
        for root in (0..M).filter(|&node| is_root(node)) {
            let mut node = next[root];
            while node >= 0 && !is_reached[node as usize] {
                is_reached[node as usize] = true;
                node = next[node as usize];
            }
        }
        let has_base: Vec<bool> = bases.iter().map(|&record| i64::parts(record).0 != NONE).collect();
        assert!((0..M).all(|node| is_reached[node] || !has_base[node]), "seed {seed}");
        assert_eq!(status[0].ranked, has_base.iter().filter(|&&has_base| has_base).count() as u64);
        assert!(status[0].ranked > 30);
    }
}
