//! A thin safe layer over LLVM's C interface, as far as the builder needs it. All `unsafe` of the crate is here.

use std::{
    cell::RefCell,
    env,
    ffi::{CStr, CString, c_char, c_uint, c_void},
    fmt, fs,
    marker::PhantomData,
    path::Path,
    process::Command,
    ptr, slice,
    sync::{Mutex, PoisonError},
};

use llvm_sys::{
    LLVMLinkage, LLVMOpcode, LLVMTypeKind, LLVMUnnamedAddr, LLVMVisibility, bit_reader::LLVMParseBitcodeInContext2, core::*,
    error::LLVMGetErrorMessage, ir_reader::LLVMParseIRInContext2, linker::LLVMLinkModules2, prelude::*, target::*,
    target_machine::*, transforms::pass_builder::*,
};

use crate::{
    NvptxArch, cargo,
    error::{BuilderError, Result},
};

mod fatal;
mod replace;

pub use fatal::catch;
pub use replace::{AtomicOperation, Instruction, Opcode, Ordering};

// Without a name from it, the linker would leave out the crate that defines LLVM's functions.
extern crate aya_rustc_llvm_proxy as _;

/// The device's triple.
const TRIPLE: &CStr = c"nvptx64-nvidia-cuda";
/// The major version that `llvm-sys` is made for.
const LLVM_MAJOR: u32 = 22;
/// PTX kernels' calling convention: `CallingConv::PTX_Kernel`.
const PTX_KERNEL: c_uint = 71;

/// Finds the toolchain's LLVM and loads it, once for the process.
pub fn load() -> Result<()> {
    // Held while loading: a second builder waits until LLVM's targets are there.
    static LOADED: Mutex<bool> = Mutex::new(false);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if *loaded {
        return Ok(());
    }
    let rustc = cargo::rustc();
    let sysroot = Command::new(&rustc)
        .args(["--print", "sysroot"])
        .output()
        .map_err(|error| error.to_string())
        .and_then(|output| match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        })
        .map_err(|reason| BuilderError::NoSysroot { rustc, reason })?;
    let folder = Path::new(&sysroot).join("lib");
    let has_llvm = fs::read_dir(&folder)
        .is_ok_and(|files| files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libLLVM")));
    if !has_llvm {
        return Err(BuilderError::NoLlvm { folder });
    }

    // The proxy takes the first libLLVM* on this path, which must be the toolchain's and not a system's.
    let mut path = vec![folder];
    path.extend(env::var_os("LD_LIBRARY_PATH").iter().flat_map(env::split_paths));
    if let Ok(path) = env::join_paths(path) {
        // SAFETY: the builder runs in a build script or a test, where nothing reads the environment past Rust's own lock; the
        // proxy's loading below reads the variable through it, too.
        unsafe { env::set_var("LD_LIBRARY_PATH", path) };
    }
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three out pointers to live integers; the initialisers may be called any number of times.
    unsafe {
        LLVMGetVersion(&mut major, &mut minor, &mut patch);
        if major == LLVM_MAJOR {
            LLVMInitializeNVPTXTargetInfo();
            LLVMInitializeNVPTXTarget();
            LLVMInitializeNVPTXTargetMC();
            LLVMInitializeNVPTXAsmPrinter();
            fatal::install();
        }
    }
    if major != LLVM_MAJOR {
        return Err(BuilderError::LlvmVersion { found: format!("{major}.{minor}.{patch}"), expected: LLVM_MAJOR });
    }
    *loaded = true;
    Ok(())
}

fn failed(what: impl Into<String>, reason: impl Into<String>) -> BuilderError {
    BuilderError::Llvm { what: what.into(), reason: reason.into() }
}

fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// Takes over a message that LLVM allocated.
fn message(text: *mut c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: LLVM's messages are null-terminated, and ours to free, once.
    unsafe {
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        copy
    }
}

/// An LLVM context. Modules borrow it.
pub struct Context {
    context: LLVMContextRef,
    diagnostics: Box<RefCell<Vec<String>>>,
}

