//! What the list-ranking kernels must look like in PTX.

use warpsmith::device::PTX_IMAGES;

/// The body of an entry.
fn entry<'a>(ptx: &'a str, name: &str) -> &'a str {
    let start = ptx.find(&format!(".entry {name}(")).unwrap_or_else(|| panic!("no entry {name}"));
    let body = &ptx[start..];
    &body[..body.find("\n}").unwrap()]
}

/// The load/store separation that the strategy `split` is about: its successors come through the read-only cache, those of `packed`,
/// which are loaded from the array that is stored to, can't.
#[test]
fn split_loads_through_the_read_only_cache_and_packed_does_not() {
    assert_eq!(PTX_IMAGES.iter().map(|(arch, _)| *arch).collect::<Vec<_>>(), [75, 90]);
    for (arch, ptx) in PTX_IMAGES {
        // The walks also read `heads`, a slice, once. What tells them apart is the loads in the loop, all of which follow that one.
        let loads = |name| entry(ptx, name).matches("ld.global.nc").count();
        let plain = |name| entry(ptx, name).lines().filter(|line| line.contains("ld.global.") && !line.contains(".nc")).count();
        assert!(loads("list_rank_walk_split") >= 2, "sm_{arch}");
        assert_eq!(plain("list_rank_walk_split"), 0, "sm_{arch}");
        assert_eq!(loads("list_rank_walk_packed"), 1, "sm_{arch}: `heads` alone");
        assert!(plain("list_rank_walk_packed") >= 1, "sm_{arch}");
    }
}

/// One 8-byte store for sublist and offset, 16-byte ones for chunks and ranks.
#[test]
fn records_are_stored_whole() {
    for (arch, ptx) in PTX_IMAGES {
        for name in ["list_rank_walk_split", "list_rank_walk_packed"] {
            assert!(entry(ptx, name).contains("st.global.v2.b32"), "{name}, sm_{arch}");
        }
        assert_eq!(entry(ptx, "list_rank_binned_walk").matches("st.global.v4.b32").count(), 4, "sm_{arch}");
        assert!(entry(ptx, "list_rank_finish_ranks").contains("ld.global.nc.v4"), "sm_{arch}");
    }
}

/// Nothing prevents optimisation, and profilers find source lines.
#[test]
fn images_have_lines_and_are_not_debug_builds() {
    for (arch, ptx) in PTX_IMAGES {
        assert!(ptx.contains(&format!(".target sm_{arch}\n")), "sm_{arch}");
        assert!(ptx.contains("\t.loc\t") && ptx.contains("list_rank/walk.rs"), "sm_{arch}");
    }
}
