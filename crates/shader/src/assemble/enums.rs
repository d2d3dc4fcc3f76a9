//! Enumerants and masks by name.

use rspirv::dr::Operand;
use rspirv::grammar::OperandKind;
use rspirv::spirv;
use std::str::FromStr;

/// Suffixes under which a vendor's or draft's enumerant lives on.
const SUFFIXES: [&str; 6] = ["", "KHR", "EXT", "NV", "INTEL", "AMD"];

/// What one word stands for.
pub(super) enum Named {
    /// Operands in order: the enumerant, or a mask and then its single bits,
    /// lowest first, whose parameters follow in that order.
    Value(Operand, Vec<Operand>),
    /// No enumerant of this kind has that name.
    Unknown,
    /// This kind of operand is no enumerant.
    NoEnum,
}

/// `text` under its own name or that of a renamed twin.
fn enumerant<T: FromStr>(text: &str) -> Option<T> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let base = SUFFIXES[1..].iter().find_map(|s| text.strip_suffix(s)).unwrap_or(text);
    SUFFIXES.iter().find_map(|suffix| format!("{base}{suffix}").parse().ok())
}

/// `ConstOffset` and `CONST_OFFSET` alike.
fn folded(name: &str) -> String {
    name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}

/// The bit among `bits` that `text` names.
fn bit(text: &str, bits: &[(&'static str, u32)]) -> Option<u32> {
    if matches!(text, "None" | "NoneKHR" | "Relaxed") {
        return Some(0);
    }
    let find = |wanted: &str| {
        let wanted = folded(wanted);
        bits.iter().find(|(name, _)| folded(name) == wanted).map(|(_, bit)| *bit)
    };
    let base = SUFFIXES[1..].iter().find_map(|s| text.strip_suffix(s)).unwrap_or(text);
    find(text).or_else(|| SUFFIXES.iter().find_map(|suffix| find(&format!("{base}{suffix}"))))
}

macro_rules! named {
    (masks: $($mask:ident),*; enums: $($kind:ident),*;) => {
        /// The enumerant or mask `text` of kind `kind`.
        pub(super) fn named(kind: OperandKind, text: &str) -> Named {
            match kind {
                $(OperandKind::$mask => {
                    let all: Vec<(&'static str, u32)> =
                        spirv::$mask::all().iter_names().map(|(n, f)| (n, f.bits())).collect();
                    let mut bits = 0;
                    for part in text.split('|') {
                        match bit(part, &all) {
                            Some(b) => bits |= b,
                            None => return Named::Unknown,
                        }
                    }
                    let operand = |bits| Operand::$mask(spirv::$mask::from_bits_retain(bits));
                    let single = (0..32).map(|i| bits & (1u32 << i)).filter(|b| *b != 0);
                    Named::Value(operand(bits), single.map(operand).collect())
                })*
                OperandKind::Dim => {
                    match enumerant::<spirv::Dim>(&format!("Dim{text}")) {
                        Some(value) => Named::Value(Operand::Dim(value), vec![Operand::Dim(value)]),
                        None => Named::Unknown,
                    }
                }
                $(OperandKind::$kind => match enumerant::<spirv::$kind>(text) {
                    Some(value) => {
                        Named::Value(Operand::$kind(value), vec![Operand::$kind(value)])
                    }
                    None => Named::Unknown,
                },)*
                OperandKind::IdResultType
                | OperandKind::IdResult
                | OperandKind::IdMemorySemantics
                | OperandKind::IdScope
                | OperandKind::IdRef
                | OperandKind::LiteralInteger
                | OperandKind::LiteralString
                | OperandKind::LiteralFloat
                | OperandKind::LiteralContextDependentNumber
                | OperandKind::LiteralExtInstInteger
                | OperandKind::LiteralSpecConstantOpInteger
                | OperandKind::PairLiteralIntegerIdRef
                | OperandKind::PairIdRefLiteralInteger
                | OperandKind::PairIdRefIdRef
                | OperandKind::Debuginfo(_)
                | OperandKind::NonsemanticClspvreflection(_)
                | OperandKind::NonsemanticShaderDebuginfo100(_)
                | OperandKind::OpenclDebuginfo100(_) => Named::NoEnum,
            }
        }
    };
}

named! {
    masks: ImageOperands, FPFastMathMode, SelectionControl, LoopControl, FunctionControl,
        MemorySemantics, MemoryAccess, KernelProfilingInfo, RayFlags, FragmentShadingRate,
        RawAccessChainOperands, CooperativeMatrixOperands, CooperativeMatrixReduce,
        TensorAddressingOperands, MatrixMultiplyAccumulateOperands, TensorOperands;
    enums: SourceLanguage, ExecutionModel, AddressingModel, MemoryModel, ExecutionMode,
        StorageClass, SamplerAddressingMode, SamplerFilterMode, ImageFormat, ImageChannelOrder,
        ImageChannelDataType, FPRoundingMode, FPDenormMode, QuantizationModes, FPOperationMode,
        OverflowModes, LinkageType, AccessQualifier, HostAccessQualifier,
        FunctionParameterAttribute, Decoration, BuiltIn, Scope, GroupOperation,
        KernelEnqueueFlags, Capability, RayQueryIntersection, RayQueryCommittedIntersectionType,
        RayQueryCandidateIntersectionType, PackedVectorFormat, CooperativeMatrixLayout,
        CooperativeMatrixUse, TensorClampMode, InitializationModeQualifier, LoadCacheControl,
        StoreCacheControl, NamedMaximumNumberOfRegisters, FPEncoding,
        CooperativeVectorMatrixLayout, ComponentType;
}
