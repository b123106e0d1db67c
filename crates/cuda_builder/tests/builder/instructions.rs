//! Instructions that LLVM would write wrongly or not at all.

use crate::{
    device_code::{assert_has, assert_lacks, kernel},
    krate::{Krate, ptx},
};

/// `x - trunc(x / y) * y` gives -1.5e-8 for 1 % 0.1.
#[test]
fn remainders_are_exact() {
    let krate = Krate::bare(
        "remainders",
        "#![feature(f16, repr_simd)]
        #[repr(simd)] #[derive(Clone, Copy)] pub struct Four([f32; 4]);
        KERNEL single(x: *mut f32, y: f32) { unsafe { *x = *x % y } }
        KERNEL double(x: *mut f64, y: f64) { unsafe { *x = *x % y } }
        KERNEL half(x: *mut f16, y: *const f16) { unsafe { *x = *x % *y } }
        KERNEL vector(x: *mut Four, y: *const Four) { unsafe { *x = core::intrinsics::simd::simd_rem(*x, *y) } }",
    );
    let text = ptx(krate.builder());
    for name in ["single", "double", "half", "vector"] {
        // The quotient of the floats is never made an integer; the remainder is that of the significands.
        let body = kernel(&text, name);
        assert_lacks(body, &["cvt.rzi.f"]);
        assert!(body.contains("rem.u") || body.contains("fmod"), "{body}");
    }
    assert_eq!(kernel(&text, "vector").matches("fmodf").count(), 4, "one for each lane");
    assert_lacks(&text, &["cvt.rzi.f", ".extern .func"]);
}

#[test]
fn wide_conversions() {
    let krate = Krate::bare(
        "wide",
        "#![feature(f16)]
        KERNEL from_wide(x: *const u128, double: *mut f64, single: *mut f32, half: *mut f16) { unsafe {
            (*double, *single, *half) = (*x as f64, *x as f32, *x as f16);
            (*double.add(1), *single.add(1), *half.add(1)) = (*x as i128 as f64, *x as i128 as f32, *x as i128 as f16);
        } }
        KERNEL to_wide(x: f64, y: f32, z: *const f16, out: *mut u128, signed: *mut i128) { unsafe {
            (*out, *out.add(1), *out.add(2)) = (x as u128, y as u128, *z as u128);
            (*signed, *signed.add(1), *signed.add(2)) = (x as i128, y as i128, *z as i128);
            (*out.add(3), *signed.add(3)) = (x.to_int_unchecked(), x.to_int_unchecked());
        } }
        KERNEL quotient(x: *mut u128, y: *const u128) { unsafe { *x = *x / *y } }",
    );
    let text = ptx(krate.builder());
    for name in ["from_wide", "to_wide", "quotient"] {
        kernel(&text, name);
    }
    assert_lacks(&text, &[".extern .func"]);
}

/// With constant operands the optimiser evaluates the functions that replace instructions, and the
/// PTX has their results: each is called once, so it is inlined.
#[test]
fn values_of_the_functions() {
    let krate = Krate::bare(
        "known",
        "static SINGLES: [f32; 2] = [1.0, 0.1];
        static DOUBLES: [f64; 2] = [9007199254740993e3, -7.0];
        static LARGE: f64 = 3e20;
        static WIDE: u128 = (1 << 100) + (1 << 76) + 1;
        KERNEL single(out: *mut f32) { unsafe { *out = SINGLES[0] % SINGLES[1] } }
        KERNEL double(out: *mut f64) { unsafe { *out = DOUBLES[0] % DOUBLES[1] } }
        KERNEL widened(out: *mut u128) { unsafe { *out = LARGE as u128 } }
        KERNEL narrowed(out: *mut f32) { unsafe { *out = WIDE as f32 } }",
    );
    let text = ptx(krate.builder());
    let check = |name: &str, bits: u64| {
        let body = kernel(&text, name);
        assert!(holds(body, bits), "{bits:#x} in\n{body}");
    };
    // 0.1f32 is 13421773 / 2^27; 9007199254740993e3 is an integer in f64, too.
    check("single", ((((1 << 27) % 13421773) as f32) / (1 << 27) as f32).to_bits().into());
    check("double", ((9007199254740993e3 as i128 % -7) as f64).to_bits());
    let whole = 300_000_000_000_000_000_000_u128;
    check("widened", whole as u64);
    check("widened", (whole >> 64) as u64);
    // Just above the middle of two floats.
    check("narrowed", (2f32.powi(100).to_bits() + 1).into());
}

/// Returns true if the text has a number of these bits, as an integer of either width or a float.
fn holds(text: &str, bits: u64) -> bool {
    let forms = [format!("{}", bits as i64), format!("{}", bits as i32), format!("0f{bits:08X}"), format!("0d{bits:016X}")];
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).any(|word| forms.iter().any(|form| form == word))
}

