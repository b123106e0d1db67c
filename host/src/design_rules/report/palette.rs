//! Colours of classes: from blue, the fastest, through grey to orange, the slowest, which those who see few colours
//! tell apart, too.

/// On a light page.
const LIGHT: [[u8; 3]; 5] = [[0x0b, 0x5f, 0xa5], [0x5b, 0x93, 0xbd], [0x95, 0x90, 0x84], [0xd0, 0x8c, 0x4f], [0xb8, 0x43, 0x0f]];
/// On a dark one.
const DARK: [[u8; 3]; 5] = [[0x4e, 0xa1, 0xe8], [0x86, 0xb4, 0xd6], [0xa8, 0xa4, 0x9c], [0xdf, 0xa7, 0x7a], [0xf0, 0x7a, 0x45]];

/// The style rules that give `.k0`, `.k1`, ... their colour `--c`.
pub(super) fn style(classes: usize) -> String {
    let rules = |colours: &[[u8; 3]; 5]| -> String {
        let rule = |class: usize| {
            let [r, g, b] = blend(colours, if classes > 1 { class as f64 / (classes - 1) as f64 } else { 0.0 });
            format!(".k{class}{{--c:#{r:02x}{g:02x}{b:02x}}}")
        };
        (0..classes).map(rule).collect()
    };
    let (light, dark) = (rules(&LIGHT), rules(&DARK));
    format!("{light}\n@media screen and (prefers-color-scheme:dark){{{dark}}}\n")
}

/// The colour at a share of the way through these.
fn blend(colours: &[[u8; 3]; 5], share: f64) -> [u8; 3] {
    let at = share * (colours.len() - 1) as f64;
    let first = (at.floor() as usize).min(colours.len() - 2);
    let part = at - first as f64;
    std::array::from_fn(|channel| {
        let [from, to] = [first, first + 1].map(|index| f64::from(colours[index][channel]));
        (from + part * (to - from)).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_the_first_to_the_last() {
        assert_eq!([0.0, 0.25, 1.0].map(|share| blend(&LIGHT, share)), [LIGHT[0], LIGHT[1], LIGHT[4]]);
        assert_eq!(blend(&[[0; 3], [100; 3], [100; 3], [100; 3], [100; 3]], 0.125), [50; 3]);
        assert!(style(1).starts_with(".k0{--c:#0b5fa5}\n"));
        assert_eq!(style(11).matches("--c").count(), 22);
    }
}
