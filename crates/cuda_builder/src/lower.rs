//! Replaces instructions that LLVM translates wrongly or not at all for a GPU by calls.

use crate::{
    error::Result,
    llvm::{AtomicOperation, Instruction, Module, Opcode, Ordering},
};

/// Called functions, besides LLVM's own: functions of Rust's `compiler_builtins`, whose `fmod` is
/// `libm`'s.
const CALLED: &[&str] = &[
    "fmod",
    "fmodf",
    "__floattisf",
    "__floattidf",
    "__floatuntisf",
    "__floatuntidf",
    "__fixsfti",
    "__fixdfti",
    "__fixunssfti",
    "__fixunsdfti",
];

/// Returns true for the path of a function of `compiler_builtins` that replaces an instruction or
/// is called by one that does.
pub fn is_compiler_builtin(path: &str) -> bool {
    CALLED.contains(&path) || path.contains("compiler_builtins::")
}

/// Replaces them.
pub fn lower(module: &mut Module<'_>) -> Result<()> {
    module.replace(|instruction| match instruction.opcode() {
        Opcode::LLVMFRem => remainder(&instruction.result()),
        Opcode::LLVMUIToFP | Opcode::LLVMSIToFP | Opcode::LLVMFPToUI | Opcode::LLVMFPToSI => wide_conversion(instruction),
        Opcode::LLVMCall => spin_loop(instruction).or_else(|| wide_conversion(instruction)),
        Opcode::LLVMFence => compiler_fence(instruction),
        Opcode::LLVMAtomicRMW => atomic(instruction),
        _ => None,
    })
}

/// LLVM's own is x - trunc(x / y) y, which is wrong as soon as the quotient is rounded. `fmod` is exact.
fn remainder(ty: &str) -> Option<String> {
    // A vector's type is `<4 x float>`.
    let Some((lanes, element)) = ty.trim_matches(['<', '>']).split_once(" x ") else {
        return Some(format!("{}  ret {ty} %r\n}}\n{}", scalar_remainder(ty, "%0", "%1", "%r")?, fmod(ty)));
    };
    let mut text = String::new();
    let mut vector = "poison".to_owned();
    for lane in 0..lanes.parse::<u32>().ok()? {
        text += &format!("  %x{lane} = extractelement {ty} %0, i32 {lane}\n  %y{lane} = extractelement {ty} %1, i32 {lane}\n");
        text += &scalar_remainder(element, &format!("%x{lane}"), &format!("%y{lane}"), &format!("%r{lane}"))?;
        text += &format!("  %v{lane} = insertelement {ty} {vector}, {element} %r{lane}, i32 {lane}\n");
        vector = format!("%v{lane}");
    }
    Some(format!("{text}  ret {ty} {vector}\n}}\n{}", fmod(element)))
}

/// The declaration of the `fmod` that serves a type.
fn fmod(ty: &str) -> &'static str {
    match ty {
        "double" => "declare double @fmod(double, double)\n",
        _ => "declare float @fmodf(float, float)\n",
    }
}

fn scalar_remainder(ty: &str, x: &str, y: &str, r: &str) -> Option<String> {
    match ty {
        "double" => Some(format!("  {r} = call double @fmod(double {x}, double {y})\n")),
        "float" => Some(format!("  {r} = call float @fmodf(float {x}, float {y})\n")),
        // A remainder has no more digits than its operands, so that nothing is rounded on the way back.
        "half" | "bfloat" => Some(format!(
            "  {r}.x = fpext {ty} {x} to float\n  {r}.y = fpext {ty} {y} to float\n\
             \x20 {r}.wide = call float @fmodf(float {r}.x, float {r}.y)\n  {r} = fptrunc float {r}.wide to {ty}\n"
        )),
        _ => None,
    }
}

