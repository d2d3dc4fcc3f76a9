//! Fences: signals and waits of queues and of the host.

use crate::device::{Device, call_error};
use crate::encode::{Caches, Encoder, Stamp, WaitArgs};
use crate::enums::{D3D12_COMPARISON_FUNC, D3D12XBOX_FLUSH};
use crate::error::Error;
use crate::list::{ListKind, flush_sync};
use crate::names::Placed;
use crate::queue::{Fence, Queue};
use crate::report::Report;
use crate::rules;
use std::sync::Arc;
use wavefence_base::GpuRange;

impl Device {
    /// The queue sets the fence when everything it was given before is done:
    /// `ID3D12CommandQueue::Signal`.
    ///
    /// # Errors
    /// If an object is another device's.
    pub fn signal(&mut self, queue: &Queue, fence: &Fence, value: u64) -> Result<(), Error> {
        self.signal_with(queue, fence, value, D3D12XBOX_FLUSH::NONE, "Signal")
    }

    /// As [`Device::signal`], after a flush: `SignalX`.
    ///
    /// # Errors
    /// As [`Device::signal`], or flags that mean nothing there.
    pub fn signal_x(
        &mut self,
        queue: &Queue,
        fence: &Fence,
        value: u64,
        flags: D3D12XBOX_FLUSH,
    ) -> Result<(), Error> {
        if flags.unknown() != 0 {
            let message = "has bits that no flag names".to_owned();
            let rule = &rules::UNKNOWN_FLAGS;
            return Err(call_error(rule, "SignalX", "Flags", &flags.to_string(), message));
        }
        if queue.list_kind() == ListKind::Dma && !flags.is_empty() {
            let message = "must be NONE on a DMA queue, which has none of these caches".to_owned();
            let rule = &rules::DMA_FLUSH;
            return Err(call_error(rule, "SignalX", "Flags", &flags.to_string(), message));
        }
        self.signal_with(queue, fence, value, flags, "SignalX")
    }

    fn signal_with(
        &mut self,
        queue: &Queue,
        fence: &Fence,
        value: u64,
        flags: D3D12XBOX_FLUSH,
        call: &'static str,
    ) -> Result<(), Error> {
        self.mine(queue.device, call, queue.name())?;
        self.mine(fence.device, call, fence.name())?;
        let kind = queue.list_kind();
        let mut encoder = Encoder::new(&self.profile, kind.ring());
        let mut top = None;
        if kind == ListKind::Dma {
            encoder.bottom_write(fence.address, Stamp::Value64(value), Caches::default(), true);
        } else {
            // With confirmation: a fence orders memory.
            let sync = flush_sync(flags, kind, None);
            top = Some(encoder.sync_and_signal(&sync, fence.address, value));
        }
        let text = format!("queue \"{}\" {call}(\"{}\", {value})", queue.name(), fence.name());
        self.submit_own(queue, &encoder, (call, text), (flags, top))
    }

    /// The queue waits until the fence is at least `value`:
    /// `ID3D12CommandQueue::Wait`.
    ///
    /// # Errors
    /// If an object is another device's.
    pub fn wait(&mut self, queue: &Queue, fence: &Fence, value: u64) -> Result<(), Error> {
        self.mine(queue.device, "Wait", queue.name())?;
        self.mine(fence.device, "Wait", fence.name())?;
        let kind = queue.list_kind();
        let mut encoder = Encoder::new(&self.profile, kind.ring());
        let function = D3D12_COMPARISON_FUNC::GREATER_EQUAL.packet_code().unwrap_or_default();
        encoder.wait(&WaitArgs {
            address: fence.address,
            function,
            reference: value,
            mask: u64::MAX,
            wide: true,
        });
        let text = format!("queue \"{}\" Wait(\"{}\", {value})", queue.name(), fence.name());
        self.submit_own(queue, &encoder, ("Wait", text), (D3D12XBOX_FLUSH::NONE, None))
    }

    fn submit_own(
        &mut self,
        queue: &Queue,
        encoder: &Encoder,
        (call, text): (&'static str, String),
        flush: (D3D12XBOX_FLUSH, Option<u32>),
    ) -> Result<(), Error> {
        let layout = encoder.layout();
        let base = self.own_memory(call, layout.total)?;
        self.write(base, &encoder.place(base))?;
        let placed = Placed::queue_call(queue.name(), (call, text), flush, layout.packets);
        self.placed.insert(base.0, Arc::new(placed));
        self.hardware.submit(queue.id, GpuRange::new(base, layout.packets))
    }

    /// The fence's value now: `GetCompletedValue`. Nothing runs.
    ///
    /// # Errors
    /// If the fence is another device's.
    pub fn fence_value(&self, fence: &Fence) -> Result<u64, Error> {
        self.mine(fence.device, "GetCompletedValue", fence.name())?;
        self.read_u64(fence.address)
    }

    /// Sets the fence from the host: `ID3D12Fence::Signal`.
    ///
    /// # Errors
    /// If the fence is another device's.
    pub fn signal_from_host(&mut self, fence: &Fence, value: u64) -> Result<(), Error> {
        self.mine(fence.device, "Signal", fence.name())?;
        self.write(fence.address, &value.to_le_bytes())
    }

    /// Runs until the fence is at least `value` or nothing can move. The value is
    /// reached if the report's run ended or the fence says so.
    ///
    /// # Errors
    /// If the fence is another device's.
    pub fn wait_on_host(&mut self, fence: &Fence, value: u64) -> Result<(bool, Report), Error> {
        self.mine(fence.device, "SetEventOnCompletion", fence.name())?;
        let report = self.run();
        Ok((self.fence_value(fence)? >= value, report))
    }
}
