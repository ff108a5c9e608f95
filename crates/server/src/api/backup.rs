//! Damage reports, backups and restore, under `/api`.

use std::path::PathBuf;
use std::sync::Arc;

use samovar_core::{Backup, Code, Error};
use samovar_locale as locale;
use samovar_stores::Stores;
use samovar_wire::agent::NoParams;
use samovar_wire::api::{BASE_PATH, BackupParams, BackupState, DamageList};

use super::state::{Call, Endpoint};
use crate::endpoint::Verb;
use crate::tokens::Scope;

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    vec![
        Endpoint::showing(at("damage"), "Returns the damage that was found.", damage),
        Endpoint::showing(
            at("backup"),
            "Returns the last backup, and the current run of the server.",
            state,
        ),
        Endpoint::answering(
            &[Verb::Post],
            Scope::Admin,
            at("backup"),
            "Makes a backup in a new folder on the server's machine, while the server runs.",
            make,
        ),
        Endpoint::answering(
            &[Verb::Post],
            Scope::Admin,
            at("restore"),
            "Replaces all data with a backup: the server ends its turns and restarts.",
            restore,
        ),
    ]
}

async fn damage(call: Call, _params: NoParams) -> Result<DamageList, Error> {
    let items = call.state.reports.list();
    Ok(DamageList { items })
}

async fn state(call: Call, _params: NoParams) -> Result<BackupState, Error> {
    let stores = stores(&call).await?;
    Ok(BackupState {
        last: stores.backups.last(),
        epoch: stores.journal.epoch().0,
    })
}

async fn make(call: Call, params: BackupParams) -> Result<Backup, Error> {
    let backups = &stores(&call).await?.backups;
    backups.make(PathBuf::from(params.path)).await
}

/// Stages the backup and asks the server to restart, which puts it in place.
async fn restore(call: Call, params: BackupParams) -> Result<Backup, Error> {
    let backups = &stores(&call).await?.backups;
    let restart = call.state.restart.clone().ok_or_else(|| {
        let why = locale::backup::no_server();
        Error::new(Code::Unavailable, why)
    })?;
    backups.put_back(PathBuf::from(params.path), restart).await
}

async fn stores(call: &Call) -> Result<&Arc<Stores>, Error> {
    // They are there as soon as the engine is.
    call.engine().await?;
    call.state.stores()
}
