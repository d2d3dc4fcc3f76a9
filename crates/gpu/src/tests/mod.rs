//! Tests of whole devices, with packets and fake kernels.

mod again;
mod caches;
mod dispatches;
pub(crate) mod fake;
mod fuzz;
mod packets;
mod rig;
mod schedules;
mod time;
mod waits;
