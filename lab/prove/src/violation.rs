//! What a server may not do.

use std::fmt;

use samovar_locale::prove as says;
use serde::Serialize;

/// A promise that was broken, where, and what was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Which promise.
    pub kind: Broken,
    /// The message, call, or file that it is about.
    pub place: String,
    /// What was seen, as it came.
    pub found: String,
}

macro_rules! broken {
    ($($(#[doc = $about:literal])* $name:ident = $code:literal, $sentence:path;)*) => {
        /// A promise that was broken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Broken {
            $($(#[doc = $about])* $name,)*
        }

        impl Broken {
            /// Every promise, in the order of the page that explains them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The stable word for it.
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            fn sentence(self, place: &str, found: &str) -> String {
                match self { $(Self::$name => $sentence(place, found),)* }
            }
        }
    };
}

broken! {
    /// An accepted message is not kept.
    MessageLost = "message_lost", says::message_lost;
    /// Something is kept twice under one id.
    KeptTwice = "kept_twice", says::kept_twice;
    /// What is kept is not what was said or shown.
    KeptWrong = "kept_wrong", says::kept_wrong;
    /// Something is kept that no stream has shown.
    KeptUnshown = "kept_unshown", says::kept_unshown;
    /// A message that was refused is kept.
    RejectedKept = "rejected_kept", says::rejected_kept;
    /// A session that was deleted is there again.
    CameBack = "came_back", says::came_back;
    /// A message that is kept has lost its image.
    ImageLost = "image_lost", says::image_lost;
    /// An image is kept that belongs to no message.
    ImageLeft = "image_left", says::image_left;
    /// What an agent remembered, or what was accepted of its proposals, is gone.
    MemoryLost = "memory_lost", says::memory_lost;
    /// A memory that was deleted is there, or in a later prompt.
    MemoryBack = "memory_back", says::memory_back;
    /// Messages stand in another order than they were accepted in.
    OrderBroken = "order_broken", says::order_broken;
    /// One message started two turns.
    SecondTurn = "second_turn", says::second_turn;
    /// A turn does not end.
    StuckTurn = "stuck_turn", says::stuck_turn;
    /// A turn ended more than once.
    EndedTwice = "ended_twice", says::ended_twice;
    /// A turn ended for a reason that nobody gave it.
    EndedWrong = "ended_wrong", says::ended_wrong;
    /// The two profiles tell different things of one turn.
    ToldApart = "told_apart", says::told_apart;
    /// A stream left events out.
    Gap = "gap", says::gap;
    /// A stream showed an event again.
    Repeat = "repeat", says::repeat;
    /// A stream showed events in another order.
    Reorder = "reorder", says::reorder;
    /// An id shows something else than before.
    Changed = "changed", says::changed;
    /// An event that a reader saw is in the stream no more.
    TakenBack = "taken_back", says::taken_back;
    /// Lost live events were not told.
    LossUntold = "loss_untold", says::loss_untold;
    /// Two attempts stand in one text without a reset between them.
    Splice = "splice", says::splice;
    /// A turn that ended well has not its model's whole answer.
    AnswerLost = "answer_lost", says::answer_lost;
    /// A stream broke off for a reason of the server's own.
    StreamBroken = "stream_broken", says::stream_broken;
    /// An id was given out twice.
    DuplicateId = "duplicate_id", says::duplicate_id;
    /// An effect that must happen once happened again.
    UnsafeRepeated = "unsafe_repeated", says::unsafe_repeated;
    /// An effect happened, and its call was closed as if it had not.
    EffectUntold = "effect_untold", says::effect_untold;
    /// An effect happened for a call whose start was not kept.
    EffectUnannounced = "effect_unannounced", says::effect_unannounced;
    /// A call was closed as done, and its effect did not happen.
    ResultInvented = "result_invented", says::result_invented;
    /// A call was run again under another key.
    KeyChanged = "key_changed", says::key_changed;
    /// A call in doubt was closed without the words that say so.
    DoubtUntold = "doubt_untold", says::doubt_untold;
    /// A call that nothing had cut was closed as in doubt.
    DoubtInvented = "doubt_invented", says::doubt_invented;
    /// A call failed with which nothing was wrong.
    CallFailed = "call_failed", says::call_failed;
    /// A call was never closed, or more than once.
    CallOpen = "call_open", says::call_open;
    /// One call began two turns of an agent.
    CalledTwice = "called_twice", says::called_twice;
    /// A call's result is not what the agent has said that it called.
    CalledResultWrong = "called_result_wrong", says::called_result_wrong;
    /// What an agent in the background has left is gone, there twice, or not what it said.
    BackgroundResultWrong = "background_result_wrong", says::background_result_wrong;
    /// A question is open, and the chat does not ask it.
    QuestionUnasked = "question_unasked", says::question_unasked;
    /// The chat of one boot shows twice what a turn says in it.
    QuestionTwice = "question_twice", says::question_twice;
    /// A question is asked in a later life than the one in which it was answered.
    AskedWhenAnswered = "asked_when_answered", says::asked_when_answered;
    /// A question is open under another call than before.
    QuestionMoved = "question_moved", says::question_moved;
    /// The chat waits for an answer that nobody needs any more.
    QuestionLeft = "question_left", says::question_left;
    /// The chat shows as an agent's word what no turn says.
    SaidByNobody = "said_by_nobody", says::said_by_nobody;
    /// A turn went on although one of its questions was open.
    RanBeside = "ran_beside", says::ran_beside;
    /// A person's word was taken, and is not what came of its question.
    ReplyLost = "reply_lost", says::reply_lost;
    /// One word closed two questions, or two words one.
    ReplyTwice = "reply_twice", says::reply_twice;
    /// A question was closed with what nobody has said to it.
    ReplyInvented = "reply_invented", says::reply_invented;
    /// A call ran that no person allowed.
    RanUnallowed = "ran_unallowed", says::ran_unallowed;
    /// A decision was taken, and its call ended as if it had not been.
    DecisionLost = "decision_lost", says::decision_lost;
    /// Two decisions about one call were taken.
    DecidedTwice = "decided_twice", says::decided_twice;
    /// A call was denied with what no person has said.
    DenialInvented = "denial_invented", says::denial_invented;
    /// A log of the relay leaves an index out, or has one again.
    LogGap = "log_gap", says::log_gap;
    /// A row of such a log is none, or not what was said, or its check does not hold.
    LogChanged = "log_changed", says::log_changed;
    /// What an agent or a host said or got stands in no log.
    LogRowLost = "log_row_lost", says::log_row_lost;
    /// It stands there twice.
    LogRowTwice = "log_row_twice", says::log_row_twice;
    /// A log is not where it is said to be.
    LogFileWrong = "log_file_wrong", says::log_file_wrong;
    /// A study that was open at a kill went on elsewhere, or without saying so.
    StudyCut = "study_cut", says::study_cut;
    /// An answer came to somebody who had not asked, or again.
    AnswerAstray = "answer_astray", says::answer_astray;
    /// A host was asked twice what was said once.
    RequestTwice = "request_twice", says::request_twice;
    /// A request was not answered although the server lived on.
    RequestUnanswered = "request_unanswered", says::request_unanswered;
    /// What a host keeps for itself was let out.
    SecretOut = "secret_out", says::secret_out;
    /// The model was asked again for an answer that was already shown as kept.
    AskedAgain = "asked_again", says::asked_again;
    /// The server refused what it should take.
    Refused = "refused", says::refused;
    /// What a client was about was not over in time.
    Unfinished = "unfinished", says::unfinished;
    /// A part of the server broke.
    Panicked = "server_panicked", says::server_panicked;
    /// Damage was reported, and nothing was damaged.
    DamageInvented = "damage_invented", says::damage_invented;
    /// The server ended by itself.
    ServerEnded = "server_ended", says::server_ended;
    /// The server did not come up.
    NotServing = "not_serving", says::not_serving;
    /// A process outlived its server.
    Orphan = "orphan", says::orphan;
}

impl Violation {
    pub(crate) fn new(kind: Broken, place: &str, found: impl Into<String>) -> Self {
        Self {
            kind,
            place: place.to_owned(),
            found: found.into(),
        }
    }
}

/// For a person, with the code at its end.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = self.kind.sentence(&self.place, &self.found);
        write!(f, "{sentence} [{}]", self.kind.code())
    }
}