/// Conversions between floats and integers of 128 bits, which LLVM leaves to a library.
fn wide_conversion(instruction: &Instruction<'_>) -> Option<String> {
    let [operand] = &instruction.operands()[..] else {
        return None;
    };
    let (from, to) = (operand.as_str(), instruction.result());
    let signed = match instruction.opcode() {
        Opcode::LLVMSIToFP | Opcode::LLVMFPToSI => true,
        Opcode::LLVMUIToFP | Opcode::LLVMFPToUI => false,
        // `as` saturates, as the library does.
        _ => match instruction.callee()? {
            name if name.starts_with("llvm.fptosi.sat.") => true,
            name if name.starts_with("llvm.fptoui.sat.") => false,
            _ => return None,
        },
    };
    let letter = |float: &str| match float {
        "double" => Some(("double", "d")),
        // No integer of more than 24 bits is finite as a half, so that going through a float rounds only once.
        "float" | "half" => Some(("float", "s")),
        _ => None,
    };
    if from == "i128" {
        let (float, letter) = letter(&to)?;
        let function = format!("__float{}ti{letter}f", if signed { "" } else { "un" });
        let (narrow, result) =
            if to == float { (String::new(), "%r") } else { (format!("  %n = fptrunc float %r to {to}\n"), "%n") };
        Some(format!(
            "  %r = call {float} @{function}(i128 %0)\n{narrow}  ret {to} {result}\n}}\ndeclare {float} @{function}(i128)\n"
        ))
    } else if to == "i128" {
        let (float, letter) = letter(from)?;
        let function = format!("__fix{}{letter}fti", if signed { "" } else { "uns" });
        let (wide, operand) =
            if from == float { (String::new(), "%0") } else { (format!("  %w = fpext {from} %0 to float\n"), "%w") };
        Some(format!(
            "{wide}  %r = call i128 @{function}({float} {operand})\n  ret i128 %r\n}}\ndeclare i128 @{function}({float})\n"
        ))
    } else {
        None
    }
}

/// `core::hint::spin_loop`, which is an instruction of the host's processor: nothing.
fn spin_loop(instruction: &Instruction<'_>) -> Option<String> {
    let is_one = matches!(&*instruction.callee()?, "llvm.x86.sse2.pause" | "llvm.aarch64.isb");
    is_one.then(|| "  ret void\n}\n".to_owned())
}

/// A fence for the compiler alone: LLVM stops at one.
fn compiler_fence(instruction: &Instruction<'_>) -> Option<String> {
    let single = instruction.scope()? == "singlethread";
    single.then(|| "  call void asm sideeffect \"\", \"~{memory}\"()\n  ret void\n}\n".to_owned())
}

/// LLVM writes every `atomicrmw` that PTX has an instruction for as a plain `atom`, which is relaxed and in the scope
/// of the device, whatever the order and the scope are. It keeps both in `cmpxchg`, in all operations that it makes of
/// that, in loads, stores and fences.
fn atomic(instruction: &Instruction<'_>) -> Option<String> {
    use AtomicOperation::*;
    let (ordering, operation) = (instruction.ordering()?, instruction.atomic_operation()?);
    let scope = instruction.scope()?;
    let relaxed = matches!(ordering, Ordering::LLVMAtomicOrderingMonotonic | Ordering::LLVMAtomicOrderingUnordered);
    let ptx_scope = atomic_scope(&scope, relaxed)?;
    let order = match ordering {
        _ if relaxed => "relaxed",
        Ordering::LLVMAtomicOrderingAcquire => "acquire",
        Ordering::LLVMAtomicOrderingRelease => "release",
        _ => "acq_rel",
    };
    let [pointer, ty] = &<[String; 2]>::try_from(instruction.operands()).ok()?;

    // The value's bits, and the register that holds them.
    let (bits, register) = match &**ty {
        "i64" | "ptr" => ("i64", "l"),
        "i32" => ("i32", "r"),
        "double" if operation == LLVMAtomicRMWBinOpFAdd => ("double", "d"),
        "float" if operation == LLVMAtomicRMWBinOpFAdd => ("float", "f"),
        "double" => ("i64", "l"),
        "float" => ("i32", "r"),
        "half" if operation == LLVMAtomicRMWBinOpFAdd => ("i16", "h"),
        // A part of a word, which PTX has no instructions for; LLVM widens these three to the word, and makes the
        // others of `cmpxchg`.
        "i8" | "i16" if matches!(operation, LLVMAtomicRMWBinOpAnd | LLVMAtomicRMWBinOpOr | LLVMAtomicRMWBinOpXor) => ("i32", "r"),
        _ => return None,
    };
    let ptx_operation = atomic_operation(operation, bits, ty)?;

    let mut text = String::new();
    if ordering == Ordering::LLVMAtomicOrderingSequentiallyConsistent {
        let scope = if scope.is_empty() { scope } else { format!("syncscope(\"{scope}\") ") };
        text += &format!("  fence {scope}seq_cst\n");
    }
    let mut address = "%0";
    if pointer != "ptr" {
        text += &format!("  %generic = addrspacecast {pointer} %0 to ptr\n");
        address = "%generic";
    }
    let part = matches!(&**ty, "i8" | "i16");
    if part {
        text += &format!(
            "  %address = ptrtoint ptr {address} to i64\n  %low = and i64 %address, 3\n  %back = sub i64 0, %low\n\
             \x20 %word = getelementptr i8, ptr {address}, i64 %back\n  %low.bits = trunc i64 %low to i32\n\
             \x20 %shift = shl i32 %low.bits, 3\n  %wide = zext {ty} %1 to i32\n  %moved = shl i32 %wide, %shift\n"
        );
        address = "%word";
        // The operand that leaves the rest of the word as it is.
        text += &match operation {
            LLVMAtomicRMWBinOpAnd => format!(
                "  %ones = zext {ty} -1 to i32\n  %mask = shl i32 %ones, %shift\n  %others = xor i32 %mask, -1\n\
                 \x20 %value = or i32 %moved, %others\n"
            ),
            _ => "  %value = or i32 %moved, 0\n".to_owned(),
        };
    } else if operation == LLVMAtomicRMWBinOpSub {
        text += &format!("  %value = sub {bits} 0, %1\n");
    } else if ty == "ptr" {
        text += "  %value = ptrtoint ptr %1 to i64\n";
    } else {
        text += &format!("  %value = bitcast {ty} %1 to {bits}\n");
    }
    // Other accesses may move past a relaxed operation.
    let reach = if relaxed { " memory(argmem: readwrite)" } else { "" };
    text += &format!(
        "  %old = call {bits} asm sideeffect \"atom.{order}.{ptx_scope}.{ptx_operation} $0, [$1], $2;\", \
         \"={register},l,{register},~{{memory}}\"(ptr {address}, {bits} %value) nounwind{reach}\n"
    );
    text += &if part {
        format!("  %old.moved = lshr i32 %old, %shift\n  %result = trunc i32 %old.moved to {ty}\n")
    } else if ty == "ptr" {
        "  %result = inttoptr i64 %old to ptr\n".to_owned()
    } else {
        format!("  %result = bitcast {bits} %old to {ty}\n")
    };
    Some(text + &format!("  ret {ty} %result\n}}\n"))
}

