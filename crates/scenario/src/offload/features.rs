//! What the device offers, in the words that the suite's `lit.cfg.py` uses for a
//! Vulkan device with DXC on Linux.

/// Every feature. A test that requires another one does not run here.
pub const FEATURES: [&str; 27] = [
    // The target.
    "Vulkan",
    "DXC",
    "Linux",
    // Shader models that DXC knows; other devices than Direct3D's have no say.
    "SM_6_0",
    "SM_6_1",
    "SM_6_2",
    "SM_6_3",
    "SM_6_4",
    "SM_6_5",
    "SM_6_6",
    "SM_6_7",
    "SM_6_8",
    "SM_6_9",
    // Value types.
    "Half",
    "Double",
    "Int16",
    "Int64",
    // 64-bit atomics.
    "Int64GroupSharedAtomics",
    "Int64TypedResourceAtomics",
    "VulkanInt64BufferAtomics",
    // Lanes.
    "WaveSize_32",
    "WaveSize_64",
    "DerivativesInCompute",
    "VK_KHR_shader_maximal_reconvergence",
    "VK_KHR_compute_shader_derivatives",
    "VK_KHR_shader_subgroup_uniform_control_flow",
    "VK_KHR_shader_quad_control",
];

/// What of the field a feature belongs to that this device leaves out.
pub fn left_out(condition: &str) -> Option<&'static str> {
    const PARTS: [(&str, &str); 5] = [
        ("acceleration-structure", "ray tracing"),
        ("raytracing-pipeline", "ray tracing"),
        ("MeshShader", "graphics"),
        ("goldenimage", "golden images, which the suite does not carry"),
        ("WaveSize_128", "waves of 128 lanes"),
    ];
    PARTS.iter().find(|(word, _)| condition.contains(word)).map(|p| p.1)
}
