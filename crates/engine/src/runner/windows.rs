//! What a turn learns about the room in its model's window: each is a fact of the log, so that the
//! window is the same after a restart (AS-15).

use samovar_core::provider::ContextNumbers;
use samovar_core::{Author, ContextLimit, Kind, LimitSource, Prompt, SessionChange, Usage};
use samovar_locale as locale;

use super::state::Runner;
use crate::context;

impl Runner {
    /// Notes what the server's list or a person says about the model's window, unless the log has it.
    pub(super) fn note_window(&mut self) {
        let Some(window) = self.model.window else {
            return;
        };
        let known = self.limit();
        if known
            .as_ref()
            .is_some_and(|known| known.named == Some(window.tokens))
        {
            return;
        }
        let per_mille = known.map_or(1000, |known| known.per_mille);
        self.note_limit(ContextLimit {
            per_mille,
            source: window.source,
            named: Some(window.tokens),
            ..ContextLimit::new(&self.model.name, window.tokens)
        });
    }

    fn note_limit(&mut self, limit: ContextLimit) {
        let change = SessionChange {
            context: Some(limit),
            ..SessionChange::default()
        };
        self.note_by(Author::System, Kind::SessionChanged(change));
    }

    /// Learns from the usage that an answer reports: how wrong the estimate of its prompt was, and
    /// whether its server read all of it.
    pub(super) fn learn(&mut self, usage: Usage) {
        let model = self.model.name.clone();
        if usage.input == 0 {
            return;
        }
        let cut = {
            let mut state = self.session.state.lock();
            let transcript = state.transcript_mut(&self.turn_id);
            transcript.has_read(&model, usage.input)
        };
        match (self.limit(), cut) {
            (Some(limit), _) => {
                let asked = self.asked.take();
                let ratio = asked.and_then(|asked| context::learned(&limit, asked, usage.input));
                if let Some(per_mille) = ratio {
                    self.note_limit(ContextLimit { per_mille, ..limit });
                }
            }
            (None, Some(cut)) => {
                tracing::warn!("{}", locale::turn::silent_cut(&model, cut.tokens));
                self.note_limit(cut);
            }
            (None, None) => {}
        }
    }

    /// The limit that a refused prompt reveals; `None` when the next one would be no smaller.
    pub(super) fn revealed(
        &self,
        max_tokens: u32,
        numbers: ContextNumbers,
    ) -> Option<ContextLimit> {
        let known = self.limit();
        let asked = self.prompt(max_tokens);
        let limit = context::revealed(&self.model.name, &asked, numbers, known.as_ref());
        self.if_smaller(&asked, max_tokens, limit)
    }

    /// The limit to try once after a refusal that does not say why, if the prompt is longer than all
    /// that the model has taken.
    pub(super) fn guessed(&self, max_tokens: u32) -> Option<ContextLimit> {
        let is_longest = self.transcript().is_longest(&self.model.name);
        if self.turn.has_guessed() || !is_longest {
            return None;
        }
        let known = self.limit();
        let asked = self.prompt(max_tokens);
        let limit = context::guessed(&self.model.name, &asked, known.as_ref());
        self.if_smaller(&asked, max_tokens, limit)
    }

    fn if_smaller(
        &self,
        asked: &Prompt,
        max_tokens: u32,
        limit: ContextLimit,
    ) -> Option<ContextLimit> {
        let limit = ContextLimit {
            named: self.model.window.map(|window| window.tokens),
            ..limit
        };
        let next = self.prompt_within(Some(&limit), max_tokens);
        context::is_smaller(&next, asked).then_some(limit)
    }

    /// Takes back a limit that was guessed in vain.
    pub(super) fn withdraw_guess(&mut self) {
        let known = self.limit();
        let guess = known.filter(|limit| limit.source == LimitSource::Guess);
        if self.turn.has_guessed()
            && let Some(guess) = guess
        {
            self.note_limit(ContextLimit {
                source: LimitSource::Nothing,
                named: None,
                ..guess
            });
        }
    }
}
