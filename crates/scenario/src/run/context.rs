//! Records the calls that only D3D11.X has.

use super::RunError;
use super::record::Args;
use crate::format::call::CallKind;
use crate::problem::Problem;
use wavefence_base::GpuAddress;
use wavefence_d3d::enums::{
    D3D11_COMPARISON_FUNC, D3D11_FLUSH, D3D11_FLUSH_GPU_CACHE_RANGE_ALL,
    D3D11X_GPU_PIPELINED_EVENT, D3D12XBOX_DISPATCH_FLAGS,
};
use wavefence_d3d::{CommandList, Fence};
use wavefence_shader::ir::ResourceClass;

impl<'a> Args<'a> {
    /// Records a call of a D3D11.X context.
    pub(super) fn context(&self, list: &mut CommandList) -> Result<(), RunError> {
        match self.call.kind {
            CallKind::CSSetShader => self.set_pipeline(list, "ComputeShader")?,
            CallKind::CSSetShaderResources => self.set_views(list, ResourceClass::Srv)?,
            CallKind::CSSetUnorderedAccessViews => self.set_views(list, ResourceClass::Uav)?,
            CallKind::CSSetConstantBuffers => self.set_views(list, ResourceClass::Cbv)?,
            CallKind::CSSetSamplers => self.set_views(list, ResourceClass::Sampler)?,
            CallKind::ClearState => {
                list.clear_bindings();
            }
            CallKind::DispatchIndirect => {
                let arguments = self.world.buffer(self.cx, self.required("ArgumentBuffer")?)?;
                list.dispatch_indirect(arguments, self.number("ArgumentBufferOffset")?);
            }
            CallKind::CopySubresourceRegion => self.copy_subresource(list)?,
            CallKind::FlushGpuCacheRange => {
                let base: u64 = self.number("BaseAddress")?;
                let size = self.or("SizeInBytes", D3D11_FLUSH_GPU_CACHE_RANGE_ALL)?;
                list.flush_gpu_cache_range(self.flush11()?, GpuAddress(base), size);
            }
            CallKind::FlushGpuCaches => {
                let resource = self.world.resource(self.cx, self.required("Resource")?)?;
                list.flush_gpu_caches(resource);
            }
            CallKind::FlushGpuCachesTopOfPipe => {
                list.flush_gpu_caches_top_of_pipe(self.flush11()?);
            }
            CallKind::FlushGpuCachesBottomOfPipe => {
                list.flush_gpu_caches_bottom_of_pipe(self.flush11()?);
            }
            CallKind::GpuSendPipelinedEvent => {
                use D3D11X_GPU_PIPELINED_EVENT as Event;
                let event = self.named("Event", Event::CS_PARTIAL_FLUSH, Event::parse)?;
                list.gpu_send_pipelined_event(event);
            }
            CallKind::InsertFence => {
                list.insert_fence(self.fence()?, self.number("Value")?);
            }
            CallKind::InsertWaitOnFence => {
                list.insert_wait_on_fence(self.fence()?, self.number("Value")?);
            }
            CallKind::InsertWaitOnMemory => {
                use D3D11_COMPARISON_FUNC as Func;
                let func = self.named("ComparisonFunction", Func::ALWAYS, Func::parse)?;
                let (flags, reference) = (self.number("Flags")?, self.number("Reference")?);
                let address = self.address("Address")?;
                list.insert_wait_on_memory(address, flags, func, reference, self.number("Mask")?);
            }
            CallKind::WriteValueBottomOfPipe => {
                let to = self.address("Destination")?;
                list.write_value_bottom_of_pipe(to, self.number("Value")?);
            }
            CallKind::WriteTimestampToMemory => {
                list.write_timestamp_to_memory(self.address("Destination")?);
            }
            CallKind::SetDispatchFlags => {
                use D3D12XBOX_DISPATCH_FLAGS as Flags;
                list.set_dispatch_flags(self.named("Flags", Flags::NONE, Flags::parse)?);
            }
            CallKind::InsertWaitUntilIdle => {
                list.insert_wait_until_idle();
            }
            // The caller records these itself.
            other => unreachable!("{} is no call of D3D11.X alone", other.name()),
        }
        Ok(())
    }

    fn flush11(&self) -> Result<D3D11_FLUSH, RunError> {
        self.named("Flags", D3D11_FLUSH::empty(), D3D11_FLUSH::parse)
    }

    fn fence(&self) -> Result<&'a Fence, RunError> {
        let name = self.required("Fence")?;
        let missing = || self.cx.error(Problem::at(name.at, "there is no such fence"));
        self.world.fences.get(&name.value).ok_or_else(missing)
    }

    /// Bytes `[left, right]` of a buffer.
    fn copy_subresource(&self, list: &mut CommandList) -> Result<(), RunError> {
        let to = self.world.buffer(self.cx, self.required("DstResource")?)?;
        let from = self.world.buffer(self.cx, self.required("SrcResource")?)?;
        let [left, right] = self.numbers("SrcBox")?[..] else {
            let message = "SrcBox of a buffer is [left, right], in bytes";
            return Err(self.cx.error(Problem::at(self.call.place("SrcBox"), message)));
        };
        let Some(bytes) = right.checked_sub(left) else {
            let message = "SrcBox ends before it starts";
            return Err(self.cx.error(Problem::at(self.call.place("SrcBox"), message)));
        };
        let at = self.number("DstX")?;
        list.copy_buffer_region(to, at, from, u64::from(left), u64::from(bytes));
        Ok(())
    }
}
