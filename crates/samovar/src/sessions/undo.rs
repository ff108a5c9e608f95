//! `samovar sessions undo`: the last turn is taken back, with its files if that is asked for.

use std::io::IsTerminal;

use samovar_core::file_changes::Restoration;
use samovar_locale as text;
use samovar_wire::agent::UndoResult;
use serde::Serialize;
use serde_json::json;

use super::find::{self, Precision};
use crate::args::Common;
use crate::client::Client;
use crate::exit::Failure;
use crate::output;
use crate::reconnecting::Repeat;
use crate::screen::visible;

/// What was taken back of a session.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Undone {
    session_id: String,
    #[serde(flatten)]
    result: UndoResult,
}

pub(super) async fn undo(id: &str, files: bool, common: &Common) -> Result<(), Failure> {
    let precision = if std::io::stdin().is_terminal() {
        Precision::Part
    } else {
        Precision::End
    };
    let find = async |client: &Client| find::session(client, id, precision).await;
    let session = super::look(common, find).await?.id;
    let params = json!({ "sessionId": session, "files": files });
    let undo = async |client: &Client| client.agent("undo", &params).await;
    let undone = Undone {
        session_id: session.to_string(),
        result: super::change(common, Repeat::Untaken, undo).await?,
    };
    output::one(common.machine.format(), "undone", &undone, |undone| {
        let id = &undone.session_id;
        text::sessions::undone(id) + "\n" + &visible(&effects(&undone.result))
    })
}

/// What became of the effects of its tools, line by line.
pub(crate) fn effects(undone: &UndoResult) -> String {
    let Some(files) = &undone.files else {
        return text::chat::effects_remain().to_owned() + "\n";
    };
    let mut lines = String::new();
    for file in files {
        let path = text::quoted(&file.path);
        lines += &match file.restoration {
            Restoration::Restored => text::view::file_restored(path),
            Restoration::Removed => text::view::file_removed(path),
        };
        lines.push('\n');
    }
    let remaining = undone.remaining_tools.as_deref().unwrap_or_default();
    if !remaining.is_empty() {
        lines += &text::view::effects_remain(remaining.join(", "));
        lines.push('\n');
    }
    lines
}
