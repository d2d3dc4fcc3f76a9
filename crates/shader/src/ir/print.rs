//! Text form of a kernel, for tests and debugging.
