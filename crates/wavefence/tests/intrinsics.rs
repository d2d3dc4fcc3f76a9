//! What the Xbox intrinsics of the HLSL prelude compute, run on the device.
//!
//! Expected values follow from the instruction each intrinsic is documented to
//! translate to.

use std::path::PathBuf;
use wavefence::prelude::*;

/// The example of the shader crate that runs DXC, if Cargo has built it; else
/// whatever is found.
fn helper() -> Option<PathBuf> {
    let mut path = std::env::current_exe().ok()?;
    path.pop();
    path.pop();
    path.push("examples/dxc_helper");
    path.is_file().then_some(path)
}

fn pipeline(device: &mut Device, text: &str) -> Pipeline {
    let source = Source::text(Language::Hlsl, "intrinsics.hlsl", text);
    let options = CompileOptions { helper: helper(), ..CompileOptions::default() };
    device.create_pipeline_from_source("Intrinsics", &source, &options).unwrap()
}

/// Evaluates each expression in all 64 lanes of one wave and gives what lane 37
/// got. `f`, `i` and `u` keep DXC from computing them itself; `lane` is the lane.
fn evaluate(expressions: &[&str]) -> Vec<u32> {
    let mut text = String::from(
        "RWByteAddressBuffer o : register(u0);\n\
         static uint zero;\n\
         uint u(uint x) { return x + zero; } int i(int x) { return x + (int)zero; }\n\
         float f(float x) { return x + (float)zero; }\n\
         [numthreads(64, 1, 1)] void main(uint lane : SV_GroupIndex) {\n\
         zero = o.Load(4092);\n",
    );
    for (k, expression) in expressions.iter().enumerate() {
        let at = 4 * k;
        text += &format!("{{ uint r = {expression}; if (lane == 37) o.Store({at}, r); }}\n");
    }
    text += "}\n";
    let mut device = Device::new(ProfileName::SeriesX).unwrap();
    let pipeline = pipeline(&mut device, &text);
    let data = device.create_buffer("data", 4096).unwrap();
    let mut list = device.create_command_list("Evaluate", ListKind::Compute);
    list.set_pipeline_state(&pipeline).set_uav(0, 0, data.raw_view()).dispatch(1, 1, 1);
    list.close().unwrap();
    let queue = device.compute_queue(0, 0).unwrap();
    device.execute_command_lists(&queue, &[&list]).unwrap();
    let report = device.run();
    assert!(report.is_clean(), "{report:?}");
    device.read_u32s(data.address(), expressions.len() as u64).unwrap()
}

fn check(rows: &[(&str, u32)]) {
    let expressions: Vec<&str> = rows.iter().map(|(expression, _)| *expression).collect();
    for ((expression, expected), got) in rows.iter().zip(evaluate(&expressions)) {
        assert_eq!(got, *expected, "{expression}: {got:#x}, expected {expected:#x}");
    }
}

#[test]
fn integers_and_bits() {
    check(&[
        ("__XB_Min3_U32(u(3), u(1), u(2))", 1),
        ("__XB_Max3_I32(i(-3), i(-1), i(-2))", -1i32 as u32),
        ("__XB_Med3_U32(u(9), u(1), u(4))", 4),
        ("__XB_Med3_I32(i(9), i(-1), i(4))", 4),
        ("__XB_UBFE(8, 4, u(0xabcdef))", 0xde),
        ("__XB_UBFE(0, 4, u(0xabcdef))", 0),
        ("__XB_IBFE(8, 4, u(0xabcdef))", 0xffff_ffde),
        ("__XB_IBFE(u(4), 0, u(7))", 7),
        ("__XB_BFM(u(5), u(3))", 0xf8),
        ("__XB_BFI(u(0xff00), u(0x1234), u(0xabcd))", 0x12cd),
        ("__XB_MulI24(i(-3), i(5))", -15i32 as u32),
        ("__XB_MulI24(i(0x1000003), i(5))", 15),
        ("__XB_MulU24(u(0xff000003), u(5))", 15),
        ("__XB_MadI24(i(-3), i(5), i(100))", 85),
        ("__XB_MadU24(u(3), u(5), u(100))", 115),
        ("__XB_S_BCNT0_U32(u(0xf0))", 28),
        ("__XB_S_BCNT1_U64(u(0xf0).xx)", 8),
        ("__XB_S_BREV_U32(u(1))", 0x8000_0000),
        ("__XB_S_FF0_U32(u(0xff))", 8),
        ("__XB_S_FF0_U32(u(0xffffffff))", u32::MAX),
        ("__XB_S_FF1_U32(u(0x50))", 4),
        ("__XB_S_FF1_U64(uint2(u(0), u(8)))", 35),
        ("__XB_S_FFO_U32(u(0x10))", 27),
        ("__XB_S_FFO_U32(u(0))", u32::MAX),
        ("__XB_S_FFO_U64(uint2(u(1), u(0)))", 63),
        ("__XB_S_FOSB_U32(u(0xfffffff0))", 28),
        ("__XB_S_FOSB_U32(u(0xffffffff))", u32::MAX),
        ("__XB_PackI32ToI16(i(-40000), i(5))", 0x0005_8000),
        ("__XB_PackU32ToU16(u(70000), u(5))", 0x0005_ffff),
    ]);
}

