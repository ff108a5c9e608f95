//! How far running calls are, as their tools say it.

use samovar_core::tool::{MAX_PROGRESS_BYTES, Progress, ProgressSink};
use samovar_core::{Author, Broken, CallId, Kind, redact};
use tokio::sync::mpsc;

use super::Calls;

/// Reports that wait to be shown, at most; more are dropped.
const MAX_WAITING: usize = 16;

/// Where the calls of a step report.
pub(super) struct Reports {
    sender: mpsc::Sender<(CallId, Progress)>,
    receiver: mpsc::Receiver<(CallId, Progress)>,
}

impl Reports {
    pub(super) fn new() -> Self {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        Self { sender, receiver }
    }

    /// Where this call reports.
    pub(super) fn sink(&self, call: &CallId) -> ProgressSink {
        let (sender, call) = (self.sender.clone(), call.clone());
        ProgressSink::new(move |progress| drop(sender.try_send((call.clone(), progress))))
    }

    /// The next report; `None` never comes. Safe to drop halfway.
    pub(super) async fn next(&mut self) -> Option<(CallId, Progress)> {
        self.receiver.recv().await
    }
}

impl Calls<'_> {
    /// Shows how far a call is. What there is no room for is dropped, because a later report says
    /// more.
    pub(super) async fn show_progress(
        &mut self,
        call: CallId,
        progress: Progress,
    ) -> Result<(), Broken> {
        let is_running = self.known.values().any(|running| running.call == call);
        let message = self.runner.turn.answer().cloned();
        let Some(message) = message.filter(|_| is_running) else {
            return Ok(());
        };
        let mut kind = Kind::CallProgress {
            message,
            call,
            progress,
        };
        // Before it is cut: the end of a key would not be found.
        redact::own().redact_kind(&mut kind);
        if let Kind::CallProgress { progress, .. } = &mut kind {
            // Nor would the beginning of one that is not written to its end.
            let last = std::mem::take(&mut progress.last);
            progress.last = redact::Tail::default().push(&redact::own(), last);
            let begin = progress.last.len().saturating_sub(MAX_PROGRESS_BYTES);
            let begin = progress.last.ceil_char_boundary(begin);
            progress.last.drain(..begin);
            let note = progress.note.take();
            progress.note = note.map(|note| redact::Tail::default().push(&redact::own(), note));
        }
        let draft = self.runner.draft(Author::System, kind);
        let log = &self.runner.session.log;
        if let Err(refused) = log.live(vec![draft]) {
            tracing::debug!(why = %refused.why, "the progress of a call is not shown");
        }
        if log.wants_folding()
            && let Err(broken) = log.fold().await
            && !broken.may_pass()
        {
            return Err(broken);
        }
        Ok(())
    }
}
