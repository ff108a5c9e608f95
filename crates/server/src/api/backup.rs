//! Damage reports, backups and restore, under `/api`.

use std::path::PathBuf;
use std::sync::Arc;

use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_stores::Stores;
use samovar_stores::backup::Backup;
use samovar_stores::damage::{self, Damage};
use samovar_wire::agent::NoParams;
use samovar_wire::api::{
    BASE_PATH, BackupInfo, BackupParams, BackupState, DamageInfo, DamageList, DamagedPart,
};

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
    let found = call.state.reports.list().into_iter();
    Ok(DamageList {
        items: found.map(damage_info).collect(),
    })
}

async fn state(call: Call, _params: NoParams) -> Result<BackupState, Error> {
    let stores = stores(&call).await?;
    Ok(BackupState {
        last: stores.backups.last().map(backup_info),
        epoch: stores.journal.epoch().0,
    })
}

async fn make(call: Call, params: BackupParams) -> Result<BackupInfo, Error> {
    let backups = &stores(&call).await?.backups;
    let made = backups.make(PathBuf::from(params.path)).await?;
    Ok(backup_info(made))
}

/// Stages the backup and asks the server to restart, which puts it in place.
async fn restore(call: Call, params: BackupParams) -> Result<BackupInfo, Error> {
    let backups = &stores(&call).await?.backups;
    let restart = call.state.restart.clone().ok_or_else(|| {
        let why = locale::backup::no_server();
        Error::new(Code::Unavailable, why)
    })?;
    let staged = backups
        .put_back(PathBuf::from(params.path), restart)
        .await?;
    Ok(backup_info(staged))
}

async fn stores(call: &Call) -> Result<&Arc<Stores>, Error> {
    // They are there as soon as the engine is.
    call.engine().await?;
    call.state.stores()
}

fn backup_info(backup: Backup) -> BackupInfo {
    BackupInfo {
        path: backup.path,
        created_at: backup.created_at,
        bytes: backup.bytes,
        epoch: backup.epoch,
    }
}

fn damage_info(damage: Damage) -> DamageInfo {
    DamageInfo {
        id: damage.id,
        at: damage.at,
        part: match damage.part {
            damage::DamagedPart::Session => DamagedPart::Session,
            damage::DamagedPart::Journal => DamagedPart::Journal,
            damage::DamagedPart::History => DamagedPart::History,
        },
        session_id: damage.session_id,
        reason: damage.reason,
        lost: damage.lost,
        kept_in: damage.kept_in,
    }
}
