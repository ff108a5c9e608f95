//! Every fault that can be planted, with the promise that it breaks.

/// A fault that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its name, as it stands in the code.
    pub name: &'static str,
    /// What goes wrong with it, in a few words.
    pub wrong: &'static str,
    /// What it takes to see that.
    pub seen: Detection,
}

/// What it takes to see a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// Servers that are killed at random, or at any point.
    ByKills,
    /// A kill at this named point; at random it would take long.
    At(&'static str),
    /// A spool that loses its end between a kill and the next start.
    ByCuts,
}

/// One line a fault, which rustfmt would make five.
macro_rules! faults {
    ($($name:literal, $seen:expr, $wrong:literal;)*) => {
        &[$(Fault { name: $name, wrong: $wrong, seen: $seen }),*]
    };
}

use Detection::{At, ByCuts, ByKills};

/// All of them.
pub const FAULTS: &[Fault] = faults! {
    "ack-before-fsync", At("journal.commit.before"), "a commit is answered before it is made";
    "intent-after-effect", At("intent.before"), "a call begins before its intent is kept";
    "result-not-kept", At("result.after"), "the journal says that it has a result, and has not";
    "lost-wakeup", ByKills, "a message that waited is not begun when the turn before it ends";
    "same-epoch", ByCuts, "a start goes on in the epoch of the one before";
    "double-publish", ByKills, "a reader is given an event twice";
    "drop-last-delta", At("show.after"), "readers see a delta that is in no file";
    "forget-duplicate", ByKills, "a message that is sent again begins a second turn";
    "sweep-too-early", At("history.commit.before"), "the journal lets go of what the history has not committed";
    "row-forgotten", ByKills, "the history notes a position without all of its rows";
    "steers-twice", ByKills, "a message that has joined a turn begins its own, too";
    "interrupt-waits", ByKills, "a message that goes before others waits behind them";
    "cancelled-turn-continues", ByKills, "a stop is confirmed, and the turn goes on";
    "no-reset-after-continuation", At("show.after"), "a step is begun anew, and its readers are not told";
    "continuation-lost", At("model.ask.after"), "a turn that a killed server left does not go on";
    "rerun-unsafe", At("tool.unsafe.after"), "a call that had begun is run again, whatever it does";
    "doubt-untold", At("tool.unsafe.before"), "a call that had begun is closed as done, whatever it did";
    "new-key-on-rerun", At("tool.idempotent.after"), "a call that is run again has another key";
    "missing-epoch-check", ByCuts, "an id of an event that was lost counts as that of its successor";
    "no-reset-after-loss", ByCuts, "a reader whose events were lost is not told";
    "resume-skips", ByKills, "a reader that comes back misses an event";
    "resume-repeats", ByKills, "a reader that comes back is given an event again";
    "question-not-asked-again", ByKills, "a question that a killed server left open is not asked by the next";
    "question-asked-twice", ByKills, "a question is asked twice";
    "question-not-withdrawn", ByKills, "the chat waits for an answer that its call has already";
    "goes-on-unanswered", ByKills, "a turn goes on although a person is asked";
    "chat-answer-lost", ByKills, "an answer is shown, and not kept";
    "answers-swapped", ByKills, "an answer is kept as that to another question";
    "approval-skipped", ByKills, "a call runs although a person is to be asked";
    "denial-ignored", ByKills, "a call runs that a person has denied";
    "decision-not-kept", ByKills, "a decision is confirmed, and not kept";
    "child-starts-twice", ByKills, "a call begins two turns of its agent";
    "child-answer-swapped", ByKills, "what one agent has said is kept as the result of another's call";
    "child-end-forgotten", At("child.end.after"), "a start does not tell a caller that its agent is over";
    "background-result-lost", ByKills, "an agent in the background leaves no result";
    "relay-reply-to-all", ByKills, "what one agent has asked is answered to all";
    "relay-reply-again", ByKills, "a host that answers twice is heard twice";
    "relay-ids-mixed-up", ByKills, "requests of two agents go to the host under one id";
    "relay-request-twice", ByKills, "a host is asked twice what was said once";
    "relay-secret-out", ByKills, "what a host keeps for itself is let out";
    "relay-told-before-logged", ByKills, "rows are written a moment after agents have what they tell";
    "relay-row-left-out", ByKills, "the last row of what happened at once is not written";
    "relay-row-twice", ByKills, "rows are written twice";
    "relay-index-again", ByKills, "a log that is taken up again is counted from its start";
    "relay-check-unchained", ByKills, "a row's check says nothing of the rows before it";
    "relay-restart-unsaid", ByKills, "a study does not say that its server came up in it";
    "relay-study-forgotten", ByKills, "a study that was open at a kill does not go on";
    "relay-log-misnamed", ByKills, "who ends a study is told another file than its log";
};
