//! Which texts of an event may have a key of ours.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{Redactor, foreign};
use crate::approval::Answer;
use crate::command::{Action, Change, Opening, Post, Text};
use crate::event::{FinishReason, Fragment, Kind};
use crate::instructions::SystemPrompt;
use crate::message::{Message, Outcome, Part, ToolCall};
use crate::situation::{Environment, Posted};
use crate::title::Title;

impl Redactor {
    /// Replaces keys in everything that a person, a model, a tool or a server wrote. What must be
    /// sent back verbatim (a provider's state) stays.
    pub fn redact_kind(&self, kind: &mut Kind) {
        match kind {
            Kind::StepReset { reason, .. } => self.redact_error(reason),
            Kind::Delta { fragment, .. } => match fragment {
                Fragment::Text(text) | Fragment::Reasoning(text) | Fragment::Args(text) => {
                    self.redact_in(text);
                }
                Fragment::Call { name, .. } => self.redact_in(name),
            },
            Kind::PartAdded { part, .. } => self.redact_part(part),
            Kind::MessageFinished { message, .. } => self.redact_message(message),
            Kind::CallStarted { name, probe, .. } => {
                self.redact_in(name);
                if let Some(probe) = probe {
                    self.redact_value(probe);
                }
            }
            Kind::ApprovalAsked { name, asked, .. } => {
                self.redact_in(name);
                if let Some(foreseen) = &mut asked.foreseen {
                    self.redact_value(foreseen);
                }
                if let Some(preview) = &mut asked.preview {
                    self.redact_in(preview);
                }
            }
            Kind::CallApproved { answer, .. } => self.redact_answer(answer),
            Kind::CallClosed { name, outcome, .. } => {
                self.redact_in(name);
                self.redact_outcome(outcome);
            }
            Kind::UiEvent { payload, .. } => self.redact_value(payload),
            Kind::CallProgress { progress, .. } => {
                self.redact_in(&mut progress.last);
                if let Some(note) = &mut progress.note {
                    self.redact_in(note);
                }
            }
            Kind::StateChanged { state } => self.redact_value(state),
            Kind::TurnFinished { reason, fault, .. } => {
                if let FinishReason::Model(word) = reason {
                    self.redact_in(word);
                }
                if let Some(fault) = fault {
                    self.redact_error(&mut fault.message);
                }
            }
            Kind::SessionOpened { .. }
            | Kind::SessionChanged(_)
            | Kind::SessionClosed
            | Kind::TurnStarted { .. }
            | Kind::StepStarted { .. }
            | Kind::TurnContinued { .. }
            | Kind::EventsLost { .. }
            | Kind::MessageStarted { .. }
            | Kind::PromptProgress { .. }
            | Kind::TurnUndone { .. } => {}
        }
    }

    /// Replaces keys in what a client asks for, so that the same words are kept, shown and asked.
    pub fn redact_action(&self, action: &mut Action) {
        if self.is_empty() {
            return;
        }
        match action {
            Action::Open(Opening {
                metadata,
                system_prompt,
                ..
            }) => self.redact_opening(metadata, system_prompt),
            Action::Copy(copy) => {
                let session = &mut copy.session;
                self.redact_opening(&mut session.metadata, &mut session.system_prompt);
                self.redact_title(&mut session.title);
            }
            Action::Post(Post { text, posted, .. })
            | Action::Rewrite(Post { text, posted, .. }) => {
                self.redact_posted(posted);
                // A mark is visible, so the text is not blank.
                if let Ok(redacted) = Text::new(self.redact(text.as_str()).into_owned()) {
                    *text = redacted;
                }
            }
            Action::Append(appended) => {
                appended
                    .parts
                    .iter_mut()
                    .for_each(|part| self.redact_part(part));
            }
            Action::Change(Change { title, .. }) => self.redact_title(title),
            Action::Settle { outcome, .. } => self.redact_outcome(outcome),
            Action::Decide { answer, .. } => self.redact_answer(answer),
            Action::Undo { .. }
            | Action::UndoWithFiles { .. }
            | Action::Continue
            | Action::Cancel { .. }
            | Action::Close
            | Action::CloseEmpty => {}
        }
    }

    fn redact_opening(
        &self,
        metadata: &mut Map<String, Value>,
        system_prompt: &mut Option<SystemPrompt>,
    ) {
        self.redact_fields(metadata);
        let told = system_prompt.as_ref();
        if let Some(Cow::Owned(redacted)) = told.map(|told| self.redact(told.as_str())) {
            *system_prompt = SystemPrompt::new(&redacted).ok();
        }
    }

    fn redact_title(&self, title: &mut Option<Title>) {
        let redacted = title.as_ref().map(|title| self.redact(title.as_str()));
        if let Some(Cow::Owned(redacted)) = redacted {
            *title = Title::new(&redacted).ok();
        }
    }

    fn redact_answer(&self, answer: &mut Answer) {
        if let Some(words) = &mut answer.words {
            self.redact_in(words);
        }
    }

    fn redact_posted(&self, posted: &mut Posted) {
        if posted.is_empty() {
            return;
        }
        let environment = posted.environment().map(|environment| {
            let mut environment = Environment::clone(environment);
            environment.values().for_each(|value| self.redact_in(value));
            environment
        });
        let context = posted.context().map(serde_json::to_value);
        // Still the same texts; should they be too long now, nothing of them is shown.
        let context = context.and_then(Result::ok).and_then(|mut context| {
            self.redact_value(&mut context);
            serde_json::from_value(context).ok()
        });
        let mode = posted.mode().map(str::to_owned);
        let again = Posted::new(context, mode).and_then(|posted| match environment {
            Some(environment) => posted.with_environment(environment),
            None => Ok(posted),
        });
        *posted = again.unwrap_or_default();
    }

    /// Replaces keys in an outcome.
    pub fn redact_outcome(&self, outcome: &mut Outcome) {
        self.redact_in(&mut outcome.text);
        if let Some(data) = &mut outcome.data {
            self.redact_value(data);
        }
    }

    /// Replaces keys in all of a message but what must be sent back verbatim.
    pub fn redact_message(&self, message: &mut Message) {
        for part in &mut message.parts {
            self.redact_part(part);
        }
        self.redact_fields(&mut message.metadata);
        if let Some(reason) = &mut message.finish_reason {
            self.redact_in(reason);
        }
    }

    fn redact_part(&self, part: &mut Part) {
        match part {
            Part::Text { text } | Part::Reasoning { text, .. } => self.redact_in(text),
            Part::Call(ToolCall { name, args, .. }) => {
                self.redact_in(name);
                self.redact_value(args);
            }
            Part::Outcome { outcome, .. } => self.redact_outcome(outcome),
            Part::Data { data, .. } => self.redact_value(data),
            Part::Image { .. } => {}
        }
    }

    /// An error may also repeat the key of another service.
    fn redact_error(&self, text: &mut String) {
        let shown = foreign(&self.redact(text)).into_owned();
        *text = shown;
    }
}
