//! Collects a whole turn into one result: `sendMessage` without `/stream`.

use samovar_core::message::Reminder;
use samovar_core::{Event, Kind, Message, MessageId, Role, TurnId};

use super::answer::{SendMessageResult, TokenUsage, Waits};
use super::encoder::Spelling;
use super::event::{AgentStreamEvent, AgentStreamEventType as Type};
use super::waiting::Waiting;

/// Collects a turn until it is over.
#[derive(Clone, Debug)]
pub struct Collector {
    turn: TurnId,
    spelling: Spelling,
    waiting: Waiting,
    events: Vec<AgentStreamEvent<'static>>,
    last: Option<(MessageId, String)>,
    /// Whether the last answer was cut, and the next continues it.
    is_cut: bool,
}

impl Collector {
    /// A collector without events.
    pub fn new(turn: TurnId) -> Self {
        Self {
            spelling: Spelling::new(turn.clone()),
            waiting: Waiting::new(turn.clone()),
            turn,
            events: Vec::new(),
            last: None,
            is_cut: false,
        }
    }

    /// Takes the next event of the log, in order, from the turn's start or earlier. Returns the
    /// result when the turn is over.
    pub fn collect(&mut self, event: &Event) -> Option<SendMessageResult> {
        if self.spelling.is_over() {
            return None;
        }
        if let Some(message) = self.message_in(event) {
            self.take(message);
        }
        self.waiting.take(event);
        let said = self.spelling.spell(event);
        self.events
            .extend(said.into_iter().map(AgentStreamEvent::into_owned));
        self.spelling.is_over().then(|| self.result())
    }

    /// What the turn waits for.
    pub fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// The result so far of a turn that waits.
    pub fn so_far(mut self, waits: Waits) -> SendMessageResult {
        SendMessageResult {
            finish_reason: "waiting".to_owned(),
            waits: Some(waits),
            ..self.result()
        }
    }

    fn message_in<'e>(&self, event: &'e Event) -> Option<&'e Message> {
        match &event.kind {
            Kind::MessageFinished { message, .. } if event.turn.as_ref() == Some(&self.turn) => {
                Some(message)
            }
            _ => None,
        }
    }

    /// The last answer; one that was cut is the beginning of the next.
    fn take(&mut self, message: &Message) {
        if message.role == Role::Assistant {
            let cut = self.last.take().filter(|_| self.is_cut);
            let begun = cut.map(|(_, text)| text).unwrap_or_default();
            self.last = Some((message.id.clone(), begun + &message.text()));
        }
        self.is_cut = message.reminder() == Some(Reminder::CutAnswer);
    }

    fn result(&mut self) -> SendMessageResult {
        let finish_reason = match self.events.last().map(|last| &last.event) {
            Some(Type::Completed { finish_reason, .. }) => finish_reason.to_string(),
            _ => "error".to_owned(),
        };
        let (message_id, text) = self.last.take().unzip();
        SendMessageResult {
            turn_id: self.turn.clone(),
            message_id,
            text: text.unwrap_or_default(),
            events: std::mem::take(&mut self.events),
            finish_reason,
            usage: TokenUsage::from(self.spelling.usage()),
            waits: None,
        }
    }
}