/// One kernel for each operation of the standard library's atomics in each of its orders.
#[test]
fn atomics_keep_their_order_and_scope() {
    let orders = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
    // The method, its arguments, and PTX's operation for 32 and 64 bits.
    let operations = [
        ("swap", "exch.b32", "exch.b64"),
        ("fetch_add", "add.u32", "add.u64"),
        ("fetch_sub", "add.u32", "add.u64"),
        ("fetch_and", "and.b32", "and.b64"),
        ("fetch_or", "or.b32", "or.b64"),
        ("fetch_xor", "xor.b32", "xor.b64"),
        ("fetch_max", "max.s32", "max.u64"),
        ("fetch_min", "min.s32", "min.u64"),
        ("fetch_nand", "cas.b32", "cas.b64"),
    ];
    let mut source = String::from("#![feature(atomic_from_mut)]\nuse core::sync::atomic::{*, Ordering::*};\n");
    for order in orders {
        for (method, ..) in operations {
            for (name, atomic, ty) in [("word", "AtomicI32", "i32"), ("long", "AtomicU64", "u64"), ("byte", "AtomicU8", "u8")] {
                source += &format!(
                    "KERNEL {name}_{method}_{order}(p: *const {atomic}, v: {ty}, out: *mut {ty}) {{ \
                     unsafe {{ *out = (*p).{method}(v, {order}) }} }}\n"
                );
            }
        }
        let failure = match order {
            "Release" => "Relaxed",
            "AcqRel" => "Acquire",
            order => order,
        };
        source += &format!(
            "KERNEL exchange_{order}(p: *const AtomicU32, old: u32, new: u32, out: *mut bool) {{ \
             unsafe {{ *out = (*p).compare_exchange(old, new, {order}, {failure}).is_ok() }} }}\n\
             KERNEL pointer_{order}(p: *const AtomicPtr<u8>, new: *mut u8, out: *mut *mut u8) {{ \
             unsafe {{ *out = (*p).swap(new, {order}) }} }}\n"
        );
        if order != "Release" && order != "AcqRel" {
            source += &format!(
                "KERNEL load_{order}(p: *const AtomicU32, out: *mut u32) {{ unsafe {{ *out = (*p).load({order}) }} }}\n"
            );
        }
        if order != "Acquire" && order != "AcqRel" {
            source += &format!("KERNEL store_{order}(p: *const AtomicU32, v: u32) {{ unsafe {{ (*p).store(v, {order}) }} }}\n");
        }
        if order != "Relaxed" {
            source += &format!(
                "KERNEL fence_{order}(p: *mut u32) {{ unsafe {{ *p = 1; fence({order}); *p.add(1) = 1 }} }}\n\
                 KERNEL compiler_{order}(p: *mut u32) {{ unsafe {{ *p = 1; compiler_fence({order}); *p = 2 }} }}\n"
            );
        }
    }
    let text = ptx(Krate::bare("atomics", &source).builder());

    let body = |name: String| kernel(&text, &name).to_owned();
    for order in orders {
        // Acceptable forms: the instruction's order, and the fence that makes it sequentially
        // consistent.
        let forms: &[&str] = match order {
            "Relaxed" => &["relaxed"],
            "Acquire" => &["acquire"],
            "Release" => &["release"],
            "AcqRel" => &["acq_rel"],
            _ => &["acquire", "acq_rel"],
        };
        let sequential = order == "SeqCst";
        let check = |name: String, operation: &str| {
            let body = body(name);
            let found = forms
                .iter()
                .any(|form| ["", ".global"].iter().any(|space| body.contains(&format!("atom.{form}.sys{space}.{operation} "))));
            assert!(found, "no {forms:?} {operation} in {body}");
            assert_eq!(body.contains("fence.sc.sys"), sequential, "{body}");
            // Nothing without an order or a scope beside it.
            let bare = body.lines().any(|line| {
                let line = line.trim();
                (line.starts_with("atom.") || line.starts_with("red.")) && !line.contains(".sys.")
            });
            assert!(!bare, "{body}");
        };
        for (method, word, long) in operations {
            check(format!("word_{method}_{order}"), word);
            check(format!("long_{method}_{order}"), long);
            // PTX has no atomics of bytes: these are the word's, or made of its comparisons.
            let byte = if ["fetch_and", "fetch_or", "fetch_xor"].contains(&method) { word } else { "cas.b32" };
            check(format!("byte_{method}_{order}"), byte);
        }
        check(format!("exchange_{order}"), "cas.b32");
        check(format!("pointer_{order}"), "exch.b64");
        let order_of_load = if sequential { "acquire" } else { forms[0] };
        if order != "Release" && order != "AcqRel" {
            let body = body(format!("load_{order}"));
            assert_has(&body, &[&format!("ld.{order_of_load}.sys")]);
            assert_eq!(body.contains("fence.sc.sys"), sequential, "{body}");
        }
        if order != "Acquire" && order != "AcqRel" {
            let body = body(format!("store_{order}"));
            assert_has(&body, &[&format!("st.{}.sys", if sequential { "release" } else { forms[0] })]);
            assert_eq!(body.contains("fence.sc.sys"), sequential, "{body}");
        }
        if order != "Relaxed" {
            assert_has(&body(format!("fence_{order}")), &[if sequential { "fence.sc.sys" } else { "fence.acq_rel.sys" }]);
            // Both stores stay, and nothing stands between them.
            let body = body(format!("compiler_{order}"));
            assert_eq!(body.matches("st.global.b32").count(), 2, "{body}");
            assert_lacks(&body, &["fence"]);
        }
    }
}
