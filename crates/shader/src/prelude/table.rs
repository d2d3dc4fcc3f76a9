// tidy: table
//! The prelude's functions.

/// One function, or a set of overloads under one name.
pub(super) struct Function {
    pub name: &'static str,
    /// Declarations it stands on.
    pub needs: &'static [&'static str],
    pub hlsl: &'static str,
}

pub(super) const DECLARATIONS: &[(&str, &str)] = &[
    ("__wavefence_ordered", "RWByteAddressBuffer __wavefence_ordered : register(u0, space5746);"),
    ("__wavefence_gds", "RWByteAddressBuffer __wavefence_gds : register(u1, space5746);"),
];

pub(super) const FUNCTIONS: &[Function] = &[
    // The second form, with a counter of its own, is ours.
    Function {
        name: "GlobalOrderedCountIncrement",
        needs: &["__wavefence_ordered"],
        hlsl: "uint GlobalOrderedCountIncrement(uint counter, uint count) {\n\
               uint old; __wavefence_ordered.InterlockedAdd(4 * counter, count, old); return old; }\n\
               uint GlobalOrderedCountIncrement(uint count) {\n\
               uint old; __wavefence_ordered.InterlockedAdd(0, count, old); return old; }",
    },
    Function {
        name: "__XB_GetLaneID",
        needs: &[],
        hlsl: "uint __XB_GetLaneID() { return WaveGetLaneIndex(); }",
    },
    Function {
        name: "__XB_MemTime",
        needs: &[],
        hlsl: "uint2 __XB_MemTime() { uint64_t t = vk::ReadClock(1); return uint2((uint)t, (uint)(t >> 32)); }",
    },
];
