//! Registers of resources whose source gives them none, as Direct3D numbers them:
//! in the order of the source, those that the kernel uses, each the lowest run of
//! registers of its class that is free.

use super::R;
use crate::ShaderError;
use crate::ir::{Resource, ResourceClass};
use std::collections::BTreeMap;

/// The constant buffer of plain global variables; Direct3D numbers it first.
const GLOBALS: &str = "$Globals";

/// Gives registers to those of `resources` that `implicit` marks. Their `register`
/// holds their place in the source, and is the same for a buffer and its counter.
pub(super) fn assign(resources: &mut [Resource], implicit: &[bool]) -> R<()> {
    let is_implicit = |i: usize| implicit.get(i).copied().unwrap_or(false);
    let length = |r: &Resource| if r.unbounded { u32::MAX } else { r.count.max(1) };
    // Taken registers, as first and last, by class and space.
    let mut taken: BTreeMap<(ResourceClass, u32), Vec<(u32, u32)>> = BTreeMap::new();
    // What is to be numbered, in order.
    let mut open: BTreeMap<(ResourceClass, u32, bool, u32), u32> = BTreeMap::new();
    for (i, r) in resources.iter().enumerate() {
        if is_implicit(i) {
            let key = (r.class, r.space, r.name != GLOBALS, r.register);
            let least = open.entry(key).or_default();
            *least = length(r).max(*least);
        } else {
            let bounded = r.register.saturating_add(length(r) - 1);
            let last = if r.unbounded { u32::MAX } else { bounded };
            taken.entry((r.class, r.space)).or_default().push((r.register, last));
        }
    }
    let mut given = BTreeMap::new();
    for ((class, space, _, place), length) in open {
        let taken = taken.entry((class, space)).or_default();
        taken.sort_unstable();
        let mut first = 0u32;
        for &(start, end) in taken.iter() {
            if start > first && start - first >= length {
                break;
            }
            if end >= first {
                first = end.checked_add(1).ok_or_else(|| {
                    ShaderError::limit(format!("no {} register is left", class.letter()))
                })?;
            }
        }
        taken.push((first, first.saturating_add(length - 1)));
        given.insert((class, space, place), first);
    }
    for (i, r) in resources.iter_mut().enumerate() {
        if is_implicit(i)
            && let Some(&first) = given.get(&(r.class, r.space, r.register))
        {
            r.register = first;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::ResourceKind;

    fn buffer(register: u32, count: u32) -> Resource {
        Resource {
            name: format!("r{register}"),
            class: ResourceClass::Uav,
            register,
            space: 0,
            count,
            unbounded: false,
            vk_binding: None,
            kind: ResourceKind::ByteAddressBuffer,
            read_only: false,
            coherent: false,
            volatile: false,
        }
    }

    fn numbered(mut all: Vec<(Resource, bool)>) -> Vec<u32> {
        let implicit: Vec<bool> = all.iter().map(|r| r.1).collect();
        let mut resources: Vec<Resource> = all.drain(..).map(|r| r.0).collect();
        assign(&mut resources, &implicit).unwrap();
        resources.iter().map(|r| r.register).collect()
    }

    #[test]
    fn the_lowest_free_run_is_taken_in_order() {
        let all = vec![
            (buffer(9, 1), true),
            (buffer(1, 1), false),
            (buffer(4, 1), false),
            (buffer(7, 2), true),
            (buffer(8, 3), true),
        ];
        // 7 takes 2 and 3, then 8 has room from 5 only, then 9 has 0.
        assert_eq!(numbered(all), [0, 1, 4, 2, 5]);
        // A buffer and its counter go together.
        assert_eq!(numbered(vec![(buffer(3, 1), true), (buffer(3, 1), true)]), [0, 0]);
    }

    #[test]
    fn globals_come_first_and_open_arrays_leave_no_room_behind() {
        let globals = Resource { name: GLOBALS.into(), ..buffer(5, 1) };
        assert_eq!(numbered(vec![(buffer(2, 1), true), (globals, true)]), [1, 0]);
        let open = Resource { unbounded: true, ..buffer(2, 64) };
        assert_eq!(numbered(vec![(open.clone(), false), (buffer(1, 2), true)]), [2, 0]);
        let mut none = [Resource { register: 0, ..open }, buffer(1, 1)];
        assert!(assign(&mut none, &[false, true]).is_err());
    }
}
