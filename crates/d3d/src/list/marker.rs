//! Markers, and the global data share.

use super::CommandList;
use crate::rules;
use wavefence_base::GpuAddress;
use wavefence_pm4::marker::{Marker, MarkerKind};

/// Dwords that one packet can write or read.
const MAX_GDS_DWORDS: usize = 0x3FF0;

impl CommandList {
    /// Opens an event: PIX colour `0xAARRGGBB` and a name.
    pub fn begin_event(&mut self, color: u32, name: &str) -> &mut Self {
        let Some(c) = self.begin("BeginEvent") else { return self };
        let index = c.index;
        if self.finish(c, || name.to_owned()) {
            self.events.push((index, name.to_owned()));
            let text = name.to_owned();
            self.encoder.marker(&Marker { kind: MarkerKind::Begin, color, text });
        }
        self
    }

    /// Closes the innermost event.
    pub fn end_event(&mut self) -> &mut Self {
        let Some(mut c) = self.begin("EndEvent") else { return self };
        if self.events.pop().is_none() {
            let message = "closes no BeginEvent of this list; add one or leave this out";
            c.advise(&rules::MARKER_BALANCE, "", "", message);
        }
        if self.finish(c, String::new) {
            let marker = Marker { kind: MarkerKind::End, color: 0, text: String::new() };
            self.encoder.marker(&marker);
        }
        self
    }

    /// Marks a point.
    pub fn set_marker(&mut self, color: u32, name: &str) -> &mut Self {
        let Some(c) = self.begin("SetMarker") else { return self };
        if self.finish(c, String::new) {
            let text = name.to_owned();
            self.encoder.marker(&Marker { kind: MarkerKind::Set, color, text });
        }
        self
    }

    /// Sets ordered append counter `counter` to `value` once the compute shaders
    /// before it are done. (The call is public, its arguments are not: these are
    /// this project's. Counter n is dword n of the global data share.)
    pub fn setup_ordered_append_counter_x(&mut self, counter: u32, value: u32) -> &mut Self {
        let Some(mut c) = self.begin("SetupOrderedAppendCounterX") else { return self };
        self.not_on_dma(&mut c);
        let counters = self.profile.gds_bytes.value / 4;
        if counter >= counters {
            let message = format!("is not below {counters}, the dwords of the data share");
            c.error(&rules::ORDERED_COUNTER, "Counter", counter, message);
        }
        if self.finish(c, String::new) {
            self.encoder.write_gds(counter * 4, &[value]);
        }
        self
    }

    /// Writes dwords to the global data share from byte `offset`, once the compute
    /// shaders before it are done.
    pub fn write_gds_x(&mut self, offset: u32, data: &[u32]) -> &mut Self {
        let Some(mut c) = self.begin("WriteGDSX") else { return self };
        self.not_on_dma(&mut c);
        self.check_gds(&mut c, offset, data.len());
        if self.finish(c, String::new) && !data.is_empty() {
            self.encoder.write_gds(offset, data);
        }
        self
    }

    /// Copies `dwords` of the global data share from byte `offset` to memory, once
    /// the compute shaders before it are done.
    pub fn read_gds_x(&mut self, destination: GpuAddress, offset: u32, dwords: u32) -> &mut Self {
        let Some(mut c) = self.begin("ReadGDSX") else { return self };
        self.not_on_dma(&mut c);
        let bytes = u64::from(dwords) * 4;
        let alignment = Some((4, &rules::GDS_RANGE));
        self.address(&mut c, "Destination", destination, bytes, alignment);
        self.check_gds(&mut c, offset, dwords as usize);
        self.check_eos(&mut c);
        if self.finish(c, || format!("{destination}, {offset}, {dwords}")) && dwords > 0 {
            // The event's dword index and count have 16 bits each.
            self.encoder.read_gds(destination, offset / 4, dwords);
        }
        self
    }

    fn check_gds(&self, c: &mut super::Checks, offset: u32, dwords: usize) {
        let size = u64::from(self.profile.gds_bytes.value);
        let end = u64::from(offset) + dwords as u64 * 4;
        if !offset.is_multiple_of(4) || end > size {
            let message = format!(
                "and {} bytes from it must be dwords within the data share's {size} bytes",
                dwords * 4
            );
            c.error(&rules::GDS_RANGE, "Offset", offset, message);
        } else if dwords > MAX_GDS_DWORDS {
            let message = format!("at most {MAX_GDS_DWORDS} fit in one call; split it");
            c.error(&rules::GDS_RANGE, "Dwords", dwords, message);
        }
    }
}
