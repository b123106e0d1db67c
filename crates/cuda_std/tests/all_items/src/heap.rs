//! The crate `alloc`.

use alloc::{boxed::Box, collections::BTreeMap, format, string::String, vec::Vec};
use cuda_std::prelude::*;

#[repr(align(64))]
struct Line(u32);

/// Sorted values, texts in a map, closures in boxes, and a large alignment.
#[kernel]
pub fn collections(values: &[u32], mut out: DisjointSlice<u32>) {
    for (i, out) in out.grid_stride_mut() {
        let mut sorted: Vec<u32> = values[i..].to_vec();
        sorted.sort();
        let texts: BTreeMap<u32, String> = sorted.iter().map(|&value| (value, format!("{value}"))).collect();
        let of: Box<dyn Fn(&str) -> usize> =
            if i % 2 == 0 { Box::new(|text| text.len() + sorted.len()) } else { Box::new(str::len) };
        let line = Box::new(Line(values[i]));
        *out = texts.values().map(|text| of(text) as u32).sum::<u32>() + line.0;
    }
}
