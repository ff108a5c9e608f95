//! Every named point, with what is true there.

/// A named point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its name, as it stands in the code.
    pub name: &'static str,
    /// In which part of a server's life it is reached.
    pub when: LifeStage,
    /// What is true there, in a few words.
    pub here: &'static str,
}

/// In which part of a server's life a point is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifeStage {
    /// By every start, before anybody is served.
    Start,
    /// By a start that finds a turn which was cut in the middle of a step, as it is at this point.
    Resume(&'static str),
    /// While turns run.
    Run,
    /// After `SIGTERM`.
    Stop,
    /// When turns that are over are removed.
    Sweep,
    /// When somebody says something in a room of the relay.
    Relay,
    /// When a backup is put back, something damaged is set aside, or tables are brought up to date.
    Care,
}

const fn point(when: LifeStage, name: &'static str, here: &'static str) -> Point {
    Point { name, when, here }
}

use LifeStage::{Care, Relay, Resume, Run, Start, Stop, Sweep};

/// In the middle of an answer.
const ASKING: LifeStage = Resume("show.after");
/// In the middle of a call that can be looked at.
const CALLING: LifeStage = Resume("file.sync.before");

/// All of them, in the order in which a life of the server comes to them.
pub const POINTS: &[Point] = &[
    point(
        Start,
        "boot.lock.after",
        "the data directory is held, no store is open",
    ),
    point(
        Start,
        "journal.epoch.before",
        "journal and spool are merged, the new epoch is not kept",
    ),
    point(
        Start,
        "journal.epoch.after",
        "the new epoch is kept, the old spool is still there",
    ),
    point(Start, "boot.spool.after", "the old spool is gone"),
    point(
        Start,
        "boot.stores.after",
        "both stores are open, no session is in memory",
    ),
    point(
        Start,
        "boot.serve.before",
        "the engine works, nobody is let in",
    ),
    point(Start, "boot.serve.after", "requests are answered"),
    point(
        ASKING,
        "reset.before",
        "a step that was cut is about to be reset",
    ),
    point(ASKING, "reset.after", "the reset is kept, and not shown"),
    point(
        CALLING,
        "probe.before",
        "a tool is about to be asked what became of a call",
    ),
    point(
        CALLING,
        "probe.after",
        "it has answered, nothing of that is kept",
    ),
    point(
        CALLING,
        "continue.before",
        "it is about to be kept that a turn goes on",
    ),
    point(
        CALLING,
        "continue.after",
        "that is kept, nothing has begun again",
    ),
    point(Run, "open.before", "a session is about to be kept"),
    point(Run, "open.after", "the session is kept, nobody is told"),
    point(Run, "accept.before", "a message is about to be kept"),
    point(Run, "accept.after", "the message is kept, and not shown"),
    point(
        Run,
        "reply.before",
        "a message is accepted, its sender is not told",
    ),
    point(Run, "reply.after", "the answer is on its way to the sender"),
    point(
        Run,
        "join.before",
        "a message is about to be kept as a part of the turn that runs",
    ),
    point(
        Run,
        "join.after",
        "it is a part of the turn, and its own is over; neither is shown",
    ),
    point(Run, "step.before", "a step is about to be kept"),
    point(Run, "step.after", "the step is kept, and not shown"),
    point(Run, "model.ask.before", "the model is about to be asked"),
    point(
        Run,
        "model.ask.after",
        "the model has begun to answer, nothing of it is kept",
    ),
    point(
        Run,
        "spool.write.before",
        "deltas are about to go to the spool",
    ),
    point(Run, "spool.write.after", "the deltas are in the spool"),
    point(
        Run,
        "show.before",
        "the deltas are in the spool, no reader sees them",
    ),
    point(Run, "show.after", "readers see the deltas"),
    point(
        Run,
        "fold.before",
        "deltas are about to move from memory and spool to the journal",
    ),
    point(Run, "fold.after", "the deltas are in the journal"),
    point(
        Run,
        "keep.kept",
        "facts are kept and shown, and nothing followed",
    ),
    point(
        Run,
        "keep.followed",
        "everything followed, and no one was answered",
    ),
    point(Run, "answer.before", "a whole answer is about to be kept"),
    point(Run, "answer.after", "the answer is kept, and not shown"),
    point(
        Run,
        "ask.before",
        "a call needs a person's decision, and the question is not kept",
    ),
    point(
        Run,
        "ask.after",
        "the question is kept, and no one has seen it",
    ),
    point(
        Run,
        "approve.before",
        "a person has decided about a call, and that is not kept",
    ),
    point(
        Run,
        "approve.after",
        "the decision is kept, and the person does not know",
    ),
    point(Run, "intent.before", "an intent is about to be kept"),
    point(
        Run,
        "intent.after",
        "the intent is kept, its tool has not begun",
    ),
    point(
        Run,
        "tool.read.before",
        "a tool that only reads is about to run",
    ),
    point(Run, "tool.read.after", "it has run, its result is not kept"),
    point(
        Run,
        "tool.verifiable.before",
        "a tool with a probe is about to run",
    ),
    point(
        Run,
        "tool.verifiable.after",
        "it has run, its result is not kept",
    ),
    point(
        Run,
        "tool.idempotent.before",
        "a tool that may run again under its key is about to run",
    ),
    point(
        Run,
        "tool.idempotent.after",
        "it has run, its result is not kept",
    ),
    point(
        Run,
        "tool.unsafe.before",
        "a tool that must not run again is about to run",
    ),
    point(
        Run,
        "tool.unsafe.after",
        "it has run, its result is not kept",
    ),
    point(
        Run,
        "tool.webhook.before",
        "a webhook is about to be called",
    ),
    point(
        Run,
        "tool.webhook.after",
        "the webhook has answered, its result is not kept",
    ),
    point(
        Run,
        "undo.keep.before",
        "what a file holds is about to be kept, before a tool changes it",
    ),
    point(Run, "undo.keep.after", "it is kept, nothing is written"),
    point(Run, "file.write.before", "a file tool is about to write"),
    point(
        Run,
        "file.sync.before",
        "the new content is written beside the file, and not synced",
    ),
    point(
        Run,
        "file.rename.before",
        "the new content is synced, the file is the old one",
    ),
    point(
        Run,
        "file.rename.after",
        "the file is the new one, its folder is not synced",
    ),
    point(Run, "file.write.after", "the file is written for good"),
    point(
        Run,
        "chat.ask.before",
        "a question's call is open, and the chat is about to ask it",
    ),
    point(
        Run,
        "chat.ask.after",
        "the chat has asked it, and its readers may have seen it",
    ),
    point(
        Run,
        "chat.answer.before",
        "a person's words are about to be kept as an answer",
    ),
    point(
        Run,
        "chat.answer.settled",
        "the answer is kept, the chat does not show it",
    ),
    point(
        Run,
        "chat.answer.after",
        "the chat shows it, who said it is not told",
    ),
    point(Run, "result.before", "a call's result is about to be kept"),
    point(Run, "result.after", "the result is kept, and not shown"),
    point(
        Run,
        "cancel.before",
        "the end of a turn that was stopped is about to be kept",
    ),
    point(Run, "cancel.after", "that end is kept, and not shown"),
    point(
        Run,
        "finish.before",
        "the end of a turn is about to be kept",
    ),
    point(Run, "finish.after", "the end is kept, and not shown"),
    point(
        Run,
        "child.end.after",
        "the end of a called agent is kept, its caller does not know",
    ),
    point(
        Run,
        "delete.before",
        "a session's deletion is about to be kept",
    ),
    point(Run, "delete.after", "the deletion is kept, and not shown"),
    point(
        Run,
        "journal.commit.before",
        "a transaction of the journal is about to be committed",
    ),
    point(
        Run,
        "journal.commit.after",
        "it is committed, nobody who waits for it is told",
    ),
    point(
        Run,
        "audit.append.before",
        "decisions are kept in the journal, and not in the audit",
    ),
    point(
        Run,
        "audit.append.after",
        "decisions are in the audit, the history's positions are before them",
    ),
    point(
        Run,
        "history.commit.before",
        "rows are about to be committed to the history",
    ),
    point(
        Run,
        "history.commit.after",
        "the rows are committed, and not synced",
    ),
    point(
        Stop,
        "drain.before",
        "no new turn is taken, those that run have time to end",
    ),
    point(Stop, "drain.after", "that time is over"),
    point(Stop, "audit.sync.before", "the audit is about to be synced"),
    point(
        Stop,
        "audit.sync.after",
        "the audit is synced, the history is not",
    ),
    point(
        Stop,
        "history.sync.before",
        "the history is about to be synced",
    ),
    point(
        Stop,
        "history.sync.after",
        "the history is synced, the journal does not know",
    ),
    point(
        Stop,
        "mark.after",
        "the journal has noted in memory what the history has",
    ),
    point(
        Stop,
        "close.before",
        "all is projected, both stores are open",
    ),
    point(
        Stop,
        "close.between",
        "the history is closed, the journal is open",
    ),
    point(
        Stop,
        "close.note.before",
        "all is kept, and not that the journal was closed well",
    ),
    point(
        Stop,
        "close.note.after",
        "that is kept, the journal is open still",
    ),
    point(Stop, "close.after", "both stores are closed"),
    point(
        Sweep,
        "sweep.before",
        "turns that are over are about to leave the journal",
    ),
    point(Sweep, "sweep.after", "they have left it"),
    point(
        Relay,
        "relay.row.before",
        "rows of a study are about to be written, nobody has what they tell",
    ),
    point(
        Relay,
        "relay.row.after",
        "the rows are written, nobody has what they tell",
    ),
    point(
        Relay,
        "relay.study.started",
        "a study's file and its marker are there, nobody is told",
    ),
    point(
        Relay,
        "relay.study.ended",
        "a study's last row is written and its marker gone, nobody is told",
    ),
    point(
        Care,
        "history.migrate.before",
        "a step of a migration is done, and about to be committed",
    ),
    point(
        Care,
        "aside.move.after",
        "one of several names is moved, to be out of the way or to its place",
    ),
    point(
        Care,
        "stores.plan.after",
        "it is noted that stores are made or stamped, and none is",
    ),
    point(
        Care,
        "stamp.journal.after",
        "the journal has its generation",
    ),
    point(Care, "stamp.history.after", "the history has it, too"),
    point(
        Care,
        "restore.staged.before",
        "a backup is copied, and nothing is to be done with it",
    ),
    point(Care, "restore.staged.after", "it waits for its place"),
    point(
        Care,
        "restore.moved.after",
        "what it replaces is out of the way",
    ),
    point(
        Care,
        "restore.run.after",
        "it has its place, and the next start knows",
    ),
    point(
        Care,
        "restore.unstaged.after",
        "it waits no longer, what is left of it is there",
    ),
    point(
        Care,
        "undo.file.before",
        "a turn is taken back with its files, one is about to be restored",
    ),
    point(Care, "undo.file.after", "one is restored"),
    point(
        Care,
        "undo.recording.before",
        "the folder is recorded, that a command begins is about to be noted",
    ),
    point(Care, "undo.recording.after", "it is noted"),
    point(
        Care,
        "undo.command.before",
        "a command has ended, what it changed is about to be kept",
    ),
    point(Care, "undo.command.after", "it is kept"),
];
