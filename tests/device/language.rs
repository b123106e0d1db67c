//! Kernels that use the language, `core`, and crates without `std`, beside the same on the host or known results.

use crate::basics::{is_child, run_child};
use outside::kernels::clusters::{self, histogram};
use outside::kernels::language::*;
use warpsmith::device::{Device, DeviceError, Stream};
use warpsmith::launch;

type Result<T = (), E = DeviceError> = std::result::Result<T, E>;

fn stream() -> Result<Stream> {
    Device::best()?.stream()
}

#[test]
fn loops_with_labels() -> Result {
    let stream = stream()?;
    let n = stream.device().upload(&[0u32, 1, 2, 10, 100, 1000, 7919])?;
    let mut out = stream.device().alloc::<u32>(7)?;
    launch!(stream, control_flow<<<1, 4>>>(&n, &mut out))?;
    assert_eq!(stream.download_vec(&out)?, [0, 0, 1, 4, 25, 168, 1000]);
    Ok(())
}

#[test]
fn iterators_of_ones_own() -> Result {
    let stream = stream()?;
    let most = stream.device().upload(&[0u64, 10, 4_000_000])?;
    let mut out = stream.device().alloc::<u64>(3)?;
    launch!(stream, iterators<<<1, 32>>>(&most, &mut out))?;
    // 1, 1, 2, 3, 5, 8, 13, 21, 34, 55 times 10 down to 1.
    let pairs = 10 + 9 + 16 + 21 + 30 + 40 + 52 + 63 + 68 + 55;
    assert_eq!(stream.download_vec(&out)?, [pairs, pairs + 10, pairs + 4_613_732]);
    Ok(())
}

#[test]
fn arrays_are_sorted() -> Result {
    let stream = stream()?;
    let values = [5, -3, 99, 0, 7, i32::MIN, i32::MAX, 12, -8, 4, 2];
    let mut out = stream.device().alloc::<i32>(values.len() + 1)?;
    let input = stream.device().upload(&values)?;
    // SAFETY: one thread, and an element more than there are values.
    unsafe { launch!(stream, arrays<<<1, 1>>>(&input, &mut out))? };
    let mut expected = values.to_vec();
    expected.sort();
    // 7 ones, 6 twos, 0*1 + 1*2 + 2*3 + 3*4, and that the middle one is found.
    expected.push(7 + 12 + 20 + 1);
    assert_eq!(stream.download_vec(&out)?, expected);
    Ok(())
}

#[test]
fn traits_and_enumerations() -> Result {
    let stream = stream()?;
    let sides = stream.device().upload(&[3.0f64, 3.0, 4.0, 5.0, 0.5])?;
    let mut out = stream.device().alloc::<f64>(5)?;
    launch!(stream, types<<<2, 2>>>(&sides, &mut out))?;
    assert_eq!(stream.download_vec(&out)?, [26.0, 20.0, 24.0, 7.0, 8.5]);
    Ok(())
}

#[test]
fn constants_and_statics() -> Result {
    let stream = stream()?;
    let n = stream.device().upload(&[0u64, 9, 10, 1000, 1001, u64::MAX])?;
    let mut out = stream.device().alloc::<u64>(6)?;
    launch!(stream, constants<<<1, 8>>>(&n, &mut out))?;
    assert_eq!(stream.download_vec(&out)?, [1 + 3, 1 + 5, 2 + 9, 4 + 3, 4 + 5 + 100, 20 + 9 + 100]);
    Ok(())
}

#[test]
fn options_and_results() -> Result {
    let stream = stream()?;
    let text = stream.device().upload(b"7x12300")?;
    let mut out = stream.device().alloc::<i32>(7)?;
    launch!(stream, options<<<1, 32>>>(&text, &mut out))?;
    assert_eq!(stream.download_vec(&out)?, [-2, -1, 6, 5, 3, 0, 0]);
    Ok(())
}

