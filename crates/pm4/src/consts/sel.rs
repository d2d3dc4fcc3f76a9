// tidy: table
//! Selector values of the memory packets (`hardware/pm4.md` 1.4, 4.4, 5).

use crate::Named;

/// The first `count` names of a table: what older generations have.
pub const fn first(names: &'static [Named], count: usize) -> &'static [Named] {
    names.split_at(count).0
}

/// Declares one module of selector values.
macro_rules! selector {
    ($(#[$doc:meta])* $module:ident { $($(#[$d:meta])* $name:ident = $value:expr,)* }) => {
        $(#[$doc])*
        pub mod $module {
            use crate::consts::named;

            named! {
                /// Names of the values.
                NAMES: u8 = { $($(#[$d])* $name = $value,)* }
            }
        }
    };
}

selector! {
    /// Which engine runs a WRITE_DATA, COPY_DATA, ATOMIC_MEM or WAIT_REG_MEM.
    engine {
        /// The micro engine.
        ME = 0,
        /// The prefetch parser.
        PFP = 1,
        /// The constant engine.
        CE = 2,
    }
}

selector! {
    /// Which engine starts a DMA_DATA.
    dma_engine {
        /// The micro engine.
        ME = 0,
        /// The prefetch parser.
        PFP = 1,
    }
}

selector! {
    /// Which engine runs a SURFACE_SYNC or ACQUIRE_MEM: the other way round.
    acquire_engine {
        /// The prefetch parser.
        PFP = 0,
        /// The micro engine.
        ME = 1,
    }
}

selector! {
    /// DST_SEL of WRITE_DATA.
    write_dst {
        /// A register.
        REGISTER = 0,
        /// Memory, synchronised through the GRBM.
        MEMORY_GRBM = 1,
        /// Memory through L2.
        L2 = 2,
        /// Global data share.
        GDS = 3,
        /// Memory.
        MEMORY = 5,
    }
}

selector! {
    /// SRC_SEL of COPY_DATA. On GFX10 MEMORY is another name of L2.
    copy_src {
        /// A register.
        REGISTER = 0,
        /// Memory.
        MEMORY = 1,
        /// Memory through L2.
        L2 = 2,
        /// Global data share.
        GDS = 3,
        /// A performance counter.
        PERFCOUNTER = 4,
        /// The source dwords themselves.
        IMMEDIATE = 5,
        /// What the last atomic returned.
        ATOMIC_RETURN = 6,
        /// First return of the last GDS atomic.
        GDS_ATOMIC_RETURN_0 = 7,
        /// Second return of the last GDS atomic.
        GDS_ATOMIC_RETURN_1 = 8,
        /// The GPU clock.
        GPU_CLOCK = 9,
    }
}

selector! {
    /// DST_SEL of COPY_DATA. On GFX10 MEMORY is another name of L2.
    copy_dst {
        /// A register.
        REGISTER = 0,
        /// Memory, synchronised through the GRBM.
        MEMORY_GRBM = 1,
        /// Memory through L2.
        L2 = 2,
        /// Global data share.
        GDS = 3,
        /// A performance counter.
        PERFCOUNTER = 4,
        /// Memory.
        MEMORY = 5,
        /// A register of the display controller.
        REGISTER_DC = 6,
    }
}

selector! {
    /// SRC_SEL of DMA_DATA.
    dma_src {
        /// Memory past L2, or a register if SAS is set.
        MEMORY = 0,
        /// Global data share.
        GDS = 1,
        /// The dword in the packet: a fill.
        DATA = 2,
        /// Memory through L2.
        L2 = 3,
    }
}

selector! {
    /// DST_SEL of DMA_DATA.
    dma_dst {
        /// Memory past L2, or a register if DAS is set.
        MEMORY = 0,
        /// Global data share.
        GDS = 1,
        /// A prefetch (GFX9 and later).
        NOWHERE = 2,
        /// Memory through L2.
        L2 = 3,
    }
}

selector! {
    /// MEM_SPACE of WAIT_REG_MEM.
    mem_space {
        /// A register.
        REGISTER = 0,
        /// Memory.
        MEMORY = 1,
        /// Memory through L2 (GFX7 and GFX8).
        L2 = 2,
    }
}

selector! {
    /// OPERATION of WAIT_REG_MEM.
    wait_operation {
        /// Wait.
        WAIT = 0,
        /// Write a register, wait for another, write again.
        WRITE_WAIT_WRITE = 1,
        /// Conditional wait (ME, GFX10).
        WAIT_COND = 2,
        /// A wait that can be preempted (GFX10).
        WAIT_PREEMPTABLE = 3,
    }
}

selector! {
    /// DST_SEL of EVENT_WRITE_EOP and RELEASE_MEM.
    event_dst {
        /// Memory.
        MEMORY = 0,
        /// Memory through L2.
        L2 = 1,
    }
}

selector! {
    /// What EVENT_WRITE_EOS writes.
    eos_command {
        /// An append count (deprecated).
        APPEND_COUNT = 0,
        /// Dwords from GDS.
        GDS = 1,
        /// The 32-bit value.
        DATA = 2,
    }
}

selector! {
    /// CACHE_POLICY on GFX7 and GFX8.
    cache_policy {
        /// As usual.
        LRU = 0,
        /// Streaming.
        STREAM = 1,
        /// Past the cache.
        BYPASS = 2,
    }
}

selector! {
    /// CACHE_POLICY on GFX10: BYPASS has another number.
    cache_policy_gfx10 {
        /// As usual.
        LRU = 0,
        /// Streaming.
        STREAM = 1,
        /// No allocation.
        NOA = 2,
        /// Past the cache.
        BYPASS = 3,
    }
}

selector! {
    /// BASE_INDEX of SET_BASE.
    base_index {
        /// Patch table of display lists.
        DISPLAY_LIST = 0,
        /// Base of indirect draw and dispatch arguments.
        INDIRECT = 1,
        /// GDS or constant engine destination.
        GDS_CE = 2,
        /// Constant engine partition.
        CE_PARTITION = 3,
        /// Base of LOAD_*_REG_INDEX (GFX8 and later).
        LOAD_REG = 4,
        /// Base of indirect data (GFX8 and later).
        INDIRECT_DATA = 5,
    }
}

selector! {
    /// INDEX_TYPE.
    index_type {
        /// 16-bit indices.
        INDEX_16 = 0,
        /// 32-bit indices.
        INDEX_32 = 1,
        /// 8-bit indices (GFX8 and later).
        INDEX_8 = 2,
    }
}

selector! {
    /// Byte swap.
    swap {
        /// None.
        NONE = 0,
        /// In 16-bit units.
        SWAP_16 = 1,
        /// In 32-bit units.
        SWAP_32 = 2,
        /// Halves of a dword.
        SWAP_WORD = 3,
    }
}

selector! {
    /// SOURCE_SELECT of the draw initiator.
    draw_source {
        /// Indices from memory.
        DMA = 0,
        /// Indices in the packet.
        IMMEDIATE = 1,
        /// Counted indices.
        AUTO_INDEX = 2,
        /// Reserved.
        OPAQUE = 3,
    }
}

selector! {
    /// COMMAND of ATOMIC_MEM.
    atomic_command {
        /// Once.
        SINGLE_PASS = 0,
        /// Until the compare succeeds.
        LOOP = 1,
        /// Wait for the write (GFX10).
        WAIT_CONFIRM = 2,
        /// Do not wait (GFX10).
        SEND_AND_CONTINUE = 3,
    }
}

selector! {
    /// MODE of COND_INDIRECT_BUFFER.
    cond_mode {
        /// The first buffer or nothing.
        IF = 1,
        /// The first or the second buffer.
        IF_ELSE = 2,
    }
}

selector! {
    /// FILLSIZE of the SDMA fill.
    fill_size {
        /// The low byte of the data.
        BYTE = 0,
        /// The whole dword.
        DWORD = 2,
    }
}

selector! {
    /// COUNT_SEL of COPY_DATA.
    copy_count {
        /// 32 bits.
        DWORD = 0,
        /// 64 bits.
        QWORD = 1,
    }
}

selector! {
    /// What CLEAR_STATE does.
    clear_command {
        /// Loads the default state.
        CLEAR_STATE = 0,
        /// Saves the state.
        PUSH_STATE = 1,
        /// Restores the saved state.
        POP_STATE = 2,
        /// Saves the state, then loads the default.
        PUSH_CLEAR_STATE = 3,
    }
}

/// DST_SEL of DMA_DATA on GFX7 and GFX8, which have no prefetch.
pub const DMA_DST_GFX7: &[Named] = &[(0, "MEMORY"), (1, "GDS"), (3, "L2")];
