// tidy: table
//! The closed list of packet fields.

use std::fmt;

/// Declares the fields with their names.
macro_rules! fields {
    ($($(#[$doc:meta])* $field:ident = $name:literal,)*) => {
        /// A quantity that a packet carries. The same name means the same thing in
        /// every packet as far as the packets agree; bits, width and meaning of
        /// values stand in the packet's row.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Field {
            $($(#[$doc])* $field,)*
        }

        impl Field {
            /// Every field.
            pub const ALL: &[Self] = &[$(Self::$field),*];

            /// The name that the printer uses.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$field => $name,)*
                }
            }
        }
    };
}

fields! {
    /// COMPUTE_DISPATCH_INITIATOR; see [`crate::initiator`].
    Initiator = "INITIATOR",
    /// End of the grid in X, or its size.
    DimX = "DIM_X",
    /// End of the grid in Y, or its size.
    DimY = "DIM_Y",
    /// End of the grid in Z, or its size.
    DimZ = "DIM_Z",
    /// Byte offset of indirect arguments from the SET_BASE base.
    DataOffset = "DATA_OFFSET",
    /// The address the packet is about, in bytes.
    Addr = "ADDR",
    /// Which base SET_BASE sets.
    BaseIndex = "BASE_INDEX",
    /// First register of a SET packet, in dwords from its space's base.
    RegOffset = "REG_OFFSET",
    /// INDEX of a SET packet.
    RegIndex = "REG_INDEX",
    /// VGT_DRAW_INITIATOR.
    DrawInitiator = "DRAW_INITIATOR",
    /// Shader register that receives the first vertex, from the SH base.
    BaseVertexReg = "BASE_VERTEX_REG",
    /// Shader register that receives the first instance, from the SH base.
    StartInstanceReg = "START_INSTANCE_REG",
    /// Shader register that receives the first index, from the SH base.
    StartIndexReg = "START_INDEX_REG",
    /// Shader register that receives the number of the draw, from the SH base.
    DrawIndexReg = "DRAW_INDEX_REG",
    /// Draw parameters go to vector registers.
    UseVgprs = "USE_VGPRS",
    /// Marks each draw in the thread trace.
    ThreadTraceMarker = "THREAD_TRACE_MARKER",
    /// The number of draws is in memory.
    CountIndirect = "COUNT_INDIRECT",
    /// The number of each draw is given to the shader.
    DrawIndexEnable = "DRAW_INDEX_ENABLE",
    /// A number of things: draws (the most, if the real number is in memory), elements or entries.
    Count = "COUNT",
    /// Where the number of draws is.
    CountAddr = "COUNT_ADDR",
    /// Bytes from one record to the next.
    Stride = "STRIDE",
    /// DISABLE_CPVGTDMA_SM.
    SmDisable = "SM_DISABLE",
    /// The first index is given to the shader.
    StartIndexEnable = "START_INDEX_ENABLE",
    /// Number of indices.
    IndexCount = "INDEX_COUNT",
    /// Base select of INDEX_BASE.
    BaseSelect = "BASE_SELECT",
    /// Width of indices.
    IndexType = "INDEX_TYPE",
    /// Byte swap.
    SwapMode = "SWAP_MODE",
    /// Number of instances.
    InstanceCount = "INSTANCE_COUNT",
    /// Indices in the buffer; fetches beyond are clamped.
    MaxSize = "MAX_SIZE",
    /// First index.
    IndexOffset = "INDEX_OFFSET",
    /// Ignored bits of a filler.
    Pad = "PAD",
    /// What to do.
    Command = "COMMAND",
    /// Which state is loaded.
    LoadControl = "LOAD_CONTROL",
    /// Which state is shadowed.
    ShadowControl = "SHADOW_CONTROL",
    /// L2 policy of the access; GFX10 numbers bypass otherwise.
    CachePolicy = "CACHE_POLICY",
    /// L2 policy of the source.
    SrcCachePolicy = "SRC_CACHE_POLICY",
    /// L2 policy of the destination.
    DstCachePolicy = "DST_CACHE_POLICY",
    /// L2 policy of the second buffer's fetch.
    ElseCachePolicy = "ELSE_CACHE_POLICY",
    /// Which engine runs the packet; 0 is not the same in every packet.
    Engine = "ENGINE",
    /// Register dword index.
    Reg = "REG",
    /// Source register dword index.
    SrcReg = "SRC_REG",
    /// Destination register dword index.
    DstReg = "DST_REG",
    /// Dwords of the command buffer.
    IbSize = "IB_SIZE",
    /// Jump; do not return.
    Chain = "CHAIN",
    /// Polling is left to other hardware.
    OffloadPolling = "OFFLOAD_POLLING",
    /// Preemption is allowed.
    PreEna = "PRE_ENA",
    /// The access is volatile.
    Volatile = "VOLATILE",
    /// Address space.
    Vmid = "VMID",
    /// Resumes a preempted buffer.
    PreResume = "PRE_RESUME",
    /// The packet may be executed.
    Valid = "VALID",
    /// What kind of place is written.
    DstSel = "DST_SEL",
    /// Every dword goes to the same address.
    OneAddress = "ONE_ADDRESS",
    /// Wait until the write has landed.
    WrConfirm = "WR_CONFIRM",
    /// Through the address translation cache.
    Atc = "ATC",
    /// Offset in GDS.
    GdsOffset = "GDS_OFFSET",
    /// What kind of place is read.
    SrcSel = "SRC_SEL",
    /// Source through the address translation cache.
    SrcAtc = "SRC_ATC",
    /// The source is volatile.
    SrcVolatile = "SRC_VOLATILE",
    /// 32 or 64 bits.
    CountSel = "COUNT_SEL",
    /// Destination through the address translation cache.
    DstAtc = "DST_ATC",
    /// The destination is volatile.
    DstVolatile = "DST_VOLATILE",
    /// Reports that the queue still executes.
    PqExeStatus = "PQ_EXE_STATUS",
    /// Source address.
    Src = "SRC",
    /// Source offset in GDS.
    SrcOffset = "SRC_OFFSET",
    /// The value written, or the operand.
    Data = "DATA",
    /// Destination address.
    Dst = "DST",
    /// Destination offset in GDS.
    DstOffset = "DST_OFFSET",
    /// The source address is in memory.
    SrcIndirect = "SRC_INDIRECT",
    /// The destination address is in memory.
    DstIndirect = "DST_INDIRECT",
    /// The engine waits for this DMA and so for every earlier one.
    CpSync = "CP_SYNC",
    /// Bytes; whole bytes on every generation, however the packet stores them.
    ByteCount = "BYTE_COUNT",
    /// Do not wait for the writes.
    DisableWriteConfirm = "DISABLE_WRITE_CONFIRM",
    /// Byte swap of the source.
    SrcSwap = "SRC_SWAP",
    /// Byte swap of the destination.
    DstSwap = "DST_SWAP",
    /// The source is registers.
    SrcIsRegister = "SRC_IS_REGISTER",
    /// The destination is registers.
    DstIsRegister = "DST_IS_REGISTER",
    /// The source address stays.
    SrcNoIncrement = "SRC_NO_INCREMENT",
    /// The destination address stays.
    DstNoIncrement = "DST_NO_INCREMENT",
    /// Wait for earlier DMAs first.
    RawWait = "RAW_WAIT",
    /// TC_OP code; see [`crate::atomic`].
    AtomicOp = "ATOMIC_OP",
    /// What a compare-and-swap compares with.
    Compare = "COMPARE",
    /// Clocks between tries.
    LoopInterval = "LOOP_INTERVAL",
    /// If, or if and else.
    Mode = "MODE",
    /// Comparison; see [`crate::function`].
    Function = "FUNCTION",
    /// Bits of the value that are compared.
    Mask = "MASK",
    /// What the masked value is compared with.
    Reference = "REFERENCE",
    /// The buffer run if true.
    ThenAddr = "THEN_ADDR",
    /// The buffer run if false.
    ElseAddr = "ELSE_ADDR",
    /// Dwords of the buffer run if false.
    ElseSize = "ELSE_SIZE",
    /// Control bits of COND_EXEC.
    Control = "CONTROL",
    /// Dwords that are skipped or run.
    ExecCount = "EXEC_COUNT",
    /// Draw if visible rather than if not.
    PredicateVisible = "PREDICATE_VISIBLE",
    /// Do not wait for the predicate.
    PredicateHint = "PREDICATE_HINT",
    /// What kind of predicate.
    PredicateOp = "PREDICATE_OP",
    /// Adds to the predicate.
    Continue = "CONTINUE",
    /// Event number; see [`crate::events`].
    EventType = "EVENT_TYPE",
    /// What kind of event.
    EventIndex = "EVENT_INDEX",
    /// Cache actions; see [`crate::coher`].
    Coher = "COHER",
    /// Invalidate volatile lines of the vector L1.
    Tcl1VolAction = "TCL1_VOL_ACTION",
    /// Act on volatile lines of L2.
    TcVolAction = "TC_VOL_ACTION",
    /// Write L2 back.
    TcWbAction = "TC_WB_ACTION",
    /// Invalidate the vector L1.
    Tcl1Action = "TCL1_ACTION",
    /// Write L2 back and invalidate it.
    TcAction = "TC_ACTION",
    /// Time between polls; units of 16 clocks on SDMA, not confirmed elsewhere.
    PollInterval = "POLL_INTERVAL",
    /// Register or memory.
    MemSpace = "MEM_SPACE",
    /// Wait, or write, wait, write.
    Operation = "OPERATION",
    /// The poll passes L2 by.
    Uncached = "UNCACHED",
    /// Pipe of the scheduler.
    MesPipe = "MES_PIPE",
    /// Action for the scheduler.
    MesAction = "MES_ACTION",
    /// The other register of a write-wait-write.
    SecondReg = "SECOND_REG",
    /// The wait is left to other hardware.
    Offload = "OFFLOAD",
    /// Ignored.
    Dummy = "DUMMY",
    /// A trailing fence.
    Execute = "EXECUTE",
    /// What is written; see [`crate::data_sel`].
    DataSel = "DATA_SEL",
    /// Interrupt and confirmation; see [`crate::int_sel`].
    IntSel = "INT_SEL",
    /// Dwords from GDS.
    GdsSize = "GDS_SIZE",
    /// Wait for the CP DMA first.
    WaitDma = "WAIT_DMA",
    /// Cache actions of GFX10; see [`crate::gcr`]: RELEASE_MEM has its own layout.
    Gcr = "GCR",
    /// Context id of the interrupt.
    InterruptContext = "INTERRUPT_CONTEXT",
    /// Size of the range in bytes, a multiple of 256; all ones for everything.
    CoherSize = "COHER_SIZE",
    /// Start of the range, a multiple of 256.
    CoherBase = "COHER_BASE",
    /// Host access attribute of the destination.
    DstHa = "DST_HA",
    /// Host access attribute of the source.
    SrcHa = "SRC_HA",
    /// Encrypted copy.
    Encrypt = "ENCRYPT",
    /// Trusted memory.
    Tmz = "TMZ",
    /// Memory type of the write.
    Mtype = "MTYPE",
    /// GCC attribute of the write.
    Gcc = "GCC",
    /// The write goes to system memory.
    Sys = "SYS",
    /// The write is snooped.
    Snoop = "SNOOP",
    /// The address is a guest physical one.
    Gpa = "GPA",
    /// L2 policy of the write.
    L2Policy = "L2_POLICY",
    /// Dwords of the body.
    DwordCount = "DWORD_COUNT",
    /// From the last byte to the first.
    Backwards = "BACKWARDS",
    /// Byte swap of the second destination.
    SecondSwap = "SECOND_SWAP",
    /// Host access attribute of the second destination.
    SecondHa = "SECOND_HA",
    /// Second destination address.
    SecondDst = "SECOND_DST",
    /// The buffer is privileged.
    Privileged = "PRIVILEGED",
    /// Context save area.
    CsaAddr = "CSA_ADDR",
    /// Signal by writing one.
    WriteOne = "WRITE_ONE",
    /// Signal rather than wait.
    Signal = "SIGNAL",
    /// Through the mailbox.
    Mailbox = "MAILBOX",
    /// Flush the host data path first.
    HdpFlush = "HDP_FLUSH",
    /// Poll memory rather than a register.
    MemPoll = "MEM_POLL",
    /// Tries; 0xFFF for ever.
    RetryCount = "RETRY_COUNT",
    /// Repeat until the compare succeeds.
    Loop = "LOOP",
    /// Byte or dword fill.
    FillSize = "FILL_SIZE",
    /// Which bytes are written.
    ByteEnable = "BYTE_ENABLE",
    /// Aperture of the register.
    Aperture = "APERTURE",
    /// Last address of the range.
    Limit = "LIMIT",
    /// From tiled to linear rather than to tiled.
    Detile = "DETILE",
    /// Address of the tiled surface.
    Tiled = "TILED",
    /// X in the tiled surface.
    TiledX = "TILED_X",
    /// Y in the tiled surface.
    TiledY = "TILED_Y",
    /// Z in the tiled surface.
    TiledZ = "TILED_Z",
    /// Width of the tiled surface.
    Width = "WIDTH",
    /// Height of the tiled surface.
    Height = "HEIGHT",
    /// Depth of the tiled surface.
    Depth = "DEPTH",
    /// How the surface is tiled.
    TileInfo = "TILE_INFO",
    /// Address of the linear surface.
    Linear = "LINEAR",
    /// X in the linear surface.
    LinearX = "LINEAR_X",
    /// Y in the linear surface.
    LinearY = "LINEAR_Y",
    /// Z in the linear surface.
    LinearZ = "LINEAR_Z",
    /// Row pitch of the linear surface.
    LinearPitch = "LINEAR_PITCH",
    /// Slice pitch of the linear surface.
    LinearSlicePitch = "LINEAR_SLICE_PITCH",
    /// Width of the box.
    RectX = "RECT_X",
    /// Height of the box.
    RectY = "RECT_Y",
    /// Depth of the box.
    RectZ = "RECT_Z",
    /// Byte swap of the linear surface.
    LinearSwap = "LINEAR_SWAP",
    /// Byte swap of the tiled surface.
    TiledSwap = "TILED_SWAP",
    /// The metadata belong to the source.
    DccDirection = "DCC_DIRECTION",
    /// X in the source.
    SrcX = "SRC_X",
    /// Y in the source.
    SrcY = "SRC_Y",
    /// Z in the source.
    SrcZ = "SRC_Z",
    /// Width of the source.
    SrcWidth = "SRC_WIDTH",
    /// Height of the source.
    SrcHeight = "SRC_HEIGHT",
    /// Depth of the source.
    SrcDepth = "SRC_DEPTH",
    /// How the source is tiled.
    SrcTileInfo = "SRC_TILE_INFO",
    /// X in the destination.
    DstX = "DST_X",
    /// Y in the destination.
    DstY = "DST_Y",
    /// Z in the destination.
    DstZ = "DST_Z",
    /// Width of the destination.
    DstWidth = "DST_WIDTH",
    /// Height of the destination.
    DstHeight = "DST_HEIGHT",
    /// Depth of the destination.
    DstDepth = "DST_DEPTH",
    /// How the destination is tiled.
    DstTileInfo = "DST_TILE_INFO",
    /// Address of the metadata.
    MetaAddr = "META_ADDR",
    /// Format of the metadata.
    MetaConfig = "META_CONFIG",
    /// Row pitch of the tiled surface in tiles.
    PitchInTile = "PITCH_IN_TILE",
    /// Slice pitch of the tiled surface in tiles.
    SlicePitch = "SLICE_PITCH",
    /// A copy for video.
    VideoCopy = "VIDEO_COPY",
    /// Address of the second tiled surface.
    SecondTiled = "SECOND_TILED",
    /// Address of the array of structures.
    Structure = "STRUCTURE",
    /// First structure.
    StartIndex = "START_INDEX",
    /// Byte swap of the structures.
    StructureSwap = "STRUCTURE_SWAP",
    /// Host access attribute of the structures.
    StructureHa = "STRUCTURE_HA",
    /// Host access attribute of the linear surface.
    LinearHa = "LINEAR_HA",
    /// Size of an element, as a power of two.
    ElementSize = "ELEMENT_SIZE",
    /// Row pitch of the source.
    SrcPitch = "SRC_PITCH",
    /// Slice pitch of the source.
    SrcSlicePitch = "SRC_SLICE_PITCH",
    /// Row pitch of the destination.
    DstPitch = "DST_PITCH",
    /// Slice pitch of the destination.
    DstSlicePitch = "DST_SLICE_PITCH",
    /// Added from entry to entry.
    Increment = "INCREMENT",
    /// Devices that run the commands.
    DeviceSelect = "DEVICE_SELECT",
    /// Which translations are invalidated.
    Invalidate = "INVALIDATE",
    /// The S bit of the page.
    SystemPage = "SYSTEM_PAGE",
    /// Address of the page.
    PageAddr = "PAGE_ADDR",
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
