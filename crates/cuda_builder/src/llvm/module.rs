//! Modules: reading, linking, and what they hold.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    marker::PhantomData,
    ptr, slice,
};

use llvm_sys::{
    LLVMLinkage, bit_reader::LLVMParseBitcodeInContext2, core::*, ir_reader::LLVMParseIRInContext2, linker::LLVMLinkModules2,
    prelude::*, target::*, target_machine::*,
};

use super::{
    context::Context,
    function::Function,
    global::Global,
    target::{TRIPLE, TargetMachine},
    text::{c_string, failed, message},
    value::{Hidden, hide},
};
use crate::{
    NvptxArch,
    error::Result,
    names::{self, CONSTANT_SECTION, SIGNATURE_SECTION},
    symbols,
};

impl Context {
    /// An empty device module.
    pub fn module(&self, name: &str) -> Module<'_> {
        let name = c_string(name);
        // SAFETY: a live context and a null-terminated name.
        let module = unsafe { LLVMModuleCreateWithNameInContext(name.as_ptr(), self.context) };
        Module { module, context: self }.retargeted()
    }

    /// Reads bitcode or IR text, and gives it the device's triple and data layout.
    pub fn parse(&self, name: &str, data: &[u8]) -> Result<Module<'_>> {
        let c_name = c_string(name);
        let mut module = ptr::null_mut();
        let mut error = ptr::null_mut();
        // SAFETY: the buffer is a copy of `data`, which neither reader takes over.
        let bad = unsafe {
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(data.as_ptr().cast(), data.len(), c_name.as_ptr());
            let bad = if data.starts_with(b"BC\xC0\xDE") {
                LLVMParseBitcodeInContext2(self.context, buffer, &mut module)
            } else {
                LLVMParseIRInContext2(self.context, buffer, &mut module, &mut error)
            };
            LLVMDisposeMemoryBuffer(buffer);
            bad
        };
        if bad != 0 {
            let reason = [message(error), self.take_diagnostics()].concat();
            return Err(failed(format!("read {name}"), reason));
        }
        // SAFETY: a live module. Its `global_asm!` is the host's; who needs a symbol from it will hear that it is
        // undefined.
        unsafe { LLVMSetModuleInlineAsm2(module, c"".as_ptr(), 0) };
        Ok(Module { module, context: self }.retargeted())
    }
}

/// A module of a context.
pub struct Module<'c> {
    pub(super) module: LLVMModuleRef,
    pub(super) context: &'c Context,
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: ours, and disposed of once (linking forgets it).
        unsafe { LLVMDisposeModule(self.module) }
    }
}

impl fmt::Display for Module<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: a live module; the text is ours to free.
        f.write_str(&message(unsafe { LLVMPrintModuleToString(self.module) }))
    }
}

impl<'c> Module<'c> {
    fn retargeted(self) -> Self {
        // nvptx64's layout, as LLVM's own target gives it: all modules must agree on it before they are linked.
        if let Ok(machine) = TargetMachine::nvptx(NvptxArch::Compute75) {
            // SAFETY: live module, machine and layout; the layout is copied and ours to free.
            unsafe {
                LLVMSetTarget(self.module, TRIPLE.as_ptr());
                let layout = LLVMCreateTargetDataLayout(machine.machine);
                LLVMSetModuleDataLayout(self.module, layout);
                LLVMDisposeTargetData(layout);
            }
        }
        self
    }

    /// Links `other`, of the same context, into this one.
    pub fn link(&mut self, other: Module<'_>) -> Result<()> {
        assert!(ptr::eq(self.context, other.context), "modules of two contexts");
        let source = other.module;
        std::mem::forget(other);
        // SAFETY: two live modules of one context; the source is taken over.
        match unsafe { LLVMLinkModules2(self.module, source) } {
            0 => Ok(()),
            _ => Err(failed("link device modules", self.context.take_diagnostics())),
        }
    }

    /// Links functions that are given as IR, which may declare the same functions. They are linked as one, because each
    /// link goes through the whole module.
    pub fn link_texts(&mut self, texts: &[String]) -> Result<()> {
        let is_declaration = |line: &&str| line.starts_with("declare ");
        let lines = || texts.iter().flat_map(|text| text.lines());
        let declarations: BTreeSet<&str> = lines().filter(is_declaration).collect();
        let text: Vec<&str> = lines().filter(|line| !is_declaration(line)).chain(declarations).collect();
        if text.is_empty() { Ok(()) } else { self.link(self.context.parse("functions", text.join("\n").as_bytes())?) }
    }

    /// The module as bitcode.
    pub fn bitcode(&self) -> Vec<u8> {
        // SAFETY: a live module; the buffer is read for its own length, then freed.
        unsafe {
            let buffer = llvm_sys::bit_writer::LLVMWriteBitcodeToMemoryBuffer(self.module);
            let data = slice::from_raw_parts(LLVMGetBufferStart(buffer).cast::<u8>(), LLVMGetBufferSize(buffer)).to_vec();
            LLVMDisposeMemoryBuffer(buffer);
            data
        }
    }

    /// The module's name: that of the kernel crate.
    pub fn name(&self) -> String {
        let mut length = 0;
        // SAFETY: a live module; the name has the length given.
        unsafe {
            let text = LLVMGetModuleIdentifier(self.module, &mut length);
            String::from_utf8_lossy(slice::from_raw_parts(text.cast::<u8>(), length)).into_owned()
        }
    }

