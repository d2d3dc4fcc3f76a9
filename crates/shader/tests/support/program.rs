//! Random structured programs: printed as WGSL and as HLSL, and run by the rules
//! of the languages themselves, one thread at a time.

use std::fmt::Write as _;

/// A small generator of numbers.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 20) % u64::from(n)) as u32
    }
}

pub enum Expr {
    Var(usize),
    Number(u32),
    /// Differs between lanes.
    Input,
    /// Element of the array.
    Element(Box<Expr>),
    Op(char, Box<Expr>, Box<Expr>),
}

/// `a < b`, or `a == b`.
pub struct Cond(bool, Expr, Expr);

pub enum Stmt {
    Assign(usize, Expr),
    SetElement(Expr, Expr),
    If(Cond, Vec<Stmt>, Vec<Stmt>),
    /// A counted loop of up to `n % 4` rounds; `true`: tested at its end.
    Loop(Expr, bool, usize, Vec<Stmt>),
    /// Cases of `value % 5`; the last is the default. Falling through is
    /// HLSL's only.
    Switch(Expr, Vec<(Vec<Stmt>, bool)>),
    /// `var = helper(expr)`.
    Call(usize, Expr),
    Break,
    Continue,
    Return(Expr),
}

pub const VARS: usize = 4;
const ARRAY: u32 = 6;

pub struct Program {
    helper: Vec<Stmt>,
    main: Vec<Stmt>,
}

struct Maker<'r> {
    random: &'r mut Random,
    /// Inside a loop; inside a switch; inside the helper.
    loops: u32,
    switches: u32,
    helper: bool,
    falls: bool,
    counters: usize,
    budget: i32,
}

impl Program {
    /// `falls`: cases may fall into the next.
    pub fn random(random: &mut Random, falls: bool) -> Self {
        let mut maker =
            Maker { random, loops: 0, switches: 0, helper: true, falls, counters: 0, budget: 14 };
        let helper = maker.block(2);
        maker.helper = false;
        maker.budget = 40;
        let main = maker.block(4);
        Self { helper, main }
    }
}

impl Maker<'_> {
    fn block(&mut self, depth: u32) -> Vec<Stmt> {
        let n = 1 + self.random.below(4);
        let mut out = Vec::new();
        for _ in 0..n {
            let stmt = self.stmt(depth);
            let jump = matches!(stmt, Stmt::Break | Stmt::Continue | Stmt::Return(_));
            out.push(stmt);
            if jump {
                break;
            }
        }
        out
    }

    fn expr(&mut self, depth: u32) -> Expr {
        match self.random.below(if depth == 0 { 3 } else { 8 }) {
            0 => Expr::Var(self.random.below(VARS as u32) as usize),
            1 => Expr::Number(self.random.below(9)),
            2 => Expr::Input,
            3 => Expr::Element(Box::new(self.expr(depth - 1))),
            _ => {
                let op = ['+', '-', '*', '&', '|', '^'][self.random.below(6) as usize];
                Expr::Op(op, Box::new(self.expr(depth - 1)), Box::new(self.expr(depth - 1)))
            }
        }
    }

    fn cond(&mut self) -> Cond {
        let less = self.random.below(3) > 0;
        let masked = Expr::Op('&', Box::new(self.expr(1)), Box::new(Expr::Number(7)));
        Cond(less, masked, Expr::Number(self.random.below(7)))
    }

    fn stmt(&mut self, depth: u32) -> Stmt {
        self.budget -= 1;
        let plain = depth == 0 || self.budget < 0;
        match self.random.below(if plain { 4 } else { 12 }) {
            0 | 1 => Stmt::Assign(self.random.below(VARS as u32) as usize, self.expr(2)),
            2 => Stmt::SetElement(self.expr(1), self.expr(2)),
            3 => match self.random.below(8) {
                0 if self.loops > 0 && self.switches == 0 => Stmt::Break,
                1 if self.loops > 0 => Stmt::Continue,
                2 if self.helper || depth < 3 => Stmt::Return(self.expr(1)),
                _ => Stmt::Assign(self.random.below(VARS as u32) as usize, self.expr(2)),
            },
            4..=6 => Stmt::If(self.cond(), self.block(depth - 1), self.block(depth - 1)),
            7 | 8 => {
                let at_end = self.random.below(2) == 0;
                let counter = self.counters;
                self.counters += 1;
                self.loops += 1;
                let switches = std::mem::take(&mut self.switches);
                let n = self.expr(1);
                let body = self.block(depth - 1);
                self.loops -= 1;
                self.switches = switches;
                Stmt::Loop(n, at_end, counter, body)
            }
            9 => {
                let value = self.expr(1);
                self.switches += 1;
                let n = 1 + self.random.below(3);
                let mut cases = Vec::new();
                for i in 0..=n {
                    let falls = self.falls && i < n && self.random.below(3) == 0;
                    cases.push((self.block(depth - 1), falls));
                }
                self.switches -= 1;
                Stmt::Switch(value, cases)
            }
            _ if self.helper => Stmt::Assign(0, self.expr(2)),
            _ => Stmt::Call(self.random.below(VARS as u32) as usize, self.expr(1)),
        }
    }
}

