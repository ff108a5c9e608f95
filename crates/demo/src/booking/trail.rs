//! What a turn has done on a screen so far, read off its calls.

use std::sync::Arc;

use samovar_core::{Message, Outcome, Part, ToolCall};

/// What was done in this turn, as far as it tells what is still to be tried.
#[derive(Default)]
pub(super) struct Trail<'a> {
    pub(super) calls: usize,
    /// How often it went on, less how often it went back.
    pub(super) depth: usize,
    /// What was tried at each stage on the way to this one.
    tried: Vec<Stage<'a>>,
    /// The last call and what came of it.
    pub(super) last: Option<(&'a ToolCall, &'a Outcome)>,
    /// What was said by the person and by the host, with the screens of the way.
    pub(super) texts: Vec<&'a str>,
    /// Whether the way back to the first stage is over.
    pub(super) is_on: bool,
}

/// What was tried at a stage since it was come to from the one before.
#[derive(Clone, Default)]
pub(super) struct Stage<'a> {
    pub(super) items: Vec<&'a str>,
    pub(super) failed: Vec<&'a str>,
    pub(super) is_filtered: bool,
    /// Whether it went on from here before.
    pub(super) is_left: bool,
}

impl<'a> Trail<'a> {
    /// What the question and the messages since tell.
    pub(super) fn of(since: &'a [Arc<Message>]) -> Self {
        let mut trail = Self {
            tried: vec![Stage::default()],
            ..Self::default()
        };
        // A model's own ids may be the same at every step, so a call is done with by its outcome.
        let mut open = Vec::new();
        for part in since.iter().flat_map(|message| &message.parts) {
            match part {
                Part::Call(call) => open.push(call),
                Part::Outcome { call, outcome, .. } => {
                    if let Some(at) = open.iter().position(|open| open.id == *call) {
                        trail.add(open.remove(at), outcome);
                    }
                }
                Part::Text { text } => trail.texts.push(text),
                Part::Reasoning { .. } | Part::Data { .. } | Part::Image { .. } => {}
            }
        }
        trail
    }

    fn add(&mut self, call: &'a ToolCall, outcome: &'a Outcome) {
        self.calls += 1;
        self.last = Some((call, outcome));
        self.texts.push(&outcome.text);
        let is_done = !outcome.is_error();
        self.is_on |= call.name != "prev" || !is_done;
        let item = call.args["itemId"].as_str().unwrap_or_default();
        let here = &mut self.tried[self.depth];
        match call.name.as_str() {
            "filter" => here.is_filtered = true,
            "select" if is_done => here.items.push(item),
            "select" => here.failed.push(item),
            "next" if is_done => {
                here.is_left = true;
                self.depth += 1;
                self.tried.truncate(self.depth);
                self.tried.push(Stage::default());
            }
            "prev" if is_done => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    /// What was tried at the stage that is shown.
    pub(super) fn here(&self) -> &Stage<'a> {
        &self.tried[self.depth]
    }

    /// Whether the last call was of this tool.
    pub(super) fn last_is(&self, tool: &str) -> bool {
        self.last.is_some_and(|(call, _)| call.name == tool)
    }
}
