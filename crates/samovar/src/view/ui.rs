//! A turn as clients of the AI SDK read it: the bytes of its UI message stream.

use std::sync::Arc;

use samovar_core::{Code, Error, Seq};
use samovar_wire::Spelling as _;
use samovar_wire::agent::ShownEvent;
use samovar_wire::ui::{Leg, UiEncoder, UiView};

/// The stream of a turn, which ends with the turn and not where it asks the person.
const WHOLE: Leg = Leg {
    after: Seq(0),
    until: Seq(u64::MAX),
};

/// What has been written of a turn's stream.
#[derive(Default)]
pub(super) struct UiStream(Option<UiEncoder>);

impl UiStream {
    /// What an event brings; the first one of a turn of the session's own agent says which turn it is.
    pub(super) fn take(&mut self, event: &ShownEvent) -> String {
        let mut out = Vec::new();
        if let (None, Some(turn), 0) = (&self.0, &event.turn, event.agent.depth()) {
            self.0 = Some(UiEncoder::new(turn.clone(), UiView::default(), WHOLE));
        }
        if let Some(encoder) = &mut self.0 {
            encoder.take(&Arc::new(event.clone().into()), &mut out);
        }
        text(&out)
    }

    /// Ends a stream that has begun and has no end.
    pub(super) fn leave(&mut self, why: &str) -> String {
        let mut out = Vec::new();
        if let Some(encoder) = &mut self.0 {
            let why = Error::new(Code::Internal, why.to_owned());
            encoder.abort(&why, &mut out);
        }
        text(&out)
    }
}

fn text(out: &[u8]) -> String {
    // Frames are JSON.
    String::from_utf8_lossy(out).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // proves UI-2
    #[test]
    fn a_stream_that_the_command_leaves_does_not_look_whole() {
        let step = json!({"type": "step_started", "iteration": 1, "attempt": 1, "reserved_tokens": 0,
            "seq": 2, "at": 1, "turn": "t1", "agent": "master", "author": "agent"});
        let step: ShownEvent = serde_json::from_value(step).unwrap();
        let mut stream = UiStream::default();
        assert_eq!(stream.leave("gone"), "");
        assert!(stream.take(&step).contains("start-step"));
        let end = "data: {\"type\":\"error\",\"errorText\":\"gone\"}\n\ndata: [DONE]\n\n";
        assert_eq!(stream.leave("gone"), end);
        assert_eq!(stream.leave("gone"), "");
    }
}