/// Returns the PTX name of an atomic operation's scope, or `None` if LLVM's own instruction will do: a wider scope is
/// never wrong.
fn atomic_scope(scope: &str, relaxed: bool) -> Option<&'static str> {
    match scope {
        "" => Some("sys"),
        "device" | "cluster" | "block" | "singlethread" if relaxed => None,
        "device" => Some("gpu"),
        "cluster" => Some("cluster"),
        "block" | "singlethread" => Some("cta"),
        _ => None,
    }
}

/// Returns the operation and type of a PTX `atom` on a register of type `bits` that holds a value of type `ty`.
fn atomic_operation(operation: AtomicOperation, bits: &str, ty: &str) -> Option<String> {
    use AtomicOperation::*;
    let (size, unsigned, signed) = if bits == "i64" { ("b64", "u64", "s64") } else { ("b32", "u32", "s32") };
    Some(match operation {
        LLVMAtomicRMWBinOpXchg => format!("exch.{size}"),
        LLVMAtomicRMWBinOpAdd | LLVMAtomicRMWBinOpSub => format!("add.{unsigned}"),
        LLVMAtomicRMWBinOpAnd => format!("and.{size}"),
        LLVMAtomicRMWBinOpOr => format!("or.{size}"),
        LLVMAtomicRMWBinOpXor => format!("xor.{size}"),
        LLVMAtomicRMWBinOpMax => format!("max.{signed}"),
        LLVMAtomicRMWBinOpMin => format!("min.{signed}"),
        LLVMAtomicRMWBinOpUMax => format!("max.{unsigned}"),
        LLVMAtomicRMWBinOpUMin => format!("min.{unsigned}"),
        LLVMAtomicRMWBinOpUIncWrap if bits == "i32" => "inc.u32".to_owned(),
        LLVMAtomicRMWBinOpUDecWrap if bits == "i32" => "dec.u32".to_owned(),
        LLVMAtomicRMWBinOpFAdd => match ty {
            "double" => "add.f64".to_owned(),
            "float" => "add.f32".to_owned(),
            _ => "add.noftz.f16".to_owned(),
        },
        _ => return None,
    })
}
