//! `samovar sessions move`: brings the sessions of an earlier store to this folder (FC-10). It makes
//! a backup of that store and restores it here, so it needs a folder without sessions.

use std::path::{Path, PathBuf};

use samovar_locale as text;
use samovar_server::Home;
use samovar_server::data_dir::{Replace, restore};
use samovar_wire::agent::Stats;
use samovar_wire::api::BackupInfo;
use serde_json::json;

use super::reach;
use crate::args::{Common, ModelArgs};
use crate::client::Client;
use crate::config::{self, LocalData, Setup, real};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::reconnecting::Repeat;
use crate::stores::{StoreFolder, known};

/// Moves the sessions here.
///
/// # Errors
/// There is no such store, one of the two is in use, or this folder has sessions: nothing is changed.
pub(super) async fn move_here(from: Option<PathBuf>, common: &Common) -> Result<(), Failure> {
    let found = config::read(&common.places, &ModelArgs::default(), LocalData::UseOnly)?;
    found.say_foreign();
    let to = found.config.data_dir.clone();
    let from = source(&found, from.as_deref())?;
    let (of_source, of_target) = (sessions(&found, &from).await?, sessions(&found, &to).await?);
    if of_target > 0 {
        let why = text::stores::has_sessions(to.display(), from.display());
        return Err(Failure::new(Exit::Usage, "store_not_empty", why));
    }
    let broken = |error: std::io::Error| Failure::broken(&error);
    let stores = found.folders.stores().unwrap_or_else(|| to.clone());
    let between = tempfile::tempdir_in(stores).map_err(broken)?;
    let backup = between.path().join("backup");
    let mut config = found.config.clone();
    config.data_dir.clone_from(&from);
    let made = async |client: &Client| {
        let params = json!({ "path": backup });
        client
            .post_patiently::<BackupInfo>("/api/backup", &params)
            .await
    };
    reach(&config, Repeat::Untaken, made).await?;
    let target = to.clone();
    let restored = tokio::task::spawn_blocking(move || restore(&backup, &target, Replace::Aside));
    restored
        .await
        .map_err(|error| Failure::broken(&error))???;
    std::fs::remove_dir_all(&from).map_err(broken)?;
    found.note_folder();
    let answer = json!({ "from": from, "to": to, "sessions": of_source });
    output::one(common.machine.format(), "moved", &answer, |_| {
        text::stores::moved(of_source, to.display()) + "\n"
    })
}

/// The store that was named, by its own path or that of its folder; else the one that this folder
/// had before.
fn source(found: &Setup, named: Option<&Path>) -> Result<PathBuf, Failure> {
    let missing = || {
        let why = text::stores::nothing_to_move();
        Failure::new(Exit::Usage, "unknown_store", why)
    };
    let Some(named) = named else {
        return found.earlier_store().ok_or_else(missing);
    };
    let stores = found.folders.stores().ok_or_else(missing)?;
    let named = real(named);
    let is_named = |dir: &Path, folder: &StoreFolder| match folder {
        StoreFolder::There(folder) | StoreFolder::Gone(folder) if *folder == named => true,
        _ => real(dir) == named,
    };
    // What lies elsewhere was named by the person, and stays where it is.
    let mut known = known(found).into_iter().filter(|store| {
        store.data_dir.parent() == Some(&stores) && store.data_dir != found.config.data_dir
    });
    let store = known.find(|store| is_named(&store.data_dir, &store.folder));
    store.map(|store| store.data_dir).ok_or_else(missing)
}

/// How many sessions a data directory has that no other process uses.
async fn sessions(found: &Setup, dir: &Path) -> Result<u64, Failure> {
    let mut config = found.config.clone();
    config.data_dir = dir.to_owned();
    Home::try_data_dir(&config)?;
    let asked = async |client: &Client| client.agent::<Stats>("getStats", &json!({})).await;
    reach(&config, Repeat::Harmless, asked)
        .await
        .map(|stats| stats.sessions)
}
