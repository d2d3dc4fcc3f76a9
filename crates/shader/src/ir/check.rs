//! What every kernel guarantees to engines.
