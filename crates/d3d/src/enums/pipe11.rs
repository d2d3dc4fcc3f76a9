// tidy: table
//! Enumerations of the D3D11.X face beside its flush flags.

use super::value_enum;
use wavefence_pm4::events;

value_enum! {
    /// What `GpuSendPipelinedEvent` sends. Public samples show the name of
    /// CS_PARTIAL_FLUSH only; the others follow it, by the hardware's names of the
    /// events. The values are not public: those here are the hardware's
    /// (`hardware/pm4.md` 4.1).
    D3D11X_GPU_PIPELINED_EVENT, prefix "D3D11X_GPU_PIPELINED_EVENT_" {
        /// Later work waits for compute shaders.
        CS_PARTIAL_FLUSH = D3D11X_GPU_PIPELINED_EVENT_CS_PARTIAL_FLUSH = events::CS_PARTIAL_FLUSH as u32;
        /// Later work waits for vertex-stage shaders.
        VS_PARTIAL_FLUSH = D3D11X_GPU_PIPELINED_EVENT_VS_PARTIAL_FLUSH = events::VS_PARTIAL_FLUSH as u32;
        /// Later work waits for pixel shaders.
        PS_PARTIAL_FLUSH = D3D11X_GPU_PIPELINED_EVENT_PS_PARTIAL_FLUSH = events::PS_PARTIAL_FLUSH as u32;
        /// Colour and depth, data and metadata, written back and dropped.
        CACHE_FLUSH_AND_INV_EVENT = D3D11X_GPU_PIPELINED_EVENT_CACHE_FLUSH_AND_INV_EVENT = events::CACHE_FLUSH_AND_INV_EVENT as u32;
        /// Depth metadata written back and dropped.
        FLUSH_AND_INV_DB_META = D3D11X_GPU_PIPELINED_EVENT_FLUSH_AND_INV_DB_META = events::FLUSH_AND_INV_DB_META as u32;
        /// Colour metadata written back and dropped.
        FLUSH_AND_INV_CB_META = D3D11X_GPU_PIPELINED_EVENT_FLUSH_AND_INV_CB_META = events::FLUSH_AND_INV_CB_META as u32;
        /// Colour data written back and dropped.
        FLUSH_AND_INV_CB_PIXEL_DATA = D3D11X_GPU_PIPELINED_EVENT_FLUSH_AND_INV_CB_PIXEL_DATA = events::FLUSH_AND_INV_CB_PIXEL_DATA as u32;
    }
}

value_enum! {
    /// How `InsertWaitOnMemory` compares; the values of public Direct3D 11.
    D3D11_COMPARISON_FUNC, prefix "D3D11_COMPARISON_" {
        /// Never true.
        NEVER = D3D11_COMPARISON_NEVER = 1;
        /// Memory is less than the reference.
        LESS = D3D11_COMPARISON_LESS = 2;
        /// Memory equals the reference.
        EQUAL = D3D11_COMPARISON_EQUAL = 3;
        /// Memory is at most the reference.
        LESS_EQUAL = D3D11_COMPARISON_LESS_EQUAL = 4;
        /// Memory is above the reference.
        GREATER = D3D11_COMPARISON_GREATER = 5;
        /// Memory differs from the reference.
        NOT_EQUAL = D3D11_COMPARISON_NOT_EQUAL = 6;
        /// Memory is at least the reference.
        GREATER_EQUAL = D3D11_COMPARISON_GREATER_EQUAL = 7;
        /// Always true.
        ALWAYS = D3D11_COMPARISON_ALWAYS = 8;
    }
}

impl D3D11_COMPARISON_FUNC {
    /// The same comparison of Direct3D 12.
    pub const fn d3d12(self) -> super::D3D12_COMPARISON_FUNC {
        use super::D3D12_COMPARISON_FUNC as F;
        match self {
            Self::NEVER => F::NEVER,
            Self::LESS => F::LESS,
            Self::EQUAL => F::EQUAL,
            Self::LESS_EQUAL => F::LESS_EQUAL,
            Self::GREATER => F::GREATER,
            Self::NOT_EQUAL => F::NOT_EQUAL,
            Self::GREATER_EQUAL => F::GREATER_EQUAL,
            Self::ALWAYS => F::ALWAYS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_have_the_values_of_direct3d_12() {
        for func in D3D11_COMPARISON_FUNC::ALL {
            assert_eq!(func.value(), func.d3d12().value());
            assert_eq!(func.short_name(), func.d3d12().short_name());
        }
    }
}
