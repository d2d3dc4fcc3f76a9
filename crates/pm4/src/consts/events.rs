// tidy: table
//! Event numbers, VGT_EVENT_TYPE (`hardware/pm4.md` 4.1, confirmed), and the
//! EVENT_INDEX that goes with each.

use super::named;
use crate::Named;

named! {
    /// Events with the same number and name on every generation.
    NAMES_ALL: u8 = {
        /// Stream-out statistics of stream 1, written to memory.
        SAMPLE_STREAMOUTSTATS1 = 0x01,
        /// Stream-out statistics of stream 2, written to memory.
        SAMPLE_STREAMOUTSTATS2 = 0x02,
        /// Stream-out statistics of stream 3, written to memory.
        SAMPLE_STREAMOUTSTATS3 = 0x03,
        /// End of pipe: caches flushed, then a value or time stamp.
        CACHE_FLUSH_TS = 0x04,
        /// The graphics context is done.
        CONTEXT_DONE = 0x05,
        /// Flushes caches.
        CACHE_FLUSH = 0x06,
        /// The ME waits for compute shaders.
        CS_PARTIAL_FLUSH = 0x07,
        /// Synchronises stream-out with the VGT.
        VGT_STREAMOUT_SYNC = 0x08,
        /// The ME waits for vertex shaders.
        VS_PARTIAL_FLUSH = 0x0F,
        /// The ME waits for pixel shaders.
        PS_PARTIAL_FLUSH = 0x10,
        /// End of pipe: caches flushed and invalidated, then a value or time stamp.
        CACHE_FLUSH_AND_INV_TS_EVENT = 0x14,
        /// Occlusion counters, written to memory.
        ZPASS_DONE = 0x15,
        /// Flushes and invalidates caches.
        CACHE_FLUSH_AND_INV_EVENT = 0x16,
        /// Starts pipeline statistics.
        PIPELINESTAT_START = 0x19,
        /// Stops pipeline statistics.
        PIPELINESTAT_STOP = 0x1A,
        /// Pipeline statistics, written to memory.
        SAMPLE_PIPELINESTAT = 0x1E,
        /// Flushes stream-out.
        SO_VGTSTREAMOUT_FLUSH = 0x1F,
        /// Stream-out statistics of stream 0, written to memory.
        SAMPLE_STREAMOUTSTATS = 0x20,
        /// Flushes the VGT.
        VGT_FLUSH = 0x24,
        /// End of pipe: a value or time stamp, no cache.
        BOTTOM_OF_PIPE_TS = 0x28,
        /// Flushes the SX.
        FLUSH_SX_TS = 0x29,
        /// Flushes and invalidates the depth block.
        DB_CACHE_FLUSH_AND_INV = 0x2A,
        /// End of pipe with the depth block's data flushed and invalidated.
        FLUSH_AND_INV_DB_DATA_TS = 0x2B,
        /// Flushes and invalidates the depth block's metadata.
        FLUSH_AND_INV_DB_META = 0x2C,
        /// End of pipe with the colour blocks' data flushed and invalidated.
        FLUSH_AND_INV_CB_DATA_TS = 0x2D,
        /// Flushes and invalidates the colour blocks' metadata.
        FLUSH_AND_INV_CB_META = 0x2E,
        /// End of shader: compute shaders are done.
        CS_DONE = 0x2F,
        /// End of shader: pixel shaders are done.
        PS_DONE = 0x30,
        /// Flushes and invalidates the colour blocks' pixel data.
        FLUSH_AND_INV_CB_PIXEL_DATA = 0x31,
        /// Starts a thread trace.
        THREAD_TRACE_START = 0x33,
        /// Stops a thread trace.
        THREAD_TRACE_STOP = 0x34,
        /// A mark in a thread trace.
        THREAD_TRACE_MARKER = 0x35,
        /// Flushes a thread trace (GFX10 calls it THREAD_TRACE_DRAW).
        THREAD_TRACE_FLUSH = 0x36,
        /// Ends a thread trace.
        THREAD_TRACE_FINISH = 0x37,
        /// Sets up pixel pipe statistics.
        PIXEL_PIPE_STAT_CONTROL = 0x38,
        /// Pixel pipe statistics, written to memory.
        PIXEL_PIPE_STAT_DUMP = 0x39,
        /// Resets pixel pipe statistics.
        PIXEL_PIPE_STAT_RESET = 0x3A,
    }
}

