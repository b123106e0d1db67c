//! Functions.

use std::{
    ffi::{c_char, c_uint},
    ptr, slice,
};

use llvm_sys::{LLVMLinkage, LLVMOpcode, LLVMTypeKind, LLVMUnnamedAddr, LLVMVisibility, core::*, prelude::*};

use super::{
    context::Context,
    text::{c_string, message},
    value::{functions_using, instructions, name, section, users},
};
use crate::{
    names::{ALLOCATOR, KERNEL_SECTION, REPORT_MESSAGE},
    symbols,
};

/// PTX kernels' calling convention: `CallingConv::PTX_Kernel`.
const PTX_KERNEL: c_uint = 71;

/// A function of a module. It borrows the module, since dropping or optimising that may end it.
#[derive(Clone, Copy)]
pub struct Function<'m> {
    pub(super) value: LLVMValueRef,
    pub(super) context: &'m Context,
}

impl Function<'_> {
    pub fn name(&self) -> String {
        name(self.value)
    }
    pub fn is_declaration(&self) -> bool {
        // SAFETY: a live function.
        unsafe { LLVMIsDeclaration(self.value) != 0 }
    }
    pub fn is_intrinsic(&self) -> bool {
        self.name().starts_with("llvm.")
    }
    pub fn is_used(&self) -> bool {
        // SAFETY: a live function.
        unsafe { !LLVMGetFirstUse(self.value).is_null() }
    }
    pub fn never_returns(&self) -> bool {
        const NAME: &str = "noreturn";
        // SAFETY: a live function, and an attribute's name with its length.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(NAME.as_ptr().cast(), NAME.len());
            !LLVMGetEnumAttributeAtIndex(self.value, llvm_sys::LLVMAttributeFunctionIndex, kind).is_null()
        }
    }
    /// Returns true if it prints a panic, and isn't hidden: panics will call it.
    pub(super) fn is_report(&self) -> bool {
        // SAFETY: a live function.
        let external = unsafe { LLVMGetLinkage(self.value) } == LLVMLinkage::LLVMExternalLinkage;
        external && REPORT_MESSAGE.iter().any(|(_, report)| report.to_bytes() == self.name().as_bytes())
    }
    /// Returns true if it is a function of the global allocator, by the name that `alloc` calls.
    pub(super) fn is_allocator(&self) -> bool {
        // SAFETY: a live function.
        let external = unsafe { LLVMGetLinkage(self.value) } == LLVMLinkage::LLVMExternalLinkage;
        external && ALLOCATOR.contains(&&*symbols::readable(&self.name()))
    }
    /// Gives it this name, and its place to a declaration that has it.
    pub(super) fn rename(&self, name: &str) {
        let text = c_string(name);
        // SAFETY: a live function with a definition. If its module also has a declaration of the
        // name, there is no handle to that, because `Module::name_allocator` walks over
        // definitions. The name's length is correct.
        unsafe {
            let declared = LLVMGetNamedFunction(LLVMGetGlobalParent(self.value), text.as_ptr());
            if !declared.is_null() {
                LLVMReplaceAllUsesWith(declared, self.value);
                LLVMDeleteFunction(declared);
            }
            LLVMSetValueName2(self.value, name.as_ptr().cast(), name.len());
            LLVMSetLinkage(self.value, LLVMLinkage::LLVMExternalLinkage);
        }
    }
    /// Returns the launch bounds, which follow the kernel section's name, if the function is in it.
    pub fn kernel_section(&self) -> Option<String> {
        section(self.value).strip_prefix(KERNEL_SECTION).map(str::to_owned)
    }
    pub fn clear_section(&self) {
        // SAFETY: a live function.
        unsafe { LLVMSetSection(self.value, c"".as_ptr()) }
    }
    /// Forgets how the function unwinds; it must not hold landing pads any more.
    pub fn clear_personality(&self) {
        // SAFETY: a live function; null takes the personality away.
        unsafe {
            if LLVMHasPersonalityFn(self.value) != 0 {
                LLVMSetPersonalityFn(self.value, ptr::null_mut());
            }
        }
    }
    pub fn remove_string_attribute(&self, attribute: &str) {
        // SAFETY: a live function, and a name with its length; an absent attribute is ignored.
        unsafe {
            LLVMRemoveStringAttributeAtIndex(
                self.value,
                llvm_sys::LLVMAttributeFunctionIndex,
                attribute.as_ptr().cast(),
                attribute.len() as c_uint,
            );
        }
    }
    pub fn remove_attribute(&self, attribute: &str) {
        // SAFETY: a live function, and a name with its length; an absent attribute is ignored.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(attribute.as_ptr().cast(), attribute.len());
            LLVMRemoveEnumAttributeAtIndex(self.value, llvm_sys::LLVMAttributeFunctionIndex, kind);
        }
    }
    /// Has it inlined into every caller, whatever it or the call says.
    pub fn always_inline(&self) {
        self.remove_attribute("noinline");
        self.add_attribute("alwaysinline");
        users(self.value, &mut |user| {
            // SAFETY: only calls are asked for their attributes; an absent one is ignored.
            unsafe {
                if !LLVMIsACallInst(user).is_null() {
                    let kind = LLVMGetEnumAttributeKindForName(c"noinline".as_ptr(), 8);
                    LLVMRemoveCallSiteEnumAttribute(user, llvm_sys::LLVMAttributeFunctionIndex, kind);
                }
            }
        });
    }
    pub fn add_attribute(&self, attribute: &str) {
        self.add(self.context.enum_attribute(attribute));
    }
    pub fn add_string_attribute(&self, attribute: &str, value: &str) {
        self.add(self.context.string_attribute(attribute, value));
    }
    fn add(&self, attribute: LLVMAttributeRef) {
        // SAFETY: a live function and an attribute of its context.
        unsafe { LLVMAddAttributeAtIndex(self.value, llvm_sys::LLVMAttributeFunctionIndex, attribute) }
    }
    /// Returns true if it is a PTX entry.
    pub(super) fn is_kernel(&self) -> bool {
        // SAFETY: a live function.
        unsafe { LLVMGetFunctionCallConv(self.value) == PTX_KERNEL }
    }
    /// Makes it a PTX entry of that name.
    pub fn make_kernel(&self, symbol: &str) {
        let symbol = c_string(symbol);
        // SAFETY: a live function with a definition.
        unsafe {
            LLVMSetLinkage(self.value, LLVMLinkage::LLVMExternalLinkage);
            LLVMSetVisibility(self.value, LLVMVisibility::LLVMDefaultVisibility);
            LLVMSetUnnamedAddress(self.value, LLVMUnnamedAddr::LLVMNoUnnamedAddr);
            llvm_sys::comdat::LLVMSetComdat(self.value, ptr::null_mut());
            LLVMSetFunctionCallConv(self.value, PTX_KERNEL);
            LLVMSetValueName2(self.value, symbol.as_ptr(), symbol.count_bytes());
        }
    }
    /// LLVM's names of the parameters that PTX can't pass to an entry, with their positions.
    pub fn bad_kernel_parameters(&self) -> Vec<(usize, String)> {
        // SAFETY: a live function; each parameter and its type live as long.
        unsafe {
            (0..LLVMCountParams(self.value))
                .filter_map(|i| {
                    let ty = LLVMTypeOf(LLVMGetParam(self.value, i));
                    let good = match LLVMGetTypeKind(ty) {
                        LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(ty) <= 64,
                        LLVMTypeKind::LLVMFloatTypeKind
                        | LLVMTypeKind::LLVMDoubleTypeKind
                        | LLVMTypeKind::LLVMPointerTypeKind => true,
                        _ => false,
                    };
                    (!good).then(|| (i as usize, message(LLVMPrintTypeToString(ty))))
                })
                .collect()
        }
    }
    /// The functions with an instruction that uses this one.
    pub fn callers(&self) -> Vec<String> {
        functions_using(self.value)
    }
    /// Lets floating-point additions and multiplications fuse.
    pub fn allow_contraction(&self) {
        for instruction in instructions(self.value) {
            // SAFETY: an instruction that can have fast-math flags; the flags are added to those it has.
            unsafe {
                if LLVMCanValueUseFastMathFlags(instruction) != 0 {
                    let flags = LLVMGetFastMathFlags(instruction);
                    LLVMSetFastMathFlags(instruction, flags | llvm_sys::LLVMFastMathAllowContract);
                }
            }
        }
    }
    /// The text of each piece of inline assembly, with its constraints.
    pub fn inline_assembly(&self) -> impl Iterator<Item = (String, String)> {
        instructions(self.value).into_iter().filter_map(|instruction| {
            // SAFETY: only calls are asked for their callee, and only inline assembly for its text and its constraints,
            // which have the lengths given.
            unsafe {
                if !matches!(
                    LLVMGetInstructionOpcode(instruction),
                    LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke | LLVMOpcode::LLVMCallBr
                ) {
                    return None;
                }
                let callee = LLVMGetCalledValue(instruction);
                if LLVMIsAInlineAsm(callee).is_null() {
                    return None;
                }
                let text = |get: unsafe extern "C" fn(LLVMValueRef, *mut usize) -> *const c_char| {
                    let mut length = 0;
                    let text = get(callee, &mut length);
                    String::from_utf8_lossy(slice::from_raw_parts(text.cast::<u8>(), length)).into_owned()
                };
                Some((text(LLVMGetInlineAsmAsmString), text(LLVMGetInlineAsmConstraintString)))
            }
        })
    }
}
