// tidy: table
//! `D3D12XBOX_DISPATCH_FLAGS`, value for value from its page (seed 003). The values
//! are the bits of COMPUTE_DISPATCH_INITIATOR (`hardware/pm4.md` section 3).

use super::flag_set;

flag_set! {
    /// Controls `DispatchX`. The page is for Series; on the Xbox One family the
    /// same flags less W32 (assumed).
    D3D12XBOX_DISPATCH_FLAGS: u32, prefix "D3D12XBOX_DISPATCH_FLAG_" {
        /// No flags.
        NONE = D3D12XBOX_DISPATCH_FLAG_NONE = 0x0000_0000;
        /// Takes COMPUTE_START_X/Y/Z as 0; without it they are honoured.
        FORCE_START_AT_000 = D3D12XBOX_DISPATCH_FLAG_FORCE_START_AT_000 = 0x0000_0004;
        /// Ordered append is supported.
        ENABLE_ORDERED_APPEND = D3D12XBOX_DISPATCH_FLAG_ENABLE_ORDERED_APPEND = 0x0000_0008;
        /// One id per thread group instead of per wave.
        ORDERED_APPEND_WAVEID_PER_THREADGROUP = D3D12XBOX_DISPATCH_FLAG_ORDERED_APPEND_WAVEID_PER_THREADGROUP = 0x0000_0010;
        /// The counts are threads, not groups.
        USE_THREAD_DIMENSIONS = D3D12XBOX_DISPATCH_FLAG_USE_THREAD_DIMENSIONS = 0x0000_0020;
        /// Waves may launch out of order; asynchronous queues only.
        ENABLE_OUT_OF_ORDER = D3D12XBOX_DISPATCH_FLAG_ENABLE_OUT_OF_ORDER = 0x0000_0040;
        /// Volatile accesses pass the vector L1 by.
        DISABLE_VOLATILE_VECTOR_L1 = D3D12XBOX_DISPATCH_FLAG_DISABLE_VOLATILE_VECTOR_L1 = 0x0000_0080;
        /// Volatile accesses pass the scalar L1 by.
        DISABLE_VOLATILE_SCALAR_L1 = D3D12XBOX_DISPATCH_FLAG_DISABLE_VOLATILE_SCALAR_L1 = 0x0000_0200;
        /// Drops the scalar L1's volatile lines when the dispatch starts.
        INVALIDATE_VOLATILE_SCALAR_L1 = D3D12XBOX_DISPATCH_FLAG_INVALIDATE_VOLATILE_SCALAR_L1 = 0x0000_0400;
        /// Drops the vector L1's volatile lines when the dispatch starts.
        INVALIDATE_VOLATILE_VECTOR_L1 = D3D12XBOX_DISPATCH_FLAG_INVALIDATE_VOLATILE_VECTOR_L1 = 0x0000_0800;
        /// Waves of 32 lanes; without it 64.
        W32 = D3D12XBOX_DISPATCH_FLAG_W32 = 0x0000_8000;
    }
}
