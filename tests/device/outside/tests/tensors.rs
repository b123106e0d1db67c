//! Copies of boxes of tensors, on the backend that `WARPSMITH_BACKEND` names, or on a GPU where there is one.

use bytemuck::Pod;
use cuda_std::tensor::Swizzle;
use outside::kernels::tensors::*;
use std::{fmt::Debug, fs, path::Path, process::Command};
use warpsmith_device::{Device, DeviceError, Stream, TensorLayout, TensorMap, View, ViewMut, kernel_modules, launch};

type Result<T = (), E = DeviceError> = std::result::Result<T, E>;

/// None where the GPU has no such copies.
fn stream() -> Option<Stream> {
    let device = Device::best().unwrap();
    let old = device.info().compute_capability.is_some_and(|capability| capability < (9, 0));
    (!old).then(|| device.stream().unwrap())
}

/// The coordinates of a box's elements, in their order, where it starts at `at`.
fn elements<const RANK: usize>(tile: [u32; RANK], at: [i32; RANK]) -> impl Iterator<Item = [i64; RANK]> {
    (0..tile.iter().product::<u32>()).map(move |mut number| {
        std::array::from_fn(|i| {
            let place = number % tile[i];
            number /= tile[i];
            i64::from(at[i]) + i64::from(place)
        })
    })
}

/// Where an element is in the array, if it is in there.
fn place<const RANK: usize>(layout: &TensorLayout<RANK>, element: [i64; RANK]) -> Option<usize> {
    let within = element.iter().zip(layout.extents).all(|(&i, extent)| (0..extent as i64).contains(&i));
    within.then(|| element.iter().zip(layout.strides).map(|(&i, stride)| i as usize * stride).sum())
}

