//! The two faces of the API, and how calls that both have are spelt on each.

use std::fmt;

/// Which API a list is recorded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Face {
    /// Direct3D 12 for Xbox: `ID3D12GraphicsCommandList`.
    D3D12X,
    /// Direct3D 11 for Xbox One: `ID3D11DeviceContextX` and
    /// `ID3D11ComputeContextX`.
    D3D11X,
}

impl Face {
    /// Both.
    pub const ALL: [Self; 2] = [Self::D3D12X, Self::D3D11X];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::D3D12X => "D3D12.X",
            Self::D3D11X => "D3D11.X",
        }
    }
}

impl fmt::Display for Face {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Calls of D3D12.X that D3D11.X has under another name, or the same.
const SHARED: &[(&str, &str)] = &[
    ("BeginEvent", "PIXBeginEvent"),
    ("Close", "Close"),
    ("CopyBufferRegion", "CopySubresourceRegion"),
    ("CopyResource", "CopyResource"),
    ("CopyTextureRegion", "CopySubresourceRegion"),
    ("Dispatch", "Dispatch"),
    ("DispatchIndirect", "DispatchIndirect"),
    ("EndEvent", "PIXEndEvent"),
    ("InsertPacketsX", "InsertPacketsX"),
    ("SetComputeRootConstantBufferView", "CSSetConstantBuffers"),
    ("SetComputeRootDescriptorTable", "CSSetShaderResources"),
    ("SetComputeRootShaderResourceView", "CSSetShaderResources"),
    ("SetComputeRootSignature", "ClearState"),
    ("SetComputeRootUnorderedAccessView", "CSSetUnorderedAccessViews"),
    ("SetComputeStartX", "SetComputeStartX"),
    ("SetMarker", "PIXSetMarker"),
    ("SetPipelineState", "CSSetShader"),
];

/// What to use instead of a D3D12.X call that D3D11.X has not.
const INSTEAD: &[(&str, &str)] = &[
    ("DispatchX", "set the flags by SetDispatchFlags and call Dispatch"),
    ("ExecuteIndirect", "use DispatchIndirect"),
    (
        "FlushPipelineX",
        "use FlushGpuCacheRange, on a compute context FlushGpuCachesTopOfPipe or \
         FlushGpuCachesBottomOfPipe, and GpuSendPipelinedEvent to wait for shaders",
    ),
    ("ResourceBarrier", "use GpuSendPipelinedEvent and FlushGpuCacheRange"),
    ("SetComputeRoot32BitConstants", "use a constant buffer"),
    ("Wait32BitValueX", "use InsertWaitOnMemory"),
    ("Wait64BitValueX", "use InsertWaitOnFence"),
    ("Write32BitValueBottomOfPipeX", "use WriteValueBottomOfPipe"),
    ("Write64BitValueBottomOfPipeX", "use InsertFence or WriteTimestampToMemory"),
];

/// How D3D11.X spells a call of D3D12.X, or the way out where it has none.
pub(crate) fn d3d11_call(d3d12: &str) -> Result<&'static str, &'static str> {
    let find = |table: &[(&str, &'static str)]| {
        table.iter().find(|(name, _)| *name == d3d12).map(|&(_, other)| other)
    };
    find(SHARED).ok_or_else(|| find(INSTEAD).unwrap_or("record it in a D3D12.X list"))
}

/// What a D3D11.X context cannot do in this version, by the call's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the API's own names")]
pub enum Undrawn {
    Draw,
    DrawAuto,
    DrawIndexed,
    DrawIndexedInstanced,
    DrawIndexedInstancedIndirect,
    DrawInstanced,
    DrawInstancedIndirect,
    ClearDepthStencilView,
    ClearRenderTargetView,
    DecompressResource,
}

impl Undrawn {
    /// Every such call.
    pub const ALL: [Self; 10] = [
        Self::Draw,
        Self::DrawAuto,
        Self::DrawIndexed,
        Self::DrawIndexedInstanced,
        Self::DrawIndexedInstancedIndirect,
        Self::DrawInstanced,
        Self::DrawInstancedIndirect,
        Self::ClearDepthStencilView,
        Self::ClearRenderTargetView,
        Self::DecompressResource,
    ];

    /// The call.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draw => "Draw",
            Self::DrawAuto => "DrawAuto",
            Self::DrawIndexed => "DrawIndexed",
            Self::DrawIndexedInstanced => "DrawIndexedInstanced",
            Self::DrawIndexedInstancedIndirect => "DrawIndexedInstancedIndirect",
            Self::DrawInstanced => "DrawInstanced",
            Self::DrawInstancedIndirect => "DrawInstancedIndirect",
            Self::ClearDepthStencilView => "ClearDepthStencilView",
            Self::ClearRenderTargetView => "ClearRenderTargetView",
            Self::DecompressResource => "DecompressResource",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_and_say_each_call_once() {
        for table in [SHARED, INSTEAD] {
            assert!(table.windows(2).all(|w| w[0].0 < w[1].0), "{table:?}");
        }
        assert!(INSTEAD.iter().all(|(name, _)| !SHARED.iter().any(|(other, _)| other == name)));
    }
}