extern "C" fn diagnose(info: LLVMDiagnosticInfoRef, sink: *mut c_void) {
    // SAFETY: `sink` is the context's box, which lives as long as the context that calls this; LLVM gives a live `info`.
    unsafe {
        let sink = &*sink.cast::<RefCell<Vec<String>>>();
        if LLVMGetDiagInfoSeverity(info) == llvm_sys::LLVMDiagnosticSeverity::LLVMDSError {
            sink.borrow_mut().push(message(LLVMGetDiagInfoDescription(info)));
        }
    }
}

impl Context {
    pub fn new() -> Self {
        let diagnostics = Box::new(RefCell::new(Vec::new()));
        // SAFETY: the sink is boxed, so its address stays; it is dropped after the context (see Drop).
        let context = unsafe {
            let context = LLVMContextCreate();
            LLVMContextSetDiagnosticHandler(context, Some(diagnose), (&raw const *diagnostics).cast_mut().cast());
            context
        };
        Context { context, diagnostics }
    }

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
        // SAFETY: a live module. Its `global_asm!` is the host's; who needs a symbol from it will hear that it is undefined.
        unsafe { LLVMSetModuleInlineAsm2(module, c"".as_ptr(), 0) };
        Ok(Module { module, context: self }.retargeted())
    }

    fn take_diagnostics(&self) -> String {
        self.diagnostics.take().join("; ")
    }

    fn enum_attribute(&self, name: &str) -> LLVMAttributeRef {
        // SAFETY: a name with its length, and a live context.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            LLVMCreateEnumAttribute(self.context, kind, 0)
        }
    }

    fn string_attribute(&self, name: &str, value: &str) -> LLVMAttributeRef {
        // SAFETY: names with their lengths, and a live context.
        unsafe {
            LLVMCreateStringAttribute(
                self.context,
                name.as_ptr().cast(),
                name.len() as c_uint,
                value.as_ptr().cast(),
                value.len() as c_uint,
            )
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: every module borrows the context, so none is left.
        unsafe { LLVMContextDispose(self.context) }
    }
}

