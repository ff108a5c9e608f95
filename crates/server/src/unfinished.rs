//! Undos that a stop of the server cut after the first file: the next start finishes them, or says that
//! they are not finished.

use samovar_core::{Action, Code, Command, Sender};
use samovar_engine::Engine;
use samovar_tools::{UndoStore, Workspace};

/// How often an undo is asked for whose session the history lacks yet; each time waits for that.
const ATTEMPTS: usize = 5;

/// Asks for them again, before a client can add to their sessions.
pub(crate) async fn finish(engine: &Engine, workspace: &Workspace) {
    let unfinished = workspace.undo().map(UndoStore::unfinished).transpose();
    let unfinished = unfinished.unwrap_or_else(|error| {
        tracing::warn!(%error, "whether an undo was interrupted is not known");
        None
    });
    for one in unfinished.into_iter().flatten() {
        let mut attempts = 1..=ATTEMPTS;
        let done = loop {
            let turn = Some(one.turn.clone());
            let action = Action::UndoWithFiles { turn };
            let by = if one.is_guests {
                Sender::Token {
                    name: "".into(),
                    is_owner: false,
                }
            } else {
                Sender::Embedder
            };
            let command = Command {
                by,
                session: one.session.clone(),
                action,
            };
            let done = engine.submit(command).await;
            let is_late = matches!(&done, Err(error) if error.code == Code::StoreFull);
            if !is_late || attempts.next().is_none() {
                break done;
            }
        };
        match done {
            Ok(_) => tracing::info!(session = %one.session, "an interrupted undo is finished"),
            Err(error) => {
                tracing::warn!(
                    session = %one.session, turn = %one.turn, reason = %error.message,
                    "an undo was interrupted, and cannot be finished: some files of the turn may be \
                     as they were before it"
                );
                // Asked for again, it would end the same way at each start.
                if matches!(error.code, Code::UnknownTurn | Code::UnknownSession) {
                    engine.toolbox().give_up_undo(&one.session).await;
                }
            }
        }
    }
}
