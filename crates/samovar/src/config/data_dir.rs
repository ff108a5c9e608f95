//! Which directory everything is kept in (FC-3).

use std::path::{Path, PathBuf};

use samovar_config::{FILE_NAME, Resolved, Sources};
use samovar_locale as text;
use samovar_server::{Foreign, Owner, Ownership, may_be_a_commands, put_aside_before_reading};

use crate::exit::{Exit, Failure};
use crate::screen::say;

/// What is done where there is no `./data` yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocalData {
    /// It is made, as the seeds' service does.
    Make,
    /// It is only used where it is there already.
    UseOnly,
}

/// A data directory, and why it is this one.
pub(super) struct DataDir {
    pub(super) path: PathBuf,
    pub(super) reason: String,
    pub(super) place: Place,
    /// Whether there is a `./data` that this user did not make.
    pub(super) is_foreign: bool,
}

/// Where a data directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It was named.
    Named,
    /// It is `./data`.
    Beside,
    /// It is the store of the folder, in the user's data folder (FC-10).
    OfFolder,
}

impl DataDir {
    /// The one that was named, else `./data` where it is ours, so that nobody else's folder is taken
    /// and no workspace is littered unasked; else the store of the workspace.
    ///
    /// # Errors
    /// There is none, or it could not be remembered whose it is: exit code 3.
    pub(super) fn choose(
        resolved: &Resolved,
        here: &Path,
        workspace: &Path,
        owner: Option<&Owner>,
        local: LocalData,
    ) -> Result<Self, Failure> {
        if let Some(named) = &resolved.settings.server.data_dir {
            let origin = resolved.origin("server.data_dir");
            return Ok(Self {
                path: named.clone(),
                reason: text::config::named_by(origin),
                place: Place::Named,
                is_foreign: false,
            });
        }
        let beside = here.join("data");
        let of_folder = |reason| Self::of_folder(resolved, workspace, reason);
        match (owner.map(|owner| owner.standing(&beside)), local) {
            (Some(Ownership::Ours), _) => {
                Ok(Self::beside(beside, text::config::data_dir_beside_ours()))
            }
            (Some(Ownership::Free), LocalData::Make) => {
                owner.map_or(Ok(()), remember)?;
                Ok(Self::beside(beside, text::config::data_dir_beside_new()))
            }
            (Some(Ownership::Free), LocalData::UseOnly) => {
                of_folder(text::config::data_dir_of_folder())
            }
            (Some(Ownership::Foreign(why)), _) => Ok(Self {
                is_foreign: true,
                ..of_folder(foreign(why))?
            }),
            // What cannot be remembered would be a stranger's at the next start.
            (None, LocalData::Make) => Err(unusable(text::config::data_dir_unknown())),
            (None, LocalData::UseOnly) => of_folder(text::config::data_dir_of_folder()),
        }
    }

    fn beside(path: PathBuf, reason: &str) -> Self {
        Self {
            path,
            reason: reason.to_owned(),
            place: Place::Beside,
            is_foreign: false,
        }
    }

    fn of_folder(resolved: &Resolved, workspace: &Path, reason: &str) -> Result<Self, Failure> {
        let Some(path) = resolved.folders.store_of(&real(workspace)) else {
            return Err(unusable(text::config::data_dir_unknown()));
        };
        Ok(Self {
            path,
            reason: reason.to_owned(),
            place: Place::OfFolder,
            is_foreign: false,
        })
    }
}

/// Reads everything, but this folder's file if that may be a command's: one that its server was killed with
/// has made is put aside, one that still runs is not read.
///
/// # Errors
/// A mistake in the configuration, or such a file cannot be renamed.
pub(crate) fn resolve(sources: &Sources) -> Result<Resolved, Failure> {
    if sources.here.join(FILE_NAME).symlink_metadata().is_err() {
        return Ok(sources.resolve()?);
    }
    // What is wrong with the rest is told when all of it is read.
    let Ok(resolved) = sources.resolve_without_folder() else {
        return Ok(sources.resolve()?);
    };
    let owner = resolved.folders.state.clone().map(Owner::new);
    let (here, local) = (&sources.here, LocalData::UseOnly);
    let workspace = resolved.settings.server.workspace.as_ref();
    let workspace = workspace.unwrap_or(here);
    let Ok(data_dir) = DataDir::choose(&resolved, here, workspace, owner.as_ref(), local) else {
        return Ok(sources.resolve()?);
    };
    put_aside(&data_dir.path)?;
    if is_file_a_commands(sources, &data_dir.path) {
        return Ok(resolved);
    }
    Ok(sources.resolve()?)
}

/// Whether a command that still runs may have made this folder's file.
pub(super) fn is_file_a_commands(sources: &Sources, data_dir: &Path) -> bool {
    let file = real(&sources.here).join(FILE_NAME);
    file.symlink_metadata().is_ok() && may_be_a_commands(data_dir, &file)
}

/// Puts aside what commands made when their server was killed, before it is read or asked about.
///
/// # Errors
/// It cannot be renamed.
pub(super) fn put_aside(data_dir: &Path) -> Result<(), Failure> {
    if let Some(names) = put_aside_before_reading(data_dir)? {
        say(&text::config::put_aside(names));
    }
    Ok(())
}

/// The canonical path of a folder; one that is not there has none.
pub(crate) fn real(folder: &Path) -> PathBuf {
    let real = folder.canonicalize();
    real.or_else(|_| std::path::absolute(folder))
        .unwrap_or_else(|_| folder.to_owned())
}

/// Makes sure that a new `./data` will be known as ours at the next start.
fn remember(owner: &Owner) -> Result<(), Failure> {
    let forgotten = |error| unusable(&text::config::data_dir_forgotten(error));
    owner.prepare().map_err(forgotten)
}

fn unusable(why: &str) -> Failure {
    Failure::new(Exit::Configuration, "data_dir_unusable", why)
}

/// Why `./data` is left alone.
fn foreign(why: Foreign) -> &'static str {
    match why {
        Foreign::Link => text::config::data_dir_beside_link(),
        Foreign::Unusable => text::config::data_dir_beside_unusable(),
        Foreign::OtherUser => text::config::data_dir_beside_of_other(),
        Foreign::Open => text::config::data_dir_beside_open(),
        Foreign::Unmarked => text::config::data_dir_beside_foreign(),
    }
}
