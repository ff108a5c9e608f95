//! `samovar sessions move`: brings an earlier store to this folder (FC-10). The whole store takes the
//! place of this folder's data directory, which has no sessions.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use samovar_locale as text;
use samovar_server::{Home, data_dir};
use samovar_wire::agent::Stats;
use serde_json::json;

use super::reach;
use crate::args::{Common, ModelArgs};
use crate::client::Client;
use crate::config::{self, LocalData, Setup, real};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::reconnecting::Repeat;
use crate::screen::shell_word;
use crate::stores::{KnownStore, StoreFolder, known};
use crate::timestamps::now;

/// Files of the target that a moved store does not replace: whose it is, and what clients know of it.
const KEPT: [&str; 7] = [
    "owner",
    ".gitignore",
    "folder",
    "token",
    "tokens.json",
    "tools.json",
    "server-id",
];

/// Moves the sessions here.
///
/// # Errors
/// There is no such store, one of the two is in use, or this folder has sessions: nothing is changed.
pub(super) async fn move_here(named: Option<PathBuf>, common: &Common) -> Result<(), Failure> {
    let found = config::read(&common.places, &ModelArgs::default(), LocalData::UseOnly)?;
    found.say_foreign();
    let to = found.config.data_dir.clone();
    let store = source(&found, named.as_deref())?;
    let from = store.data_dir.clone();
    let (of_source, of_target) = (sessions(&found, &from).await?, sessions(&found, &to).await?);
    if of_target > 0 {
        let why = text::stores::has_sessions(to.display(), shell_word(&from));
        return Err(Failure::new(Exit::Usage, "store_not_empty", why));
    }
    let target = to.clone();
    let moved = tokio::task::spawn_blocking(move || {
        let _held = (data_dir::take(&store.data_dir)?, data_dir::take(&target)?);
        carry(&store.data_dir, &target).map_err(|error| {
            let from = store.data_dir.display();
            let why = text::stores::not_moved(from, target.display(), error);
            Failure::new(Exit::TurnFailed, "store_not_moved", why)
        })
    });
    let aside = moved.await.map_err(|error| Failure::broken(&error))??;
    found.note_folder();
    let answer = json!({ "from": from, "to": to, "sessions": of_source, "aside": aside });
    output::one(common.machine.format(), "moved", &answer, |_| {
        let moved = text::stores::moved(of_source, to.display());
        format!("{moved}\n{}\n", text::stores::kept_aside(aside.display()))
    })
}

/// The store that was named, by its own path or that of its folder; else the one that this folder
/// had before.
fn source(found: &Setup, named: Option<&Path>) -> Result<KnownStore, Failure> {
    let missing = || {
        let why = text::stores::nothing_to_move();
        Failure::new(Exit::Usage, "unknown_store", why)
    };
    let stores = found.folders.stores();
    let named = match named {
        Some(named) => real(named),
        None => found.earlier_store().ok_or_else(missing)?,
    };
    let is_named = |store: &KnownStore| match &store.folder {
        StoreFolder::There(folder) | StoreFolder::Gone(folder) if *folder == named => true,
        _ => real(&store.data_dir) == real(&named),
    };
    // What lies elsewhere was named by the person, and stays where it is.
    let can_move = |store: &KnownStore| {
        store.data_dir != found.config.data_dir && store.data_dir.parent() == stores.as_deref()
    };
    let mut known = known(found).into_iter();
    let store = known.find(|store| can_move(store) && is_named(store));
    store.ok_or_else(missing)
}

/// How many sessions a data directory has that no other process uses.
async fn sessions(found: &Setup, dir: &Path) -> Result<u64, Failure> {
    let mut config = found.config.clone();
    config.data_dir = dir.to_owned();
    Home::try_data_dir(&config)?;
    let asked = async |client: &Client| client.agent::<Stats>("getStats", &json!({})).await;
    Box::pin(reach(&config, Repeat::Harmless, asked))
        .await
        .map(|stats| stats.sessions)
}

/// Puts a store in the place of a data directory, both held by the caller. Returns the folder in it
/// that holds what the data directory had.
///
/// At every moment one of the two paths has the whole store: it is renamed, or copied, renamed and
/// then removed where renaming cannot do it.
fn carry(from: &Path, to: &Path) -> io::Result<PathBuf> {
    let name = format!("replaced-{}", now().0);
    let parent = to.parent().unwrap_or(to);
    let copy = match fs::rename(to, from.join(&name)) {
        Ok(()) => None,
        Err(error) if error.kind() != ErrorKind::CrossesDevices => return Err(error),
        Err(_) => {
            let folder = tempfile::Builder::new()
                .prefix(".samovar-")
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(parent)?;
            copy_all(from, folder.path())?;
            fs::rename(to, folder.path().join(&name))?;
            Some(folder)
        }
    };
    let source = copy.as_ref().map_or(from, |copy| copy.path());
    if let Err(error) = fs::rename(source, to) {
        fs::rename(source.join(&name), to)?;
        return Err(error);
    }
    if let Err(error) = keep(&to.join(&name), to) {
        tracing::warn!(store = %to.display(), %error, "the sessions moved, with the tokens they had");
    }
    File::open(parent)?.sync_all()?;
    if copy.is_some()
        && let Err(error) = fs::remove_dir_all(from)
    {
        tracing::warn!(store = %from.display(), %error, "the sessions were copied, and are here too");
    }
    Ok(to.join(name))
}

/// Takes the target's own files over into the store, each in exchange for the store's.
fn keep(replaced: &Path, store: &Path) -> io::Result<()> {
    for name in KEPT {
        let (own, other) = (replaced.join(name), store.join(name));
        if own.exists() {
            if other.exists() {
                fs::rename(&other, replaced.join(format!("{name}.moved")))?;
            }
            fs::copy(&own, &other)?;
        }
    }
    // Space that nothing uses there.
    match fs::remove_file(replaced.join("ballast")) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Copies what is in a folder, durably.
fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let (entry, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let target = to.join(&name);
        let kind = fs::symlink_metadata(&entry)?.file_type();
        if kind.is_dir() {
            DirBuilder::new().mode(0o700).create(&target)?;
            copy_all(&entry, &target)?;
        } else if kind.is_file() {
            fs::copy(&entry, &target)?;
            File::open(&target)?.sync_all()?;
        } else {
            let why = format!("{} is no file", entry.display());
            return Err(io::Error::other(why));
        }
    }
    File::open(to)?.sync_all()
}
