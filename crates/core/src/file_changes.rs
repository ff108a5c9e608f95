//! What tools changed in files, kept so that a person can take it back with its turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Future;
use crate::command::Sender;
use crate::error::Error;
use crate::id::{CallId, SessionId, TurnId};
use crate::message::Status;

/// A call of a turn that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedCall {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub name: String,
    /// How it ended.
    pub status: Status,
    /// The structured value of its outcome.
    pub data: Option<Value>,
}

/// What an `undo` did with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UndoneChange")]
pub enum Restoration {
    /// It has its earlier content.
    Restored,
    /// The turn had created it, and it was removed.
    Removed,
}

/// A file that an `undo` took back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UndoneFile")]
pub struct RestoredFile {
    /// Its path, relative to the workspace.
    pub path: String,
    /// What happened to it.
    #[serde(rename = "change")]
    pub restoration: Restoration,
}

/// What was taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenBack {
    /// The files, in the order of their paths.
    pub files: Vec<RestoredFile>,
    /// The calls that had changed them.
    pub calls: Vec<CallId>,
}

/// Takes back what tools changed in files.
pub trait FileChanges: Send + Sync {
    /// Gives the files that these turns of a session changed the content that they had before, and
    /// removes those that the turns created: all of them, or none. `turns` begins with the turn that
    /// called the others; `calls` are the calls of all of them. A request that was cut in the middle
    /// can be repeated, and finishes, as one of the same sender.
    ///
    /// # Errors
    /// [`Code::FilesChanged`](crate::Code) and [`Code::FilesNotKept`](crate::Code): nothing was
    /// changed. [`Code::UndoIncomplete`](crate::Code): some files were.
    fn take_back<'a>(
        &'a self,
        by: &'a Sender,
        session: &'a SessionId,
        turns: &'a [TurnId],
        calls: Vec<ClosedCall>,
    ) -> Future<'a, Result<TakenBack, Error>>;

    /// Deletes what the turns remembered and proposed, if the sender may change that, and answers the ids.
    /// The turns are taken back right after it, so a stop of the server in between leaves turns that can
    /// be taken back again.
    ///
    /// # Errors
    /// It cannot be deleted, or that cannot be recorded.
    fn unremember<'a>(
        &'a self,
        _by: &'a Sender,
        _turns: &'a [TurnId],
    ) -> Future<'a, Result<Vec<String>, Error>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Brings back what [`unremember`](Self::unremember) deleted, because the turns could not be taken
    /// back.
    fn put_back<'a>(&'a self, _by: &'a Sender, _ids: &'a [String]) -> Future<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Forgets what turns of a session changed: they can no longer be taken back.
    fn forget<'a>(&'a self, session: &'a SessionId, turns: &'a [TurnId]) -> Future<'a, ()>;

    /// Forgets what a session changed.
    fn forget_session<'a>(&'a self, session: &'a SessionId) -> Future<'a, ()>;
}

/// Of tools that change no files.
impl FileChanges for () {
    fn take_back<'a>(
        &'a self,
        _by: &'a Sender,
        _session: &'a SessionId,
        _turns: &'a [TurnId],
        _calls: Vec<ClosedCall>,
    ) -> Future<'a, Result<TakenBack, Error>> {
        Box::pin(std::future::ready(Ok(TakenBack::default())))
    }

    fn forget<'a>(&'a self, _session: &'a SessionId, _turns: &'a [TurnId]) -> Future<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn forget_session<'a>(&'a self, _session: &'a SessionId) -> Future<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}
