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
    /// When a backup is put back, something damaged is set aside, tables are brought up to date, a turn
    /// is taken back, or a memory is written or deleted.
    Care,
}

/// One line a point, which rustfmt would make three or five.
macro_rules! points {
    ($($when:ident $name:literal: $here:literal;)*) => {
        &[$(Point { name: $name, when: $when, here: $here }),*]
    };
}

use LifeStage::{Care, Relay, Resume, Run, Start, Stop, Sweep};

/// In the middle of an answer.
const ASKING: LifeStage = Resume("show.after");
/// In the middle of a call that can be looked at.
const CALLING: LifeStage = Resume("file.sync.before");

/// All of them, in the order in which a life of the server comes to them.
pub const POINTS: &[Point] = points! {
    Start "boot.lock.after": "the data directory is held, no store is open";
    Start "journal.epoch.before": "journal and spool are merged, the new epoch is not kept";
    Start "journal.epoch.after": "the new epoch is kept, the old spool is still there";
    Start "boot.spool.after": "the old spool is gone";
    Start "boot.stores.after": "both stores are open, no session is in memory";
    Start "boot.serve.before": "the engine works, and no request is accepted yet";
    Start "boot.serve.after": "requests are answered";
    ASKING "reset.before": "a step that was cut is about to be reset";
    ASKING "reset.after": "the reset is kept, and not shown";
    CALLING "probe.before": "a tool is about to be asked what became of a call";
    CALLING "probe.after": "it has answered, nothing of that is kept";
    CALLING "continue.before": "that a turn resumes is about to be kept";
    CALLING "continue.after": "that is kept, nothing has begun again";
    Run "open.before": "a session is about to be kept";
    Run "open.after": "the session is kept, and its creator has no reply";
    Run "accept.before": "a message is about to be kept";
    Run "accept.after": "the message is kept, and not shown";
    Run "reply.before": "a message is accepted, its sender is not told";
    Run "reply.after": "the answer is on its way to the sender";
    Run "join.before": "a message is about to be kept as a part of the turn that runs";
    Run "join.after": "it is a part of the turn, and its own is over; neither is shown";
    Run "step.before": "a step is about to be kept";
    Run "step.after": "the step is kept, and not shown";
    Run "model.ask.before": "the model is about to be asked";
    Run "model.ask.after": "the model has begun to answer, nothing of it is kept";
    Run "spool.write.before": "deltas are about to go to the spool";
    Run "spool.write.after": "the deltas are in the spool";
    Run "show.before": "the deltas are in the spool, no reader sees them";
    Run "show.after": "readers see the deltas";
    Run "fold.before": "deltas are about to move from memory and spool to the journal";
    Run "fold.after": "the deltas are in the journal";
    Run "keep.kept": "facts are kept and shown, and nothing followed from them";
    Run "keep.followed": "everything followed, and no one was answered";
    Run "answer.before": "a whole answer is about to be kept";
    Run "answer.after": "the answer is kept, and not shown";
    Run "ask.before": "a call needs a person's decision, and the question is not kept";
    Run "ask.after": "the question is kept, and no one has seen it";
    Run "approve.before": "a person has decided about a call, and that is not kept";
    Run "approve.after": "the decision is kept, and the person does not know";
    Run "intent.before": "an intent is about to be kept";
    Run "intent.after": "the intent is kept, its tool has not begun";
    Run "tool.read.before": "a tool that only reads is about to run";
    Run "tool.read.after": "it has run, its result is not kept";
    Run "tool.verifiable.before": "a tool with a probe is about to run";
    Run "tool.verifiable.after": "it has run, its result is not kept";
    Run "tool.idempotent.before": "a tool that may run again under its key is about to run";
    Run "tool.idempotent.after": "it has run, its result is not kept";
    Run "tool.unsafe.before": "a tool that must not run again is about to run";
    Run "tool.unsafe.after": "it has run, its result is not kept";
    Run "tool.webhook.before": "a webhook is about to be called";
    Run "tool.webhook.after": "the webhook has answered, its result is not kept";
    Run "undo.keep.before": "what a file holds is about to be kept, before a tool changes it";
    Run "undo.keep.after": "it is kept, nothing is written";
    Run "file.write.before": "a file tool is about to write";
    Run "file.sync.before": "the new content is written beside the file, and not synced";
    Run "file.rename.before": "the new content is synced, the file is the old one";
    Run "file.rename.after": "the file is the new one, its folder is not synced";
    Run "file.write.after": "the file is written for good";
    Run "chat.ask.before": "a question's call is open, and the chat is about to ask it";
    Run "chat.ask.after": "the chat has asked it, and its readers may have seen it";
    Run "chat.answer.before": "a person's words are about to be kept as an answer";
    Run "chat.answer.settled": "the answer is kept, the chat does not show it";
    Run "chat.answer.after": "the chat shows it, who said it is not told";
    Run "result.before": "a call's result is about to be kept";
    Run "result.after": "the result is kept, and not shown";
    Run "cancel.before": "the end of a turn that was stopped is about to be kept";
    Run "cancel.after": "that end is kept, and not shown";
    Run "finish.before": "the end of a turn is about to be kept";
    Run "finish.after": "the end is kept, and not shown";
    Run "child.end.after": "the end of a called agent is kept, its caller does not know";
    Run "delete.before": "a session's deletion is about to be kept";
    Run "delete.after": "the deletion is kept, and not shown";
    Run "journal.commit.before": "a transaction of the journal is about to be committed";
    Run "journal.commit.after": "it is committed, and no waiter has a reply";
    Run "audit.append.before": "decisions are kept in the journal, and not in the audit";
    Run "audit.append.after": "decisions are in the audit, the history's positions are before them";
    Run "history.commit.before": "rows are about to be committed to the history";
    Run "history.commit.after": "the rows are committed, and not synced";
    Stop "drain.before": "no new turn is taken, those that run have time to end";
    Stop "drain.after": "that time is over";
    Stop "audit.sync.before": "the audit is about to be synced";
    Stop "audit.sync.after": "the audit is synced, the history is not";
    Stop "history.sync.before": "the history is about to be synced";
    Stop "history.sync.after": "the history is synced, the journal does not know";
    Stop "mark.after": "the journal has noted in memory what the history has";
    Stop "close.before": "all is projected, both stores are open";
    Stop "close.between": "the history is closed, the journal is open";
    Stop "close.note.before": "all is kept, and not that the journal was closed well";
    Stop "close.note.after": "that is kept, the journal is open still";
    Stop "close.after": "both stores are closed";
    Sweep "sweep.before": "turns that are over are about to leave the journal";
    Sweep "sweep.after": "they have left it";
    Relay "relay.row.before": "rows of a study are about to be written, no message is delivered";
    Relay "relay.row.after": "the rows are written, no message is delivered";
    Relay "relay.study.started": "a study's file and its marker are there, and its creator has no reply";
    Relay "relay.study.ended": "a study's last row is written and its marker gone, and the caller has no reply";
    Care "history.index.before": "words of old messages are about to be committed to the index";
    Run "copy.before": "a fork or an import is about to be kept";
    Run "copy.after": "it is kept, its client has no answer";
    Run "append.before": "a message without a turn is about to be kept";
    Run "append.after": "it is kept, its client has no answer";
    Run "blob.put.before": "an image is written, and has no name";
    Run "blob.put.after": "the image is kept, its message is not";
    Run "blob.remove.after": "a blob that no message names is removed, others may be there";
    Care "history.migrate.before": "a step of a migration is done, and about to be committed";
    Care "aside.move.after": "one of several names is moved, to be out of the way or to its place";
    Care "stores.plan.after": "it is noted that stores are made or stamped, and none is";
    Care "stamp.journal.after": "the journal has its generation";
    Care "stamp.history.after": "the history has it, too";
    Care "restore.staged.before": "a backup is copied, and nothing is to be done with it";
    Care "restore.staged.after": "it waits for its place";
    Care "restore.moved.after": "what it replaces is out of the way";
    Care "restore.run.after": "it has its place, and the next start knows";
    Care "restore.unstaged.after": "it waits no longer, what is left of it is there";
    Care "undo.file.before": "a turn is taken back with its files, one is about to be restored";
    Care "undo.file.after": "one is restored";
    Care "undo.recording.before": "the folder is recorded, that a command begins is about to be noted";
    Care "undo.recording.after": "it is noted";
    Care "undo.command.before": "a command has ended, what it changed is about to be kept";
    Care "undo.command.after": "it is kept";
    Care "memory.write.before": "a memory is about to be written or changed";
    Care "memory.write.after": "it is written, who asked has no answer";
    Care "memory.forget.before": "a memory is about to be deleted";
    Care "memory.forget.marked": "it is kept that it is deleted, its line is there";
    Care "memory.forget.after": "its line is gone, who asked has no answer";
};
