//! Typed ids. No bare integer for a queue, kernel or dispatch crosses a function.

use std::fmt;

/// Declares a newtype over `u32` that names one kind of thing.
macro_rules! typed_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a table of its kind.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self, f)
            }
        }
    };
}

typed_id!(
    /// One allocation of GPU memory. Never re-used in the life of a device, so a
    /// freed allocation can still be named.
    AllocationId,
    "alloc"
);
typed_id!(
    /// One kernel known to a device.
    KernelId,
    "kernel"
);
typed_id!(
    /// One hardware queue of a device, in the order they were opened.
    QueueId,
    "queue"
);
typed_id!(
    /// One dispatch that really started, numbered over the life of a device.
    DispatchId,
    "dispatch"
);
typed_id!(
    /// One submission of a command buffer to a queue.
    SubmitId,
    "submit"
);
