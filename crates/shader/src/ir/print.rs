//! Text form of a kernel, for tests and debugging.
//!
//! `%n` is a temp, `$n` a var; a const is printed as its value (decimal below
//! 65536, else hexadecimal; `true` and `false`). Registers that do not hold 32
//! bits carry their type after a colon where they are written.

use super::*;
use std::fmt::{self, Write as _};

/// Writes a kernel.
struct Printer<'k, 'f, 'g> {
    kernel: &'k Kernel,
    consts: Vec<u64>,
    f: &'f mut fmt::Formatter<'g>,
    depth: usize,
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.group_size;
        let wave = match self.wave {
            WaveRule::Wave64 => "wave64".to_owned(),
            WaveRule::Wave32 => "wave32".to_owned(),
            WaveRule::Fixed(size) => format!("fixed{}", size.lanes()),
        };
        writeln!(f, "kernel {} [{x}, {y}, {z}] {wave}", self.entry)?;
        if self.lds_bytes > 0 {
            writeln!(f, "lds {}", self.lds_bytes)?;
        }
        if self.scratch_bytes > 0 {
            writeln!(f, "scratch {}", self.scratch_bytes)?;
        }
        for r in &self.resources {
            writeln!(f, "{}", resource(r))?;
        }
        let mut consts = vec![0; self.regs.len()];
        for &(reg, value) in &self.constants {
            if let Some(slot) = consts.get_mut(reg.index()) {
                *slot = value;
            }
        }
        Printer { kernel: self, consts, f, depth: 0 }.block(&self.body)
    }
}

fn resource(r: &Resource) -> String {
    let mut s = format!("{}{}", r.class.letter(), r.register);
    if r.space != 0 {
        let _ = write!(s, ", space{}", r.space);
    }
    if r.count != 1 {
        let _ = write!(s, "[{}]", r.count);
    }
    let _ = write!(s, " {}: ", r.name);
    let _ = match r.kind {
        ResourceKind::ConstantBuffer => write!(s, "cbuffer"),
        ResourceKind::StructuredBuffer { stride } => write!(s, "structured({stride})"),
        ResourceKind::ByteAddressBuffer => write!(s, "byteaddress"),
        ResourceKind::TypedBuffer { sampled, format } => {
            write!(
                s,
                "typed({sampled:?}{}{})",
                if format.is_some() { " " } else { "" },
                format.map_or("", |f| f.name())
            )
        }
        ResourceKind::Image { dim, arrayed, sampled, format } => write!(
            s,
            "image({dim:?}{} {sampled:?}{}{})",
            if arrayed { " array" } else { "" },
            if format.is_some() { " " } else { "" },
            format.map_or("", |f| f.name())
        ),
        ResourceKind::Sampler => write!(s, "sampler"),
        ResourceKind::Counter => write!(s, "counter"),
        ResourceKind::Extension(e) => write!(s, "extension({e:?})"),
    };
    for (on, word) in
        [(r.read_only, " readonly"), (r.coherent, " coherent"), (r.volatile, " volatile")]
    {
        if on {
            s.push_str(word);
        }
    }
    s
}

