//! Asking the model: its answer is kept and shown while it comes.

use futures_util::StreamExt;
use samovar_core::error::FaultCode;
use samovar_core::provider::{self, is_refusal};
use samovar_core::{
    Author, Broken, BudgetLimit, ContextLimit, FinishReason, Kind, MessageId, Prompt,
    ProviderEvent, failpoint,
};
use samovar_locale as locale;
use tokio::time::Instant;

use super::retry::Failure;
use super::state::Runner;
use crate::answer::{self, Answer, Ending};
use crate::log::{Draft, weight};
use crate::memory::Held;
use crate::{context, layers};

/// How asking ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AskEnd {
    /// What came of it is noted.
    Done,
    /// The server stops while the turn waits for another attempt, which the next start makes.
    Left,
}

/// How reading an answer ended.
enum ReadEnd {
    /// It is whole.
    Whole(Ending),
    /// Its server failed.
    Failed(Failure),
    /// The time of the budget is over.
    Late,
}

/// What is on its way to the journal.
pub(crate) type Folding = samovar_core::Future<'static, Result<(), Broken>>;

impl Runner {
    /// Asks the model once, and notes what came of it.
    pub(super) async fn ask(&mut self, max_tokens: u32) -> Result<AskEnd, Broken> {
        failpoint!("model.ask.before");
        let id = MessageId::fresh(self.parts.ids.as_ref());
        let mut answer = Answer::new(id, self.turn.asked_model().to_owned());
        let heard = match self.find_model().await {
            Ok(()) => self.hear(&mut answer, max_tokens).await?,
            Err(failure) => ReadEnd::Failed(*failure),
        };
        match heard {
            ReadEnd::Whole(ending) if !answer.is_empty() => {
                self.patience.rests();
                let usage = ending.usage.unwrap_or_default();
                self.note_message(answer.finish(ending, self.now()));
                self.learn(usage);
            }
            ReadEnd::Whole(ending) if is_refusal(&ending.reason) => self.refused(ending),
            ReadEnd::Whole(ending) => {
                let failure = Failure {
                    code: FaultCode::EmptyAnswer,
                    message: locale::turn::answer_empty(&ending.reason),
                    retry_after: None,
                    usage: ending.usage,
                    context: None,
                    is_final: false,
                };
                return self.give_up(answer, failure).await;
            }
            ReadEnd::Failed(failure) => return self.give_up(answer, failure).await,
            ReadEnd::Late => {
                let (reason, usage) = (answer::OUT_OF_TIME.to_owned(), None);
                self.note_salvage(answer, Ending { reason, usage });
                self.cut(BudgetLimit::Wall);
            }
        }
        Ok(AskEnd::Done)
    }

    /// Uses the model of the step: a resumed turn may already be on a fallback.
    async fn find_model(&mut self) -> Result<(), Box<Failure>> {
        if self.model.name == self.turn.asked_model() {
            return Ok(());
        }
        let found = self.parts.models.find(self.turn.asked_route()).await;
        self.model = found.map_err(|error| {
            Box::new(Failure {
                code: FaultCode::UnusableModel,
                message: error.message.into_owned(),
                retry_after: None,
                usage: None,
                context: None,
                is_final: false,
            })
        })?;
        Ok(())
    }

    /// Ends the turn in the provider's own word: there is no message, but it was paid for.
    fn refused(&mut self, ending: Ending) {
        let reason = locale::turn::answer_refused(&ending.reason);
        self.note(Kind::StepReset {
            iteration: self.turn.iteration(),
            usage: ending.usage.unwrap_or_default(),
            reason,
            code: None,
            context: None,
        });
        self.note(self.turn.ended(FinishReason::Model(ending.reason)));
    }

    /// Text that readers have seen stays, as a message of its own that asks for nothing.
    pub(super) fn note_salvage(&mut self, answer: Answer, ending: Ending) {
        if let Some(message) = answer.salvage(ending, self.now()) {
            self.note_message(message);
        }
    }

    async fn hear(&mut self, answer: &mut Answer, max_tokens: u32) -> Result<ReadEnd, Broken> {
        let began = Instant::now();
        // Fewer turns ask a model, in the order in which they came. It is never closed.
        let place = self.parts.asking.clone().acquire_owned().await.ok();
        self.patience.waited(began.elapsed());
        let heard = self.hear_out(answer, max_tokens).await;
        drop(place);
        heard
    }

    async fn hear_out(&mut self, answer: &mut Answer, max_tokens: u32) -> Result<ReadEnd, Broken> {
        let mut prompt = self.prompt(max_tokens);
        let limit = self.limit();
        let is_known = limit.is_some();
        if let Some(failure) = too_long(&prompt, limit.as_ref()) {
            return Ok(ReadEnd::Failed(failure));
        }
        self.parts.read_images(&mut prompt).await?;
        self.asked = is_known.then(|| context::size(&prompt));
        // It is written out for the model, and sent.
        let mut in_flight = self.parts.memory.share();
        in_flight.set(2 * weight::of_conversation(&prompt.messages));
        let stream = self.model.provider.stream(prompt);
        let heard = self.listen(answer, max_tokens, (stream, in_flight)).await;
        self.folded().await;
        heard
    }

