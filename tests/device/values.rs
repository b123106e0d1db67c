//! Buffers of enums and padded structures.

use outside::kernels::values::*;
use std::num::NonZero;
use warpsmith::device::{Device, DeviceCopy, DeviceError, Stream, View};
use warpsmith::launch;

type Result<T = (), E = DeviceError> = std::result::Result<T, E>;

const FIGURES: [Figure; 6] = [
    Figure::Letter('ß'),
    Figure::Path { lengths: [1.0, 2.0, 4.0], closed: true },
    Figure::Empty,
    Figure::Circle { radius: 2.0 },
    Figure::Path { lengths: [1.5, 0.0, 0.5], closed: false },
    Figure::Letter(char::MAX),
];

fn stream() -> Result<Stream> {
    Device::best()?.stream()
}

#[test]
fn padded_structures_are_written() -> Result {
    let stream = stream()?;
    let figures = stream.device().upload(&FIGURES)?;
    // Of one block, and of several.
    for grid in [1, 3] {
        let mut items = stream.device().alloc_zeroed::<Item>(6)?;
        launch!(stream, measure<<<grid, 2>>>(&figures, &mut items))?;
        let measured = [
            (false, 4.0, 1.0, true),
            (false, 7.0, 0.0, false),
            (false, 0.0, 0.0, false),
            (false, 12.0, 12.0, true),
            (true, 2.0, 0.0, false),
            (false, 4.0, 1.0, true),
        ];
        let item = |(&figure, (is_line, border, area, bounded)): (&Figure, _)| {
            let border = Pair(Flag(is_line), border);
            Item { figure, border, area, bounded }
        };
        let expected: Vec<Item> = FIGURES.iter().zip(measured).map(item).collect();
        assert_eq!(stream.download_vec(&items)?, expected);
        assert_eq!(stream.download_vec(items.view(4..5)?)?, expected[4..5]);
    }
    Ok(())
}

#[test]
fn enums_become_other_variants() -> Result {
    let stream = stream()?;
    let mut figures = stream.device().upload(&FIGURES)?;
    launch!(stream, turn<<<2, 4>>>(&mut figures))?;
    let mut turned = [
        Figure::Empty,
        Figure::Circle { radius: 1.0 },
        Figure::Letter('c'),
        Figure::Path { lengths: [2.0, 4.0, 6.0], closed: false },
        Figure::Path { lengths: [1.5, 0.0, 0.5], closed: true },
        Figure::Empty,
    ];
    assert_eq!(stream.download_vec(&figures)?, turned);
    turned.reverse();
    stream.upload(&mut figures, &turned)?;
    let mut back = FIGURES;
    stream.download(&figures, &mut back)?;
    assert_eq!(back, turned);
    let mut half = stream.device().upload(&FIGURES[..3])?;
    stream.copy(figures.view(3..)?, &mut half)?;
    assert_eq!(stream.download_vec(&half)?, turned[3..]);
    Ok(())
}

#[test]
fn no_elements() -> Result {
    let stream = stream()?;
    let (figures, mut items) = (stream.device().upload::<Figure>(&[])?, stream.device().empty::<Item>());
    launch!(stream, measure<<<1, 32>>>(&figures, &mut items))?;
    assert_eq!(stream.download_vec(&items)?, []);
    stream.fill_zero(&mut items)?;
    stream.download(&figures, &mut [])
}

#[test]
fn zero_is_a_value_of_some() -> Result {
    let stream = stream()?;
    let mut figures = stream.device().upload(&FIGURES)?;
    stream.fill_zero(figures.view_mut(1..5)?)?;
    let mut expected = FIGURES;
    expected[1..5].fill(Figure::Empty);
    assert_eq!(stream.download_vec(&figures)?, expected);
    let zero = Item { figure: Figure::Empty, border: Pair(Flag(false), 0.0), area: 0.0, bounded: false };
    assert_eq!(stream.download_vec(&stream.device().alloc_zeroed::<Item>(3)?)?, [zero; 3]);
    let mut signs = stream.device().upload(&[Sign::Plus; 3])?;
    stream.fill(signs.view_mut(1..2)?, Sign::Minus)?;
    assert_eq!(stream.download_vec(&signs)?, [Sign::Plus, Sign::Minus, Sign::Plus]);
    Ok(())
}

#[test]
fn packed_structures() -> Result {
    let stream = stream()?;
    let numbers = stream.device().upload(&[1i16, -1, 256, i16::MIN])?;
    let signed = |sign, size| Signed { sign, size: NonZero::new(size).unwrap() };
    let mut out = stream.device().upload(&[signed(Sign::Plus, 7); 4])?;
    launch!(stream, signs<<<1, 4>>>(&numbers, &mut out))?;
    let expected = [(Sign::Plus, 1), (Sign::Minus, 1), (Sign::Plus, 256), (Sign::Minus, 32768)];
    assert_eq!(stream.download_vec(&out)?, expected.map(|(sign, size)| signed(sign, size)));
    Ok(())
}

#[test]
fn memory_of_the_host() -> Result {
    let stream = stream()?;
    let mut pinned = stream.device().pinned::<Figure>(6)?;
    assert_eq!(pinned[..], [Figure::Empty; 6]);
    pinned.copy_from_slice(&FIGURES);
    let mut figures = stream.device().alloc_zeroed::<Figure>(6)?;
    let pinned = stream.upload_async(pinned, &mut figures)?.wait()?;
    launch!(stream, turn<<<1, 32>>>(&mut figures))?;
    let pinned = stream.download_async(&figures, pinned)?.wait()?;
    assert_eq!((pinned[0], pinned[1], pinned[2]), (Figure::Empty, Figure::Circle { radius: 1.0 }, Figure::Letter('c')));

    let mut mapped = stream.device().mapped::<Item>(6)?;
    launch!(stream, measure<<<1, 32>>>(&figures, &mut mapped.as_view_mut()))?;
    stream.synchronize()?;
    // SAFETY: the kernel is done.
    let items = unsafe { mapped.as_slice() };
    assert!(items.iter().map(|item| item.figure).eq(pinned.iter().copied()));
    assert_eq!((items[1].border, items[1].area, items[1].bounded), (Pair(Flag(false), 6.0), 3.0, true));
    Ok(())
}

/// Code of the host that is generic over the elements.
#[test]
fn generic_code() -> Result {
    fn last<T: DeviceCopy>(stream: &Stream, values: View<'_, T>) -> Result<Option<T>> {
        Ok(stream.download_vec(values.view(values.len().saturating_sub(1)..)?)?.pop())
    }
    let stream = stream()?;
    let device = stream.device();
    assert_eq!(last(&stream, device.upload(&FIGURES)?.as_view())?, Some(Figure::Letter(char::MAX)));
    assert_eq!(last(&stream, device.upload(&[1u8, 2])?.as_view())?, Some(2));
    assert_eq!(last(&stream, device.empty::<Sign>().as_view())?, None);
    Ok(())
}