    /// Drops debug information.
    pub fn strip_debug(&mut self) {
        // SAFETY: a live module.
        unsafe { llvm_sys::debuginfo::LLVMStripModuleDebugInfo(self.module) };
    }

    /// Leaves only the declarations of some functions.
    pub fn forget(&mut self, which: impl Fn(&Function<'_>) -> bool) -> Result<()> {
        for function in self.functions().filter(|function| !function.is_declaration() && which(function)) {
            // SAFETY: a live function; this linkage says that its body is a copy of one elsewhere, and so no member of
            // a comdat.
            unsafe {
                llvm_sys::comdat::LLVMSetComdat(function.value, ptr::null_mut());
                LLVMSetLinkage(function.value, LLVMLinkage::LLVMAvailableExternallyLinkage);
            }
        }
        self.run("elim-avail-extern", None)
    }

    /// Leaves only the bodies of these functions, and the globals that they use.
    pub fn reduce_to(&mut self, kept: &[String]) -> Result<()> {
        for function in self.functions().filter(|function| kept.contains(&function.name())) {
            // SAFETY: a live function that has a definition.
            unsafe { LLVMSetLinkage(function.value, LLVMLinkage::LLVMExternalLinkage) }
        }
        self.forget(|function| !kept.contains(&function.name()))?;
        self.run("globaldce", None)
    }

    /// Leaves these kernels, and what they use.
    pub fn keep_kernels<'a>(&mut self, kept: impl Iterator<Item = &'a String>) -> Result<()> {
        let kept: BTreeSet<&String> = kept.collect();
        for function in self.functions().filter(|function| function.is_kernel() && !kept.contains(&function.name())) {
            hide(function.value, Hidden::Internal);
        }
        self.run("globaldce", None)?;
        // The host may fill the constants of kernels that are here.
        for global in self.globals().filter(|global| !global.is_declaration() && !global.is_used()) {
            hide(global.value, Hidden::Internal);
        }
        self.run("globaldce", None)
    }

    /// A copy.
    pub fn duplicate(&self) -> Module<'c> {
        Module {
            // SAFETY: a live module.
            module: unsafe { LLVMCloneModule(self.module) },
            context: self.context,
        }
    }

    /// All functions, defined or declared.
    pub fn functions(&self) -> impl Iterator<Item = Function<'_>> + use<'_> {
        let mut functions = Vec::new();
        // SAFETY: walks the live module's list.
        unsafe {
            let mut value = LLVMGetFirstFunction(self.module);
            while !value.is_null() {
                functions.push(Function { value, context: self.context });
                value = LLVMGetNextFunction(value);
            }
        }
        functions.into_iter()
    }

    /// All global variables.
    pub fn globals(&self) -> impl Iterator<Item = Global<'_>> + use<'_> {
        let mut globals = Vec::new();
        // SAFETY: walks the live module's list.
        unsafe {
            let mut value = LLVMGetFirstGlobal(self.module);
            while !value.is_null() {
                globals.push(Global { value, module: PhantomData });
                value = LLVMGetNextGlobal(value);
            }
        }
        globals.into_iter()
    }

    /// Takes the signatures out of the module, by the PTX names of their kernels.
    pub fn signatures(&mut self) -> BTreeMap<String, u64> {
        let all = self.globals().filter(|global| global.section() == SIGNATURE_SECTION);
        let mut signatures = BTreeMap::new();
        for global in all {
            if let (Some(kernel), Some(signature)) =
                (symbols::kernel_name(&global.name()).strip_suffix("_SIGNATURE"), global.number())
            {
                signatures.insert(kernel.to_owned(), signature);
            }
            hide(global.value, Hidden::Internal);
        }
        signatures
    }

    /// Has the functions that print panics inlined, and lets them be dropped.
    pub fn hide_reports(&mut self) {
        for function in self.functions().filter(|function| !function.is_declaration() && function.is_report()) {
            function.always_inline();
            hide(function.value, Hidden::Internal);
        }
    }

    /// Gives every definition but kernels, the allocator, and what panics will call, a linkage that lets it be
    /// dropped where kernels don't reach it.
    pub fn hide_all_but_kernels(&mut self, hidden: Hidden) {
        for global in self.globals() {
            // Lists that keep their entries alive; on the device nothing reads them.
            if global.name().starts_with("llvm.") {
                // SAFETY: nothing in a module refers to LLVM's own lists. `self` is borrowed exclusively, so that there
                // is no other handle of this one, and this handle isn't used again.
                unsafe { LLVMDeleteGlobal(global.value) }
            } else if !global.is_declaration()
                && ![CONSTANT_SECTION, SIGNATURE_SECTION].iter().any(|kept| global.section().starts_with(kept))
            {
                hide(global.value, hidden);
            }
        }
        for function in self.functions() {
            if !function.is_declaration()
                && function.kernel_section().is_none()
                && !function.is_report()
                && !function.is_allocator()
            {
                hide(function.value, hidden);
            }
        }
    }

    /// Gives the functions of the crate's global allocator, if it has one, the names that the crate `alloc` calls them by:
    /// where it links a program, rustc writes functions of these names that call the others.
    pub fn name_allocator(&mut self) {
        let defined: Vec<_> = self.functions().filter(|function| !function.is_declaration()).collect();
        for function in defined {
            if let Some(name) = names::allocator_name(&function.name()) {
                function.rename(&name);
            }
        }
    }

    /// Lets them be dropped.
    pub fn hide_allocator(&mut self) {
        for function in self.functions().filter(|function| !function.is_declaration() && function.is_allocator()) {
            hide(function.value, Hidden::Internal);
        }
    }
}
