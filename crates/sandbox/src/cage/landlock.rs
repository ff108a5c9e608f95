//! The Landlock rules: what a command may read and write, whatever its mounts and rights are.

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use super::mounts::{DEVICES, TEMPORARY};
use super::plan::{Level, Plan};

/// The newest interface of which everything is asked for; of an older kernel what it has.
const NEWEST: ABI = ABI::V6;
/// The interface that a level needs: rules for paths, and without namespaces for TCP, signals and
/// sockets without a file, too.
pub(super) fn needed(level: Level) -> ABI {
    match level {
        Level::Namespaces | Level::Off => ABI::V1,
        Level::Landlock => ABI::V6,
    }
}

/// Restricts this process, and all that it starts, for good.
pub(super) fn restrict(plan: &Plan) -> Result<(), RulesetError> {
    let needed = needed(plan.level);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(needed))?;
    if plan.level == Level::Landlock {
        ruleset = ruleset.scope(Scope::from_all(needed))?;
    }
    // A namespace without devices is shut already, and its loopback is its own.
    if plan.level == Level::Landlock && !plan.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(needed))?;
    }
    let ruleset = ruleset
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    let mut created = ruleset.create()?;
    let read = AccessFs::from_read(NEWEST);
    let all = AccessFs::from_all(NEWEST);
    let view = &plan.view;
    if plan.level == Level::Namespaces {
        let seen = view.read.iter().map(|path| (path, read));
        for (path, access) in seen.chain(view.layered.iter().map(|path| (path, all))) {
            created = allow(created, path, access)?;
        }
    } else {
        let masked: Vec<&Path> = view.masked.iter().map(|it| &*it.path).collect();
        let closed = view.closed.iter().map(|(home, _)| &**home);
        let outside: Vec<&Path> = masked.iter().copied().chain(closed).collect();
        let seen = view.read.iter().chain(&view.layered);
        let seen = seen.map(|path| (path, &outside));
        let inside = view.closed.iter().flat_map(|(_, shown)| shown);
        for (path, hidden) in seen.chain(inside.map(|path| (path, &masked))) {
            for path in without(path, hidden) {
                created = allow(created, &path, read)?;
            }
        }
    }
    if let Some(home) = &plan.home {
        created = allow(created, &home.place(plan.level), all)?;
    }
    let access = if plan.writes { all } else { read };
    created = allow(created, &plan.workspace, access)?;
    if plan.level == Level::Namespaces {
        // What can be listed there is what the cage shows.
        created = allow(created, Path::new("/"), AccessFs::ReadDir.into())?;
    }
    created = allow(created, Path::new("/proc"), read)?;
    for device in DEVICES {
        created = allow(created, Path::new(device), AccessFs::from_file(NEWEST))?;
    }
    created = allow(created, Path::new("/dev/pts"), all)?;
    let temporary: Vec<&Path> = match &plan.temp {
        // The machine's own have the files of others.
        Some(temp) => vec![temp],
        None => TEMPORARY.iter().map(Path::new).collect(),
    };
    for folder in temporary {
        created = allow(created, folder, all)?;
    }
    created.restrict_self().map(drop)
}

/// A folder, or what is in it but for what is masked: a rule cannot take from what another one gives.
fn without(folder: &Path, masked: &[&Path]) -> Vec<PathBuf> {
    let is_masked = |path: &Path| masked.contains(&path);
    let has_masked = |masked: &&Path| masked.starts_with(folder) && masked.exists();
    if !masked.iter().any(has_masked) {
        return vec![folder.to_owned()];
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    // What a link leads to is not below the folder.
    let paths = paths.filter(|path| !is_masked(path) && !path.is_symlink());
    paths.flat_map(|path| without(&path, masked)).collect()
}

/// A path that is not there needs no rule.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(open) = PathFd::new(path) else {
        return Ok(ruleset);
    };
    // Of a file only the rights are taken that a file can have.
    ruleset.add_rule(PathBeneath::new(open, access))
}
