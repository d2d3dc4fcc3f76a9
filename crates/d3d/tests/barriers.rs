//! `ResourceBarrier` against the rows of `hardware/caches.md` 6.1, transcribed by
//! hand: what each generation needs, and nothing else.

mod common;

use common::model;
use wavefence_base::{Generation, Profile, ProfileName};
use wavefence_d3d::enums::*;
use wavefence_d3d::{Barrier, CommandList, ListKind};
use wavefence_pm4::{Field, Kind, Packet, coher, decode_stream, events, gcr};

use D3D12_RESOURCE_STATES as S;
use ListKind::{Compute, Graphics};

/// What packets do, in the notes' words.
fn words(list: &CommandList, profile: ProfileName) -> String {
    let generation = Profile::get(profile).generation.value;
    let mut out = Vec::new();
    for packet in decode_stream(list.words(), generation, list.kind().ring()) {
        let (_, packet) = packet.unwrap();
        out.extend(word(&packet, generation));
    }
    out.join(" ")
}

fn word(p: &Packet, generation: Generation) -> Vec<String> {
    let name = |text: &str| vec![text.to_owned()];
    match p.kind() {
        Kind::EventWrite => match p.get(Field::EventType) as u8 {
            events::VS_PARTIAL_FLUSH => name("VS"),
            events::PS_PARTIAL_FLUSH => name("PS"),
            events::CS_PARTIAL_FLUSH => name("CS"),
            events::FLUSH_AND_INV_CB_META => name("CBmeta"),
            events::FLUSH_AND_INV_DB_META => name("DBmeta"),
            other => panic!("event {other}"),
        },
        Kind::EventWriteEop | Kind::ReleaseMem => {
            let mut all = name(match p.get(Field::EventType) as u8 {
                events::FLUSH_AND_INV_CB_DATA_TS => "CBdata",
                events::FLUSH_AND_INV_DB_DATA_TS => "DBdata",
                events::BOTTOM_OF_PIPE_TS => "EOP",
                other => panic!("event {other}"),
            });
            let l2 = match generation {
                Generation::Gfx7 | Generation::Gfx8 => p.flag(Field::TcAction),
                Generation::Gfx10_3 => p.get(Field::Gcr) as u32 & gcr::release::GL2_INV != 0,
            };
            if l2 {
                all.push("L2i".into());
            }
            all
        }
        Kind::SurfaceSync | Kind::AcquireMem => acquire(p, generation),
        Kind::WriteData => name("clear"),
        Kind::WaitRegMem => name("wait"),
        Kind::PfpSyncMe => name("PFP"),
        other => panic!("{other}"),
    }
}

fn acquire(p: &Packet, generation: Generation) -> Vec<String> {
    let bits: [(&str, bool); 5] = match generation {
        Generation::Gfx7 | Generation::Gfx8 => {
            let bits = p.get(Field::Coher) as u32;
            let on = |bit| bits & bit != 0;
            let l2i = on(coher::TC_ACTION_ENA);
            [
                ("L2wb", on(coher::TC_WB_ACTION_ENA) && !l2i),
                ("L2i", l2i),
                ("L1i", on(coher::TCL1_ACTION_ENA)),
                ("Ki", on(coher::SH_KCACHE_ACTION_ENA)),
                ("Ii", on(coher::SH_ICACHE_ACTION_ENA)),
            ]
        }
        Generation::Gfx10_3 => {
            let bits = p.get(Field::Gcr) as u32;
            let on = |bit| bits & bit != 0;
            let l2i = on(gcr::GL2_INV);
            // A GL1 invalidate goes with either L0 invalidate.
            [
                ("L2wb", on(gcr::GL2_WB) && !l2i),
                ("L2i", l2i),
                ("L1i", on(gcr::GLV_INV) && on(gcr::GL1_INV)),
                ("Ki", on(gcr::GLK_INV) && on(gcr::GL1_INV)),
                ("Ii", on(gcr::GLI_INV_MASK)),
            ]
        }
    };
    bits.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned()).collect()
}