/// A module of a context.
pub struct Module<'c> {
    module: LLVMModuleRef,
    context: &'c Context,
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

    /// Links functions that are given as IR.
    pub fn link_text(&mut self, name: &str, text: &str) -> Result<()> {
        self.link(self.context.parse(name, text.as_bytes())?)
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
            // SAFETY: a live function; this linkage says that its body is a copy of one elsewhere, and so no member of a comdat.
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

    /// A copy.
    pub fn duplicate(&self) -> Module<'c> {
        Module {
            // SAFETY: a live module.
            module: unsafe { LLVMCloneModule(self.module) },
            context: self.context,
        }
    }

    /// Runs a pass pipeline.
    pub fn run(&mut self, passes: &str, machine: Option<&TargetMachine>) -> Result<()> {
        let c_passes = c_string(passes);
        // SAFETY: live module and options; a null machine means none.
        let error = unsafe {
            let options = LLVMCreatePassBuilderOptions();
            let machine = machine.map_or(ptr::null_mut(), |machine| machine.machine);
            let error = LLVMRunPasses(self.module, c_passes.as_ptr(), machine, options);
            LLVMDisposePassBuilderOptions(options);
            error
        };
        if !error.is_null() {
            // SAFETY: the error is consumed, its message ours to free.
            let reason = message(unsafe { LLVMGetErrorMessage(error) });
            return Err(failed(format!("run {passes}"), reason));
        }
        Ok(())
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

    /// Gives every definition but kernels a linkage that lets it be dropped where kernels don't reach it.
    pub fn hide_all_but_kernels(&mut self, hidden: Hidden) {
        for global in self.globals() {
            // Lists that keep their entries alive; on the device nothing reads them.
            if global.name().starts_with("llvm.") {
                // SAFETY: nothing in a module refers to LLVM's own lists. `self` is borrowed exclusively, so that there is no
                // other handle of this one, and this handle isn't used again.
                unsafe { LLVMDeleteGlobal(global.value) }
            } else if !global.is_declaration() && !global.section().starts_with(crate::names::CONSTANT_SECTION) {
                hide(global.value, hidden);
            }
        }
        for function in self.functions() {
            if !function.is_declaration() && function.kernel_section().is_none() {
                hide(function.value, hidden);
            }
        }
    }

    /// Moves each global for which `space` names an address space there, with uses cast to the generic one.
    pub fn place_globals(&mut self, space: impl Fn(&Global<'_>) -> Option<AddressSpace>) {
        let placed: Vec<_> = self.globals().filter_map(|global| Some((global.value, space(&global)?))).collect();
        for (global, space) in placed {
            self.move_to_address_space(global, space);
        }
    }

    fn move_to_address_space(&mut self, global: LLVMValueRef, space: AddressSpace) {
        let name = c_string(&name(global));
        // SAFETY: all values are live and of this module; the old global has no uses left when it is deleted.
        unsafe {
            let ty = LLVMGlobalGetValueType(global);
            // Dynamic shared memory is external: an array without a size, to which the launch gives one.
            let dynamic = LLVMIsDeclaration(global) != 0 && matches!(space, AddressSpace::Shared);
            let ty = if dynamic { LLVMArrayType2(LLVMInt8TypeInContext(self.context.context), 0) } else { ty };
            let new = LLVMAddGlobalInAddressSpace(self.module, ty, c"".as_ptr(), space as c_uint);
            LLVMSetAlignment(new, if dynamic { 16 } else { LLVMGetAlignment(global).max(16) });
            match space {
                AddressSpace::Shared if dynamic => LLVMSetLinkage(new, LLVMLinkage::LLVMExternalLinkage),
                AddressSpace::Shared => {
                    LLVMSetLinkage(new, LLVMLinkage::LLVMInternalLinkage);
                    LLVMSetInitializer(new, LLVMGetUndef(ty));
                }
                AddressSpace::Constant => {
                    LLVMSetLinkage(new, LLVMLinkage::LLVMExternalLinkage);
                    let initial = LLVMGetInitializer(global);
                    LLVMSetInitializer(new, if initial.is_null() { LLVMConstNull(ty) } else { initial });
                    LLVMSetExternallyInitialized(new, 1);
                    LLVMSetGlobalConstant(new, 1);
                }
            }
            replace_global(global, new, &name);
        }
    }

    /// Declares or finds a function without arguments or with one pointer, returning nothing.
    fn helper(&self, name: &CStr, takes_pointer: bool) -> (LLVMTypeRef, LLVMValueRef) {
        // SAFETY: live module and context; the type list outlives the call.
        unsafe {
            let void = LLVMVoidTypeInContext(self.context.context);
            let mut pointer = LLVMPointerTypeInContext(self.context.context, 0);
            let ty = LLVMFunctionType(void, &mut pointer, u32::from(takes_pointer), 0);
            let found = LLVMGetNamedFunction(self.module, name.as_ptr());
            let function = if found.is_null() { LLVMAddFunction(self.module, name.as_ptr(), ty) } else { found };
            (ty, function)
        }
    }

    /// Gives a declared function the body of a trap, after a call of `report` with its last argument (the place of the panic)
    /// where that is a pointer.
    pub fn define_as_trap(&self, function: &Function<'_>, report: Option<&CStr>) {
        // SAFETY: builds one block in a live function that has none. What it calls is declared in this module, which is
        // the function's: the builder works on one.
        unsafe {
            let block = LLVMAppendBasicBlockInContext(self.context.context, function.value, c"panic".as_ptr());
            let builder = LLVMCreateBuilderInContext(self.context.context);
            LLVMPositionBuilderAtEnd(builder, block);
            let count = LLVMCountParams(function.value);
            if let Some(report) = report
                && count > 0
            {
                let last = LLVMGetParam(function.value, count - 1);
                if LLVMGetTypeKind(LLVMTypeOf(last)) == LLVMTypeKind::LLVMPointerTypeKind {
                    let (ty, callee) = self.helper(report, true);
                    let mut argument = last;
                    LLVMBuildCall2(builder, ty, callee, &mut argument, 1, c"".as_ptr());
                }
            }
            let (ty, trap) = self.helper(c"llvm.trap", false);
            LLVMBuildCall2(builder, ty, trap, ptr::null_mut(), 0, c"".as_ptr());
            LLVMBuildUnreachable(builder);
            LLVMDisposeBuilder(builder);
        }
        hide(function.value, Hidden::Internal);
    }
}

/// Puts `new` in the place of `old`, name included.
///
/// # Safety
/// Both must be live globals of one module; `old` must not be used afterwards.
unsafe fn replace_global(old: LLVMValueRef, new: LLVMValueRef, name: &CStr) {
    // SAFETY: as the function's; the cast is a constant of `old`'s own type.
    unsafe {
        LLVMReplaceAllUsesWith(old, LLVMConstAddrSpaceCast(new, LLVMTypeOf(old)));
        LLVMDeleteGlobal(old);
        LLVMSetValueName2(new, name.as_ptr(), name.count_bytes());
    }
}

/// NVPTX's numbers of its address spaces.
#[derive(Debug, Clone, Copy)]
pub enum AddressSpace {
    Shared = 3,
    Constant = 4,
}

/// How [`Module::hide_all_but_kernels`] hides definitions.
#[derive(Clone, Copy)]
pub enum Hidden {
    /// From all other modules.
    Internal,
    /// Not from modules that are still to be linked.
    UntilUsed,
}

/// A global variable of a module. It borrows the module, whose end, like its optimisation, is that of its globals.
pub struct Global<'m> {
    value: LLVMValueRef,
    module: PhantomData<&'m Module<'m>>,
}

