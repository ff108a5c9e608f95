//! Refusals: a caller's mistakes, and requests that are impossible now, each with a stable code.
//!
//! The other two kinds of failure have their own types: an [`Outcome`](crate::Outcome) for the
//! model, and [`Broken`](crate::Broken) for a fault of the server.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::words;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal;)*) => {
        /// Every code that a client can get, with its HTTP status. Codes are never translated.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// All of them, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The code as on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// Parses a code. Returns `None` if this version does not know it.
            pub fn parse(text: &str) -> Option<Code> {
                Code::ALL.iter().copied().find(|code| code.as_str() == text)
            }

            /// Its HTTP status (AS-3).
            pub fn status(self) -> u16 {
                match self { $(Code::$name => $status,)* }
            }
        }
    };
}

codes! {
    /// A parameter is missing, has the wrong type, or is out of bounds.
    InvalidParams = "invalid_params", 400;
    /// The body is not JSON, or nested too deep.
    InvalidJson = "invalid_json", 400;
    /// A message without any visible character.
    BlankContent = "blank_content", 400;
    /// An attachment is not a whole PNG, JPEG or WebP in base64.
    InvalidImage = "invalid_image", 400;
    /// No token, or a wrong one.
    Unauthorized = "unauthorized", 401;
    /// The token's scope does not cover this.
    Forbidden = "forbidden", 403;
    /// The `Host` header does not name this server.
    HostRefused = "host_refused", 403;
    /// The request comes from a page whose origin is not allowed.
    OriginRefused = "origin_refused", 403;
    /// No such path or method.
    UnknownMethod = "unknown_method", 404;
    /// No such session, or it was deleted.
    UnknownSession = "unknown_session", 404;
    /// No such turn in this session.
    UnknownTurn = "unknown_turn", 404;
    /// No call with this id is open in this session.
    UnknownCall = "unknown_call", 404;
    /// No approval with this id is asked for.
    UnknownApproval = "unknown_approval", 404;
    /// No rule with this id.
    UnknownRule = "unknown_rule", 404;
    /// No such tool.
    UnknownTool = "unknown_tool", 404;
    /// There is no skill of this name, or it cannot be read.
    UnknownSkill = "unknown_skill", 404;
    /// There is no memory of this id.
    UnknownMemory = "unknown_memory", 404;
    /// No token of this name.
    UnknownToken = "unknown_token", 404;
    /// No room of this name has a built-in host.
    UnknownRoom = "unknown_room", 404;
    /// No agent of this name is defined.
    UnknownAgent = "unknown_agent", 404;
    /// No study has a log of this id.
    UnknownStudy = "unknown_study", 404;
    /// No stored message names a blob of this hash.
    UnknownBlob = "unknown_blob", 404;
    /// No login link has this code.
    UnknownLogin = "unknown_login", 404;
    /// The server serves no web page, so no browser logs in.
    PageOff = "page_off", 404;
    /// The path exists, but not with this verb.
    WrongVerb = "wrong_verb", 405;
    /// The client took too long to send its request.
    RequestTimeout = "request_timeout", 408;
    /// The client stopped reading the stream; it can resume after the id in the message.
    ReaderStalled = "reader_stalled", 408;
    /// The message id was already used, with different content or in another session.
    MessageConflict = "message_conflict", 409;
    /// The session exists with another model or with other metadata.
    SessionConflict = "session_conflict", 409;
    /// The session's data is damaged and was set aside; it can be deleted.
    SessionDamaged = "session_damaged", 409;
    /// A turn runs, waits or is queued in the session, and the request needs the session to be
    /// free.
    SessionBusy = "session_busy", 409;
    /// Files that the turn changed were changed again since, so nothing was taken back.
    FilesChanged = "files_changed", 409;
    /// What files held before the turn is no longer kept, so nothing was taken back.
    FilesNotKept = "files_not_kept", 409;
    /// The definition of the agent has another version, its name is taken, or no client made it.
    AgentConflict = "agent_conflict", 409;
    /// The approval was decided already; the first decision counts.
    ApprovalDecided = "approval_decided", 409;
    /// The chat restarted with its server; the request names an earlier run.
    ChatRestarted = "chat_restarted", 409;
    /// The login link was used.
    LoginUsed = "login_used", 410;
    /// The login link is too old.
    LoginExpired = "login_expired", 410;
    /// The body is larger than the limit.
    BodyTooLarge = "body_too_large", 413;
    /// An image, or all of a message together, has too many bytes or pixels.
    ImageTooLarge = "image_too_large", 413;
    /// A JSON body without the JSON content type.
    UnsupportedMediaType = "unsupported_media_type", 415;
    /// No provider has the model, or its provider has no key.
    UnusableModel = "unusable_model", 422;
    /// The model takes no images.
    ModelWithoutImages = "model_without_images", 422;
    /// The definition of the agent is invalid, or switched off.
    UnusableAgent = "unusable_agent", 422;
    /// A budget in money was set, and the model's price is unknown.
    UnpricedModel = "unpriced_model", 422;
    /// The folder is not a complete backup, or a backup cannot be made there.
    BackupUnusable = "backup_unusable", 422;
    /// What is to be imported is no export, or of a newer version.
    ImportUnusable = "import_unusable", 422;
    /// A queue is full; try again after `Retry-After`.
    Busy = "busy", 429;
    /// The token has made too many requests; try again after `Retry-After`.
    RateLimited = "rate_limited", 429;
    /// The headers or the URL are longer than the limit.
    HeadersTooLarge = "headers_too_large", 431;
    /// The server had an internal error, which is in the log; the turn that met it has ended.
    Internal = "internal", 500;
    /// Some files of a turn have their earlier content again and others do not; the same request
    /// finishes it.
    UndoIncomplete = "undo_incomplete", 500;
    /// The server is stopping; the stream can be resumed after the id in the message.
    ServerRestart = "server_restart", 503;
    /// The server is starting or stopping, or has no place for the request; try again after
    /// `Retry-After`.
    Unavailable = "unavailable", 503;
    /// The disk is full.
    StoreFull = "store_full", 507;
    /// The store failed, or is read-only.
    StoreFailed = "store_failed", 507;
}

