//! Instructions that give way to calls.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    ffi::{CStr, c_uint},
    hash::{DefaultHasher, Hash, Hasher},
};

pub use llvm_sys::{LLVMAtomicOrdering as Ordering, LLVMAtomicRMWBinOp as AtomicOperation, LLVMOpcode as Opcode};
use llvm_sys::{core::*, prelude::*};

use super::{
    module::Module,
    text::{c_string, message},
    value::{instructions, name},
};
use crate::error::Result;

/// LLVM's numbers of the two scopes that every target has.
const SINGLE_THREAD: c_uint = 0;
const SYSTEM: c_uint = 1;

/// The names of scopes, by their numbers in a context.
type Scopes = RefCell<HashMap<c_uint, String>>;

/// An instruction. Types have the names of LLVM's IR.
pub struct Instruction<'m> {
    value: LLVMValueRef,
    scopes: &'m Scopes,
}

impl Module<'_> {
    /// Replaces instructions by calls. `body` returns the IR of the called function's body, with
    /// the instruction's operands as `%0`, `%1`, ..., followed by declarations; or `None` to keep
    /// the instruction.
    pub fn replace(&mut self, body: impl Fn(&Instruction<'_>) -> Option<String>) -> Result<()> {
        let scopes = Scopes::default();
        let mut functions = BTreeMap::new();
        for function in self.functions() {
            for value in instructions(function.value) {
                let instruction = Instruction { value, scopes: &scopes };
                let Some(body) = body(&instruction) else {
                    continue;
                };
                let (result, operands) = (instruction.result(), instruction.operands());
                let text = format!("({}) alwaysinline nounwind {{\n{body}", operands.join(", "));
                // The name is a hash of the text, so modules with the same replacement can be
                // linked.
                let mut hasher = DefaultHasher::new();
                (&result, &text).hash(&mut hasher);
                let name = format!("__cuda_builder_{:016x}", hasher.finish());
                instruction.call_instead(self.module, &c_string(&name));
                functions.entry(name.clone()).or_insert_with(|| format!("define linkonce_odr {result} @{name}{text}"));
            }
        }
        self.link_texts(&functions.into_values().collect::<Vec<_>>())
    }
}

impl Instruction<'_> {
    pub fn opcode(&self) -> Opcode {
        // SAFETY: a live instruction.
        unsafe { LLVMGetInstructionOpcode(self.value) }
    }
    /// Returns the type of the result.
    pub fn result(&self) -> String {
        type_of(self.value)
    }
    /// Returns the types of the operands, without a call's function.
    pub fn operands(&self) -> Vec<String> {
        self.operand_values().into_iter().map(type_of).collect()
    }
    fn operand_values(&self) -> Vec<LLVMValueRef> {
        // SAFETY: a live instruction; only calls are asked for their arguments, which are their first operands.
        unsafe {
            let count = match LLVMIsACallInst(self.value).is_null() {
                true => LLVMGetNumOperands(self.value) as c_uint,
                false => LLVMGetNumArgOperands(self.value),
            };
            (0..count).map(|i| LLVMGetOperand(self.value, i)).collect()
        }
    }
    /// The function that a call names.
    pub fn callee(&self) -> Option<String> {
        // SAFETY: only calls are asked for their callees, and only functions for their names.
        unsafe {
            if LLVMIsACallInst(self.value).is_null() {
                return None;
            }
            let callee = LLVMGetCalledValue(self.value);
            (!LLVMIsAFunction(callee).is_null()).then(|| name(callee))
        }
    }
    /// Returns the operation of an `atomicrmw`.
    pub fn atomic_operation(&self) -> Option<AtomicOperation> {
        // SAFETY: only an `atomicrmw` is asked for its operation.
        (self.opcode() == Opcode::LLVMAtomicRMW).then(|| unsafe { LLVMGetAtomicRMWBinOp(self.value) })
    }
    /// The order of an `atomicrmw` or a fence.
    pub fn ordering(&self) -> Option<Ordering> {
        // SAFETY: only instructions that have one order are asked for it.
        matches!(self.opcode(), Opcode::LLVMAtomicRMW | Opcode::LLVMFence).then(|| unsafe { LLVMGetOrdering(self.value) })
    }
    /// The scope of an `atomicrmw` or a fence: an empty name is the system's.
    pub fn scope(&self) -> Option<String> {
        self.ordering()?;
        // SAFETY: an `atomicrmw` or a fence, which have a scope.
        match unsafe { LLVMGetAtomicSyncScopeID(self.value) } {
            SINGLE_THREAD => Some("singlethread".to_owned()),
            SYSTEM => Some(String::new()),
            number => Some(self.scopes.borrow_mut().entry(number).or_insert_with(|| self.named_scope()).clone()),
        }
    }
    /// LLVM's C interface tells the numbers of scopes, but not their names.
    fn named_scope(&self) -> String {
        // SAFETY: a live instruction; the text is ours to free.
        let text = message(unsafe { LLVMPrintValueToString(self.value) });
        text.split_once("syncscope(\"").and_then(|(_, rest)| rest.split('"').next()).unwrap_or_default().to_owned()
    }

    /// Calls the function of that name with the instruction's operands instead.
    fn call_instead(self, module: LLVMModuleRef, function: &CStr) {
        // SAFETY: the module and its instruction are live. The call has the types of the instruction, whose place it
        // takes with its debug location; nothing refers to the instruction any more when it is erased, and `self` ends
        // here.
        unsafe {
            let mut operands = self.operand_values();
            let mut types: Vec<LLVMTypeRef> = operands.iter().map(|&operand| LLVMTypeOf(operand)).collect();
            let count = operands.len() as c_uint;
            let ty = LLVMFunctionType(LLVMTypeOf(self.value), types.as_mut_ptr(), count, 0);
            let found = LLVMGetNamedFunction(module, function.as_ptr());
            let callee = if found.is_null() { LLVMAddFunction(module, function.as_ptr(), ty) } else { found };
            let builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
            LLVMPositionBuilderBefore(builder, self.value);
            let call = LLVMBuildCall2(builder, ty, callee, operands.as_mut_ptr(), count, c"".as_ptr());
            LLVMDisposeBuilder(builder);
            if !LLVMGetFirstUse(self.value).is_null() {
                LLVMReplaceAllUsesWith(self.value, call);
            }
            LLVMInstructionEraseFromParent(self.value);
        }
    }
}

fn type_of(value: LLVMValueRef) -> String {
    // SAFETY: a live value; the text is ours to free.
    message(unsafe { LLVMPrintTypeToString(LLVMTypeOf(value)) })
}
