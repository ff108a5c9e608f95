//! The data directory: whether it can be used, and who uses it.

use std::fs;
use std::path::{Path, PathBuf};

use samovar_locale::doctor as text;
use samovar_server::{Address, Home};
use samovar_wire::api::{ModelsAnswer, RecoveryInfo, ServerInfo};

use super::{Finding, Mode, chat, files, relay};
use crate::access;
use crate::client::Client;
use crate::config::{Place, Setup};
use crate::difference;
use crate::exit::Exit;
use crate::model;
use crate::screen::shell_word;
use crate::stores::is_begun;
use crate::timestamps::moment;

/// Folders that are looked at for one of a near name, at most.
const LOOKED_AT: usize = 10_000;

/// Everything about the data directory.
pub(super) async fn examine(found: &Setup, care: Mode) -> Vec<Finding> {
    let dir = &found.config.data_dir;
    let reason = found.data_dir_reason.as_str();
    let shown = dir.display();
    if !dir.exists() && care == Mode::Look && found.place == Place::Named {
        let missing = Finding::absent("data", text::data_dir_missing(shown), reason);
        return vec![match near(dir) {
            None => missing,
            Some(near) => {
                let near = shell_word(&near);
                missing.with_command(format!("samovar doctor --data-dir {near}"))
            }
        }];
    }
    if !dir.exists() && care == Mode::Look {
        return vec![Finding::good("data", text::data_dir_to_come(shown), reason)];
    }
    let was_there = dir.exists();
    let data = match Home::try_data_dir(&found.config) {
        Ok(()) if was_there => Finding::good("data", text::data_dir_usable(shown), reason),
        Ok(()) => Finding {
            is_mended: true,
            ..Finding::good("data", text::data_dir_made(shown), reason)
        },
        Err(error) if error.code() == "data_dir_busy" => {
            let data = Finding::good("data", text::data_dir_busy(shown), reason);
            let (server, client) = server(found).await;
            let mut findings = vec![data, server];
            if let Some(client) = client {
                findings.extend(page(&client).await);
                findings.extend(history(&client).await);
                findings.extend(models(&client, found).await);
                findings.extend(recovery(&client).await);
                findings.extend(chat::question(&client).await);
                findings.extend(relay::rooms(&client).await);
            }
            findings.extend(files::examine(found, care));
            return findings;
        }
        Err(error) => {
            let fact = error.to_string();
            let data = Finding::bad("data", Exit::Configuration, fact, reason)
                .with_command("export DATA_DIR=\"$HOME/samovar\"");
            return vec![data];
        }
    };
    let mut findings = vec![data];
    findings.extend(files::examine(found, care));
    findings
}

/// The data directory beside this one whose name is most like its.
fn near(dir: &Path) -> Option<PathBuf> {
    let (parent, asked) = (dir.parent()?, dir.file_name()?.to_str()?);
    let entries = fs::read_dir(parent).ok()?.filter_map(Result::ok);
    let begun = entries
        .take(LOOKED_AT)
        .filter(|entry| is_begun(&entry.path()));
    let names = begun.filter_map(|entry| entry.file_name().into_string().ok());
    let names: Vec<_> = names.collect();
    let near = samovar_config::nearest(asked, names.iter().map(String::as_str))?;
    Some(parent.join(near))
}

/// Who holds it.
async fn server(found: &Setup) -> (Finding, Option<Client>) {
    let Some(address) = Address::read(&found.config.data_dir) else {
        let fact = text::server_none().to_owned();
        return (Finding::good("server", fact, text::server_short()), None);
    };
    let shown = address.url;
    let client = access::running(&found.config).await;
    let finding = if let Some(holder) = client.as_ref().and_then(Client::holder) {
        let fact = text::server_at(holder.pid, &shown, moment(holder.since));
        Finding::good("server", fact, text::server_told())
    } else {
        let fact = text::server_silent(&shown);
        Finding::bad("server", Exit::Busy, fact, text::server_told())
    };
    (finding, client)
}

/// Whether there is a web page; `None` if no server stays, or it has ended meanwhile.
async fn page(client: &Client) -> Option<Finding> {
    let server: ServerInfo = client.get("/api/server").await.ok()?;
    let fact = if server.page {
        text::page_served()
    } else {
        text::page_off()
    };
    let finding = Finding::good("page", fact.to_owned(), text::page_why());
    server.stays.then_some(finding)
}

/// Whether the history has all that was accepted; `None` if the server has ended meanwhile.
async fn history(client: &Client) -> Option<Finding> {
    let server: ServerInfo = client.get("/api/server").await.ok()?;
    let lag = server.store.history_lag_sessions;
    let why = text::history_why();
    Some(match server.store.history_failed_since {
        Some(since) => {
            let fact = text::history_fails(moment(since), lag);
            Finding::bad("history", Exit::TurnFailed, fact, why)
        }
        None if lag == 0 => Finding::good("history", text::history_whole().to_owned(), why),
        None => Finding::good("history", text::history_lag(lag), why),
    })
}

/// The model of the server, and what it lacks of what this shell sets; `None` when the server has
/// gone meanwhile.
async fn models(client: &Client, found: &Setup) -> Option<Finding> {
    let holder = client.holder()?;
    let answer: ModelsAnswer = client.get("/api/models").await.ok()?;
    if let Some(difference) = difference::of(holder, &answer, found, false).await {
        let reason = text::server_model_why();
        let finding = Finding::bad("server", Exit::Configuration, difference, reason);
        return Some(finding);
    }
    let chosen = answer.chosen?;
    let fact = text::server_model(model::what(&chosen));
    Some(Finding::good("server", fact, text::server_model_why()))
}

/// What became of the turns that the run before left; none when the server has gone meanwhile.
async fn recovery(client: &Client) -> Option<Finding> {
    let recovery: RecoveryInfo = client.get("/api/recovery").await.ok()?;
    let waiting = recovery.waiting.len() as u64;
    let fact = if recovery.continued + recovery.ended + waiting == 0 {
        text::recovered_nothing().to_owned()
    } else {
        let (continued, ended) = (recovery.continued, recovery.ended);
        text::recovered(continued, ended, waiting, recovery.unknown_calls)
    };
    let finding = Finding::good("recovery", fact, text::recovered_told());
    Some(match recovery.waiting.first() {
        Some(cut) => finding.with_command(format!("samovar sessions resume {}", cut.session_id)),
        None => finding,
    })
}
