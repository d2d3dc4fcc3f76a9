//! Whatever is recorded: the packets decode, every packet leads back to its call, a
//! list is the same every time, and a model run tells the same events every time.

mod common;

use common::{count_kernel, model};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use wavefence_base::{Event, GpuAddress, Observer, Profile, ProfileName};
use wavefence_d3d::enums::*;
use wavefence_d3d::{Barrier, Buffer, CommandList, CommandSignature, Device, ListKind, Pipeline};
use wavefence_pm4::decode_stream;

/// Everything a list of the tests uses.
struct Things {
    device: Device,
    pipeline: Pipeline,
    a: Buffer,
    b: Buffer,
}

impl Things {
    fn new(mut device: Device) -> Self {
        let pipeline = device.create_pipeline("count", count_kernel([4, 2, 1])).unwrap();
        let a = device.create_buffer("A", 65_536).unwrap();
        let b = device.create_buffer("B", 65_536).unwrap();
        Self { device, pipeline, a, b }
    }

    /// One call by number; every call is a right one for the kind.
    fn call(&self, list: &mut CommandList, call: u8, n: u32) {
        let at = self.a.address().offset(u64::from(n % 64) * 32);
        let none = D3D12XBOX_FLUSH_NONE;
        let value = D3D12XBOX_WRITE_VALUE_BOP_FLAG_NONE;
        let dma = list.kind() == ListKind::Dma;
        match call % 16 {
            0 => list.begin_event(n, "event"),
            1 => list.set_marker(n, "marker"),
            2 => list.write_32_bit_value_bottom_of_pipe_x(at, n, none, value),
            3 => list.write_64_bit_value_bottom_of_pipe_x(at, u64::from(n), none, value),
            4 => {
                let stamp = D3D12XBOX_WRITE_VALUE_BOP_FLAG_GPU_TIMESTAMP;
                list.write_64_bit_value_bottom_of_pipe_x(at, 0, none, stamp)
            }
            5 => list.write_32_bit_value_top_of_pipe_x(at, n),
            6 => list.write_32_bit_value_bottom_of_shader_x(at, n),
            7 => {
                let (func, none) = (D3D12_COMPARISON_FUNC_ALWAYS, D3D12XBOX_WAIT_FLAG_NONE);
                list.wait_32_bit_value_x(at, func, n, none).wait_64_bit_value_x(at, func, 7, none)
            }
            8 => list.copy_buffer_region(&self.b, 0, &self.a, 0, u64::from(n % 5000)),
            9 => list.fill_memory_with_32_bit_value_x(at, u64::from(n % 900) * 4, n),
            10 => list.fill_memory_with_128_bit_value_x(at, u64::from(n % 90) * 16, [n; 4]),
            _ if dma => list.end_event(),
            11 => list.dispatch(n % 5, 2, 1),
            12 => list.dispatch_x(n % 99, 7, 1, D3D12XBOX_DISPATCH_FLAG_USE_THREAD_DIMENSIONS),
            13 => {
                let signature = CommandSignature::default();
                list.execute_indirect(signature, 1, &self.b, u64::from(n % 64) * 4, None)
            }
            14 => {
                // Any flags at all, less those that no name covers.
                let flags = D3D12XBOX_FLUSH::from_bits_truncate(n.wrapping_mul(0x9E37_79B1));
                list.flush_pipeline_x(flags, GpuAddress(0), D3D12XBOX_FLUSH_RANGE_ALL)
            }
            _ => {
                let states = [
                    D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
                    D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT,
                    D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE,
                    D3D12_RESOURCE_STATE_COPY_DEST,
                    D3D12_RESOURCE_STATE_COMMON,
                ];
                let (before, after) = (states[n as usize % 5], states[(n as usize / 5 + 1) % 5]);
                let resource = (&self.a).into();
                if before == after {
                    list.resource_barrier(&[Barrier::Uav(Some(resource))])
                } else {
                    list.resource_barrier(&[Barrier::Transition { resource, before, after }])
                }
            }
        };
    }

    fn record(&mut self, kind: ListKind, calls: &[(u8, u32)]) -> CommandList {
        let mut list = self.device.create_command_list("L", kind);
        if kind != ListKind::Dma {
            list.set_pipeline_state(&self.pipeline).set_uav(0, 0, self.b.raw_view());
        }
        for &(call, n) in calls {
            self.call(&mut list, call, n);
        }
        list.close().unwrap_or_else(|e| panic!("{e}"));
        list
    }
}

fn calls() -> impl Strategy<Value = Vec<(u8, u32)>> {
    proptest::collection::vec((any::<u8>(), any::<u32>()), 0..40)
}

fn profile() -> impl Strategy<Value = ProfileName> {
    (0..5usize).prop_map(|i| ProfileName::ALL[i])
}

fn kind() -> impl Strategy<Value = ListKind> {
    (0..3usize).prop_map(|i| ListKind::ALL[i])
}

proptest! {
    #[test]
    fn packets_decode_and_start_where_calls_do(
        profile in profile(), kind in kind(), calls in calls(),
    ) {
        let mut things = Things::new(model(profile));
        let list = things.record(kind, &calls);
        let generation = Profile::get(profile).generation.value;
        let mut starts = Vec::new();
        for packet in decode_stream(list.words(), generation, kind.ring()) {
            let (offset, _) = packet.map_err(|e| TestCaseError::fail(e.to_string()))?;
            starts.push(offset as u32);
        }
        starts.push(list.words().len() as u32);
        for call in list.calls() {
            prop_assert!(starts.contains(&call.word), "{call:?}");
        }
        let again = things.record(kind, &calls);
        prop_assert_eq!(list.words(), again.words());
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Event>>>);

impl Observer for Log {
    fn event(&mut self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

/// Runs three lists on three queues; gives the events and what is in memory.
fn run(profile: ProfileName, calls: &[(u8, u32)]) -> (Vec<Event>, Vec<u8>) {
    let log = Log::default();
    let device = Device::builder().profile(profile).observer(Box::new(log.clone())).build();
    let mut things = Things::new(device.unwrap());
    for kind in ListKind::ALL {
        let list = things.record(kind, calls);
        let queue = match kind {
            ListKind::Graphics => things.device.graphics_queue(),
            ListKind::Compute => things.device.compute_queue(0, 0),
            ListKind::Dma => things.device.dma_queue(0),
        };
        things.device.execute_command_lists(&queue.unwrap(), &[&list]).unwrap();
    }
    let _ = things.device.run();
    let bytes = things.device.read(things.a.address(), 65_536).unwrap();
    let events = log.0.lock().unwrap().clone();
    for event in &events {
        let packet = match event {
            Event::ValueWritten { packet: Some(packet), .. }
            | Event::Transfer { packet, .. }
            | Event::DispatchBegin { packet, .. }
            | Event::Flush { packet, boundary: None, .. }
            | Event::Marker { packet, .. } => *packet,
            _ => continue,
        };
        let call = things.device.call_at(packet).unwrap_or_else(|| panic!("{event:?}"));
        assert_eq!(call.list, "L");
    }
    (events, bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_event_of_a_model_run_leads_to_a_call_and_repeats(
        profile in profile(), calls in calls(),
    ) {
        // Indirect arguments come from memory that other calls write, so their
        // counts could be anything: left out here.
        let calls: Vec<_> = calls.into_iter().filter(|c| c.0 % 16 != 13).collect();
        let first = run(profile, &calls);
        let second = run(profile, &calls);
        prop_assert_eq!(first, second);
    }
}
