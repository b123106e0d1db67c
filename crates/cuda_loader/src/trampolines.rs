//! The `cu*` symbols themselves: for each a slot in a table, and an instruction or two that jump through it.
//!
//! A slot starts out with the address of a stub that leaves the slot's address in a scratch register and goes to
//! `cuda_loader_resolve`, as a lazily bound procedure linkage table does. That saves whatever registers may hold
//! arguments, calls `cuda_loader_fill` (in `driver`), and jumps through the slot, which is final by then. Arguments on
//! the stack are not touched at all.
//!
//! All of this is hidden, so that neither a shared library built on the crate exports `cu*` symbols, nor the driver's
//! own calls among its functions can end up here.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::symbols::with_symbols;

macro_rules! names {
    ($($name:ident)*) => { [$(stringify!($name)),*] };
}

/// The names, in the order of the table's slots.
pub(crate) const NAMES: [&str; 353] = with_symbols!(names);

#[cfg(target_arch = "x86_64")]
macro_rules! define {
    ($($name:ident)*) => {
        std::arch::global_asm!(
            // A slot, its trampoline, and the stub that the slot starts out with.
            r#"
            .macro cuda_loader_symbol name
                .pushsection .data.cuda_loader,"aw",@progbits
            .Lcuda_loader_slot_\name:
                .quad .Lcuda_loader_first_\name
                .popsection

                .p2align 4
                .globl \name
                .hidden \name
                .type \name,@function
            \name:
                jmpq *.Lcuda_loader_slot_\name(%rip)
            .Lcuda_loader_first_\name:
                leaq .Lcuda_loader_slot_\name(%rip), %r11
                jmp cuda_loader_resolve
                .size \name, . - \name
            .endm

                .pushsection .data.cuda_loader,"aw",@progbits
                .p2align 3
                .globl cuda_loader_table
                .hidden cuda_loader_table
            cuda_loader_table:
                .popsection

                .pushsection .text.cuda_loader,"ax",@progbits
                .p2align 4
                .type cuda_loader_resolve,@function
            cuda_loader_resolve:
                .cfi_startproc
                pushq %rbp
                .cfi_def_cfa_offset 16
                .cfi_offset %rbp, -16
                movq %rsp, %rbp
                .cfi_def_cfa_register %rbp
                subq $192, %rsp
                movq %rdi, 0(%rsp)
                movq %rsi, 8(%rsp)
                movq %rdx, 16(%rsp)
                movq %rcx, 24(%rsp)
                movq %r8, 32(%rsp)
                movq %r9, 40(%rsp)
                movq %rax, 48(%rsp)
                movq %r11, 56(%rsp)
                movaps %xmm0, 64(%rsp)
                movaps %xmm1, 80(%rsp)
                movaps %xmm2, 96(%rsp)
                movaps %xmm3, 112(%rsp)
                movaps %xmm4, 128(%rsp)
                movaps %xmm5, 144(%rsp)
                movaps %xmm6, 160(%rsp)
                movaps %xmm7, 176(%rsp)
                callq cuda_loader_fill@PLT
                movq 0(%rsp), %rdi
                movq 8(%rsp), %rsi
                movq 16(%rsp), %rdx
                movq 24(%rsp), %rcx
                movq 32(%rsp), %r8
                movq 40(%rsp), %r9
                movq 48(%rsp), %rax
                movq 56(%rsp), %r11
                movaps 64(%rsp), %xmm0
                movaps 80(%rsp), %xmm1
                movaps 96(%rsp), %xmm2
                movaps 112(%rsp), %xmm3
                movaps 128(%rsp), %xmm4
                movaps 144(%rsp), %xmm5
                movaps 160(%rsp), %xmm6
                movaps 176(%rsp), %xmm7
                leave
                .cfi_def_cfa %rsp, 8
                jmpq *(%r11)
                .cfi_endproc
                .size cuda_loader_resolve, . - cuda_loader_resolve
            "#,
            $(concat!("cuda_loader_symbol ", stringify!($name)),)*
            ".popsection",
            ".purgem cuda_loader_symbol",
            options(att_syntax)
        );
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! define {
    ($($name:ident)*) => {
        std::arch::global_asm!(
            // As on x86-64. The load is an acquire, so a thread that sees a slot filled by another
            // also sees the driver that the other mapped; x86-64 orders all loads so.
            r#"
            .macro cuda_loader_symbol name
                .pushsection .data.cuda_loader,"aw",@progbits
            .Lcuda_loader_slot_\name:
                .xword .Lcuda_loader_first_\name
                .popsection

                .p2align 4
                .globl \name
                .hidden \name
                .type \name,@function
            \name:
                adrp x16, .Lcuda_loader_slot_\name
                add x16, x16, :lo12:.Lcuda_loader_slot_\name
                ldar x17, [x16]
                br x17
            .Lcuda_loader_first_\name:
                b cuda_loader_resolve
                .size \name, . - \name
            .endm

                .pushsection .data.cuda_loader,"aw",@progbits
                .p2align 3
                .globl cuda_loader_table
                .hidden cuda_loader_table
            cuda_loader_table:
                .popsection

                .pushsection .text.cuda_loader,"ax",@progbits
                .p2align 4
                .type cuda_loader_resolve,@function
            // Comes with the slot's address still in x16.
            cuda_loader_resolve:
                .cfi_startproc
                stp x29, x30, [sp, #-224]!
                .cfi_def_cfa_offset 224
                .cfi_offset x29, -224
                .cfi_offset x30, -216
                mov x29, sp
                stp x0, x1, [sp, #16]
                stp x2, x3, [sp, #32]
                stp x4, x5, [sp, #48]
                stp x6, x7, [sp, #64]
                stp x8, x16, [sp, #80]
                stp q0, q1, [sp, #96]
                stp q2, q3, [sp, #128]
                stp q4, q5, [sp, #160]
                stp q6, q7, [sp, #192]
                bl cuda_loader_fill
                ldp x0, x1, [sp, #16]
                ldp x2, x3, [sp, #32]
                ldp x4, x5, [sp, #48]
                ldp x6, x7, [sp, #64]
                ldp x8, x16, [sp, #80]
                ldp q0, q1, [sp, #96]
                ldp q2, q3, [sp, #128]
                ldp q4, q5, [sp, #160]
                ldp q6, q7, [sp, #192]
                ldp x29, x30, [sp], #224
                .cfi_def_cfa_offset 0
                .cfi_restore x29
                .cfi_restore x30
                ldar x17, [x16]
                br x17
                .cfi_endproc
                .size cuda_loader_resolve, . - cuda_loader_resolve
            "#,
            $(concat!("cuda_loader_symbol ", stringify!($name)),)*
            ".popsection",
            ".purgem cuda_loader_symbol",
        );
    };
}

with_symbols!(define);

unsafe extern "C" {
    /// One slot for each of [`NAMES`], defined above.
    safe static cuda_loader_table: [AtomicPtr<c_void>; NAMES.len()];
}

/// Sets the slot of each name to the result of `target`.
pub(crate) fn fill(mut target: impl FnMut(&'static str) -> *const c_void) {
    for (slot, name) in cuda_loader_table.iter().zip(NAMES) {
        slot.store(target(name).cast_mut(), Ordering::Release);
    }
}