impl Printer<'_, '_, '_> {
    fn r(&self, reg: Reg) -> String {
        let Some(decl) = self.kernel.regs.get(reg.index()) else {
            return format!("?{}", reg.0);
        };
        match decl.kind {
            RegKind::Temp => format!("%{}", reg.0),
            RegKind::Var => format!("${}", reg.0),
            RegKind::Const => {
                let v = self.consts[reg.index()];
                match decl.ty {
                    Ty::Bool => (if v == 0 { "false" } else { "true" }).to_owned(),
                    Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64 if v < 65536 => v.to_string(),
                    Ty::B8 | Ty::B16 | Ty::B32 => format!("{v:#010x}"),
                    Ty::B64 => format!("{v:#018x}"),
                }
            }
        }
    }

    /// A register that is written: with its type unless 32 bits.
    fn d(&self, reg: Reg) -> String {
        let ty = match self.kernel.regs.get(reg.index()).map(|d| d.ty) {
            Some(Ty::Bool) => ":bool",
            Some(Ty::B8) => ":8",
            Some(Ty::B16) => ":16",
            Some(Ty::B64) => ":64",
            Some(Ty::B32) | None => "",
        };
        format!("{}{ty}", self.r(reg))
    }

    fn rs(&self, regs: &[Reg]) -> String {
        regs.iter().map(|&r| self.r(r)).collect::<Vec<_>>().join(", ")
    }

    fn ds(&self, regs: &[Reg]) -> String {
        regs.iter().map(|&r| self.d(r)).collect::<Vec<_>>().join(", ")
    }

    fn line(&mut self, text: &str) -> fmt::Result {
        writeln!(self.f, "{:indent$}{text}", "", indent = 2 * (self.depth + 1))
    }

    fn nested(&mut self, block: &Block) -> fmt::Result {
        self.depth += 1;
        self.block(block)?;
        self.depth -= 1;
        Ok(())
    }

    fn block(&mut self, block: &Block) -> fmt::Result {
        for stmt in block {
            self.stmt(stmt)?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> fmt::Result {
        match stmt {
            Stmt::Inst(inst, _) => {
                let text = self.inst(inst);
                self.line(&text)
            }
            Stmt::If { cond, then, els, .. } => {
                let cond = self.r(*cond);
                if then.is_empty() {
                    self.line(&format!("if not {cond} {{"))?;
                    self.nested(els)?;
                    return self.line("}");
                }
                self.line(&format!("if {cond} {{"))?;
                self.nested(then)?;
                if !els.is_empty() {
                    self.line("} else {")?;
                    self.nested(els)?;
                }
                self.line("}")
            }
            Stmt::Loop { label, body, continuing, .. } => {
                self.line(&format!("loop @{} {{", label.0))?;
                self.nested(body)?;
                if !continuing.is_empty() {
                    self.line("} continuing {")?;
                    self.nested(continuing)?;
                }
                self.line("}")
            }
            Stmt::Scope { label, body } => {
                self.line(&format!("scope @{} {{", label.0))?;
                self.nested(body)?;
                self.line("}")
            }
            Stmt::Switch { label, selector, cases, .. } => {
                let selector = self.r(*selector);
                self.line(&format!("switch @{} {selector} {{", label.0))?;
                for case in cases {
                    let mut names: Vec<String> = case.values.iter().map(u64::to_string).collect();
                    if case.default {
                        names.push("default".to_owned());
                    }
                    self.line(&format!("case {}:", names.join(", ")))?;
                    self.nested(&case.body)?;
                }
                self.line("}")
            }
            Stmt::Break(label) => self.line(&format!("break @{}", label.0)),
            Stmt::Continue(label) => self.line(&format!("continue @{}", label.0)),
            Stmt::Return => self.line("return"),
        }
    }

    fn place(&self, at: ResourceRef) -> String {
        let name = self
            .kernel
            .resources
            .get(at.resource.index())
            .map_or_else(|| format!("?{}", at.resource.0), |r| r.name.clone());
        match at.index {
            Some(index) => format!("{name}[{}]", self.r(index)),
            None => name,
        }
    }

    fn addr(&self, space: Space, addr: Addr, order: Order) -> String {
        let signed = matches!(space, Space::Global(_));
        let space = match space {
            Space::Buffer(at) => self.place(at),
            Space::Lds => "lds".to_owned(),
            Space::Scratch => "scratch".to_owned(),
            Space::Global(base) => format!("global[{}]", self.r(base)),
        };
        let inner = match (addr.index, addr.offset) {
            (None, offset) if signed => (offset as i32).to_string(),
            (None, offset) => offset.to_string(),
            (Some(i), 0) => format!("{} * {}", self.r(i), addr.scale),
            (Some(i), offset) => format!("{} * {} + {offset}", self.r(i), addr.scale),
        };
        format!("{space} @ {inner}{}", order_text(order))
    }

    fn inst(&self, inst: &Inst) -> String {
        match inst {
            Inst::Unary { op, dst, a } => {
                format!("{} = {} {}", self.d(*dst), op.name(), self.r(*a))
            }
            Inst::Binary { op, dst, a, b } => {
                format!("{} = {} {}", self.d(*dst), op.name(), self.rs(&[*a, *b]))
            }
            Inst::Ternary { op, dst, a, b, c } => {
                format!("{} = {} {}", self.d(*dst), op.name(), self.rs(&[*a, *b, *c]))
            }
            Inst::Set { var, value } => format!("{} := {}", self.d(*var), self.r(*value)),
            Inst::Builtin { dst, which } => format!("{} = {}", self.d(*dst), which.name()),
            Inst::Load { dst, space, addr, order } => {
                format!("{} = load {}", self.ds(dst), self.addr(*space, *addr, *order))
            }
            Inst::Store { src, space, addr, order } => {
                format!("store {} <- {}", self.addr(*space, *addr, *order), self.rs(src))
            }
            Inst::BufferSize { dst, buffer } => {
                format!("{} = size {}", self.d(*dst), self.place(*buffer))
            }
            Inst::Barrier(b) => {
                let mut s = (if b.sync { "barrier" } else { "fence" }).to_owned();
                s.push_str(if b.lds { " lds" } else { "" });
                s.push_str(if b.device { " device" } else { "" });
                s
            }
            Inst::Clock { dst } => format!("{} = clock", self.ds(dst)),
            Inst::DebugBreak => "debug.break".to_owned(),
            Inst::DebugPrint { format, args } => {
                let text = self.kernel.formats.get(*format as usize);
                let text = text.map_or("?", |f| f.text());
                let all = std::iter::once(format!("{text:?}"));
                let all: Vec<String> = all.chain(args.iter().map(|&r| self.r(r))).collect();
                format!("debug.print {}", all.join(", "))
            }
            Inst::Image { .. } => self.image(inst),
            Inst::Reduce { op, scan, dst, a, cluster } => {
                let cluster =
                    if *cluster == 0 { String::new() } else { format!(" cluster {cluster}") };
                let (dst, a) = (self.d(*dst), self.r(*a));
                format!("{dst} = wave.{}.{} {a}{cluster}", scan.name(), op.name())
            }
            Inst::ReducePartition { op, scan, dst, a, mask } => {
                let (dst, a, mask) = (self.d(*dst), self.r(*a), self.rs(mask));
                format!("{dst} = wave.{}.{} {a} partition {mask}", scan.name(), op.name())
            }
            Inst::Wave { op, dst, a, b } => {
                let args: Vec<Reg> = a.iter().chain(b).copied().collect();
                let text = format!("{} = wave.{} {}", self.d(*dst), op.name(), self.rs(&args));
                text.trim_end().to_owned()
            }
            Inst::Ballot { dst, a } => format!("{} = wave.ballot {}", self.ds(dst), self.r(*a)),
            Inst::Match { dst, a } => format!("{} = wave.match {}", self.ds(dst), self.rs(a)),
            Inst::Atomic { op, dst, space, addr, value, compare, order } => {
                let args: Vec<Reg> = value.iter().chain(compare).copied().collect();
                let (dst, at) = (self.maybe(*dst), self.addr(*space, *addr, *order));
                let text = format!("{dst}atomic.{} {at}, {}", op.name(), self.rs(&args));
                text.trim_end_matches(", ").to_owned()
            }
            Inst::OrderedAdd { dst, counter, value } => {
                format!("{} = ordered.add {}", self.d(*dst), self.rs(&[*counter, *value]))
            }
            Inst::Gds { op, dst, offset, value, compare } => {
                let mut args = vec![*offset];
                args.extend(value.iter().chain(compare));
                format!("{}gds.{} {}", self.maybe(*dst), op.name(), self.rs(&args))
            }
        }
    }

    /// `%n = `, or nothing.
    fn maybe(&self, dst: Option<Reg>) -> String {
        dst.map_or(String::new(), |d| format!("{} = ", self.d(d)))
    }

    fn image(&self, inst: &Inst) -> String {
        let Inst::Image { op, dst, image, sampler, coords, offset, data, order } = inst else {
            return String::new();
        };
        let mut s = String::new();
        if !dst.is_empty() {
            let _ = write!(s, "{} = ", self.ds(dst));
        }
        let mut tail = String::new();
        let name = match op {
            ImageOp::Load { lod } => {
                self.lod(lod, &mut tail);
                "load".to_owned()
            }
            ImageOp::Store => "store".to_owned(),
            ImageOp::Sample { lod, compare, min_lod } => {
                self.lod(lod, &mut tail);
                for (word, reg) in [("compare", compare), ("min_lod", min_lod)] {
                    if let Some(reg) = reg {
                        let _ = write!(tail, " {word} {}", self.r(*reg));
                    }
                }
                "sample".to_owned()
            }
            ImageOp::Gather { component, compare } => {
                if let Some(reg) = compare {
                    let _ = write!(tail, " compare {}", self.r(*reg));
                }
                format!("gather{component}")
            }
            ImageOp::Size { level } => {
                if let Some(reg) = level {
                    let _ = write!(tail, " level {}", self.r(*reg));
                }
                "size".to_owned()
            }
            ImageOp::Levels => "levels".to_owned(),
            ImageOp::QueryLod => "querylod".to_owned(),
            ImageOp::Atomic(op) => format!("atomic.{}", op.name()),
        };
        let _ = write!(s, "image.{name} {}", self.place(*image));
        if let Some(sampler) = sampler {
            let _ = write!(s, " with {}", self.place(*sampler));
        }
        if !coords.is_empty() {
            let _ = write!(s, " ({})", self.rs(coords));
        }
        s.push_str(&tail);
        for (word, regs) in [("offset", offset), ("<-", data)] {
            if !regs.is_empty() {
                let _ = write!(s, " {word} {}", self.rs(regs));
            }
        }
        s.push_str(order_text(*order));
        s
    }

    fn lod(&self, lod: &Lod, out: &mut String) {
        let _ = match lod {
            Lod::Zero => Ok(()),
            Lod::Level(reg) => write!(out, " lod {}", self.r(*reg)),
            Lod::Implicit(None) => write!(out, " implicit"),
            Lod::Implicit(Some(bias)) => write!(out, " implicit bias {}", self.r(*bias)),
            Lod::Grad(x, y) => write!(out, " ddx {} ddy {}", self.rs(x), self.rs(y)),
        };
    }
}

fn order_text(order: Order) -> &'static str {
    match (order.coherent, order.volatile) {
        (false, false) => "",
        (true, false) => " coherent",
        (false, true) => " volatile",
        (true, true) => " coherent volatile",
    }
}
