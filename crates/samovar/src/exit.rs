//! Exit codes (FC-2), and errors as a person reads them (FC-6).

use std::fmt::Display;
use std::process::ExitCode;

use clap::error::ErrorKind;
use samovar_config::{ConfigError, Origin};
use samovar_core::error::FaultCode;
use samovar_core::redact;
use samovar_core::{Code, Error};
use samovar_server::{OpenError, StartError};

use samovar_locale as text;

use crate::arguments;
use crate::screen::{one_line, say, say_in, written};
use crate::style::Tone;

/// What a script can rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well.
    Ok = 0,
    /// The turn failed.
    TurnFailed = 1,
    /// What was typed is wrong.
    Usage = 2,
    /// What is configured is wrong.
    Configuration = 3,
    /// No model can be used.
    NoModel = 4,
    /// The model's server failed.
    Provider = 5,
    /// A call needed an approval that nobody gave, or was denied.
    Approval = 6,
    /// A limit was reached.
    Limit = 7,
    /// The server, its port or its data directory is busy or cannot be reached.
    Busy = 8,
    /// A journal cannot be used, as the process that reads it tells its server.
    Damaged = 66,
    /// It took longer than it may.
    Timeout = 124,
    /// Somebody interrupted it.
    Interrupted = 130,
}

impl Exit {
    /// The exit code of a turn that ended in a fault.
    pub(crate) fn of_fault(code: FaultCode) -> Self {
        if code == FaultCode::UnusableModel {
            Self::NoModel
        } else if code.is_provider() {
            Self::Provider
        } else {
            Self::TurnFailed
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command ended early: one sentence, a stable code, an exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) gone: ServerLoss,
}

/// Whether a failure means that the server is gone, and whether it may have taken the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerLoss {
    /// It is there, or no server was asked.
    No,
    /// It is starting, stopping, or was never there: it did not take the request.
    Untaken,
    /// It went away during the request: it may have taken it.
    Unsure,
}

impl Failure {
    pub(crate) fn new(exit: Exit, code: impl Into<String>, message: impl Display) -> Self {
        Self {
            exit,
            code: code.into(),
            message: message.to_string(),
            gone: ServerLoss::No,
        }
    }

    /// The same, of a server that has gone.
    pub(crate) fn of_gone(self, gone: ServerLoss) -> Self {
        Self { gone, ..self }
    }

    /// Something broke that the person did not do.
    pub(crate) fn broken(error: &dyn Display) -> Self {
        Self::new(Exit::TurnFailed, Code::Internal.as_str(), error)
    }

    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(Exit::Usage, Code::InvalidParams.as_str(), message)
    }

    /// Says it on stderr.
    pub(crate) fn report(&self) -> ExitCode {
        say_in(Tone::Bad, &complaint(&self.message, &self.code));
        self.exit.into()
    }
}

/// An error as a person reads it: one line, a sentence and its code, without keys.
pub(crate) fn complaint(message: &str, code: &str) -> String {
    text::error::complaint(one_line(&redact::for_logs(message)), code)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = match error.code {
            Code::UnusableModel => Exit::NoModel,
            Code::Busy
            | Code::RateLimited
            | Code::SessionBusy
            | Code::Unavailable
            | Code::ServerRestart
            | Code::ReaderStalled
            | Code::RequestTimeout => Exit::Busy,
            Code::StoreFull
            | Code::StoreFailed
            | Code::Internal
            | Code::SessionDamaged
            | Code::UndoIncomplete => Exit::TurnFailed,
            Code::InvalidParams
            | Code::InvalidJson
            | Code::BlankContent
            | Code::InvalidImage
            | Code::ImageTooLarge
            | Code::UnknownBlob
            | Code::ModelWithoutImages
            | Code::Unauthorized
            | Code::Forbidden
            | Code::HostRefused
            | Code::OriginRefused
            | Code::UnknownMethod
            | Code::UnknownSession
            | Code::UnknownTurn
            | Code::UnknownCall
            | Code::UnknownApproval
            | Code::UnknownRule
            | Code::ApprovalDecided
            | Code::UnknownTool
            | Code::UnknownSkill
            | Code::UnknownMemory
            | Code::UnknownToken
            | Code::UnknownLogin
            | Code::PageOff
            | Code::LoginUsed
            | Code::LoginExpired
            | Code::UnknownRoom
            | Code::UnknownAgent
            | Code::UnusableAgent
            | Code::UnknownStudy
            | Code::WrongVerb
            | Code::MessageConflict
            | Code::SessionConflict
            | Code::AgentConflict
            | Code::FilesChanged
            | Code::FilesNotKept
            | Code::ChatRestarted
            | Code::BodyTooLarge
            | Code::UnsupportedMediaType
            | Code::HeadersTooLarge
            | Code::UnpricedModel
            | Code::BackupUnusable
            | Code::ImportUnusable => Exit::Usage,
        };
        Self::new(exit, error.code.as_str(), error.message)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let exit = match error.origin {
            Some(Origin::Flag { .. }) => Exit::Usage,
            Some(Origin::Variable { .. } | Origin::Here(_) | Origin::User(_) | Origin::Default)
            | None => Exit::Configuration,
        };
        Self::new(exit, error.code(), error)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let exit = match error.code() {
            "data_dir_busy" => Exit::Busy,
            _ => Exit::Configuration,
        };
        Self::new(exit, error.code(), error)
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Open(error) => error.into(),
            StartError::Listen { .. } => Self::new(Exit::Busy, error.code(), error),
            StartError::Descriptors(_) | StartError::Address(_) | StartError::Exposed { .. } => {
                Self::new(Exit::Configuration, error.code(), error)
            }
        }
    }
}

/// What clap has to say: help on stdout; an error on stderr like every other.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let typed = std::env::args_os().skip(1);
    let typed: Vec<_> = typed
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if let Some(why) = arguments::read_as_options(error, &typed) {
        return Failure::usage(why).report();
    }
    if !error.use_stderr() {
        return match written(error.print()) {
            Ok(_) => Exit::Ok.into(),
            Err(failure) => failure.report(),
        };
    }
    let exit = Failure::usage(arguments::sentence(error)).report();
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        say(error.to_string().trim_end());
    }
    exit
}