    /// Waits until what was shown is in the journal. The next commit would wait for that, too, and
    /// reports a store that failed.
    pub(super) async fn folded(&mut self) {
        if let Some(folding) = &mut self.folding {
            if let Err(broken) = folding.await {
                tracing::debug!(turn = %self.turn_id, %broken, "what was shown stays in memory");
            }
            self.folding = None;
        }
    }

    /// Keeps and shows what the model says, until it has said all. Memory lets go of what was shown
    /// meanwhile.
    async fn listen(
        &mut self,
        answer: &mut Answer,
        max_tokens: u32,
        (mut stream, mut in_flight): (provider::Answer, Held),
    ) -> Result<ReadEnd, Broken> {
        let mut late = std::pin::pin!(self.out_of_time());
        loop {
            if self.folding.is_none() && self.session.log.wants_folding() {
                let log = self.session.log.clone();
                self.folding = Some(Box::pin(async move { log.fold().await }));
            }
            let reads = self.folding.is_none() || !self.session.log.waits_for_fold();
            // All are safe to drop halfway: a stream keeps what it has read, and the fold is kept.
            let said = tokio::select! {
                said = stream.next(), if reads => said,
                folded = folded(&mut self.folding) => {
                    self.folding = None;
                    if let Err(broken) = folded {
                        self.wait_for_room(broken).await?;
                    }
                    continue;
                }
                () = &mut late => return Ok(ReadEnd::Late),
            };
            in_flight.set(0);
            let Some(said) = said else {
                return Ok(ReadEnd::Failed(Failure {
                    code: FaultCode::StreamCut,
                    message: locale::turn::answer_cut().to_owned(),
                    retry_after: None,
                    usage: None,
                    context: None,
                    is_final: false,
                }));
            };
            let (live, heard) = self.take(answer, said, max_tokens);
            self.show(live).await?;
            if let Some(heard) = heard {
                return Ok(heard);
            }
        }
    }

    /// Makes sense of what one read brought: what is to be shown, and how it ended if it did.
    fn take(
        &mut self,
        answer: &mut Answer,
        said: Vec<ProviderEvent>,
        max_tokens: u32,
    ) -> (Vec<Kind>, Option<ReadEnd>) {
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
                    answer.let_go(&mut live);
                    let ending = Ending {
                        reason: finish_reason,
                        usage: Some(usage),
                    };
                    heard = Some(ReadEnd::Whole(ending));
                }
                ProviderEvent::Failed {
                    code,
                    message,
                    retry_after,
                    context,
                    is_final,
                } => {
                    answer.let_go(&mut live);
                    let context = if code == FaultCode::ContextFull {
                        self.revealed(max_tokens, context)
                    } else if context.may_be_full {
                        self.guessed(max_tokens)
                    } else {
                        None
                    };
                    heard = Some(ReadEnd::Failed(Failure {
                        code,
                        message,
                        retry_after,
                        usage: None,
                        context,
                        is_final,
                    }));
                }
                piece => answer.take(piece, self.parts.ids.as_ref(), &mut live),
            }
        }
        (live, heard)
    }

    /// Keeps and shows what one read brought; the next read waits until there is room for it.
    async fn show(&mut self, live: Vec<Kind>) -> Result<(), Broken> {
        let drafts = live.into_iter();
        // Keys were cut out over the borders of pieces.
        let piece = |kind| Draft {
            turn: Some(self.turn_id.clone()),
            agent: Some(self.agent.clone()),
            author: Author::Agent,
            kind,
        };
        let mut drafts: Vec<_> = drafts.map(piece).collect();
        while !drafts.is_empty() {
            let Err(refused) = self.session.log.live(drafts) else {
                self.has_room();
                break;
            };
            drafts = refused.drafts;
            // A fold on its way keeps others from the log, and may make the room.
            if self.folding.is_some() {
                self.folded().await;
            } else {
                self.wait_for_room(refused.why).await?;
            }
        }
        Ok(())
    }
}

/// The end of a fold, while one runs.
async fn folded(folding: &mut Option<Folding>) -> Result<(), Broken> {
    match folding {
        Some(folding) => folding.await,
        None => std::future::pending().await,
    }
}

/// Why a prompt is not sent: even without the conversation it is longer than the model's window.
fn too_long(prompt: &Prompt, limit: Option<&ContextLimit>) -> Option<Failure> {
    let limit = limit.filter(|limit| context::has_no_room(prompt, limit))?;
    let (name, tokens) = layers::largest(&prompt.layers)?;
    Some(Failure {
        code: FaultCode::ContextFull,
        message: locale::turn::prompt_too_long(limit.tokens, name, tokens),
        retry_after: None,
        usage: None,
        context: None,
        is_final: true,
    })
}
