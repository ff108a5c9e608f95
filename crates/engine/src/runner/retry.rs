//! What follows when a model's server fails: the same model once more after a pause, then the
//! fallback models in their order, then the end (AS-14).

use std::time::Duration;

use samovar_core::error::FaultCode;
use samovar_core::provider::ModelKind;
use samovar_core::{Broken, ContextLimit, Ids, Kind, Model, Usage};
use samovar_locale as locale;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::ask::AskEnd;
use super::state::Runner;
use crate::answer::{self, Answer, Ending};
use crate::settings::Retry;
use crate::turn::Step;

/// How often an answer that is empty or makes no sense is asked for again, in one iteration.
const MAX_VOID: u32 = 1;

/// Why an attempt is void.
pub(super) struct Failure {
    pub(super) code: FaultCode,
    /// What happened, for a person.
    pub(super) message: String,
    /// How long the server asks to wait.
    pub(super) retry_after: Option<Duration>,
    /// What the attempt cost, as far as anybody told.
    pub(super) usage: Option<Usage>,
    /// What a refused prompt revealed about the model's window, if that makes the next one smaller.
    pub(super) context: Option<ContextLimit>,
    /// Whether the same request gets the same failure for sure.
    pub(super) is_final: bool,
}

/// What follows a failure.
enum Next {
    /// The same model is asked again, this much later.
    Again(Duration),
    /// Another model is asked in its place.
    Fallback(Model),
    /// The turn ends.
    End,
}

/// How long a turn has spent on iterations that failed, without the waiting for a place to ask. Of
/// this run alone: attempts are counted over any number of crashes, time is not.
#[derive(Debug, Default)]
pub(crate) struct RetryTime {
    spent: Duration,
    /// Since when the current iteration fails.
    since: Option<Instant>,
}

impl RetryTime {
    fn fails(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// The iteration succeeded, or another model took it over.
    pub(super) fn rests(&mut self) {
        self.spent = self.used();
        self.since = None;
    }

    /// So long no model could be asked.
    pub(super) fn waited(&mut self, waited: Duration) {
        self.since = self.since.map(|since| since + waited);
    }

    fn used(&self) -> Duration {
        let now = self.since.map(|since| since.elapsed());
        self.spent + now.unwrap_or_default()
    }
}

impl Runner {
    /// Makes the attempt void and continues with the next one, or ends the turn with what readers
    /// have seen of this one.
    pub(super) async fn give_up(
        &mut self,
        answer: Answer,
        failure: Failure,
    ) -> Result<AskEnd, Broken> {
        self.patience.fails();
        match self.what_follows(&failure).await {
            Next::Again(pause) if pause.is_zero() => {
                let reason = match &failure.context {
                    Some(_) => locale::turn::context_shortened(&failure.message),
                    None => failure.message.clone(),
                };
                self.void(&failure, reason);
                Ok(AskEnd::Done)
            }
            Next::Again(pause) => {
                let seconds = pause.as_secs_f64().ceil();
                let reason = locale::turn::asked_again_in(&failure.message, seconds);
                self.void(&failure, reason);
                // Readers see that it waits, and what for.
                self.keep().await?;
                // The world has answered, if badly; others may take up what was cut meanwhile.
                self.continuation = None;
                Ok(self.pause(pause).await)
            }
            Next::Fallback(model) => {
                let reason = locale::turn::asked_elsewhere(&failure.message, &model.name);
                self.void(&failure, reason);
                self.patience.rests();
                self.ask_instead(model).await?;
                Ok(AskEnd::Done)
            }
            Next::End => {
                self.end(answer, failure);
                Ok(AskEnd::Done)
            }
        }
    }

    async fn what_follows(&mut self, failure: &Failure) -> Next {
        if failure.context.is_some() {
            return Next::Again(Duration::ZERO);
        }
        let retry = &self.parts.settings.retry;
        let pause = pause(retry, failure, self.turn.attempt(), self.parts.ids.as_ref());
        // It is still busy with the prompt that was given up.
        let is_busy =
            failure.code == FaultCode::ProviderTimeout && self.model.kind == ModelKind::Local;
        let pause = pause.map(|pause| {
            if is_busy {
                pause.max(retry.longest_wait)
            } else {
                pause
            }
        });
        match pause {
            Some(pause) if self.may_retry(failure.code, pause) => Next::Again(pause),
            Some(_) | None => self.fallback().await.map_or(Next::End, Next::Fallback),
        }
    }

    fn may_retry(&self, code: FaultCode, pause: Duration) -> bool {
        let is_void = matches!(code, FaultCode::EmptyAnswer | FaultCode::BadResponse);
        if is_void && self.turn.void_answers() >= MAX_VOID {
            return false;
        }
        if code == FaultCode::EmptyAnswer {
            return true;
        }
        let retry = &self.parts.settings.retry;
        self.turn.failures() < retry.count
            && self.patience.used().saturating_add(pause) <= retry.within
    }

