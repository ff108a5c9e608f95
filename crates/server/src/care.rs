//! The care of what is kept, under `/api`: what is damaged, backups, and putting one back.

use std::path::PathBuf;
use std::sync::Arc;

use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_wire::agent::NoParams;
use samovar_wire::api::{BASE_PATH, BackupInfo, BackupParams, BackupState, DamageList};

use crate::backup::{self, Backups};
use crate::route::{Call, Route, Scope, Verb};

pub(crate) fn routes() -> Vec<Route> {
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    vec![
        Route::answering(
            &[Verb::Get],
            Scope::Read,
            at("damage"),
            "Returns the damage that was found.",
            damage,
        ),
        Route::answering(
            &[Verb::Get],
            Scope::Read,
            at("backup"),
            "Returns the last backup, and the current run of the server.",
            state,
        ),
        Route::answering(
            &[Verb::Post],
            Scope::Admin,
            at("backup"),
            "Makes a backup in a new folder on the server's machine, while the server runs.",
            make,
        ),
        Route::answering(
            &[Verb::Post],
            Scope::Admin,
            at("restore"),
            "Replaces all data with a backup: the server ends its turns and restarts.",
            restore,
        ),
    ]
}

async fn damage(call: Call, _params: NoParams) -> Result<DamageList, Error> {
    let items = call.shared.reports.list();
    Ok(DamageList { items })
}

async fn state(call: Call, _params: NoParams) -> Result<BackupState, Error> {
    let backups = backups(&call).await?;
    Ok(BackupState {
        last: backup::last(backups.data_dir()),
        epoch: backups.epoch(),
    })
}

async fn make(call: Call, params: BackupParams) -> Result<BackupInfo, Error> {
    backups(&call).await?.make(PathBuf::from(params.path)).await
}

/// What was copied takes its place when the server begins anew, which it is asked to then.
async fn restore(call: Call, params: BackupParams) -> Result<BackupInfo, Error> {
    let backups = backups(&call).await?;
    let restart = call.shared.restart.clone().ok_or_else(|| {
        let why = locale::backup::no_server();
        Error::new(Code::Unavailable, why)
    })?;
    backups.put_back(PathBuf::from(params.path), restart).await
}

async fn backups(call: &Call) -> Result<&Arc<Backups>, Error> {
    // It is there as soon as the engine is.
    call.engine().await?;
    let starting = || Error::new(Code::Unavailable, locale::server::starting());
    call.shared.backups.get().ok_or_else(starting)
}
