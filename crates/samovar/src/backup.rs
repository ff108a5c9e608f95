//! `samovar backup` and `samovar restore`.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use samovar_core::Backup as Made;
use samovar_locale as text;
use samovar_server::data_dir::{Replace, restore as put_back};
use samovar_wire::api::BackupState;
use serde_json::json;
use tokio::time::Instant;

use crate::access::{Access, LOOK_EVERY, Purpose, running};
use crate::args::{Backup, ModelArgs, Restore};
use crate::client::Client;
use crate::config::{self, LocalData, Setup};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::screen::say;

/// How soon it says that it is at work, and how often then.
const SILENT: Duration = Duration::from_secs(2);

/// How long a server may take to end its turns and start over.
const RESTART: Duration = Duration::from_mins(2);

/// Makes a backup, through the server that holds the data directory, or opens it for that.
pub(crate) async fn backup(args: Backup) -> Result<Exit, Failure> {
    let found = config::read(
        &args.common.places,
        &ModelArgs::default(),
        LocalData::UseOnly,
    )?;
    found.say_foreign();
    let path = absolute(&args.folder)?;
    found.note_folder();
    let reached = Access::data_dir(&found.config, Purpose::Rows).await?;
    let params = json!({ "path": path });
    let made = reached.client.post_patiently("/api/backup", &params);
    let made = saying(text::backup::under_way(), made).await;
    reached.close_now().await;
    let made: Made = made?;
    output::one(args.common.machine.format(), "backup", &made, |made| {
        text::backup::made(&made.path, made.bytes) + "\n"
    })?;
    Ok(Exit::Ok)
}

/// Puts a backup in the place of what is there: at once, or through the server, which starts over.
pub(crate) async fn restore(args: Restore) -> Result<Exit, Failure> {
    let found = config::read(
        &args.common.places,
        &ModelArgs::default(),
        LocalData::UseOnly,
    )?;
    found.say_foreign();
    let path = absolute(&args.folder)?;
    let replace = if args.force {
        Replace::Aside
    } else {
        Replace::Never
    };
    found.note_folder();
    let (from, to) = (PathBuf::from(&path), found.config.data_dir.clone());
    let work = tokio::task::spawn_blocking(move || put_back(&from, &to, replace));
    let done = saying(text::backup::restoring(), async {
        work.await.map_err(|error| Failure::broken(&error))
    });
    let (backup, aside) = match done.await? {
        Ok(restored) => {
            let restored = restored?;
            (restored.backup, restored.aside)
        }
        Err(held) if held.code() == "data_dir_busy" => {
            if !args.force {
                return Err(Failure::usage(text::backup::needs_force()));
            }
            let client = running(&found.config).await.ok_or(held)?;
            (through(&client, &found, &path).await?, None)
        }
        Err(error) => return Err(error.into()),
    };
    let shown = aside.as_ref().map(|aside| aside.display().to_string());
    let answer = json!({ "backup": backup, "aside": shown });
    output::one(args.common.machine.format(), "restored", &answer, |_| {
        let done = text::backup::restored(&backup.path, found.config.data_dir.display());
        let kept = shown.as_ref().map(text::backup::kept_aside);
        let has_memories = ["MEMORY.md", "memory"].map(|name| Path::new(&path).join(name).exists());
        let back = has_memories.contains(&true);
        let back = back.then(|| text::backup::memories_back().to_owned());
        [Some(done), kept, back]
            .into_iter()
            .flatten()
            .map(|line| line + "\n")
            .collect()
    })?;
    Ok(Exit::Ok)
}

/// Lets the server put a backup back, and waits until it serves again.
async fn through(client: &Client, found: &Setup, path: &str) -> Result<Made, Failure> {
    let before: BackupState = client.get("/api/backup").await?;
    let params = json!({ "path": path });
    let restored = client.post_patiently("/api/restore", &params);
    let restored: Made = saying(text::backup::restoring(), restored).await?;
    let began = Instant::now();
    let again = async {
        loop {
            if let Some(client) = running(&found.config).await
                && let Ok(now) = client.get::<BackupState>("/api/backup").await
                && now.epoch != before.epoch
            {
                return Ok(restored);
            }
            if began.elapsed() >= RESTART {
                let why = text::backup::not_back(RESTART.as_secs());
                return Err(Failure::new(Exit::Busy, "server_unreachable", why));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    saying(text::backup::beginning_anew(), again).await
}

/// Says what it waits for, as long as it waits.
async fn saying<T>(
    what: &str,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let began = Instant::now();
    tokio::pin!(work);
    loop {
        match tokio::time::timeout(SILENT, &mut work).await {
            Ok(done) => return done,
            Err(_) => say(&text::backup::waiting(what, began.elapsed().as_secs())),
        }
    }
}

/// The folder as the server can find it, whatever folder it stands in itself; in text, as it is sent.
fn absolute(folder: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(folder).map_err(|error| Failure::broken(&error))?;
    let path = path.into_os_string().into_string();
    path.map_err(|_| Failure::usage(text::typed::not_text()))
}
