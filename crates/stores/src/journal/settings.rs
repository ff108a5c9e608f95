//! What is fixed for as long as a journal is open.

use samovar_core::Durability;

/// The environment's one file.
pub(super) const FILE: &str = "data.mdb";

/// What is fixed for as long as the journal is open.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of LMDB's map, the most that the journal can ever hold: a multiple of the page size.
    /// It takes address space, not memory or disk; when there is less, half as much is tried.
    pub map_bytes: usize,
    /// Bytes at which the spool begins another segment.
    pub segment_bytes: u64,
    /// What a commit outlives.
    pub durability: Durability,
    /// The kernel's boot id; `None` asks the kernel.
    pub boot_id: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            map_bytes: 64 << 30,
            segment_bytes: 8 << 20,
            durability: Durability::default(),
            boot_id: None,
        }
    }
}
