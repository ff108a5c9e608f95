//! Replies spelled in a line of a test.

use std::{num::NonZeroUsize, time::Duration};

use serde_json::Value;

use super::{
    Answer, BreakOff, Delivery, Ending, Failure, Finish, Gate, Hold, ModelOutput, Newline, Page,
    Part, Point, Reply, Rule, Terminal, TokenCounts, ToolCall, Usage, When,
};

/// A reply of this text.
pub fn say(text: impl Into<String>) -> Reply {
    Reply::of(Part::Text(text.into()))
}

/// A reply that starts with this reasoning.
pub fn think(text: impl Into<String>) -> Reply {
    Reply::of(Part::Reasoning(text.into()))
}

/// A reply that calls this tool.
pub fn call(name: impl Into<String>, arguments: Value) -> Reply {
    Reply::of(ToolCall::new(name, arguments))
}

/// A reply that is an error of the provider.
pub fn fail(failure: Failure) -> Reply {
    Reply::from(Answer::Failed(failure))
}

/// A reply given word for word.
pub fn page(status: u16, content_type: impl Into<String>, body: impl Into<String>) -> Reply {
    Reply::from(Answer::Page(Page {
        status,
        content_type: content_type.into(),
        body: body.into(),
    }))
}

/// A reply that starts well and never ends: this body, again and again, with status 200.
pub fn endless(content_type: impl Into<String>, body: impl Into<String>) -> Reply {
    Reply::from(Answer::Endless(Page {
        status: 200,
        content_type: content_type.into(),
        body: body.into(),
    }))
}

/// A reply that never comes.
pub fn silent() -> Reply {
    Reply::from(Answer::Silent)
}

/// A connection closed in place of a reply.
pub fn hang_up() -> Reply {
    Reply::from(Answer::HungUp)
}

/// A connection reset in place of a reply.
pub fn reset() -> Reply {
    Reply::from(Answer::Reset)
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Reply {
        Reply {
            answer,
            delivery: Delivery::default(),
        }
    }
}

/// What is said.
impl Reply {
    /// A reply of one part.
    pub fn of(part: impl Into<Part>) -> Reply {
        Reply::default().and(part)
    }

    /// Adds a part. A reply that was an error, a page or silence becomes one that says this.
    #[must_use]
    pub fn and(self, part: impl Into<Part>) -> Reply {
        self.change(|said| said.parts.push(part.into()))
    }

    /// Adds text.
    #[must_use]
    pub fn and_say(self, text: impl Into<String>) -> Reply {
        self.and(Part::Text(text.into()))
    }

    /// Adds a tool call.
    #[must_use]
    pub fn and_call(self, name: impl Into<String>, arguments: Value) -> Reply {
        self.and(ToolCall::new(name, arguments))
    }

    /// Sets the reason for finishing.
    #[must_use]
    pub fn finish(self, finish: Finish) -> Reply {
        self.change(|said| said.finish = finish)
    }

    /// Sets the tokens reported.
    #[must_use]
    pub fn usage(self, counts: TokenCounts) -> Reply {
        self.change(|said| said.usage = Usage::Given(counts))
    }

    /// Reports no tokens, also when asked for them.
    #[must_use]
    pub fn without_usage(self) -> Reply {
        self.change(|said| said.usage = Usage::Absent)
    }

    fn change(mut self, change: impl FnOnce(&mut ModelOutput)) -> Reply {
        let mut said = match self.answer {
            Answer::Said(said) => said,
            Answer::Failed(_)
            | Answer::Page(_)
            | Answer::Endless(_)
            | Answer::Silent
            | Answer::HungUp
            | Answer::Reset => ModelOutput::default(),
        };
        change(&mut said);
        self.answer = Answer::Said(said);
        self
    }
}

/// How it goes over the wire.
impl Reply {
    /// Cuts parts into deltas of `chars` characters; 0 makes each part one delta.
    #[must_use]
    pub fn deltas_of(mut self, chars: usize) -> Reply {
        self.delivery.delta_chars = NonZeroUsize::new(chars);
        self
    }

    /// Sends a delta every so often.
    #[must_use]
    pub fn pace(mut self, every: Duration) -> Reply {
        self.delivery.pace = Some(every);
        self
    }

    /// Waits so long before the head of the response.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Reply {
        self.delivery.delay = delay;
        self
    }

    /// Waits at `gate` before the head of the response.
    #[must_use]
    pub fn hold_head(mut self, gate: &Gate) -> Reply {
        self.delivery.head_gate = Some(gate.clone());
        self
    }

    /// Waits at `gate` after so many deltas.
    #[must_use]
    pub fn hold_after(self, deltas: usize, gate: &Gate) -> Reply {
        self.hold_at(Point::Deltas(deltas), gate)
    }

    /// Waits at `gate` at this place.
    #[must_use]
    pub fn hold_at(mut self, at: Point, gate: &Gate) -> Reply {
        let gate = gate.clone();
        self.delivery.holds.push(Hold { at, gate });
        self
    }

    /// Splits the body into two writes at this place.
    #[must_use]
    pub fn split_at(mut self, at: Point) -> Reply {
        self.delivery.splits.push(at);
        self
    }

    /// Gives the socket one byte at a time, head included.
    #[must_use]
    pub fn byte_by_byte(mut self) -> Reply {
        self.delivery.write_bytes = Some(NonZeroUsize::MIN);
        self
    }

    /// Breaks the body off after so many deltas.
    #[must_use]
    pub fn cut_after(self, deltas: usize, how: Ending) -> Reply {
        self.cut_at(Point::Deltas(deltas), how)
    }

    /// Breaks the body off at this place.
    #[must_use]
    pub fn cut_at(mut self, at: Point, how: Ending) -> Reply {
        self.delivery.cut = Some(BreakOff { at, how });
        self
    }

    /// Ends the lines of the event stream so.
    #[must_use]
    pub fn newline(mut self, newline: Newline) -> Reply {
        self.delivery.newline = newline;
        self
    }

    /// Starts the event stream with a byte order mark.
    #[must_use]
    pub fn bom(mut self) -> Reply {
        self.delivery.bom = true;
        self
    }

    /// Leaves the dialect's last event out.
    #[must_use]
    pub fn without_terminal(mut self) -> Reply {
        self.delivery.terminal = Terminal::Withheld;
        self
    }

    /// Claims this content type.
    #[must_use]
    pub fn content_type(mut self, content_type: impl Into<String>) -> Reply {
        self.delivery.content_type = Some(content_type.into());
        self
    }

    /// Adds a header to the response.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Reply {
        self.delivery.headers.push((name.into(), value.into()));
        self
    }
}

/// As a rule of a script.
impl Reply {
    /// Gives the reply only to prompts of which `when` holds.
    #[must_use]
    pub fn when(self, when: When) -> Rule {
        Rule::from(self).when(when)
    }

    /// Gives the reply to `count` prompts.
    #[must_use]
    pub fn times(self, count: u32) -> Rule {
        Rule::from(self).times(count)
    }

    /// Gives the reply to every prompt.
    #[must_use]
    pub fn forever(self) -> Rule {
        Rule::from(self).forever()
    }
}
