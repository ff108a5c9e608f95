//! The last turn is taken back, alone or with what its tools changed in files.

use std::collections::BTreeSet;
use std::sync::Arc;

use samovar_core::command::{Post, UndoneFiles};
use samovar_core::file_changes::ClosedCall;
use samovar_core::history::{LastTurn, MessageQuery, Speakers};
use samovar_core::{
    Accepted, Author, Broken, CallId, Closer, Code, Effect, Error, Event, Kind, Part, Role, Sender,
    Seq, Status, TurnId,
};
use samovar_locale as locale;

use super::Mailbox;
use super::unremembered::Unremembered;
use crate::context::Transcript;
use crate::log::Draft;
use crate::parts::{no_such_message, refusal};
use crate::projector::read_kept;
use crate::toolbox::CurrentTools;

/// Messages that are read at once.
const PAGE: u32 = 500;

/// How far an undo goes.
pub(super) enum Reach {
    /// The effects of the turn's tools remain.
    Messages,
    /// What they changed in files is taken back, too.
    Files,
}

impl Mailbox {
    /// Takes in the turns whose end is kept and whose runs have not returned yet: their readers know of
    /// it already, and may have sent a command since.
    pub(super) async fn hear_ends(&mut self) {
        while self.has_unheard_end()
            && let Some(ended) = self.turns.join_next().await
        {
            self.turn_ended(ended).await;
            self.act().await;
        }
    }

    fn has_unheard_end(&self) -> bool {
        let Some(open) = &self.open else { return false };
        let state = open.state();
        open.live.running().any(|turn| !state.is_open(turn))
    }

    /// Takes the last turn out of the conversation: what the model is shown next, what readers of the
    /// history see, and what is remembered of its message's id.
    ///
    /// Files come first, then memories: a stop of the server in between leaves a turn that can be taken
    /// back again, which finds its files as they shall be.
    ///
    /// With a turn it takes back no other one, and one that was taken back already is answered again
    /// while the log has that.
    pub(super) async fn undo(
        &mut self,
        reach: Reach,
        only: Option<TurnId>,
        by: &Sender,
    ) -> Result<Accepted, Error> {
        let last = match (self.last_turn(None).await, only) {
            (Ok(last), None) => last,
            (Ok(last), Some(only)) if last.turn == only => last,
            (Err(error), Some(only)) if error.code == Code::UnknownTurn => {
                return self.undone_before(&only).await?.ok_or(error);
            }
            (Ok(_), Some(other)) => {
                let why = locale::undo::other_turn(&other, &self.id);
                let unknown = || Error::new(Code::UnknownTurn, why);
                return self.undone_before(&other).await?.ok_or_else(unknown);
            }
            (Err(error), _) => return Err(error),
        };
        let mut turns = vec![last.turn.clone()];
        turns.extend(last.below.iter().cloned());
        let files = match reach {
            Reach::Messages => None,
            Reach::Files => Some(self.take_files_back(by, &last, &turns).await?),
        };
        let has_restored = files
            .as_ref()
            .is_some_and(|files| !files.restored.is_empty());
        let incomplete = |refused: Error| {
            if has_restored {
                let why = locale::undo::turn_not_saved(&refused.message);
                return Error::new(Code::UndoIncomplete, why);
            }
            refused
        };
        let changes = self.parts.toolbox.changes();
        let gone = Unremembered::of(changes.clone(), Some((&turns, by)));
        let gone = gone.await.map_err(incomplete)?;
        let kept = match self.open.as_ref() {
            Some(open) => {
                let drafts = vec![undone(&last, files.clone())];
                let kept = open.session.keep(drafts).await;
                kept.map_err(refusal)
            }
            None => Err(self.missing()),
        };
        let kept = gone.unless(kept).await.map_err(incomplete)?;
        self.forget_what_was_said(&kept, None).await;
        changes.forget(&self.id, &turns).await;
        Ok(Accepted::Undone {
            text: text_of(&last),
            turn: last.turn,
            files,
        })
    }

    /// Takes back the turn of a message and all later ones, and begins a turn with the new message,
    /// with one commit. The effects of their tools remain.
    pub(super) async fn rewrite(&mut self, post: Post, by: &Sender) -> Result<Accepted, Error> {
        let id = post.message.as_ref();
        let (mut drafts, mut turns) = (Vec::new(), Vec::new());
        let mut all = Vec::new();
        loop {
            let before = turns.last().cloned();
            let last = self.last_turn(before.as_ref()).await.map_err(|error| {
                if error.code == Code::UnknownTurn {
                    return no_such_message(id);
                }
                error
            })?;
            drafts.push(undone(&last, None));
            all.push(last.turn.clone());
            all.extend(last.below);
            turns.push(last.turn);
            if Some(&last.said.id) == id {
                break;
            }
        }
        let accepted = self.accept(post, Some((drafts, (&all, by)))).await?;
        let changes = self.parts.toolbox.changes();
        changes.forget(&self.id, &turns).await;
        Ok(accepted)
    }

    /// Reads the conversation again after turns were taken back; a turn may have begun with that.
    pub(super) async fn forget_what_was_said(&self, kept: &[Arc<Event>], turn: Option<&TurnId>) {
        let transcript = self.transcript(kept, turn).await;
        // What was taken back is never shown again, even if nothing can be read in its place.
        let transcript = transcript.unwrap_or_else(|broken| {
            tracing::error!(session = %self.id, %broken, "a conversation is lost");
            Transcript::default()
        });
        if let (Some(open), Some(last)) = (&self.open, kept.last()) {
            open.state().read(transcript, last.seq);
            open.session.weigh();
        }
    }

