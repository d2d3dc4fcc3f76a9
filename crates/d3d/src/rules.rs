// tidy: table
//! Every API rule, numbered from 1000: what a call may say, judged when it is
//! recorded. One list, read by the checks, the docs and `explain`. Numbers and
//! names are stable; a rule that goes leaves a gap.

use wavefence_base::Rule;

/// A rule with what `explain` shows of it, in the words of a scenario file.
#[derive(Clone, Copy, Debug)]
pub struct RuleInfo {
    /// The rule.
    pub rule: &'static Rule,
    /// What breaks it.
    pub wrong: &'static str,
    /// What to write instead.
    pub right: &'static str,
}

macro_rules! rules {
    ($($number:literal $const:ident $name:literal: $summary:literal, $source:literal,
       $wrong:literal => $right:literal;)*) => {
        $(#[doc = $summary]
        pub static $const: Rule = Rule {
            number: $number, name: $name, summary: $summary, source: $source,
        };)*

        /// Every rule, by number.
        pub static ALL: &[&Rule] = &[$(&$const),*];

        /// Every rule with an example, by number.
        pub static INFO: &[RuleInfo] = &[$(RuleInfo {
            rule: &$const, wrong: $wrong, right: $right,
        }),*];
    };
}

rules! {
    // Lists and queues.
    1000 LIST_CLOSED "list-closed": "No call may be recorded after Close, and no list closed twice.", "Direct3D 12, ID3D12GraphicsCommandList::Close", "calls after Close" => "a new list for the next calls";
    1001 LIST_OPEN "list-open": "A list must be closed without errors before it is executed.", "Direct3D 12, ID3D12CommandQueue::ExecuteCommandLists", "Execute: a list that was not closed" => "Close, then Execute";
    1002 LIST_KIND "list-kind": "A call must exist on the kind of list it is recorded in: DMA lists have no dispatches, pipeline, bindings or GDS.", "Direct3D 12 command list types; hardware/pm4.md 1.5", "Type: DMA … - Dispatch: [1, 1, 1]" => "Type: Compute … - Dispatch: [1, 1, 1]";
    1003 QUEUE_KIND "queue-kind": "A list runs on queues of its own kind only.", "Direct3D 12, ID3D12CommandQueue::ExecuteCommandLists", "Execute a Compute list on a Graphics queue" => "Execute it on a Compute queue";
    1004 QUEUE_EXISTS "queue-exists": "A queue must be one that the profile has.", "hardware/pm4.md 8; hardware/caches.md 5", "Queues: Pipe: 9" => "Queues: Pipe: 0";
    1005 FACE_FAMILY "face-family": "The D3D11.X face exists on the Xbox One family only.", "design 4.1", "Profile: series-x, Face: D3D11.X" => "Profile: xbox-one, Face: D3D11.X";
    1006 MARKER_BALANCE "marker-balance": "Every EndEvent closes a BeginEvent of the same list, and every event is closed before Close.", "PIX event markers", "BeginEvent: Blur, and no EndEvent" => "BeginEvent: Blur … EndEvent";
    1007 ADDRESS_RANGE "address-range": "An address must not be 0 and must fit the GPU's address space: 40 bits on the Xbox One family, 48 on Series.", "hardware/pm4.md 1.4 and 2.2", "Write32BitValueBottomOfPipeX: [0, 1]" => "Write32BitValueBottomOfPipeX: [Sync, 1]";
    1008 RAW_PACKETS "raw-packets": "InsertPacketsX takes whole packets of the profile's generation and the list's kind.", "hardware/pm4.md 1", "InsertPacketsX: [0xC0011000]" => "InsertPacketsX: [0xC0001000, 0]";

    1009 FACE_CALL "face-call": "A call must exist on the face that its list is recorded with.", "design 4.3 and 4.4", "Face: D3D11.X … - FlushPipelineX: IDLE" => "Face: D3D11.X … - InsertWaitUntilIdle";

    // Values written.
    1010 WRITE32_ALIGNMENT "write32-alignment": "Destination of a 32-bit write must be 4-byte aligned.", "seed 002, Destination", "Write32BitValueBottomOfPipeX: [Sync + 2, 1]" => "Write32BitValueBottomOfPipeX: [Sync + 4, 1]";
    1011 WRITE32_FLUSH "write32-flush": "Flush of Write32BitValueBottomOfPipeX takes only BOP_TEXTURE_L1_INVALIDATE, L1_VOLATILE, L2_INVALIDATE, L2_VOLATILE and L2_WRITEBACK.", "seed 002, Flush", "Write32BitValueBottomOfPipeX: [Sync, 1, IDLE]" => "FlushPipelineX: IDLE, then Write32BitValueBottomOfPipeX: [Sync, 1]";
    1012 WRITE32_FLAGS "write32-flags": "Flags of Write32BitValueBottomOfPipeX must be NONE; a timestamp has 64 bits and needs Write64BitValueBottomOfPipeX.", "seed 002, Flags", "Write32BitValueBottomOfPipeX: [Sync, 0, NONE, GPU_TIMESTAMP]" => "Write64BitValueBottomOfPipeX: [Sync, 0, NONE, GPU_TIMESTAMP]";
    1013 WRITE64_ALIGNMENT "write64-alignment": "Destination of a 64-bit write must be 32-byte aligned on the Xbox One family and on every DMA list, 8-byte aligned elsewhere (Series: assumed).", "seed 004, Destination; hardware/pm4.md 1.5 TIMESTAMP and 4.4", "Write64BitValueBottomOfPipeX: [Sync + 8, 1] on xbox-one" => "Write64BitValueBottomOfPipeX: [Sync + 32, 1]";
    1014 WRITE64_FLUSH "write64-flush": "Flush of Write64BitValueBottomOfPipeX must be NONE.", "seed 004, Flush", "Write64BitValueBottomOfPipeX: [Sync, 1, BOP_TEXTURE_L2_WRITEBACK]" => "FlushPipelineX: BOP_TEXTURE_L2_WRITEBACK, then Write64BitValueBottomOfPipeX: [Sync, 1]";
    1015 WRITE64_VALUE "write64-value": "Value must be 0 when a timestamp flag is set.", "seed 004, Value", "Write64BitValueBottomOfPipeX: [Sync, 7, NONE, GPU_TIMESTAMP]" => "Write64BitValueBottomOfPipeX: [Sync, 0, NONE, GPU_TIMESTAMP]";
    1016 WRITE64_TIMESTAMPS "write64-timestamps": "At most one of the two timestamp flags may be set: each selects what is written.", "seed 004, Flags", "Flags: GPU_TIMESTAMP | SYSTEM_TIMESTAMP" => "two calls, one flag each";
    1017 DMA_FLUSH "dma-flush": "A DMA engine has no shaders and none of the GPU's caches: DMA lists take no flush flags.", "hardware/pm4.md 1.5 FENCE; hardware/caches.md 2", "Type: DMA … - FlushPipelineX: IDLE" => "flush on the queue whose caches hold the data";
    1018 DMA_SYSTEM_CLOCK "dma-system-clock": "A DMA engine can write the GPU clock only, not the system clock.", "hardware/pm4.md 1.5 TIMESTAMP", "Type: DMA … Flags: SYSTEM_TIMESTAMP" => "Flags: GPU_TIMESTAMP";
    1019 UNKNOWN_FLAGS "unknown-flags": "Flags must be made of the flags that the enumeration has.", "seeds 000, 002, 003, 004", "a flag value of 0x800" => "flags by their names";


    // Waits.
    1020 WAIT_NEVER "wait-never": "A wait cannot compare with NEVER: it would never end, and the packet has no code for it.", "hardware/pm4.md 5", "Wait32BitValueX: [Sync, NEVER, 1]" => "Wait32BitValueX: [Sync, GREATER_EQUAL, 1]";
    1021 WAIT_ALIGNMENT "wait-alignment": "A wait polls at a 4-byte (64-bit: 8-byte) aligned address.", "hardware/pm4.md 5", "Wait32BitValueX: [Sync + 2, EQUAL, 1]" => "Wait32BitValueX: [Sync + 4, EQUAL, 1]";
    1022 FLUSH_RANGE_ZERO "flush-range-zero": "FlushGpuCacheRange must not be given base 0 and size 0 together: the depth block can hang. Everything is base 0 and D3D11_FLUSH_GPU_CACHE_RANGE_ALL.", "seed 000, Remarks", "FlushGpuCacheRange: {Flags: DEFAULT, BaseAddress: 0, SizeInBytes: 0}" => "FlushGpuCacheRange: {Flags: DEFAULT, BaseAddress: 0, SizeInBytes: 0xFFFFFFFF00}";
    1023 WAIT_MASK "wait-mask": "A masked wait must be able to end: the masked value has no bits outside the mask.", "hardware/pm4.md 5", "InsertWaitOnMemory: [Sync, 0, EQUAL, 0x10, 0x0F]" => "InsertWaitOnMemory: [Sync, 0, EQUAL, 0x10, 0xF0]";
    1025 EOS_AFTER_COPY "eos-after-copy": "On Xbox One and One S, end-of-shader writes on the graphics queue do not go with CP DMA into L2, which the list's copies and fills use.", "hardware/pm4.md 1.4 DMA_DATA; hardware/caches.md 2", "CopyResource …, then Write32BitValueBottomOfShaderX on xbox-one" => "Write32BitValueBottomOfPipeX";

    // Flushes.
    1030 FLUSH_NOTHING "flush-nothing": "A flush without flags does nothing.", "design 4.3 and 4.4; peers.md 5.1 (SimpleCompute)", "FlushPipelineX: NONE" => "FlushPipelineX: TOP_TEXTURE_L1_INVALIDATE";
    1031 FLUSH_ZERO_RANGE "flush-zero-range": "Base 0 and size 0 together can hang the depth block when colour or depth caches are flushed; use D3D12XBOX_FLUSH_RANGE_ALL.", "seed 000, Remarks", "FlushPipelineX: {Flush: BOP_DEPTH_BLOCK_DATA, Base: 0, Size: 0}" => "FlushPipelineX: BOP_DEPTH_BLOCK_DATA";
    1032 FLUSH_GRAPHICS_PARTS "flush-graphics-parts": "A compute queue has no vertex or pixel shaders and no colour or depth blocks: those flags do nothing there.", "hardware/caches.md 1.6; hardware/pm4.md 2.1", "Type: Compute … - FlushPipelineX: BOP_PS_PARTIAL" => "FlushPipelineX: BOP_CS_PARTIAL";
    1033 FLUSH_PFP "flush-pfp": "A compute queue has no prefetch parser: TOP_PFP does nothing there.", "hardware/pm4.md 6", "Type: Compute … - FlushPipelineX: TOP_PFP" => "leave TOP_PFP out";
    1034 FLUSH_RANGE_L2 "flush-range-l2": "L2 flushes do not honour the range: the whole cache is flushed.", "seed 000, Remarks", "FlushPipelineX: [TOP_TEXTURE_L2_INVALIDATE, Buf, 256]" => "FlushPipelineX: TOP_TEXTURE_L2_INVALIDATE";
    1035 VOLATILE_NOTHING "volatile-nothing": "Nothing is marked volatile on the Xbox One family: flags that act on volatile lines do nothing there.", "seed 000, TEXTURE_L2_VOLATILE", "FlushPipelineX: BOP_TEXTURE_L1_VOLATILE on xbox-one" => "FlushPipelineX: BOP_TEXTURE_L1_INVALIDATE";
    1036 FLUSH_EMPTY_RANGE "flush-empty-range": "A range of no bytes with a base other than 0 matches nothing.", "hardware/pm4.md 2.2", "FlushPipelineX: [TOP_TEXTURE_L1_INVALIDATE, Buf, 0]" => "FlushPipelineX: [TOP_TEXTURE_L1_INVALIDATE, Buf, Buf.Size]";
    1037 FLUSH_ENSURE_DB "flush-ensure-db": "ENSURE_DB_COHERENCY is for FlushGpuCacheRange only, not for the flushes of a compute context.", "seed 000, ENSURE_DB_COHERENCY", "FlushGpuCachesTopOfPipe: ENSURE_DB_COHERENCY" => "FlushGpuCacheRange: ENSURE_DB_COHERENCY on the graphics context";
    1038 FLUSH_RESERVED "flush-reserved": "ENSURE_BASE_0 to 3_COHERENCY are reserved: they do nothing and must not be used.", "seed 000, ENSURE_BASE_0_COHERENCY", "FlushGpuCacheRange: ENSURE_BASE_0_COHERENCY" => "FlushGpuCacheRange: ENSURE_DB_COHERENCY";
    1039 FLUSH_CB_SUBSET "flush-cb-subset": "ENSURE_CB0 to CB7_COHERENCY are to be set all eight together.", "seed 000, ENSURE_CB0_COHERENCY", "FlushGpuCacheRange: ENSURE_CB0_COHERENCY | COLOR_BLOCK_INVALIDATE" => "all of ENSURE_CB0_COHERENCY to ENSURE_CB7_COHERENCY";

    // Dispatches.
    1040 DISPATCH_OUT_OF_ORDER "dispatch-out-of-order": "ENABLE_OUT_OF_ORDER is for asynchronous (compute) queues only.", "seed 003, ENABLE_OUT_OF_ORDER", "Type: Graphics … DispatchX: [1, 1, 1, ENABLE_OUT_OF_ORDER]" => "Type: Compute … DispatchX: [1, 1, 1, ENABLE_OUT_OF_ORDER]";
    1041 DISPATCH_ORDERED_OUT_OF_ORDER "dispatch-ordered-out-of-order": "Ordered append needs waves launched in order: ENABLE_ORDERED_APPEND and ENABLE_OUT_OF_ORDER exclude each other.", "hardware/caches.md 4", "DispatchX: [1, 1, 1, ENABLE_ORDERED_APPEND | ENABLE_OUT_OF_ORDER]" => "DispatchX: [1, 1, 1, ENABLE_ORDERED_APPEND]";
    1042 DISPATCH_ORDERED_FLAG "dispatch-ordered-flag": "A shader with ordered operations needs ENABLE_ORDERED_APPEND.", "seed 003, ENABLE_ORDERED_APPEND", "DispatchX: [1, 1, 1] of a shader with ordered operations" => "DispatchX: [1, 1, 1, ENABLE_ORDERED_APPEND]";
    1043 DISPATCH_WAVEID_ALONE "dispatch-waveid-alone": "ORDERED_APPEND_WAVEID_PER_THREADGROUP does nothing without ENABLE_ORDERED_APPEND.", "seed 003; design 4.6", "DispatchX: [1, 1, 1, ORDERED_APPEND_WAVEID_PER_THREADGROUP]" => "DispatchX: [1, 1, 1, ENABLE_ORDERED_APPEND | ORDERED_APPEND_WAVEID_PER_THREADGROUP]";
    1044 DISPATCH_W32_PROFILE "dispatch-w32-profile": "W32 exists on Series only; the Xbox One family runs waves of 64.", "seed 003, header and platforms; hardware/caches.md 4", "Profile: xbox-one … DispatchX: [1, 1, 1, W32]" => "DispatchX: [1, 1, 1]";
    1045 DISPATCH_W32_SHADER "dispatch-w32-shader": "W32 may be set only if the bound shader was compiled with -D__XBOX_ENABLE_WAVE32=1.", "seed 003, Remarks", "DispatchX: [1, 1, 1, W32] of a shader for wave64" => "compile it with -D__XBOX_ENABLE_WAVE32=1";
    1046 DISPATCH_WAVE32_UNUSED "dispatch-wave32-unused": "A shader compiled for wave32 runs as wave64 without W32.", "seed 003, W32", "DispatchX: [1, 1, 1] of a shader for wave32" => "DispatchX: [1, 1, 1, W32]";
    1047 DISPATCH_WAVE_SIZE "dispatch-wave-size": "A shader with [WaveSize(n)] runs with that size only.", "HLSL WaveSize attribute", "DispatchX: [1, 1, 1, W32] of a shader with [WaveSize(64)]" => "DispatchX: [1, 1, 1]";
    1048 DISPATCH_START_THREADS "dispatch-start-threads": "USE_THREAD_DIMENSIONS with a start offset is undefined.", "design 4.6", "SetComputeStartX: [1, 0, 0], then DispatchX: [64, 1, 1, USE_THREAD_DIMENSIONS]" => "DispatchX: [64, 1, 1, USE_THREAD_DIMENSIONS | FORCE_START_AT_000]";
    1049 DISPATCH_START_EMPTY "dispatch-start-empty": "The counts are end coordinates when a start is set: with start not below end nothing runs.", "hardware/pm4.md 1.4 DISPATCH_DIRECT", "SetComputeStartX: [4, 0, 0], then DispatchX: [4, 1, 1]" => "DispatchX: [8, 1, 1]";
    1050 DISPATCH_EMPTY "dispatch-empty": "A dispatch with a count of 0 runs nothing.", "Direct3D 12, Dispatch", "Dispatch: [0, 1, 1]" => "Dispatch: [1, 1, 1]";
    1051 DISPATCH_LIMIT "dispatch-limit": "At most 65535 thread groups in each dimension; DispatchX takes any number in X, as the hardware does.", "Direct3D 12, D3D12_CS_DISPATCH_MAX_THREAD_GROUPS_PER_DIMENSION; hardware/caches.md section 4", "Dispatch: [65536, 1, 1]" => "DispatchX: [65536, 1, 1]";
    1052 DISPATCH_PIPELINE "dispatch-pipeline": "A dispatch needs a pipeline state.", "Direct3D 12, SetPipelineState", "Dispatch: [1, 1, 1] as the first call" => "SetPipelineState: Blur, then Dispatch: [1, 1, 1]";
    1053 BINDING_MISSING "binding-missing": "Every resource that the shader names must be bound.", "Direct3D 12 resource binding", "a shader with RWBuffer<uint> Out : register(u0), and nothing at u0" => "a DescriptorSet with u0";
    1054 BINDING_TYPE "binding-type": "What is bound must be what the shader declares: buffer or texture, raw, structured or typed, with the declared stride and dimension.", "Direct3D 12 resource binding", "a structured buffer of stride 8 where the shader declares 16" => "a view with stride 16";
    1055 ROOT_CONSTANTS "root-constants": "Root constants travel in user data registers: at most 14 dwords in all.", "design 4.7; COMPUTE_USER_DATA_2 to 15", "SetComputeRoot32BitConstants with 15 values" => "14 values, or a constant buffer";
    1056 DISPATCH_THREADS "dispatch-threads": "A thread group has at most 1024 threads and the group-shared memory that the profile has.", "Direct3D 12, D3D12_CS_THREAD_GROUP_MAX_THREADS_PER_GROUP; hardware/caches.md 4", "[numthreads(1025, 1, 1)]" => "[numthreads(1024, 1, 1)]";
    1057 DISPATCH_VOLATILE "dispatch-volatile": "Nothing is marked volatile on the Xbox One family: the volatile flags of DispatchX do nothing there.", "seed 000, TEXTURE_L2_VOLATILE; seed 003", "DispatchX: [1, 1, 1, DISABLE_VOLATILE_VECTOR_L1] on xbox-one" => "DispatchX: [1, 1, 1]";
    1058 INDIRECT_ALIGNMENT "indirect-alignment": "Indirect arguments and counts are read at 4-byte aligned addresses; a stride is a multiple of 4 and at least 12.", "Direct3D 12, ExecuteIndirect", "ExecuteIndirect: {ArgumentBuffer: A, ArgumentBufferOffset: 2}" => "ExecuteIndirect: {ArgumentBuffer: A, ArgumentBufferOffset: 4}";

    1059 UAV_COUNTER "uav-counter": "A shader that counts (Append, Consume, IncrementCounter, DecrementCounter) needs a UAV with a counter: 4 bytes of a buffer, at an offset that is a multiple of 4096.", "Direct3D 12, CreateUnorderedAccessView; D3D12_UAV_COUNTER_PLACEMENT_ALIGNMENT", "AppendStructuredBuffer without a counter" => "a UAV with a counter";

    // Copies and fills.
    1060 COPY_RANGE "copy-range": "A copy or fill stays within its resources.", "Direct3D 12, CopyBufferRegion", "CopyBufferRegion: [B, 0, A, 0, A.Size + 4]" => "CopyBufferRegion: [B, 0, A, 0, A.Size]";
    1061 COPY_OVERLAP "copy-overlap": "Source and destination of a copy must not overlap.", "Direct3D 12, CopyBufferRegion", "CopyBufferRegion: [A, 4, A, 0, 16]" => "CopyBufferRegion: [A, 16, A, 0, 16]";
    1062 COPY_SHAPE "copy-shape": "CopyResource and CopyTextureRegion need the same format, and CopyResource the same size.", "Direct3D 12, CopyResource", "CopyResource of textures of two formats" => "CopyResource of textures of one format and size";
    1063 FILL_ALIGNMENT "fill-alignment": "A fill starts at and covers a multiple of its pattern's size.", "hardware/pm4.md 1.4 DMA_DATA", "FillMemoryWith32BitValueX: [A + 2, 16, 0]" => "FillMemoryWith32BitValueX: [A, 16, 0]";
    1064 COPY_EMPTY "copy-empty": "A copy or fill of 0 bytes does nothing.", "Direct3D 12, CopyBufferRegion", "CopyBufferRegion: [B, 0, A, 0, 0]" => "leave the call out";
    1066 UNDRAWN "undrawn": "This version runs compute and copies: draws, clears and decompression of targets are refused.", "design 4.3", "DrawInstanced: [3, 1, 0, 0]" => "a compute shader";

    // Barriers.
    1070 BARRIER_SAME "barrier-same": "A transition must go to another state.", "Direct3D 12, D3D12_RESOURCE_TRANSITION_BARRIER", "ResourceBarrier: [A, COMMON, COMMON]" => "ResourceBarrier: [A, COMMON, UNORDERED_ACCESS]";
    1071 BARRIER_COMBINATION "barrier-combination": "A writable state cannot be combined with another state.", "Direct3D 12 resource states", "StateAfter: UNORDERED_ACCESS | COPY_SOURCE" => "StateAfter: UNORDERED_ACCESS";
    1072 BARRIER_LIST "barrier-list": "A state must exist on the kind of list: compute lists know no render target, depth, stream-out, resolve, index or pixel shader states, DMA lists only COMMON, COPY_SOURCE and COPY_DEST.", "Direct3D 12 resource states", "Type: Compute … StateAfter: RENDER_TARGET" => "make the transition in a Graphics list";

    // Global data share.
    1080 GDS_RANGE "gds-range": "GDS offsets and sizes are multiples of 4 and lie in the data share.", "hardware/caches.md 1.2", "WriteGDSX: [65532, [1, 2]]" => "WriteGDSX: [65528, [1, 2]]";
    1081 ORDERED_COUNTER "ordered-counter": "An ordered append counter is one dword of the data share.", "hardware/caches.md 4", "SetupOrderedAppendCounterX: 16384" => "SetupOrderedAppendCounterX: 0";

    // Fences.
    1090 FENCE_DEVICE "fence-device": "Fences, lists, pipelines and resources are used with the device that made them.", "Direct3D 12", "a fence of another device" => "a fence of this device";

    // Hangs.
    1091 HANG_CLAIM "hang-claim": "A title that reports a hang (ReportGpuHangX, ReportGpuHaltX) must have one: here every queue has done its work.", "peers.md 4, class 21 (HangFalsePositive)", "ReportGpuHangX: frame took too long, while the GPU is fine" => "wait for the fence of the frame before claiming a hang";
}

/// The rule of that number or name.
pub fn find(key: &str) -> Option<&'static Rule> {
    let number = key.parse::<u32>().ok();
    ALL.iter().copied().find(|r| r.name == key || number == Some(r.number))
}

/// The rule of that number or name, with its example.
pub fn find_info(key: &str) -> Option<&'static RuleInfo> {
    let rule = find(key)?;
    INFO.iter().find(|info| info.rule.number == rule.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_names_are_kebab_case_and_unique() {
        for pair in ALL.windows(2) {
            assert!(pair[0].number < pair[1].number, "{}", pair[1].name);
        }
        for rule in ALL {
            assert!(rule.number >= 1000);
            assert!(
                rule.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            );
            assert!(rule.summary.ends_with('.'), "{}", rule.name);
            assert!(find_info(rule.name).is_some_and(|i| i.wrong != i.right));
            assert_eq!(find(rule.name).map(|r| r.number), Some(rule.number));
            assert_eq!(find(&rule.number.to_string()).map(|r| r.name), Some(rule.name));
        }
    }
}
