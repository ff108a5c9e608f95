//! Why a tool did not do what it was asked to do.

use std::fmt;

use samovar_core::Outcome;
use samovar_sandbox::JailError;

/// Why a tool did not do what was asked, in words that the model can act on.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) why: String,
    /// What is wrong with the path of the call, if the call leads nowhere.
    pub(crate) lost: Option<Lost>,
    /// Whether other arguments can mend it.
    is_correctable: bool,
}

/// A path that leads nowhere.
#[derive(Debug)]
pub(crate) struct Lost {
    /// A sentence about it, without its end.
    pub(crate) why: String,
    /// The nearest folder that exists.
    pub(crate) nearest: String,
}

impl Refusal {
    /// The path of the call, if that leads nowhere.
    pub(crate) fn lost(&self) -> Option<&Lost> {
        self.lost.as_ref()
    }

    /// A refusal that other arguments can mend; `why` says which.
    pub(crate) fn of_arguments(why: impl Into<String>) -> Self {
        let is_correctable = true;
        Self {
            is_correctable,
            ..why.into().into()
        }
    }

    pub(crate) fn outcome(self) -> Outcome {
        if self.is_correctable {
            Outcome::correctable(self.why)
        } else {
            Outcome::failed(self.why)
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        let (lost, is_correctable) = (None, false);
        Self {
            why,
            lost,
            is_correctable,
        }
    }
}

impl From<&str> for Refusal {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

impl From<JailError> for Refusal {
    fn from(error: JailError) -> Self {
        let why = error.to_string();
        let lost = match error {
            JailError::NotFound { path, nearest } => Some(Lost {
                why: format!("{path:?} does not exist"),
                nearest,
            }),
            JailError::Outside { path } => Some(Lost {
                why: format!("{path:?} is outside the workspace"),
                nearest: ".".to_owned(),
            }),
            _ => None,
        };
        Self { lost, ..why.into() }
    }
}
