//! Tests of whole devices, with packets and fake kernels.

pub(crate) mod fake;