macro_rules! boxes {
    ($($test:ident: $t:ty, $rank:literal, $load:ident $store:ident, $layout:expr, $at:expr;)*) => {$(
        #[test]
        fn $test() -> Result {
            let Some(stream) = stream() else { return Ok(()) };
            let (device, layout, at): (_, TensorLayout<$rank>, Vec<[i32; $rank]>) = (stream.device(), $layout, $at.to_vec());
            let len = layout.extents.iter().zip(layout.strides).map(|(n, stride)| (n - 1) * stride).sum::<usize>() + 1;
            let (count, blocks) = (layout.tile.iter().product::<u32>() as usize, at.len() as u32);
            let bytes = (count * size_of::<$t>()) as u32;
            let array: Vec<$t> = (0..len).map(|i| (i % 60_000 + 1) as $t).collect();
            let on_device = device.upload(&array)?;
            let map = TensorMap::new(View::from(&on_device), layout)?;
            let coordinates = device.upload(at.as_flattened())?;
            let mut out = device.upload(&vec![7 as $t; count * at.len()])?;
            // SAFETY: there is a part for each block, and room for a box.
            unsafe { launch!(stream, $load<<<blocks, 64>>>(&map, &coordinates, bytes, &mut out))? };
            let found = stream.download_vec(&out)?;
            let mut expected = array.clone();
            let mut values = vec![0 as $t; count * at.len()];
            for (block, &at) in at.iter().enumerate() {
                for (number, element) in elements(layout.tile, at).enumerate() {
                    // A chunk's lowest bits are xored with those of the 128 bytes that it is in.
                    let (chunk, mask) = (number * size_of::<$t>() / 16, [0, 1, 3, 7][layout.swizzle as usize]);
                    let slot = block * count + (chunk ^ (chunk / 8 & mask)) * 16 / size_of::<$t>() + number % (16 / size_of::<$t>());
                    let value = place(&layout, element).map_or(0 as $t, |place| array[place]);
                    assert_eq!(found[slot], value, "box at {at:?}, element {element:?}");
                    values[slot] = (1000 + 3 * number) as $t;
                    // Boxes are not stored at negative coordinates.
                    if let Some(place) = place(&layout, element).filter(|_| at.iter().all(|&i| i >= 0)) {
                        expected[place] = values[slot];
                    }
                }
            }
            let behind = layout.extents.map(|extent| extent as i32);
            let stored: Vec<_> = at.iter().map(|&at| if at.iter().all(|&i| i >= 0) { at } else { behind }).collect();
            let coordinates = device.upload(stored.as_flattened())?;
            let mut target = device.upload(&array)?;
            let mut map = TensorMap::new(ViewMut::from(&mut target), layout)?;
            // SAFETY: there are values for each block, and the boxes don't overlap.
            unsafe { launch!(stream, $store<<<blocks, 64>>>(&device.upload(&values)?, &coordinates, bytes, &mut map))? };
            assert_eq!(stream.download_vec(&target)?, expected);
            Ok(())
        }
    )*};
}
boxes! {
    lines: f64, 1, load_1d store_1d, TensorLayout::dense([1000], [96]), [[96], [192], [-50], [950], [2000], [-96]];
    one_chunk: u32, 2, load_2d store_2d, TensorLayout::dense([4, 1], [4, 1]),
        [[0, 0]];
    tiles: u32, 2, load_2d store_2d, TensorLayout::dense([100, 37], [16, 8]),
        [[0, 0], [16, 8], [-4, 16], [88, 33], [-16, 0], [112, 40], [32, -7], [96, 24]];
    tiles_of_rows_with_gaps: u32, 2, load_2d store_2d,
        TensorLayout { strides: [1, 128], ..TensorLayout::dense([60, 37], [12, 5]) }, [[0, 0], [56, 34], [24, 11]];
    swizzled_over_32: u32, 2, load_2d store_2d,
        TensorLayout { swizzle: Swizzle::Bytes32, ..TensorLayout::dense([100, 37], [8, 32]) }, [[8, 0], [-4, 9], [96, 33]];
    swizzled_over_64: u32, 2, load_2d store_2d,
        TensorLayout { swizzle: Swizzle::Bytes64, ..TensorLayout::dense([100, 37], [16, 32]) }, [[16, 0], [-4, 9], [92, 33]];
    swizzled_over_128: u32, 2, load_2d store_2d,
        TensorLayout { swizzle: Swizzle::Bytes128, ..TensorLayout::dense([100, 37], [32, 32]) }, [[0, 0], [-4, 33], [96, -9]];
    bricks: u16, 3, load_3d store_3d, TensorLayout::dense([40, 9, 11], [8, 3, 5]),
        [[0, 0, 0], [8, 3, 5], [-8, 7, 3], [32, -2, 9], [0, 0, -5], [24, 9, 0]];
}

fn dense<const RANK: usize>(extents: [usize; RANK], tile: [u32; RANK]) -> TensorLayout<RANK> {
    TensorLayout::dense(extents, tile)
}

fn refused<T: Pod + Debug, const RANK: usize>(len: usize, layout: TensorLayout<RANK>, reason: &str) {
    let buffer = Device::cpu().alloc_zeroed::<T>(len).unwrap();
    let error = TensorMap::new(View::from(&buffer), layout).unwrap_err();
    assert_eq!(error.to_string(), format!("a tensor map wasn't made: {reason}"));
}