// Printing.

struct Print {
    hlsl: bool,
    helper: bool,
    out: String,
}

impl Print {
    fn expr(&self, e: &Expr) -> String {
        match e {
            Expr::Var(i) => format!("v{i}"),
            Expr::Number(n) => format!("{n}u"),
            Expr::Input => "lane".to_owned(),
            Expr::Element(i) => format!("a[{} % {ARRAY}u]", self.expr(i)),
            Expr::Op(op, a, b) => format!("({} {op} {})", self.expr(a), self.expr(b)),
        }
    }

    fn cond(&self, c: &Cond) -> String {
        let op = if c.0 { "<" } else { "==" };
        format!("{} {op} {}", self.expr(&c.1), self.expr(&c.2))
    }

    fn block(&mut self, block: &[Stmt]) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }

    fn finish(&mut self) {
        for i in 0..VARS {
            self.line(&format!("Out[lane * {VARS}u + {i}u] = v{i};"));
        }
        self.line("return;");
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign(v, e) => self.line(&format!("v{v} = {};", self.expr(e))),
            Stmt::SetElement(i, e) => {
                self.line(&format!("a[{} % {ARRAY}u] = {};", self.expr(i), self.expr(e)));
            }
            Stmt::If(c, then, els) => {
                self.line(&format!("if ({}) {{", self.cond(c)));
                self.block(then);
                self.line("} else {");
                self.block(els);
                self.line("}");
            }
            Stmt::Loop(n, at_end, i, body) => {
                let n = self.expr(n);
                let kind = if self.hlsl { "uint" } else { "var" };
                self.line(&format!("{kind} n{i} = {n} & 3u;"));
                match (at_end, self.hlsl) {
                    (false, _) => {
                        self.line(&format!("for ({kind} i{i} = 0u; i{i} < n{i}; i{i}++) {{"));
                        self.block(body);
                        self.line("}");
                    }
                    (true, false) => {
                        self.line(&format!("var i{i} = 0u; loop {{"));
                        self.block(body);
                        self.line(&format!("continuing {{ i{i}++; break if i{i} >= n{i}; }} }}"));
                    }
                    (true, true) => {
                        self.line(&format!("uint i{i} = 0u; do {{"));
                        self.block(body);
                        self.line(&format!("}} while (++i{i} < n{i});"));
                    }
                }
            }
            Stmt::Switch(e, cases) => {
                self.line(&format!("switch ({} % 5u) {{", self.expr(e)));
                for (i, (body, falls)) in cases.iter().enumerate() {
                    if i + 1 == cases.len() {
                        self.line("default: {");
                    } else {
                        self.line(&format!("case {i}u: {{"));
                    }
                    self.block(body);
                    self.line("}");
                    if self.hlsl && !falls {
                        self.line("break;");
                    }
                }
                self.line("}");
            }
            Stmt::Call(v, e) => self.line(&format!("v{v} = helper({}, lane);", self.expr(e))),
            Stmt::Break => self.line("break;"),
            Stmt::Continue => self.line("continue;"),
            Stmt::Return(e) if self.helper => self.line(&format!("return {};", self.expr(e))),
            Stmt::Return(e) => {
                self.line(&format!("v0 = {};", self.expr(e)));
                self.finish();
            }
        }
    }

    fn locals(&mut self) {
        for i in 0..VARS {
            let start = if self.helper && i == 0 { "x" } else { "lane" };
            let kind = if self.hlsl { "uint" } else { "var" };
            self.line(&format!("{kind} v{i} = {start} + {i}u;"));
        }
        if self.hlsl {
            self.line(&format!("uint a[{ARRAY}] = {{ 1u, 2u, 3u, 4u, 5u, 6u }};"));
        } else {
            self.line(&format!("var a = array<u32, {ARRAY}>(1u, 2u, 3u, 4u, 5u, 6u);"));
        }
    }
}