#[test]
fn floats_and_packing() {
    check(&[
        ("asuint(__XB_Med3_F32(f(9), f(-1), f(4)))", 4f32.to_bits()),
        ("asuint(__XB_UnpackByte0(u(0x04030201)))", 1f32.to_bits()),
        ("asuint(__XB_UnpackByte3(u(0x84030201)))", 132f32.to_bits()),
        ("__XB_PackF32ToSNORM16(f(-1), f(0.5))", 0x4000_8001),
        ("__XB_PackF32ToUNORM16(f(1), f(2))", 0xffff_ffff),
        ("__XB_PackF32ToU8(f(300), u(1), u(0x11223344))", 0x1122_ff44),
        ("asuint(__XB_F32ToI32RPI(f(2.5)))", 3),
        ("asuint(__XB_F32ToI32FLR(f(-2.5)))", -3i32 as u32),
        ("asuint(__XB_I4ToF32(i(8)))", (-0.5f32).to_bits()),
        ("asuint(__XB_Cube_ID(f(1), f(-3), f(2)))", 3f32.to_bits()),
        ("asuint(__XB_Cube_MA(f(1), f(-3), f(2)))", (-6f32).to_bits()),
        ("asuint(__XB_Cube_SC(f(1), f(-3), f(2)))", 1f32.to_bits()),
        ("asuint(__XB_Cube_TC(f(1), f(-3), f(2)))", (-2f32).to_bits()),
        ("asuint(__XB_Rcp_Clamp(f(0)))", f32::MAX.to_bits()),
        ("asuint(__XB_Log_Clamp(f(0)))", (-f32::MAX).to_bits()),
        ("abs(__XB_Sin_F32(f(0.25)) - 1) < 1e-6 ? 1 : 0", 1),
        ("abs(__XB_Cos_F32(f(0.5)) + 1) < 1e-6 ? 1 : 0", 1),
    ]);
}

#[test]
fn lanes_of_a_wave() {
    check(&[
        ("__XB_GetLaneID()", 37),
        ("__XB_MakeUniform(lane + 2)", 2),
        ("__XB_ReadLane(lane * 3, 10)", 30),
        ("__XB_WriteLane(u(7), 37, lane)", 7),
        ("__XB_WriteLane(u(7), 36, lane)", 37),
        ("__XB_Ballot64(lane >= 36).y", 0xffff_fff0),
        ("__XB_Ballot64(lane == 3).x", 8),
        ("__XB_MBCNT64(uint2(0xffffffff, 0xffffffff))", 37),
        ("__XB_MBCNT64(uint2(1, 0x30))", 2),
        ("__XB_V_CNDMASK_B32(uint2(0, 0x20), uint2(5, 6))", 6),
        ("__XB_V_CNDMASK_B32(uint2(0x20, 0), uint2(5, 6))", 5),
        ("__XB_WaveOR(lane)", 63),
        ("__XB_WaveAND(lane | 64)", 64),
        ("__XB_WaveMin_U32(lane + 4)", 4),
        ("__XB_WaveMax_I32(-(int)lane)", 0),
        ("asuint(__XB_WaveAdd_F32((float)lane))", 2016f32.to_bits()),
        // Neighbours swapped, by quad permutation and by exclusive or.
        ("__XB_LaneSwizzle(lane, 0x80b1)", 36),
        ("__XB_LaneSwizzle(lane, 0x041f)", 36),
    ]);
}

#[test]
fn the_clock_runs_and_gds_keeps_what_is_stored() {
    let text = "RWByteAddressBuffer o : register(u0);\n\
        [numthreads(64, 1, 1)] void main(uint lane : SV_GroupIndex) {\n\
          uint2 a = __XB_MemTime();\n\
          uint old = XbGdsAtomicAdd(8, 1);\n\
          if (lane == 0) { __XB_GDS_Write_U32(16, 5); XbGdsAtomicMax(16, 9); }\n\
          GroupMemoryBarrierWithGroupSync();\n\
          uint2 b = __XB_MemTime();\n\
          o.Store4(16 * lane, uint4(old, __XB_GDS_Read_U32(8), XbGdsLoad(16), b.y > a.y || b.x >= a.x));\n\
        }\n";
    let mut device = Device::new(ProfileName::SeriesX).unwrap();
    let pipeline = pipeline(&mut device, text);
    let data = device.create_buffer("data", 1024).unwrap();
    let mut list = device.create_command_list("Clock", ListKind::Compute);
    list.set_pipeline_state(&pipeline).set_uav(0, 0, data.raw_view()).dispatch(1, 1, 1);
    list.close().unwrap();
    let queue = device.compute_queue(0, 0).unwrap();
    device.execute_command_lists(&queue, &[&list]).unwrap();
    let report = device.run();
    assert!(report.is_clean(), "{report:?}");
    let words = device.read_u32s(data.address(), 256).unwrap();
    let mut olds: Vec<u32> = words.iter().step_by(4).copied().collect();
    olds.sort_unstable();
    assert_eq!(olds, (0..64).collect::<Vec<u32>>());
    for row in words.chunks(4) {
        assert_eq!(row[1..], [64, 9, 1]);
    }
}
