//! Taking the last turn back.

use samovar_core::{Accepted, Author, Code, Error, Kind};
use samovar_locale as locale;

use super::{Mailbox, master, refusal};
use crate::context::Transcript;
use crate::log::Draft;

impl Mailbox {
    /// Takes the last turn out of the conversation: what the model is shown next, what readers of the
    /// history see, and what is remembered of its message's id.
    pub(super) async fn undo(&mut self) -> Result<Accepted, Error> {
        let missing = self.missing();
        let Some(open) = self.open.as_ref().filter(|open| open.closing.is_empty()) else {
            return Err(missing);
        };
        if open.current.is_some() || !open.queue.is_empty() {
            let why = locale::session::busy(&self.id);
            return Err(Error::new(Code::SessionBusy, why));
        }
        // Only the history knows the turns that are over; what it lacks might be the last one.
        if !self
            .parts
            .projector
            .caught_up(self.parts.settings.read_wait)
            .await
        {
            return Err(Error::new(
                Code::StoreFull,
                locale::session::not_caught_up(),
            ));
        }
        let last = self.parts.history.last_turn(&self.id).await;
        let Some(last) = last.map_err(refusal)? else {
            let why = locale::session::nothing_to_undo(&self.id);
            return Err(Error::new(Code::UnknownTurn, why));
        };
        let undone = Kind::TurnUndone {
            below: last.below,
            messages: last.messages,
        };
        let draft = Draft {
            turn: Some(last.turn.clone()),
            agent: master(),
            author: Author::User,
            kind: undone,
        };
        let kept = open.log.append(vec![draft]).await.map_err(refusal)?;
        self.parts.projector.mark(&open.log);
        // What was taken back is never shown again, even if nothing can be read in its place.
        let transcript = self.transcript(&kept, 0).await.unwrap_or_else(|broken| {
            tracing::error!(session = %self.id, %broken, "a conversation is lost");
            Transcript::default()
        });
        if let Some(open) = &mut self.open {
            open.transcript = transcript;
            open.recent.forget(&last.turn);
        }
        Ok(Accepted::Undone {
            turn: last.turn,
            text: last.said.text(),
        })
    }
}