#[test]
fn what_the_hardware_does_not_copy_is_said() {
    refused::<[u8; 16], 1>(9, dense([9], [1]), "its elements have 16 bytes, and they have to have 1, 2, 4 or 8");
    refused::<u32, 1>(9, dense([0], [4]), "dimension 0 has 0 elements, and from 1 to 2^32 are possible");
    refused::<u32, 2>(99, dense([4, 4], [4, 0]), "its box has 0 elements in dimension 1, and from 1 to 256 are possible");
    refused::<u32, 1>(999, dense([999], [260]), "its box has 260 elements in dimension 0, and from 1 to 256 are possible");
    refused::<u32, 2>(
        99,
        dense([5, 4], [4, 1]),
        "its elements are 20 bytes apart in dimension 1, which has to be a multiple of 16 below 2^40",
    );
    refused::<u32, 1>(
        99,
        TensorLayout { strides: [2], ..dense([5], [4]) },
        "its elements are 2 apart in dimension 0, where they have to follow each other",
    );
    refused::<u32, 2>(79, dense([8, 10], [4, 1]), "its last element is number 79 of a view that has 79");
    refused::<u16, 1>(99, dense([99], [4]), "a row of its box has 8 bytes, which isn't a multiple of 16");
    refused::<u32, 1>(
        99,
        TensorLayout { swizzle: Swizzle::Bytes32, ..dense([99], [12]) },
        "a row of its box has 48 bytes, and is swizzled over 32",
    );
    let mut buffer = Device::cpu().alloc_zeroed::<u32>(9).unwrap();
    // The hardware would write the whole chunk.
    let error = TensorMap::new(ViewMut::from(&mut buffer), dense([9], [4])).unwrap_err().to_string();
    assert!(error.ends_with("a row has 36 bytes, which isn't a multiple of 16: boxes would be stored beyond its end"), "{error}");
    let error = TensorMap::new(buffer.view(1..).unwrap(), dense([8], [4])).unwrap_err().to_string();
    assert!(error.contains("which isn't a multiple of 16"), "{error}");
}

#[test]
fn ptx() {
    let module = kernel_modules().find(|module| module.crate_name() == "outside_kernels").unwrap();
    let image = module.images().iter().find(|image| image.kernels().contains(&"tensors_load_2d")).unwrap();
    let &(_, text) = image.ptx().iter().find(|(arch, _)| *arch == 90).unwrap();
    assert!(text.contains(".version 8.3"), "{}", &text[..200]);
    for rank in 1..=3 {
        for name in [
            format!("cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"),
            format!("cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group"),
        ] {
            assert!(text.contains(&name), "{name}");
        }
    }
    assert!(text.contains("fence.proxy.tensormap::generic.acquire.gpu"));
    let &(_, old) = image.ptx().iter().find(|(arch, _)| *arch == 75).unwrap();
    assert!(!old.contains("bulk.tensor") && !old.contains("tensormap"));
    if let Some(ptxas) = std::env::var_os("PTXAS") {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        fs::write(folder.join("tensors.ptx"), text).unwrap();
        let output = Command::new(ptxas)
            .current_dir(folder)
            // Functions of other files are linked when the image is loaded.
            .args(["-c", "-arch", "sm_90", "-o", "tensors.cubin", "tensors.ptx"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// What GPUs report as an illegal instruction.
#[test]
fn where_boxes_do_not_start() -> Result {
    let device = Device::cpu();
    let stream = device.stream()?;
    let mut array = device.upload(&[1.0f64; 100])?;
    let mut out = device.alloc_zeroed::<f64>(96)?;
    for (at, store, sentence) in [
        (1, false, "starts at [1]: its first element is 8 bytes from the first one of its row, which isn't a multiple of 16"),
        (-3, true, "isn't a multiple of 16"),
        (-2, true, "is to be stored at [-2], and no coordinate may be negative"),
    ] {
        let coordinates = device.upload(&[at])?;
        // SAFETY: there is a box's room for the one block.
        let launched = unsafe {
            if store {
                let mut map = TensorMap::new(ViewMut::from(&mut array), dense([100], [96]))?;
                launch!(stream, store_1d<<<1, 32>>>(&out, &coordinates, 768, &mut map))
            } else {
                let map = TensorMap::new(View::from(&array), dense([100], [96]))?;
                launch!(stream, load_1d<<<1, 32>>>(&map, &coordinates, 768, &mut out))
            }
        };
        let error = launched.and_then(|()| stream.synchronize()).unwrap_err().to_string();
        assert!(error.contains(sentence), "{error}");
    }
    Ok(())
}
