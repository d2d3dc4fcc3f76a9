//! Kernels built by hand, so that these tests need no shader compiler.

#![allow(dead_code, reason = "every test file uses another part")]

use std::sync::Arc;
use wavefence_base::{ProfileName, WaveSize};
use wavefence_d3d::{Device, RunMode};
use wavefence_shader::ir::{
    Addr, AtomicOp, BinOp, Builtin, Inst, Kernel, Loc, Order, Reg, RegDecl, RegKind, Resource,
    ResourceClass, ResourceId, ResourceKind, ResourceRef, SourceLoc, Space, Stmt, Ty, Uses,
    WaveRule,
};

/// Every profile.
pub const PROFILES: [ProfileName; 5] = ProfileName::ALL;

/// A device of a profile, model or fast.
pub fn device(profile: ProfileName, mode: RunMode) -> Device {
    Device::builder().profile(profile).mode(mode).build().expect("a device")
}

/// A device for a model run.
pub fn model(profile: ProfileName) -> Device {
    device(profile, RunMode::Model)
}

/// Both run modes.
pub const MODES: [RunMode; 2] = [RunMode::Model, RunMode::Fast { threads: 2 }];

/// A kernel being built.
pub struct Builder {
    kernel: Kernel,
}

impl Builder {
    /// An empty kernel with groups of that size.
    pub fn new(entry: &str, group_size: [u32; 3]) -> Self {
        let nowhere = SourceLoc { file: 0, line: 0, column: 0 };
        Self {
            kernel: Kernel {
                entry: entry.into(),
                group_size,
                wave: WaveRule::Wave64,
                resources: Vec::new(),
                lds_bytes: 0,
                scratch_bytes: 0,
                regs: Vec::new(),
                constants: Vec::new(),
                body: Vec::new(),
                locs: vec![nowhere],
                files: vec!["test.hlsl".into()],
                formats: Vec::new(),
                uses: Uses::default(),
            },
        }
    }

    pub fn wave(mut self, wave: WaveRule) -> Self {
        self.kernel.wave = wave;
        self
    }

    pub fn resource(
        &mut self,
        class: ResourceClass,
        register: u32,
        name: &str,
        kind: ResourceKind,
    ) -> ResourceRef {
        let id = ResourceId(self.kernel.resources.len() as u32);
        self.kernel.resources.push(Resource {
            name: name.into(),
            class,
            register,
            space: 0,
            count: 1,
            unbounded: false,
            vk_binding: None,
            kind,
            read_only: class != ResourceClass::Uav,
            coherent: false,
            volatile: false,
        });
        ResourceRef { resource: id, index: None }
    }

    pub fn uav(&mut self, register: u32, name: &str) -> ResourceRef {
        let kind = ResourceKind::ByteAddressBuffer;
        self.resource(ResourceClass::Uav, register, name, kind)
    }

    pub fn reg(&mut self, ty: Ty, kind: RegKind) -> Reg {
        self.kernel.regs.push(RegDecl { ty, kind });
        Reg(self.kernel.regs.len() as u32 - 1)
    }

    pub fn constant(&mut self, value: u32) -> Reg {
        let reg = self.reg(Ty::B32, RegKind::Const);
        self.kernel.constants.push((reg, u64::from(value)));
        reg
    }

    pub fn temp(&mut self) -> Reg {
        self.reg(Ty::B32, RegKind::Temp)
    }

    pub fn inst(&mut self, inst: Inst) {
        self.kernel.body.push(Stmt::Inst(inst, Loc::NONE));
    }

    pub fn builtin(&mut self, which: Builtin) -> Reg {
        let dst = self.temp();
        self.inst(Inst::Builtin { dst, which });
        dst
    }

    pub fn binary(&mut self, op: BinOp, a: Reg, b: Reg) -> Reg {
        let dst = self.temp();
        self.inst(Inst::Binary { op, dst, a, b });
        dst
    }

    /// The dword at `index` of a buffer.
    pub fn load(&mut self, buffer: ResourceRef, index: Reg) -> Reg {
        let dst = self.temp();
        self.inst(Inst::Load {
            dst: vec![dst],
            space: Space::Buffer(buffer),
            addr: Addr { index: Some(index), scale: 4, offset: 0 },
            order: Order::default(),
        });
        dst
    }

    /// Stores a dword at `index` of a buffer.
    pub fn store(&mut self, buffer: ResourceRef, index: Reg, value: Reg) {
        self.inst(Inst::Store {
            src: vec![value],
            space: Space::Buffer(buffer),
            addr: Addr { index: Some(index), scale: 4, offset: 0 },
            order: Order::default(),
        });
    }

    /// Adds `value` to the dword at `index`; gives the old value.
    pub fn atomic_add(&mut self, buffer: ResourceRef, index: Reg, value: Reg) -> Reg {
        let dst = self.temp();
        self.kernel.uses.atomics = true;
        self.inst(Inst::Atomic {
            op: AtomicOp::Add,
            dst: Some(dst),
            space: Space::Buffer(buffer),
            addr: Addr { index: Some(index), scale: 4, offset: 0 },
            value: Some(value),
            compare: None,
            order: Order::default(),
        });
        dst
    }

    /// An ordered append to `counter`.
    pub fn ordered_add(&mut self, counter: Reg, value: Reg) -> Reg {
        let dst = self.temp();
        self.kernel.uses.ordered_append = true;
        self.inst(Inst::OrderedAdd { dst, counter, value });
        dst
    }

    pub fn build(self) -> Arc<Kernel> {
        Arc::new(self.kernel)
    }
}

/// `u0[global id x] = value`.
pub fn store_kernel(value: u32, group: u32) -> Arc<Kernel> {
    let mut b = Builder::new("store", [group, 1, 1]);
    let out = b.uav(0, "Out");
    let id = b.builtin(Builtin::GlobalIdX);
    let value = b.constant(value);
    b.store(out, id, value);
    b.build()
}

/// Every thread of every group adds 1 to `u0[0]`.
pub fn count_kernel(group: [u32; 3]) -> Arc<Kernel> {
    let mut b = Builder::new("count", group);
    let out = b.uav(0, "Count");
    let zero = b.constant(0);
    let one = b.constant(1);
    b.atomic_add(out, zero, one);
    b.build()
}

/// `u0[group id x] = lane count`, by every thread; compiled for `wave`.
pub fn lane_count_kernel(wave: WaveRule) -> Arc<Kernel> {
    let mut b = Builder::new("lanes", [64, 1, 1]).wave(wave);
    let out = b.uav(0, "Out");
    let id = b.builtin(Builtin::GroupIdX);
    let lanes = b.builtin(Builtin::LaneCount);
    b.store(out, id, lanes);
    b.build()
}

/// `u0[global id x] = ordered_add(counter 0, 1)`, groups of `group` threads.
pub fn ordered_kernel(group: u32) -> Arc<Kernel> {
    let mut b = Builder::new("ordered", [group, 1, 1]);
    let out = b.uav(0, "Out");
    let id = b.builtin(Builtin::GlobalIdX);
    let zero = b.constant(0);
    let one = b.constant(1);
    let old = b.ordered_add(zero, one);
    b.store(out, id, old);
    b.build()
}

/// A wave rule that `[WaveSize(n)]` gives.
pub fn fixed(size: WaveSize) -> WaveRule {
    WaveRule::Fixed(size)
}
