//! A call that a person decides about at the terminal (TL-5).

use samovar_core::ApprovalId;
use samovar_core::approval::{Answer, Asked, Decision, Grant, visible};
use samovar_locale as text;
use samovar_wire::api::ApprovalInfo;
use serde_json::{Value, json};

use crate::screen::say_in;
use crate::style::Tone;

/// The question about a call.
#[derive(Clone)]
pub(crate) struct Approval {
    pub(crate) id: ApprovalId,
    reason: String,
    preview: Option<String>,
    /// What more than this call can be allowed.
    grant: Option<String>,
}

impl Approval {
    /// As an event tells it.
    pub(crate) fn of(asked: &Asked) -> Self {
        Self {
            id: asked.id.clone(),
            reason: asked.reason.clone(),
            preview: asked.preview.clone(),
            grant: asked.grant.as_ref().map(Grant::to_string),
        }
    }

    /// As the server lists it.
    pub(crate) fn read(info: ApprovalInfo) -> Self {
        let grant = info.grant.map(|grant| Grant {
            tool: grant.tool,
            identity: None,
            folder: grant.folder,
            programs: grant.programs,
            tainted: grant.tainted,
        });
        Self {
            id: info.id,
            reason: info.reason,
            preview: info.preview,
            grant: grant.as_ref().map(Grant::to_string),
        }
    }

    /// Shows what the call would do, unless its line says that already, and how to answer where a
    /// person can.
    pub(crate) fn show(&self, call: &str, is_heard: bool) {
        let preview = self.preview.as_deref().filter(|preview| *preview != call);
        for line in preview.unwrap_or_default().lines() {
            say_in(tone(line), &visible(line));
        }
        say_in(Tone::Quiet, &visible(&self.reason));
        match (&self.grant, is_heard) {
            (Some(grant), true) => say_in(Tone::Quiet, &text::ask::how_to_decide(grant)),
            (None, true) => say_in(Tone::Quiet, text::ask::how_to_decide_once()),
            (_, false) => {}
        }
    }

    /// Whether an answer can be given: without a grant, only this call can be decided about.
    pub(crate) fn takes(&self, answer: &str) -> bool {
        let is_wide = |decision| matches!(decision, Decision::Turn | Decision::Always);
        self.grant.is_some() || !Decision::read(answer).is_some_and(is_wide)
    }
}

/// What an answer decides. Words that are no decision deny the call, and the model reads them.
pub(crate) fn decision(answer: &str) -> Value {
    let Answer {
        decision, words, ..
    } = Answer::read(answer, "");
    json!({ "decision": decision, "message": words })
}

/// How a line of a difference looks.
pub(crate) fn tone(line: &str) -> Tone {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Tone::Strong,
        [b'+', ..] => Tone::Good,
        [b'-', ..] => Tone::Bad,
        _ => Tone::Quiet,
    }
}