    /// The next fallback model that can be used, after the one that was asked. The model servers of
    /// this machine are asked first if need be: that takes a moment at most, and is remembered.
    async fn fallback(&mut self) -> Option<Model> {
        let (own, asked) = (self.turn.model(), self.turn.asked_model());
        let mut known: Vec<Model> = Vec::new();
        for name in &self.parts.settings.fallback {
            match self.parts.models.find(name).await {
                // One that is named twice would be asked again and again.
                Ok(model) if known.iter().any(|known| known.name == model.name) => {}
                Ok(model) if self.is_unpriced(&model) => {
                    tracing::warn!(model = name, "the price of a fallback model is unknown");
                }
                Ok(model) => known.push(model),
                Err(error) => {
                    tracing::warn!(model = name, %error, "a fallback model cannot be used");
                }
            }
        }
        let last = known.iter().position(|model| model.name == asked);
        let behind = last.filter(|_| asked != own).map_or(0, |last| last + 1);
        let mut rest = known.into_iter().skip(behind);
        rest.find(|model| model.name != own && model.name != asked)
    }

    fn void(&mut self, failure: &Failure, reason: String) {
        self.note(Kind::StepReset {
            iteration: self.turn.iteration(),
            usage: failure.usage.unwrap_or_default(),
            reason,
            code: Some(failure.code),
            context: failure.context.clone(),
        });
    }

    /// Starts the iteration again with another model, unless a limit is reached.
    async fn ask_instead(&mut self, model: Model) -> Result<(), Broken> {
        if let Step::Record(Kind::StepStarted {
            iteration,
            attempt,
            reserved_tokens,
            ..
        }) = self.turn.next()
        {
            self.model = model.clone();
            let started = Kind::StepStarted {
                iteration,
                attempt,
                reserved_tokens,
                route: model.route_beside(&model.name),
                model: Some(model.name),
                quote: None,
                told: None,
            };
            self.begin_step(started).await?;
        }
        Ok(())
    }

    fn end(&mut self, answer: Answer, failure: Failure) {
        if failure.code == FaultCode::EmptyAnswer {
            // There is nothing to keep of it, but it was paid for.
            self.void(&failure, failure.message.clone());
        } else {
            let (reason, usage) = (answer::FAILED.to_owned(), failure.usage);
            self.note_salvage(answer, Ending { reason, usage });
        }
        self.withdraw_guess();
        let why = if failure.code == FaultCode::ContextFull {
            locale::turn::context_full(failure.message)
        } else if may_pass(failure.code) && !failure.is_final {
            locale::turn::answer_failed(failure.message)
        } else {
            locale::turn::answer_refused_for_good(failure.message)
        };
        self.fail(failure.code, why);
    }

    /// Ends the turn with a fault.
    pub(super) fn fail(&mut self, code: FaultCode, message: impl Into<String>) {
        for kind in self.turn.failed(code, message) {
            self.note(kind);
        }
    }

    /// Waits before the next attempt. A server that stops does not wait for that: the next start
    /// continues with the turn.
    async fn pause(&mut self, pause: Duration) -> AskEnd {
        tokio::select! {
            () = tokio::time::sleep(pause) => AskEnd::Done,
            () = self.parts.stopping.cancelled() => AskEnd::Left,
        }
    }
}

/// How long to wait before the same model is asked again; `None` when the same question would get the
/// same answer.
fn pause(retry: &Retry, failure: &Failure, attempt: u32, ids: &dyn Ids) -> Option<Duration> {
    if failure.code == FaultCode::EmptyAnswer {
        // What it thinks of is chance, and needs no time.
        return Some(Duration::ZERO);
    }
    (may_pass(failure.code) && !failure.is_final).then(|| {
        let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
        let wait = retry.first_wait.saturating_mul(doubled);
        let wait = wait.min(retry.longest_wait).mul_f64(jitter(ids));
        wait.max(failure.retry_after.unwrap_or_default())
    })
}

/// Whether the same question may get an answer later.
fn may_pass(code: FaultCode) -> bool {
    match code {
        FaultCode::EmptyAnswer
        | FaultCode::ProviderUnreachable
        | FaultCode::ProviderTimeout
        | FaultCode::ProviderRateLimited
        | FaultCode::ProviderError
        | FaultCode::BadResponse
        | FaultCode::StreamCut => true,
        FaultCode::ProviderAuth
        | FaultCode::ProviderRejected
        | FaultCode::ContextFull
        | FaultCode::ImagesRefused
        | FaultCode::ModelNotFound
        | FaultCode::UnusableModel
        | FaultCode::UnusableAgent
        | FaultCode::Interrupted
        | FaultCode::StoreFailed
        | FaultCode::RecoveryExhausted
        | FaultCode::Internal => false,
    }
}

/// Between a half and one, so that turns which failed together do not come back together. Ids are
/// the engine's one source of chance.
fn jitter(ids: &dyn Ids) -> f64 {
    let digest = Sha256::digest(ids.uuid().as_bytes());
    0.5 + f64::from(digest.first().copied().unwrap_or_default()) / 510.0
}

#[cfg(test)]
mod tests;
