// tidy: table
//! Resource states and barrier types; values as published.

use super::{flag_set, value_enum};

flag_set! {
    /// How a resource is used.
    D3D12_RESOURCE_STATES: u32, prefix "D3D12_RESOURCE_STATE_" {
        /// No use on this queue; what a resource is in for the host and for other queues.
        COMMON = D3D12_RESOURCE_STATE_COMMON = 0;
        /// Vertex or constant buffer.
        VERTEX_AND_CONSTANT_BUFFER = D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER = 0x1;
        /// Index buffer.
        INDEX_BUFFER = D3D12_RESOURCE_STATE_INDEX_BUFFER = 0x2;
        /// Colour target.
        RENDER_TARGET = D3D12_RESOURCE_STATE_RENDER_TARGET = 0x4;
        /// Unordered access.
        UNORDERED_ACCESS = D3D12_RESOURCE_STATE_UNORDERED_ACCESS = 0x8;
        /// Writable depth target.
        DEPTH_WRITE = D3D12_RESOURCE_STATE_DEPTH_WRITE = 0x10;
        /// Read-only depth target.
        DEPTH_READ = D3D12_RESOURCE_STATE_DEPTH_READ = 0x20;
        /// Shader resource of any stage but pixel.
        NON_PIXEL_SHADER_RESOURCE = D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE = 0x40;
        /// Shader resource of the pixel stage.
        PIXEL_SHADER_RESOURCE = D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE = 0x80;
        /// Stream-out target.
        STREAM_OUT = D3D12_RESOURCE_STATE_STREAM_OUT = 0x100;
        /// Indirect arguments, counts and predicates.
        INDIRECT_ARGUMENT = D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT = 0x200;
        /// Destination of a copy or fill.
        COPY_DEST = D3D12_RESOURCE_STATE_COPY_DEST = 0x400;
        /// Source of a copy.
        COPY_SOURCE = D3D12_RESOURCE_STATE_COPY_SOURCE = 0x800;
        /// Destination of a resolve.
        RESOLVE_DEST = D3D12_RESOURCE_STATE_RESOLVE_DEST = 0x1000;
        /// Source of a resolve.
        RESOLVE_SOURCE = D3D12_RESOURCE_STATE_RESOLVE_SOURCE = 0x2000;
        /// Shader resource of every stage.
        ALL_SHADER_RESOURCE = D3D12_RESOURCE_STATE_ALL_SHADER_RESOURCE = 0xC0;
        /// Every read state.
        GENERIC_READ = D3D12_RESOURCE_STATE_GENERIC_READ = 0xAC3;
    }
}

value_enum! {
    /// The three kinds of `ResourceBarrier`.
    D3D12_RESOURCE_BARRIER_TYPE, prefix "D3D12_RESOURCE_BARRIER_TYPE_" {
        /// From one state to another.
        TRANSITION = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION = 0;
        /// The same memory is used as another resource from here.
        ALIASING = D3D12_RESOURCE_BARRIER_TYPE_ALIASING = 1;
        /// Unordered accesses before and after do not overlap.
        UAV = D3D12_RESOURCE_BARRIER_TYPE_UAV = 2;
    }
}
