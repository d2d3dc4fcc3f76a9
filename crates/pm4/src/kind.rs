//! The closed list of packets.

use std::fmt;

/// Declares the packets with their names.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// A packet. Several layouts of one packet share a kind.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// Every packet.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The packet's name, as `DISPATCH_DIRECT`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// Nothing; its body carries markers or other data.
    Nop = "NOP",
    /// Sets a base address that later packets add offsets to.
    SetBase = "SET_BASE",
    /// Loads the default context state.
    ClearState = "CLEAR_STATE",
    /// Number of indices in the bound index buffer.
    IndexBufferSize = "INDEX_BUFFER_SIZE",
    /// Launches a grid of thread groups.
    DispatchDirect = "DISPATCH_DIRECT",
    /// Launches a grid whose size is read from memory.
    DispatchIndirect = "DISPATCH_INDIRECT",
    /// One atomic operation on memory, done in L2.
    AtomicMem = "ATOMIC_MEM",
    /// Starts or ends predication by a value in memory.
    SetPredication = "SET_PREDICATION",
    /// Skips the next dwords if a dword in memory is zero.
    CondExec = "COND_EXEC",
    /// A draw without indices, arguments in memory.
    DrawIndirect = "DRAW_INDIRECT",
    /// An indexed draw, arguments in memory.
    DrawIndexIndirect = "DRAW_INDEX_INDIRECT",
    /// Address of the index buffer.
    IndexBase = "INDEX_BASE",
    /// An indexed draw that names its index buffer.
    DrawIndex2 = "DRAW_INDEX_2",
    /// Which state is loaded and shadowed.
    ContextControl = "CONTEXT_CONTROL",
    /// Width of indices.
    IndexType = "INDEX_TYPE",
    /// Several draws without indices, arguments in memory.
    DrawIndirectMulti = "DRAW_INDIRECT_MULTI",
    /// A draw with counted indices.
    DrawIndexAuto = "DRAW_INDEX_AUTO",
    /// Instances of the draws that follow.
    NumInstances = "NUM_INSTANCES",
    /// Runs a command buffer on the constant engine.
    IndirectBufferConst = "INDIRECT_BUFFER_CONST",
    /// An indexed draw from the bound index buffer.
    DrawIndexOffset2 = "DRAW_INDEX_OFFSET_2",
    /// Writes its body to memory, registers or GDS.
    WriteData = "WRITE_DATA",
    /// Several indexed draws, arguments in memory.
    DrawIndexIndirectMulti = "DRAW_INDEX_INDIRECT_MULTI",
    /// Waits until a 32-bit value in memory or a register compares true.
    WaitRegMem = "WAIT_REG_MEM",
    /// Runs or chains to another command buffer.
    IndirectBuffer = "INDIRECT_BUFFER",
    /// Runs one of two command buffers by a 64-bit comparison.
    CondIndirectBuffer = "COND_INDIRECT_BUFFER",
    /// Copies 32 or 64 bits between memory, registers, GDS and counters.
    CopyData = "COPY_DATA",
    /// The DMA packet of GFX6; refused on every generation here.
    CpDma = "CP_DMA",
    /// Holds the PFP until the ME has caught up.
    PfpSyncMe = "PFP_SYNC_ME",
    /// Cache actions over a range, graphics ring of GFX7/8.
    SurfaceSync = "SURFACE_SYNC",
    /// Sends an event down the pipe.
    EventWrite = "EVENT_WRITE",
    /// End-of-pipe event with cache actions and a value, graphics ring of GFX7/8.
    EventWriteEop = "EVENT_WRITE_EOP",
    /// End-of-shader event with a value, graphics ring of GFX7/8.
    EventWriteEos = "EVENT_WRITE_EOS",
    /// End-of-pipe or end-of-shader event with cache actions and a value.
    ReleaseMem = "RELEASE_MEM",
    /// Copy or fill by the CP's own DMA engine.
    DmaData = "DMA_DATA",
    /// Cache actions over a range.
    AcquireMem = "ACQUIRE_MEM",
    /// Drops prefetched commands and waits for its valid bit.
    Rewind = "REWIND",
    /// Writes configuration registers.
    SetConfigReg = "SET_CONFIG_REG",
    /// Writes context registers.
    SetContextReg = "SET_CONTEXT_REG",
    /// Writes shader registers.
    SetShReg = "SET_SH_REG",
    /// Writes user configuration registers.
    SetUconfigReg = "SET_UCONFIG_REG",
    /// Writes user configuration registers that need an index.
    SetUconfigRegIndex = "SET_UCONFIG_REG_INDEX",
    /// Waits until earlier confirmed writes have landed; its layout is not public.
    WaitForWriteConfirm = "WAIT_FOR_WRITE_CONFIRM",
    /// Waits until a 64-bit value in memory compares true.
    WaitRegMem64 = "WAIT_REG_MEM64",
    /// Writes shader registers, optionally with the kernel's CU mask.
    SetShRegIndex = "SET_SH_REG_INDEX",
    /// Several draws without indices, their number in memory.
    DrawIndirectCountMulti = "DRAW_INDIRECT_COUNT_MULTI",
    /// Several indexed draws, their number in memory.
    DrawIndexIndirectCountMulti = "DRAW_INDEX_INDIRECT_COUNT_MULTI",
    /// A register write of the old style: index and count in the header.
    Type0 = "TYPE0",
    /// One dword of filler.
    Filler = "TYPE2",
    /// Nothing; its body carries markers or other data.
    SdmaNop = "SDMA_NOP",
    /// Copies bytes.
    SdmaCopyLinear = "SDMA_COPY_LINEAR",
    /// Copies bytes to two places.
    SdmaCopyBroadcast = "SDMA_COPY_LINEAR_BROADCAST",
    /// Copies between a linear and a tiled surface.
    SdmaCopyTiled = "SDMA_COPY_TILED",
    /// Copies from a linear to two tiled surfaces.
    SdmaCopyTiledBroadcast = "SDMA_COPY_TILED_BROADCAST",
    /// Copies between arrays of structures and structures of arrays.
    SdmaCopyStructure = "SDMA_COPY_SOA",
    /// Copies a box between linear surfaces.
    SdmaCopyLinearWindow = "SDMA_COPY_LINEAR_SUBWINDOW",
    /// Copies a box between a linear and a tiled surface.
    SdmaCopyTiledWindow = "SDMA_COPY_TILED_SUBWINDOW",
    /// Copies a box between tiled surfaces.
    SdmaCopyTiledToTiled = "SDMA_COPY_T2T",
    /// Writes its body to memory.
    SdmaWriteLinear = "SDMA_WRITE_LINEAR",
    /// Writes its body to a tiled surface.
    SdmaWriteTiled = "SDMA_WRITE_TILED",
    /// Runs another command buffer.
    SdmaIndirect = "SDMA_INDIRECT_BUFFER",
    /// Writes 32 bits when earlier commands are done.
    SdmaFence = "SDMA_FENCE",
    /// Writes 64 bits when earlier commands are done; a packet of our own.
    SdmaFence64 = "SDMA_FENCE64",
    /// Interrupts the host.
    SdmaTrap = "SDMA_TRAP",
    /// Waits for or signals a semaphore in memory.
    SdmaSemaphore = "SDMA_SEMAPHORE",
    /// Waits until a 32-bit value compares true.
    SdmaPollRegMem = "SDMA_POLL_REGMEM",
    /// Waits until a 64-bit value compares true; a packet of our own.
    SdmaPollMem64 = "SDMA_POLL_MEM64",
    /// Skips the next dwords unless a dword in memory equals a reference.
    SdmaCondExe = "SDMA_COND_EXE",
    /// One atomic operation on memory.
    SdmaAtomic = "SDMA_ATOMIC",
    /// Fills memory with one value.
    SdmaConstantFill = "SDMA_CONSTANT_FILL",
    /// Generates page table entries.
    SdmaPtePde = "SDMA_GENERATE_PTE_PDE",
    /// Sets the engine's local counter.
    SdmaTimestampSet = "SDMA_TIMESTAMP_SET",
    /// Writes the engine's local counter to memory.
    SdmaTimestampGet = "SDMA_TIMESTAMP_GET_LOCAL",
    /// Writes the GPU clock to memory.
    SdmaTimestamp = "SDMA_TIMESTAMP_GET_GLOBAL",
    /// Writes one register.
    SdmaSrbmWrite = "SDMA_SRBM_WRITE",
    /// Runs the next dwords only if its device is selected.
    SdmaPreExe = "SDMA_PRE_EXE",
    /// Invalidates address translations.
    SdmaGpuvmInv = "SDMA_GPUVM_INV",
    /// Cache actions over a range, from a DMA engine.
    SdmaGcrReq = "SDMA_GCR_REQ",
    /// A trap that interrupts nobody.
    SdmaDummyTrap = "SDMA_DUMMY_TRAP",
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