#[test]
fn integers_have_their_methods() -> Result {
    let stream = stream()?;
    let values = [0u32, 1, 0x8000_0000, 0x1234_5678, u32::MAX];
    let mut out = stream.device().alloc::<[u32; 9]>(5)?;
    let input = stream.device().upload(&values)?;
    launch!(stream, integers<<<1, 32>>>(&input, &mut out))?;
    for (x, out) in values.into_iter().zip(stream.download_vec(&out)?) {
        let bytes = x.to_le_bytes();
        let binary = format!("{x:032b}");
        let zeros = |text: &str| text.find('1').unwrap_or(32) as u32;
        let reversed: String = binary.chars().rev().collect();
        let turned = |text: &str, by: usize| u32::from_str_radix(&(text[by..].to_owned() + &text[..by]), 2).unwrap();
        let root = (f64::from(x)).sqrt().floor() as u32;
        let wide = u128::from(x) * 0xffff_ffff_ffff_ffff / 7;
        let expected = [
            u32::from_be_bytes(bytes),
            u32::from_str_radix(&reversed, 2).unwrap(),
            zeros(&binary) * 10_000 + zeros(&reversed) * 100 + binary.matches('1').count() as u32,
            turned(&binary, 7) ^ turned(&binary, 29),
            if x < 0x8000_0000 { x + 0x8000_0000 } else { 12 },
            (u64::from(x) * 5).min(u64::from(u32::MAX)) as u32,
            ((u64::from(x) * 3) as u32) ^ u32::from(u64::from(x) * 3 > u64::from(u32::MAX)),
            (u64::from(root) + u64::from(x % 6).pow(5) + i64::from(x).abs_diff(1000) + i64::from(x as i32).rem_euclid(13) as u64)
                as u32,
            (wide >> 61) as u32 ^ wide as u32,
        ];
        assert_eq!(out, expected, "{x}");
    }
    Ok(())
}