words! {
    /// Why a turn failed: the `code` of a stream's last event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum FaultCode {
        /// The server stopped during the turn.
        Interrupted = "interrupted",
        /// The model's server cannot be reached.
        ProviderUnreachable = "provider_unreachable",
        /// The model's server did not answer in time.
        ProviderTimeout = "provider_timeout",
        /// The model's server refused the key.
        ProviderAuth = "provider_auth",
        /// The model's server got too many requests.
        ProviderRateLimited = "provider_rate_limited",
        /// The model's server reported that it failed or is overloaded.
        ProviderError = "provider_error",
        /// The model's server refused the request.
        ProviderRejected = "provider_rejected",
        /// The prompt is longer than the model's window.
        ContextFull = "context_full",
        /// The model takes no images, and the prompt has one.
        ImagesRefused = "images_refused",
        /// The model's server does not know the model.
        ModelNotFound = "model_not_found",
        /// The answer broke off.
        StreamCut = "stream_cut",
        /// The answer is not valid for this kind of server.
        BadResponse = "bad_response",
        /// The answer has neither text nor a call.
        EmptyAnswer = "empty_answer",
        /// The provider can no longer be used: its key or its row is gone.
        UnusableModel = "unusable_model",
        /// The session's agent can no longer be used: its definition is gone, invalid or switched off.
        UnusableAgent = "unusable_agent",
        /// The store could not keep an event.
        StoreFailed = "store_failed",
        /// The turn was resumed too often after server stops, without progress (DU-6).
        RecoveryExhausted = "recovery_exhausted",
        /// The server had an internal error; it is in the log.
        Internal = "internal",
    }
}

impl FaultCode {
    /// Whether the fault is the model server's (exit code 5).
    pub fn is_provider(self) -> bool {
        match self {
            Self::ProviderUnreachable
            | Self::ProviderTimeout
            | Self::ProviderAuth
            | Self::ProviderRateLimited
            | Self::ProviderError
            | Self::ProviderRejected
            | Self::ContextFull
            | Self::ImagesRefused
            | Self::ModelNotFound
            | Self::StreamCut
            | Self::BadResponse
            | Self::EmptyAnswer => true,
            Self::Interrupted
            | Self::UnusableModel
            | Self::UnusableAgent
            | Self::StoreFailed
            | Self::RecoveryExhausted
            | Self::Internal => false,
        }
    }
}

impl fmt::Display for FaultCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A refusal: what happened, with the value, and what to do, in lower case.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The stable code.
    pub code: Code,
    /// The sentence for people.
    pub message: Cow<'static, str>,
    /// Details for programs.
    pub details: Option<Value>,
}

impl Error {
    /// A refusal with its sentence.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
        }
    }

    /// Adds details for programs.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_code_is_written_once_and_only_ours_is_500() {
        let texts: HashSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), Code::ALL.len());
        let server_faults: Vec<_> = Code::ALL
            .iter()
            .filter(|code| code.status() == 500)
            .collect();
        assert_eq!(server_faults, [&Code::Internal, &Code::UndoIncomplete]);
    }
}
