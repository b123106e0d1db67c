//! Step 3 on the host: the sublists' list is downloaded, walked, and its bases uploaded.

use gpu_kernels::list_rank::{Status, TAIL};

use super::{Weight, level::Level};
use crate::device::{Buffer, DeviceError, Stream};

/// Ranks the level's nodes sequentially from its head, and counts the elements in `status`. Bounded by the number of
/// nodes.
pub fn on_host<V: Weight>(stream: &Stream, level: &mut Level<V>, status: &mut Buffer<Status>) -> Result<(), DeviceError> {
    let (next, length, sum) =
        (stream.download_vec(&level.next)?, stream.download_vec(&level.length)?, stream.download_vec(&level.sum)?);
    let head = stream.download_vec(&level.heads)?[0];
    let mut base_length = vec![0i32; level.count];
    let mut base_sum = vec![V::ZERO; level.count];
    let mut root = vec![TAIL; level.count];

    let (mut node, mut elements, mut before) = (head, 0i32, V::ZERO);
    while let Some(index) = usize::try_from(node).ok().filter(|&index| index < level.count && root[index] == TAIL) {
        root[index] = head;
        base_length[index] = elements;
        base_sum[index] = before;
        elements = elements.wrapping_add(length[index]);
        before = before.plus(sum[index]);
        node = next[index];
    }
    stream.upload(&mut level.base_length, &base_length)?;
    stream.upload(&mut level.base_sum, &base_sum)?;
    stream.upload(&mut level.root, &root)?;

    let mut found = stream.download_vec(&*status)?;
    // A list that came back to a node, or broke off, has no total.
    found[0].ranked = if node == TAIL { elements as u32 as u64 } else { 0 };
    stream.upload(status, &found)
}