/// Row number, kind of list, states, and what GFX7, GFX8 and GFX10.3 need.
type Row = (u32, ListKind, S, S, [&'static str; 3]);

const UAV: S = S::UNORDERED_ACCESS;
const SRV: S = S::NON_PIXEL_SHADER_RESOURCE;
const CONST: S = S::VERTEX_AND_CONSTANT_BUFFER;
const ARGS: S = S::INDIRECT_ARGUMENT;
const INDEX: S = S::INDEX_BUFFER;
const DST: S = S::COPY_DEST;
const SRC: S = S::COPY_SOURCE;

const ROWS: &[Row] = &[
    (1, Graphics, UAV, SRV, ["CS L1i", "CS L1i", "CS L1i"]),
    (1, Compute, UAV, SRV, ["CS L1i", "CS L1i", "CS L1i"]),
    (1, Graphics, UAV, S::PIXEL_SHADER_RESOURCE, ["CS L1i", "CS L1i", "CS L1i"]),
    // Vertex and constant buffers share a state, so both readers' caches: rows 2 and 3.
    (2, Graphics, UAV, CONST, ["CS L1i Ki", "CS L1i Ki", "CS L1i Ki"]),
    (4, Graphics, UAV, INDEX, ["CS L2wb PFP", "CS PFP", "CS PFP"]),
    (5, Graphics, UAV, ARGS, ["CS L2wb PFP", "CS L2wb PFP", "CS PFP"]),
    (6, Compute, UAV, ARGS, ["CS L2wb", "CS L2wb", "CS"]),
    (8, Graphics, UAV, S::RENDER_TARGET, ["CS L2wb", "CS L2wb", "CS"]),
    (10, Compute, SRV, UAV, ["CS", "CS", "CS"]),
    (10, Graphics, S::PIXEL_SHADER_RESOURCE, UAV, ["PS", "PS", "PS"]),
    (10, Compute, SRV, SRC, ["", "", ""]),
    (10, Compute, ARGS, UAV, ["", "", ""]),
    (11, Graphics, INDEX, UAV, ["VS", "VS", "VS"]),
    (22, Compute, DST, SRV, ["L1i", "L1i", "L1i"]),
    (22, Compute, DST, CONST, ["L1i Ki", "L1i Ki", "L1i Ki"]),
    (23, Graphics, DST, INDEX, ["L2wb PFP", "PFP", "PFP"]),
    (23, Graphics, DST, ARGS, ["L2wb PFP", "L2wb PFP", "PFP"]),
    (23, Compute, DST, ARGS, ["L2wb", "L2wb", ""]),
    // Copies go through L2 in order, so nothing lies between two of them.
    (22, Compute, DST, SRC, ["", "", ""]),
    (9, Compute, UAV, DST, ["CS", "CS", "CS"]),
    (1, Compute, UAV, SRC, ["CS", "CS", "CS"]),
    (10, Compute, SRC, DST, ["", "", ""]),
    // COMMON before: the submit made it visible. After: memory must have it.
    (17, Compute, S::COMMON, SRV, ["", "", ""]),
    (26, Compute, UAV, S::COMMON, ["CS L2wb", "CS L2wb", "CS L2wb"]),
];

const PROFILES: [ProfileName; 3] =
    [ProfileName::XboxOne, ProfileName::XboxOneX, ProfileName::SeriesS];

fn barrier(profile: ProfileName, kind: ListKind, before: S, after: S) -> String {
    let mut device = model(profile);
    let buffer = device.create_buffer("B", 256).unwrap();
    let mut list = device.create_command_list("L", kind);
    let resource = (&buffer).into();
    list.resource_barrier(&[Barrier::Transition { resource, before, after }]);
    list.close().unwrap();
    words(&list, profile)
}

#[test]
fn transitions_ask_for_what_the_rows_say() {
    for &(row, kind, before, after, expected) in ROWS {
        for (profile, expected) in PROFILES.into_iter().zip(expected) {
            let found = barrier(profile, kind, before, after);
            assert_eq!(found, expected, "row {row}, {kind}, {before} -> {after}, {profile}");
        }
    }
}

/// Rows 12 and 13. On GFX7 and GFX8 the end-of-pipe event is sent twice.
#[test]
fn render_targets_are_flushed_to_where_the_reader_looks() {
    let read = S::PIXEL_SHADER_RESOURCE;
    let color = S::RENDER_TARGET;
    let gfx7 = "CBmeta PS clear CBdata L2i CBdata L2i wait L1i";
    assert_eq!(barrier(ProfileName::XboxOne, Graphics, color, read), gfx7);
    let series_s = "CBmeta PS clear CBdata wait L1i";
    assert_eq!(barrier(ProfileName::SeriesS, Graphics, color, read), series_s);
    // 20 blocks of L2: colour and L2 do not agree there.
    let series_x = "CBmeta PS clear CBdata L2i wait L1i";
    assert_eq!(barrier(ProfileName::SeriesX, Graphics, color, read), series_x);
    let depth = "DBmeta PS clear DBdata wait L1i";
    assert_eq!(barrier(ProfileName::SeriesS, Graphics, S::DEPTH_WRITE, read), depth);
}

#[test]
fn uav_and_aliasing_barriers() {
    for profile in PROFILES {
        let mut device = model(profile);
        let mut list = device.create_command_list("L", Compute);
        list.resource_barrier(&[Barrier::Uav(None)]);
        list.close().unwrap();
        assert_eq!(words(&list, profile), "CS L1i");
        let mut list = device.create_command_list("M", Graphics);
        list.resource_barrier(&[Barrier::Aliasing { before: None, after: None }]);
        list.close().unwrap();
        assert_eq!(words(&list, profile), "PS CS L1i");
    }
}

/// Several barriers make one synchronisation.
#[test]
fn barriers_of_one_call_are_merged() {
    let profile = ProfileName::XboxOne;
    let mut device = model(profile);
    let (a, b) = (device.create_buffer("A", 64).unwrap(), device.create_buffer("B", 64).unwrap());
    let mut list = device.create_command_list("L", Graphics);
    list.resource_barrier(&[
        Barrier::Transition { resource: (&a).into(), before: UAV, after: ARGS },
        Barrier::Transition { resource: (&b).into(), before: UAV, after: SRV },
    ]);
    list.close().unwrap();
    assert_eq!(words(&list, profile), "CS L2wb L1i PFP");
}

/// GFX8 cannot do an L1 invalidate and an L2 write-back alone in one packet.
#[test]
fn gfx8_splits_the_acquire() {
    let profile = ProfileName::XboxOneX;
    let mut device = model(profile);
    let mut list = device.create_command_list("L", Compute);
    let flags =
        D3D12XBOX_FLUSH_TOP_TEXTURE_L1_INVALIDATE | D3D12XBOX_FLUSH_TOP_TEXTURE_L2_WRITEBACK;
    list.flush_pipeline_x(flags, Default::default(), D3D12XBOX_FLUSH_RANGE_ALL);
    list.close().unwrap();
    let packets = decode_stream(list.words(), Generation::Gfx8, list.kind().ring()).count();
    assert_eq!(packets, 2);
    assert_eq!(words(&list, profile), "L2wb L1i");
}