    /// The turn that can be taken back now, or the last before another one.
    async fn last_turn(&self, before: Option<&TurnId>) -> Result<LastTurn, Error> {
        let open = self.open.as_ref().ok_or_else(|| self.missing())?;
        if !open.live.is_empty() || open.state().next().is_some() {
            let why = locale::session::busy(&self.id);
            return Err(Error::new(Code::SessionBusy, why));
        }
        // Only the history knows the turns that are over; what it lacks might be the last one.
        let wait = self.parts.settings.read_wait;
        if !self.parts.projector.has_all_of(&self.id, wait).await {
            let why = locale::session::not_caught_up();
            return Err(Error::new(Code::StoreFull, why));
        }
        let last = self.parts.history.last_turn(&self.id, before).await;
        last.map_err(refusal)?.ok_or_else(|| {
            let why = locale::session::nothing_to_undo(&self.id);
            Error::new(Code::UnknownTurn, why)
        })
    }

    /// What the undo of a turn has answered, if the log still has that.
    async fn undone_before(&self, turn: &TurnId) -> Result<Option<Accepted>, Error> {
        let (journal, session) = (self.parts.journal.clone(), self.id.clone());
        let read = move || {
            let entry = journal.entry(&session)?.filter(|entry| !entry.deleted);
            entry.map_or(Ok(Vec::new()), |entry| {
                read_kept(
                    journal.as_ref(),
                    entry.log,
                    Seq::default(),
                    (entry.head, usize::MAX),
                )
            })
        };
        let read = tokio::task::spawn_blocking(read).await;
        let read = read.map_err(|panic| refusal(Broken::Io(panic.to_string())))?;
        let events = read.map_err(refusal)?;
        let of_turn = events
            .iter()
            .filter(|event| event.turn.as_ref() == Some(turn));
        Ok(of_turn.rev().find_map(|event| match &event.kind {
            Kind::TurnUndone { text, files, .. } => Some(Accepted::Undone {
                turn: turn.clone(),
                text: text.clone(),
                files: files.clone(),
            }),
            _ => None,
        }))
    }

    async fn take_files_back(
        &self,
        by: &Sender,
        last: &LastTurn,
        turns: &[TurnId],
    ) -> Result<UndoneFiles, Error> {
        let calls = self.calls_of(last, turns).await?;
        let changes = self.parts.toolbox.changes();
        let taken = changes.take_back(by, &self.id, turns, calls.clone());
        let taken = taken.await?;
        let tools = self.parts.toolbox.shelf();
        let remaining = calls
            .into_iter()
            .filter(|call| !taken.calls.contains(&call.call) && may_remain(&tools, call));
        let remaining: BTreeSet<_> = remaining.map(|call| call.name).collect();
        Ok(UndoneFiles {
            restored: taken.files,
            remaining: remaining.into_iter().collect(),
        })
    }

    /// The calls of turns that are over, and how they ended.
    async fn calls_of(&self, last: &LastTurn, turns: &[TurnId]) -> Result<Vec<ClosedCall>, Error> {
        let (mut calls, mut before, mut left) = (Vec::new(), None, last.messages);
        loop {
            let query = MessageQuery {
                session: self.id.clone(),
                limit: PAGE,
                before: before.take(),
                of: Speakers::All,
            };
            let page = self.parts.history.messages(query).await.map_err(refusal)?;
            let is_last = page.len() < PAGE as usize;
            before = page.first().map(|row| row.message.id.clone());
            let of_turns = page
                .iter()
                .filter(|row| row.turn.as_ref().is_some_and(|turn| turns.contains(turn)));
            for row in of_turns {
                left = left.saturating_sub(1);
                calls.extend(row.message.parts.iter().filter_map(closed));
            }
            if is_last || left == 0 {
                return Ok(calls);
            }
        }
    }
}

/// What the person said. What the server said in its place is not the person's.
fn text_of(last: &LastTurn) -> String {
    if last.said.role == Role::User {
        last.said.text()
    } else {
        String::new()
    }
}

fn undone(last: &LastTurn, files: Option<UndoneFiles>) -> Draft {
    let undone = Kind::TurnUndone {
        below: last.below.clone(),
        messages: last.messages,
        text: text_of(last),
        files,
    };
    Draft::new(Some(last.turn.clone()), Author::User, undone)
}

/// The call whose outcome a part is.
fn closed(part: &Part) -> Option<ClosedCall> {
    match part {
        Part::Outcome {
            call,
            name,
            outcome,
        } => Some(ClosedCall {
            call: CallId::clone(call),
            name: name.clone(),
            status: outcome.status,
            data: outcome.data.clone(),
        }),
        Part::Text { .. }
        | Part::Reasoning { .. }
        | Part::Call(_)
        | Part::Data { .. }
        | Part::Image { .. } => None,
    }
}

/// Whether a call may have had an effect that no store of changes has.
fn may_remain(tools: &CurrentTools, call: &ClosedCall) -> bool {
    if call.status == Status::Denied {
        return false;
    }
    let has_failed = call.status == Status::Failed;
    match tools
        .get(&call.name)
        .map(|tool| (tool.spec.closer, tool.spec.effect))
    {
        // What a child did is in its own calls; a question has no effect.
        Some((Closer::Child | Closer::Person, _) | (_, Effect::Read)) => false,
        // It says whether it has done something. One that is gone may never have been there.
        Some((_, Effect::Verifiable)) | None => !has_failed,
        Some((_, Effect::Idempotent | Effect::Unsafe)) => true,
    }
}
