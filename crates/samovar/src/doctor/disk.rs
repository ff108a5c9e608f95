//! How much room there is, what is kept for how long, and what lies aside and can be deleted.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use samovar_core::Durability;
use samovar_locale::doctor as text;
use samovar_server::DiskSpace;
use samovar_server::data_dir::{damages, unheld};

use super::Finding;
use crate::config::Setup;
use crate::exit::Exit;

const MEBIBYTE: u64 = 1 << 20;

/// What a system counts the blocks of a file in.
const BLOCK_BYTES: u64 = 512;

/// What lies in the data directory after a restore.
const REPLACED: &str = "replaced-";

/// Everything about the room of the data directory.
pub(super) fn examine(found: &Setup) -> Vec<Finding> {
    let dir = &found.config.data_dir;
    let mut findings: Vec<_> = DiskSpace::of(dir)
        .map(|room| disk(dir, room))
        .into_iter()
        .collect();
    findings.push(durability(found.config.store.durability));
    findings.extend(aside(dir).iter().map(|folder| lies_aside(folder)));
    findings
}

fn disk(dir: &Path, room: DiskSpace) -> Finding {
    let free = room.free_bytes / MEBIBYTE;
    if room.is_full {
        let fact = text::disk_full(dir.display(), free);
        return Finding::bad("disk", Exit::TurnFailed, fact, text::disk_full_why())
            .with_command(format!("du -sh '{}'/*", dir.display()));
    }
    let fact = text::disk_room(free, dir.display());
    Finding::good("disk", fact, text::disk_why())
}

fn durability(kept: Durability) -> Finding {
    let fact = match kept {
        Durability::Power => text::durability_power(),
        Durability::Process => text::durability_process(),
    };
    Finding::good("durability", fact.to_owned(), text::durability_why())
}

/// The folders that nobody reads any more: what a restore has replaced, and what was set aside and has
/// no report.
fn aside(dir: &Path) -> Vec<PathBuf> {
    let damages = damages(&unheld(dir)).into_iter();
    let told: Vec<_> = damages
        .filter_map(|info| Some(dir.join(info.kept_in?)))
        .collect();
    let mut found = folders(dir);
    found.retain(|folder| folder.file_name().is_some_and(is_replaced));
    found.extend(folders(&dir.join("damaged")));
    found.retain(|folder| !told.contains(folder));
    found.sort();
    found
}

fn is_replaced(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(REPLACED))
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

fn lies_aside(folder: &Path) -> Finding {
    let fact = text::aside(folder.display(), mebibytes(folder));
    let finding = Finding::good("aside", fact, text::aside_why());
    finding.with_command(remove(folder))
}

/// What is typed to be rid of a folder.
pub(super) fn remove(folder: &Path) -> String {
    format!("rm -r '{}'", folder.display())
}

/// What a folder takes on the disk.
pub(super) fn mebibytes(folder: &Path) -> u64 {
    bytes(folder).div_ceil(MEBIBYTE)
}

fn bytes(path: &Path) -> u64 {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return 0;
    };
    let own = meta.blocks() * BLOCK_BYTES;
    if !meta.is_dir() {
        return own;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.fold(own, |all, entry| all + bytes(&entry.path()))
}