fn name(value: LLVMValueRef) -> String {
    let mut length = 0;
    // SAFETY: a live value; the name has the length given and stays while we copy it.
    unsafe {
        let text = LLVMGetValueName2(value, &mut length);
        String::from_utf8_lossy(slice::from_raw_parts(text.cast::<u8>(), length)).into_owned()
    }
}

fn section(value: LLVMValueRef) -> String {
    // SAFETY: a live global; null means none.
    unsafe {
        let text = LLVMGetSection(value);
        if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}

fn hide(value: LLVMValueRef, hidden: Hidden) {
    let linkage = match hidden {
        Hidden::Internal => LLVMLinkage::LLVMInternalLinkage,
        Hidden::UntilUsed => LLVMLinkage::LLVMLinkOnceODRLinkage,
    };
    // SAFETY: a live global value that has a definition.
    unsafe {
        LLVMSetLinkage(value, linkage);
        LLVMSetVisibility(value, LLVMVisibility::LLVMDefaultVisibility);
        llvm_sys::comdat::LLVMSetComdat(value, ptr::null_mut());
    }
}

impl Global<'_> {
    pub fn name(&self) -> String {
        name(self.value)
    }
    pub fn section(&self) -> String {
        section(self.value)
    }
    pub fn is_declaration(&self) -> bool {
        // SAFETY: a live global.
        unsafe { LLVMIsDeclaration(self.value) != 0 }
    }
    /// Clears the section, which means nothing in PTX.
    pub fn clear_section(&self) {
        // SAFETY: a live global.
        unsafe { LLVMSetSection(self.value, c"".as_ptr()) }
    }
    pub fn is_thread_local(&self) -> bool {
        // SAFETY: a live global.
        unsafe { LLVMIsThreadLocal(self.value) != 0 }
    }
    /// The functions with an instruction that uses it.
    pub fn users(&self) -> Vec<String> {
        functions_using(self.value)
    }
}