named! {
    /// Events that only GFX10 has (`hardware/pm4.md` 4.1).
    NAMES_GFX10_ONLY: u8 = {
        /// Ends a batch of primitives.
        BREAK_BATCH = 0x0E,
        /// A draw is done.
        DRAW_DONE = 0x3F,
    }
}

/// Event names on GFX7 and GFX8.
pub const NAMES_GFX7: &[Named] = NAMES_ALL;

const GFX10: [Named; NAMES_ALL.len() + NAMES_GFX10_ONLY.len()] = {
    let mut all = [(0, ""); NAMES_ALL.len() + NAMES_GFX10_ONLY.len()];
    let mut i = 0;
    while i < NAMES_ALL.len() {
        all[i] = NAMES_ALL[i];
        if all[i].0 == THREAD_TRACE_FLUSH as u32 {
            all[i].1 = "THREAD_TRACE_DRAW";
        }
        i += 1;
    }
    let mut k = 0;
    while k < NAMES_GFX10_ONLY.len() {
        all[i + k] = NAMES_GFX10_ONLY[k];
        k += 1;
    }
    all
};

/// Event names on GFX10.
pub const NAMES_GFX10: &[Named] = &GFX10;

/// EVENT_INDEX values, as constants.
pub mod index {
    use super::super::named;

    named! {
        /// EVENT_INDEX values.
        NAMES: u8 = {
            /// Everything else.
            OTHER = 0,
            /// ZPASS_DONE and pixel pipe statistics.
            ZPASS_PIXEL_PIPE_STAT = 1,
            /// SAMPLE_PIPELINESTAT.
            SAMPLE_PIPELINESTAT = 2,
            /// SAMPLE_STREAMOUTSTATS.
            SAMPLE_STREAMOUTSTATS = 3,
            /// CS, VS and PS_PARTIAL_FLUSH.
            PARTIAL_FLUSH = 4,
            /// End-of-pipe events.
            END_OF_PIPE = 5,
            /// End-of-shader events.
            END_OF_SHADER = 6,
            /// Cache flush.
            CACHE_FLUSH = 7,
        }
    }
}

/// The EVENT_INDEX that drivers pair with `event`. CACHE_FLUSH and
/// CACHE_FLUSH_AND_INV_EVENT are 0 here; one source's text says 7
/// (`hardware/pm4.md` 10, item 16).
pub const fn index_of(event: u8) -> u8 {
    match event {
        ZPASS_DONE | PIXEL_PIPE_STAT_CONTROL | PIXEL_PIPE_STAT_DUMP => index::ZPASS_PIXEL_PIPE_STAT,
        SAMPLE_PIPELINESTAT => index::SAMPLE_PIPELINESTAT,
        SAMPLE_STREAMOUTSTATS
        | SAMPLE_STREAMOUTSTATS1
        | SAMPLE_STREAMOUTSTATS2
        | SAMPLE_STREAMOUTSTATS3 => index::SAMPLE_STREAMOUTSTATS,
        CS_PARTIAL_FLUSH | VS_PARTIAL_FLUSH | PS_PARTIAL_FLUSH => index::PARTIAL_FLUSH,
        CACHE_FLUSH_TS
        | CACHE_FLUSH_AND_INV_TS_EVENT
        | BOTTOM_OF_PIPE_TS
        | FLUSH_AND_INV_DB_DATA_TS
        | FLUSH_AND_INV_CB_DATA_TS => index::END_OF_PIPE,
        CS_DONE | PS_DONE => index::END_OF_SHADER,
        _ => index::OTHER,
    }
}