#[test]
fn floats_have_their_methods() -> Result {
    let stream = stream()?;
    let values = [0.25f64, -0.75, 1.0, 2.5, -3.0];
    let mut out = stream.device().alloc::<[f64; 8]>(5)?;
    let input = stream.device().upload(&values)?;
    launch!(stream, floats<<<1, 32>>>(&input, &mut out))?;
    // Of Bessel's function J0 and of ln |x|!, tables of Abramowitz and Stegun (9.1, 6.1) and closed forms.
    let bessel = [
        0.984_435_929_295_852_7,
        0.864_242_275_166_65,
        0.765_197_686_557_966_6,
        -0.048_383_776_468_198,
        -0.260_051_954_901_933_4,
    ];
    let gamma = [-0.098_271_836_421_813_18, -0.084_401_121_020_485_56, 0.0, 1.200_973_602_347_074, 6f64.ln()];
    for (i, out) in stream.download_vec(&out)?.into_iter().enumerate() {
        let x = values[i];
        let expected = [
            x.signum() + x.signum() * x.abs().min(1.0) + if x < 0.5 { -1.0 } else { 1.0 },
            x.abs().powf(0.5)
                + if x.fract().abs() < 0.5 { x.trunc() } else { x.trunc() + x.signum() }
                + (x - 2.0 * (x / 2.0).trunc()),
            2f64.sqrt() * (x + std::f64::consts::FRAC_PI_4).sin(),
            x.abs().ln() / 10f64.ln() + 1.0 / x.abs().exp(),
            1.0,
            bessel[i],
            gamma[i],
            (x * std::f64::consts::PI / 180.0).max(1.0 / x),
        ];
        for (j, (out, expected)) in out.into_iter().zip(expected).enumerate() {
            assert!((out - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{j} of {x}: {out}, not {expected}");
        }
    }
    Ok(())
}

#[test]
fn raw_memory() -> Result {
    let stream = stream()?;
    let values = [0.0f32, 1.0, -2.5];
    let mut out = stream.device().alloc::<u32>(3)?;
    let input = stream.device().upload(&values)?;
    launch!(stream, memory<<<1, 32>>>(&input, &mut out))?;
    assert_eq!(stream.download_vec(&out)?, values.map(|x| x.to_bits() ^ 3202));
    Ok(())
}

#[test]
fn vectors_of_glam() -> Result {
    let stream = stream()?;
    let (angles, points) = ([0.0f32, 1.0, -2.0], [[1.0f32, 2.0, 3.0], [0.5, -0.5, 0.0], [-4.0, 1.0, 7.0]]);
    let mut out = stream.device().alloc::<[f32; 3]>(3)?;
    let (a, p) = (stream.device().upload(&angles)?, stream.device().upload(&points)?);
    launch!(stream, vectors<<<1, 32>>>(&a, &p, &mut out))?;
    for (i, out) in stream.download_vec(&out)?.into_iter().enumerate() {
        let (sin, cos) = f64::from(angles[i]).sin_cos();
        let [x, y, z] = points[i].map(f64::from);
        for (out, expected) in out.into_iter().zip([cos * x - sin * y, sin * x + cos * y, z]) {
            assert!((f64::from(out) - expected).abs() < 1e-5, "{i}: {out}, not {expected}");
        }
    }
    Ok(())
}

#[test]
fn numbers_as_text() -> Result {
    let stream = stream()?;
    let values = [0i32, 1, -1, i32::MAX, i32::MIN];
    let mut out = stream.device().alloc::<[u8; TEXT]>(5)?;
    let input = stream.device().upload(&values)?;
    launch!(stream, texts<<<1, 32>>>(&input, &mut out))?;
    let expected = [
        "0 0x00000000 Some(0)      0",
        "1 0x00000001 Some(0)      0",
        "-1 0xffffffff Some(0)      0",
        "2147483647 0x7fffffff Some(715827882) 306783378",
        "-2147483648 0x80000000 Some(-715827882) -306783378",
    ];
    for (out, expected) in stream.download_vec(&out)?.into_iter().zip(expected) {
        assert_eq!(String::from_utf8_lossy(&out).trim_end_matches('\0'), expected);
    }
    Ok(())
}

#[test]
fn recursion_by_a_pointer() -> Result {
    let stream = stream()?;
    let mut out = stream.device().alloc::<u64>(21)?;
    launch!(stream, recursion<<<1, 32>>>(&mut out))?;
    let out = stream.download_vec(&out)?;
    assert_eq!((out[0], out[5], out[10], out[20]), (1, 120, 3_628_800, 2_432_902_008_176_640_000));
    Ok(())
}

#[test]
fn atomics_of_core() -> Result {
    let stream = stream()?;
    let values: Vec<u32> = (1..=1000).collect();
    let mut sums = stream.device().upload(&[0u32, 0])?;
    let input = stream.device().upload(&values)?;
    // SAFETY: two elements, which nobody else uses.
    unsafe { launch!(stream, atomics<<<4, 64>>>(&input, &mut sums))? };
    assert_eq!(stream.download_vec(&sums)?, [500_500, 1000]);
    Ok(())
}

#[test]
fn the_crate_alloc() {
    // On a GPU, the heap's size is settled by the first kernel that has a heap, which may be another test's.
    run_child("language::child_alloc", &[]);
}

#[test]
fn child_alloc() -> Result {
    if !is_child() {
        return Ok(());
    }
    let stream = stream()?;
    stream.device().set_heap_size(32 << 20)?;
    let n = [0u32, 1, 2, 10, 25, 100];
    let mut out = stream.device().alloc::<u32>(6)?;
    let input = stream.device().upload(&n)?;
    for _ in 0..3 {
        launch!(stream, heap<<<2, 2>>>(&input, &mut out))?;
    }
    let expected = n.map(|n| {
        let ending = |digit: u32| (0..n).filter(|k| k % 10 == digit).count() as u32;
        let digits = (0..n).flat_map(|k| [k / 10, k % 10].into_iter().skip(usize::from(k < 10)));
        digits.map(|digit| digit * ending(digit)).sum::<u32>() + 3
    });
    assert_eq!(stream.download_vec(&out)?, expected);
    // Nothing of these sizes is there.
    let bytes = stream.device().upload(&[64usize, 1 << 60, isize::MAX as usize])?;
    let mut out = stream.device().alloc::<u32>(3)?;
    launch!(stream, heap_limit<<<1, 4>>>(&bytes, &mut out))?;
    assert_eq!(stream.download_vec(&out)?, [1, 0, 0]);
    Ok(())
}

#[test]
fn blocks_in_clusters() -> Result {
    let stream = stream()?;
    let values: Vec<u32> = (0..10_000u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> 22).collect();
    let input = stream.device().upload(&values)?;
    let mut counts = stream.device().alloc_zeroed::<u32>(clusters::BLOCKS * clusters::COUNTERS)?;
    // SAFETY: there are 1024 counts.
    let done = unsafe { launch!(stream, histogram<<<12, 256>>>(&input, &mut counts)) };
    if stream.device().info().compute_capability.is_some_and(|capability| capability < (9, 0)) {
        let text = done.unwrap_err().to_string();
        assert!(text.contains("its blocks are in clusters, which GPUs have from compute capability 9.0 on"), "{text}");
        return Ok(());
    }
    done?;
    let mut expected = vec![0; 1024];
    values.iter().for_each(|&value| expected[value as usize] += 1);
    assert_eq!(stream.download_vec(&counts)?, expected);
    // SAFETY: it is refused.
    let refused = unsafe { launch!(stream, histogram<<<10, 256>>>(&input, &mut counts)) };
    let text = refused.unwrap_err().to_string();
    assert!(
        text.contains(
            "its grid is (10, 1, 1), and the kernel is made for grids that are a multiple of its clusters of (4, 1, 1)"
        ),
        "{text}"
    );
    Ok(())
}
