//! Hand-made kernels: what prints how, and what `check` refuses.

use super::*;

fn reg(kernel: &mut Kernel, ty: Ty, kind: RegKind) -> Reg {
    kernel.regs.push(RegDecl { ty, kind });
    Reg(kernel.regs.len() as u32 - 1)
}

fn constant(kernel: &mut Kernel, value: u64) -> Reg {
    let r = reg(kernel, Ty::B32, RegKind::Const);
    kernel.constants.push((r, value));
    r
}

fn inst(inst: Inst) -> Stmt {
    Stmt::Inst(inst, Loc::NONE)
}

fn empty() -> Kernel {
    Kernel {
        entry: "main".to_owned(),
        group_size: [64, 1, 1],
        wave: WaveRule::Wave64,
        resources: vec![Resource {
            name: "Out".to_owned(),
            class: ResourceClass::Uav,
            register: 0,
            space: 0,
            count: 1,
            unbounded: false,
            vk_binding: None,
            kind: ResourceKind::StructuredBuffer { stride: 4 },
            read_only: false,
            coherent: false,
            volatile: false,
        }],
        lds_bytes: 0,
        scratch_bytes: 0,
        regs: Vec::new(),
        constants: Vec::new(),
        body: Vec::new(),
        locs: vec![SourceLoc { file: 0, line: 0, column: 0 }],
        files: Vec::new(),
        formats: Vec::new(),
        uses: Uses::default(),
    }
}

/// Counts to 10 in a loop, then stores the count.
fn counting() -> Kernel {
    let mut k = empty();
    let (one, ten) = (constant(&mut k, 1), constant(&mut k, 10));
    let i = reg(&mut k, Ty::B32, RegKind::Var);
    let done = reg(&mut k, Ty::Bool, RegKind::Temp);
    let next = reg(&mut k, Ty::B32, RegKind::Temp);
    let lane = reg(&mut k, Ty::B32, RegKind::Temp);
    let at = ResourceRef { resource: ResourceId(0), index: None };
    k.body = vec![
        inst(Inst::Builtin { dst: lane, which: Builtin::ThreadIndex }),
        Stmt::Loop {
            label: Label(0),
            body: vec![
                inst(Inst::Binary { op: BinOp::UGe, dst: done, a: i, b: ten }),
                Stmt::If {
                    cond: done,
                    then: vec![Stmt::Break(Label(0))],
                    els: vec![],
                    loc: Loc::NONE,
                },
            ],
            continuing: vec![
                inst(Inst::Binary { op: BinOp::IAdd, dst: next, a: i, b: one }),
                inst(Inst::Set { var: i, value: next }),
            ],
            loc: Loc::NONE,
        },
        inst(Inst::Store {
            src: vec![i],
            space: Space::Buffer(at),
            addr: Addr { index: Some(lane), scale: 4, offset: 0 },
            order: Order::default(),
        }),
    ];
    k
}

#[test]
fn prints() {
    let k = counting();
    assert_eq!(k.check(), Ok(()));
    insta::assert_snapshot!(k, @r"
    kernel main [64, 1, 1] wave64
    u0 Out: structured(4)
      %5 = thread_index
      loop @0 {
        %3:bool = uge $2, 10
        if %3 {
          break @0
        }
      } continuing {
        %4 = iadd $2, 1
        $2 := %4
      }
      store Out @ %5 * 4 <- $2
    ");
}

fn refused(change: impl FnOnce(&mut Kernel)) -> String {
    let mut k = counting();
    change(&mut k);
    k.check().unwrap_err().0
}

#[test]
fn refuses_broken_kernels() {
    let text = [
        refused(|k| k.group_size[1] = 0),
        refused(|k| k.constants.clear()),
        refused(|k| k.constants[0].1 = 1 << 40),
        // The temp of the loop is read after it.
        refused(|k| {
            let Some(Stmt::Inst(Inst::Store { src, .. }, _)) = k.body.last_mut() else { return };
            src[0] = Reg(4);
        }),
        // A temp is read before it is written.
        refused(|k| k.body.rotate_left(1)),
        refused(|k| k.body.push(Stmt::Continue(Label(0)))),
        refused(|k| k.body.insert(0, Stmt::Return)),
        refused(|k| k.resources[0].kind = ResourceKind::Sampler),
        refused(|k| k.resources[0].read_only = true),
        refused(|k| k.regs[3].ty = Ty::B32),
        refused(|k| k.body.push(inst(Inst::Set { var: Reg(5), value: Reg(0) }))),
        refused(|k| {
            let again = k.body[0].clone();
            k.body.push(again);
        }),
    ];
    insta::assert_snapshot!(text.join("\n"), @"
    the group is empty
    const 0 has no value
    value 0x10000000000 of Reg(0) does not fit B32
    Reg(4) is read where it may not be written
    Reg(5) is read where it may not be written
    Continue(Label(0)) outside
    statements after Return
    buffer access to Out
    write to Out, which is read-only
    uge: Reg(3) is B32, not Bool
    Set { var: Reg(5), value: Reg(0) } writes no var
    Reg(5) is written twice
    ");
}

#[test]
fn printed_lines_take_what_their_format_takes() {
    let mut k = counting();
    k.formats = vec![PrintFormat::parse("i = %d").unwrap()];
    let print = |k: &mut Kernel, format, args: Vec<Reg>| {
        k.body.insert(0, Stmt::Inst(Inst::DebugPrint { format, args }, Loc::NONE));
        let checked = k.check();
        k.body.remove(0);
        checked
    };
    let word = k.constants[0].0;
    assert_eq!(print(&mut k, 0, vec![word]), Ok(()));
    assert!(print(&mut k, 0, vec![]).is_err());
    assert!(print(&mut k, 1, vec![word]).is_err());
}