/// A function of a module. It borrows the module, whose end, like its optimisation, is that of its functions.
#[derive(Clone, Copy)]
pub struct Function<'m> {
    value: LLVMValueRef,
    context: &'m Context,
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
        self.has_attribute("noreturn")
    }
    fn has_attribute(&self, attribute: &str) -> bool {
        // SAFETY: a live function, and an attribute's name with its length.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(attribute.as_ptr().cast(), attribute.len());
            !LLVMGetEnumAttributeAtIndex(self.value, llvm_sys::LLVMAttributeFunctionIndex, kind).is_null()
        }
    }
    /// What follows the kernel section's name, where the function lies in it: its launch bounds.
    pub fn kernel_section(&self) -> Option<String> {
        section(self.value).strip_prefix(crate::names::KERNEL_SECTION).map(str::to_owned)
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

/// Every instruction of a function.
fn instructions(function: LLVMValueRef) -> Vec<LLVMValueRef> {
    let mut instructions = Vec::new();
    // SAFETY: walks the live function's blocks and their instructions.
    unsafe {
        let mut block = LLVMGetFirstBasicBlock(function);
        while !block.is_null() {
            let mut instruction = LLVMGetFirstInstruction(block);
            while !instruction.is_null() {
                instructions.push(instruction);
                instruction = LLVMGetNextInstruction(instruction);
            }
            block = LLVMGetNextBasicBlock(block);
        }
    }
    instructions
}

/// The names of the functions with an instruction that uses a value.
fn functions_using(value: LLVMValueRef) -> Vec<String> {
    let mut functions = Vec::new();
    users(value, &mut |user| {
        // SAFETY: `users` gives instructions, which lie in a block of a function.
        let function = name(unsafe { LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)) });
        if !functions.contains(&function) {
            functions.push(function);
        }
    });
    functions
}

/// Calls `found` for each instruction that uses `value`, through constant expressions too.
fn users(value: LLVMValueRef, found: &mut dyn FnMut(LLVMValueRef)) {
    // SAFETY: walks the live value's list of uses; instructions and constants are told apart before each is looked into.
    unsafe {
        let mut item = LLVMGetFirstUse(value);
        while !item.is_null() {
            let user = LLVMGetUser(item);
            if !LLVMIsAInstruction(user).is_null() {
                found(user);
            } else if !LLVMIsAConstant(user).is_null() {
                users(user, found);
            }
            item = LLVMGetNextUse(item);
        }
    }
}

/// LLVM's code generator for one architecture.
pub struct TargetMachine {
    machine: LLVMTargetMachineRef,
}

impl Drop for TargetMachine {
    fn drop(&mut self) {
        // SAFETY: ours, and disposed of once.
        unsafe { LLVMDisposeTargetMachine(self.machine) }
    }
}

impl TargetMachine {
    pub fn nvptx(arch: NvptxArch) -> Result<Self> {
        let mut target = ptr::null_mut();
        let mut error = ptr::null_mut();
        let cpu = c_string(&arch.target_cpu());
        let features = c_string(&format!("+ptx{}", arch.ptx_version()));
        // SAFETY: null-terminated names; the target is used only where LLVM found one.
        unsafe {
            if LLVMGetTargetFromTriple(TRIPLE.as_ptr(), &mut target, &mut error) != 0 {
                return Err(BuilderError::NoNvptx { reason: message(error) });
            }
            let machine = LLVMCreateTargetMachine(
                target,
                TRIPLE.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                LLVMCodeGenOptLevel::LLVMCodeGenLevelAggressive,
                LLVMRelocMode::LLVMRelocDefault,
                LLVMCodeModel::LLVMCodeModelDefault,
            );
            Ok(TargetMachine { machine })
        }
    }

    /// PTX of an optimised module.
    pub fn assembly(&self, module: &mut Module<'_>) -> Result<Vec<u8>> {
        let mut error = ptr::null_mut();
        let mut buffer = ptr::null_mut();
        // SAFETY: live machine and module; the buffer is read for its own length, then freed.
        unsafe {
            let file = LLVMCodeGenFileType::LLVMAssemblyFile;
            if LLVMTargetMachineEmitToMemoryBuffer(self.machine, module.module, file, &mut error, &mut buffer) != 0 {
                return Err(failed("write PTX", message(error)));
            }
            let data = slice::from_raw_parts(LLVMGetBufferStart(buffer).cast::<u8>(), LLVMGetBufferSize(buffer)).to_vec();
            LLVMDisposeMemoryBuffer(buffer);
            match module.context.take_diagnostics() {
                errors if errors.is_empty() => Ok(data),
                errors => Err(failed("write PTX", errors)),
            }
        }
    }
}
