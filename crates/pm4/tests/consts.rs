//! Constants against values that sources state whole.

use wavefence_pm4::{Flag, atomic, coher, events, function, gcr, initiator, reg};

fn mask(flags: &[Flag]) -> u32 {
    flags.iter().fold(0, |m, f| m | f.mask())
}

#[test]
fn coher_bits_as_the_register_has_them() {
    // `hardware/pm4.md` 2.1, each column summed by hand.
    assert_eq!(mask(coher::FLAGS_GFX7), 0x3EED_FFC3);
    assert_eq!(mask(coher::FLAGS_GFX8), 0x7EEC_FFCF);
    assert_eq!(mask(coher::FLAGS_GFX10), 0x7EEC_FFFB);
    // 2.3: the default of the flush call is L1 and L2.
    assert_eq!(coher::TCL1_ACTION_ENA | coher::TC_ACTION_ENA, 0x00C0_0000);
    assert_eq!(coher::CB0_DEST_BASE_ENA, 0x40);
    assert_eq!(coher::CB7_DEST_BASE_ENA, 0x2000);
    assert_eq!(coher::DB_DEST_BASE_ENA, 0x4000);
    assert_eq!(coher::TC_VOL_ACTION_ENA, 0x1_0000);
    assert_eq!(coher::TC_WB_ACTION_ENA, 0x4_0000);
    assert_eq!(coher::CB_ACTION_ENA, 0x0200_0000);
    assert_eq!(coher::DB_ACTION_ENA, 0x0400_0000);
    assert_eq!(coher::SH_KCACHE_ACTION_ENA, 0x0800_0000);
    assert_eq!(coher::SH_KCACHE_VOL_ACTION_ENA, 0x1000_0000);
    assert_eq!(coher::SH_ICACHE_ACTION_ENA, 0x2000_0000);
}

#[test]
fn gcr_layouts() {
    assert_eq!(mask(gcr::FLAGS), 0x7_FFFF);
    assert_eq!(mask(gcr::release::FLAGS), 0xFFF);
    // Same action, other bit: 2.4 against 4.4 (where bits count from 12).
    assert_eq!((gcr::GL2_WB, gcr::release::GL2_WB << 12), (1 << 15, 1 << 21));
    assert_eq!((gcr::GLV_INV, gcr::release::GLV_INV << 12), (1 << 8, 1 << 14));
    assert_eq!((gcr::SEQ_MASK, gcr::release::SEQ_MASK << 12), (3 << 16, 3 << 22));
}

#[test]
fn initiator_values_of_drivers() {
    use initiator as i;
    let pal = i::COMPUTE_SHADER_EN | i::FORCE_START_AT_000 | i::ORDER_MODE;
    assert_eq!(pal, 0x45);
    assert_eq!(pal | i::CS_W32_EN, 0x8045);
    assert_eq!(mask(i::FLAGS_GFX7), 0x5FFF);
    assert_eq!(mask(i::FLAGS_GFX10), 0x2_EFFF);
}

#[test]
fn events_and_their_indices() {
    assert_eq!(events::CS_PARTIAL_FLUSH, 7);
    assert_eq!(events::BOTTOM_OF_PIPE_TS, 0x28);
    assert_eq!(events::CACHE_FLUSH_AND_INV_TS_EVENT, 0x14);
    let of = |e| events::index_of(e);
    assert_eq!((of(events::CS_PARTIAL_FLUSH), of(events::PS_PARTIAL_FLUSH)), (4, 4));
    assert_eq!((of(events::BOTTOM_OF_PIPE_TS), of(events::CS_DONE)), (5, 6));
    assert_eq!((of(events::ZPASS_DONE), of(events::SAMPLE_STREAMOUTSTATS3)), (1, 3));
    assert_eq!((of(events::FLUSH_AND_INV_CB_META), of(events::CACHE_FLUSH)), (0, 0));
    let name = |names: &[(u32, &'static str)], n| names.iter().find(|x| x.0 == n).map(|x| x.1);
    assert_eq!(name(events::NAMES_GFX7, 0x36), Some("THREAD_TRACE_FLUSH"));
    assert_eq!(name(events::NAMES_GFX10, 0x36), Some("THREAD_TRACE_DRAW"));
    assert_eq!(name(events::NAMES_GFX7, 0x3F), None);
    assert_eq!(name(events::NAMES_GFX10, 0x3F), Some("DRAW_DONE"));
}

#[test]
fn atomics_are_made_of_base_width_and_return() {
    assert_eq!(atomic::SWAP_RTN_32, 0x07);
    assert_eq!(atomic::DEC_RTN_32, 0x19);
    assert_eq!(atomic::ADD_RTN_64, 0x0F + atomic::WIDE);
    assert_eq!(atomic::UMAX_32, 0x14 + atomic::NO_RETURN);
    assert_eq!(atomic::CMPSWAP_64, 0x08 + atomic::WIDE + atomic::NO_RETURN);
    assert_eq!(atomic::NAMES.len(), 13 * 4);
}

#[test]
fn the_eight_comparisons_of_the_api_minus_never() {
    // `hardware/pm4.md` 5: LESS, EQUAL, LESS_EQUAL, GREATER, NOT_EQUAL,
    // GREATER_EQUAL, ALWAYS are 2 to 8 there and these here.
    let codes = [
        function::LESS,
        function::EQUAL,
        function::LESS_EQUAL,
        function::GREATER,
        function::NOT_EQUAL,
        function::GREATER_EQUAL,
        function::ALWAYS,
    ];
    assert_eq!(codes, [1, 3, 2, 6, 4, 5, 0]);
}

#[test]
fn shader_registers() {
    assert_eq!(reg::sh_offset(reg::COMPUTE_PGM_LO), 0x20C);
    assert_eq!(reg::sh_offset(reg::COMPUTE_USER_DATA_15), 0x24F);
    assert_eq!(reg::COMPUTE_START_Z, 0x2E06);
    assert_eq!(reg::COMPUTE_PGM_RSRC2, 0x2E13);
}