impl Program {
    /// Source text; `hlsl` false: WGSL.
    pub fn print(&self, hlsl: bool) -> String {
        let mut p = Print { hlsl, helper: true, out: String::new() };
        p.line(if hlsl {
            "RWStructuredBuffer<uint> Out : register(u0);\nuint helper(uint x, uint lane) {"
        } else {
            "@group(0) @binding(0) var<storage, read_write> Out: array<u32>;\n\
             fn helper(x: u32, lane: u32) -> u32 {"
        });
        p.locals();
        p.block(&self.helper);
        if !ends(&self.helper) {
            p.line("return v0;");
        }
        p.line("}");
        p.helper = false;
        p.line(if hlsl {
            "[numthreads(64, 1, 1)] void main(uint lane : SV_GroupIndex) {"
        } else {
            "@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) lane: u32) {"
        });
        p.locals();
        p.block(&self.main);
        if !ends(&self.main) {
            p.finish();
        }
        p.line("}");
        p.out
    }

    /// What the program leaves in a lane's variables.
    pub fn run(&self, lane: u32) -> [u32; VARS] {
        let mut thread = Thread::new(self, lane, lane);
        if let Flow::Return(value) = thread.block(&self.main) {
            thread.vars[0] = value;
        }
        thread.vars
    }
}

/// True if nothing may follow: the last statement leaves.
fn ends(block: &[Stmt]) -> bool {
    matches!(block.last(), Some(Stmt::Return(_)))
}

// Running.

enum Flow {
    On,
    Break,
    Continue,
    Return(u32),
}

struct Thread<'p> {
    program: &'p Program,
    lane: u32,
    vars: [u32; VARS],
    array: [u32; ARRAY as usize],
}

impl<'p> Thread<'p> {
    fn new(program: &'p Program, lane: u32, first: u32) -> Self {
        let vars = std::array::from_fn(|i| if i == 0 { first } else { lane + i as u32 });
        Self { program, lane, vars, array: [1, 2, 3, 4, 5, 6] }
    }

    fn expr(&self, e: &Expr) -> u32 {
        match e {
            Expr::Var(i) => self.vars[*i],
            Expr::Number(n) => *n,
            Expr::Input => self.lane,
            Expr::Element(i) => self.array[(self.expr(i) % ARRAY) as usize],
            Expr::Op(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                match op {
                    '+' => a.wrapping_add(b),
                    '-' => a.wrapping_sub(b),
                    '*' => a.wrapping_mul(b),
                    '&' => a & b,
                    '|' => a | b,
                    _ => a ^ b,
                }
            }
        }
    }

    fn cond(&self, c: &Cond) -> bool {
        let (a, b) = (self.expr(&c.1), self.expr(&c.2));
        if c.0 { a < b } else { a == b }
    }

    fn block(&mut self, block: &[Stmt]) -> Flow {
        for stmt in block {
            match self.stmt(stmt) {
                Flow::On => {}
                flow => return flow,
            }
        }
        Flow::On
    }

    fn stmt(&mut self, stmt: &Stmt) -> Flow {
        match stmt {
            Stmt::Assign(v, e) => self.vars[*v] = self.expr(e),
            Stmt::SetElement(i, e) => {
                self.array[(self.expr(i) % ARRAY) as usize] = self.expr(e);
            }
            Stmt::If(c, then, els) => {
                return if self.cond(c) { self.block(then) } else { self.block(els) };
            }
            Stmt::Loop(n, at_end, _, body) => {
                let n = self.expr(n) & 3;
                let mut i = 0;
                loop {
                    if !at_end && i >= n {
                        break;
                    }
                    match self.block(body) {
                        Flow::On | Flow::Continue => {}
                        Flow::Break => break,
                        flow => return flow,
                    }
                    i += 1;
                    if *at_end && i >= n {
                        break;
                    }
                }
            }
            Stmt::Switch(e, cases) => {
                let value = (self.expr(e) % 5) as usize;
                let mut i = value.min(cases.len() - 1);
                loop {
                    match self.block(&cases[i].0) {
                        Flow::On => {}
                        Flow::Break => break,
                        flow => return flow,
                    }
                    if !cases[i].1 {
                        break;
                    }
                    i += 1;
                }
            }
            Stmt::Call(v, e) => {
                let mut thread = Thread::new(self.program, self.lane, self.expr(e));
                self.vars[*v] = match thread.block(&self.program.helper) {
                    Flow::Return(value) => value,
                    Flow::On | Flow::Break | Flow::Continue => thread.vars[0],
                };
            }
            Stmt::Break => return Flow::Break,
            Stmt::Continue => return Flow::Continue,
            Stmt::Return(e) => return Flow::Return(self.expr(e)),
        }
        Flow::On
    }
}
