//! Packets as they are, for what no call of the API spells.

use super::CommandList;
use crate::rules;
use wavefence_pm4::decode_stream;

impl CommandList {
    /// Records whole packets word for word: an extension of this project's, for
    /// elements that only packets can spell and for words taken from a console or
    /// a driver. They must be packets of the profile's generation and the list's
    /// kind of queue; what they ask for is not judged here but when they run.
    pub fn insert_packets_x(&mut self, words: &[u32]) -> &mut Self {
        let Some(mut c) = self.begin("InsertPacketsX") else { return self };
        if words.is_empty() {
            let message = "records nothing; pass the dwords of at least one packet";
            c.error(&rules::RAW_PACKETS, "Words", "[]", message);
        }
        let generation = self.profile.generation.value;
        let ring = self.kind.ring();
        if let Some(wrong) = decode_stream(words, generation, ring).find_map(Result::err) {
            let message = format!("is no packet of a {} list on {generation}: {wrong}", self.kind);
            c.error(&rules::RAW_PACKETS, "Words", format!("{:#010x}", wrong.word), message);
        }
        if self.finish(c, || format!("{} dwords", words.len())) {
            self.encoder.raw(words);
            // They may have set registers that the next dispatch relies on.
            self.state.forget();
        }
        self
    }
}
