//! Asking the model: its answer is kept and shown while it comes.

use futures_util::StreamExt;
use samovar_core::error::FaultCode;
use samovar_core::{Author, Broken, Kind, MessageId, ProviderEvent, failpoint};
use samovar_locale as locale;

use super::{Input, Runner, not_open};
use crate::answer::{Answer, Ending};

/// How reading an answer ended.
enum Heard {
    /// It is whole.
    Whole(Ending),
    /// Its server failed.
    Failed(FaultCode, String),
    /// Somebody stopped the turn.
    Stopped(super::Reply),
}

impl Runner {
    /// Asks the model once, and notes what came of it.
    pub(super) async fn ask(&mut self, max_tokens: u32) -> Result<(), Broken> {
        failpoint!("model.ask.before");
        let id = MessageId::fresh(self.parts.ids.as_ref());
        let mut answer = Answer::new(id, self.model.name.clone());
        let heard = self.hear(&mut answer, max_tokens).await?;
        match heard {
            Heard::Whole(ending) if !answer.is_empty() => {
                self.note_message(answer.finish(ending, self.now()));
            }
            Heard::Whole(ending) => {
                let message = locale::turn::answer_empty(&ending.reason);
                // The attempt is void, but it was paid for.
                self.note(Kind::StepReset {
                    iteration: self.turn.iteration(),
                    usage: ending.usage.unwrap_or_default(),
                    reason: message.clone(),
                    code: Some(FaultCode::EmptyAnswer),
                });
                self.fail(FaultCode::EmptyAnswer, message);
            }
            Heard::Failed(code, message) => {
                self.note_salvage(
                    answer,
                    Ending {
                        reason: "error".to_owned(),
                        usage: None,
                    },
                );
                self.fail(code, locale::turn::answer_failed(message));
            }
            Heard::Stopped(reply) => {
                self.note_salvage(
                    answer,
                    Ending {
                        reason: "cancelled".to_owned(),
                        usage: None,
                    },
                );
                self.stop(reply);
            }
        }
        Ok(())
    }

    /// Text that readers have seen stays, as a message of its own that asks for nothing.
    fn note_salvage(&mut self, answer: Answer, ending: Ending) {
        if let Some(message) = answer.salvage(ending, self.now()) {
            self.note_message(message);
        }
    }

    async fn hear(&mut self, answer: &mut Answer, max_tokens: u32) -> Result<Heard, Broken> {
        let mut stream = self.model.provider.stream(self.prompt(max_tokens));
        loop {
            // Both are safe to drop halfway: a stream keeps what it has read, a channel its items.
            let said = tokio::select! {
                said = stream.next() => said,
                Some(input) = self.inbox.recv() => match input {
                    Input::Cancel(reply) => return Ok(Heard::Stopped(reply)),
                    Input::Settle(call, _, reply) => {
                        super::answer(reply, Err(not_open(&call)));
                        continue;
                    }
                },
            };
            let Some(said) = said else {
                let message = locale::turn::answer_cut();
                return Ok(Heard::Failed(FaultCode::StreamCut, message.to_owned()));
            };
            if let Some(heard) = self.take(answer, said)? {
                return Ok(heard);
            }
            if self.log.wants_folding() {
                self.log.fold().await?;
            }
        }
    }

    /// Keeps and shows what one read brought.
    fn take(
        &mut self,
        answer: &mut Answer,
        said: Vec<ProviderEvent>,
    ) -> Result<Option<Heard>, Broken> {
        let mut live = Vec::with_capacity(said.len() + 1);
        let mut heard = None;
        failpoint!("model.ask.after");
        // Whoever answers lets the next turn take up its work.
        self.continuation = None;
        for event in said {
            match event {
                ProviderEvent::MessageComplete {
                    finish_reason,
                    usage,
                } => {
                    let ending = Ending {
                        reason: finish_reason,
                        usage: Some(usage),
                    };
                    heard = Some(Heard::Whole(ending));
                }
                ProviderEvent::Failed { code, message, .. } => {
                    heard = Some(Heard::Failed(code, message));
                }
                piece => answer.take(piece, self.parts.ids.as_ref(), &mut live),
            }
        }
        self.show(live)?;
        Ok(heard)
    }

    fn show(&self, live: Vec<Kind>) -> Result<(), Broken> {
        if live.is_empty() {
            return Ok(());
        }
        self.log.live(
            live.into_iter()
                .map(|kind| self.draft(Author::Agent, kind))
                .collect(),
        )
    }
}
