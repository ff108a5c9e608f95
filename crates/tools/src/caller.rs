//! Whose call runs, and the signal to stop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use samovar_core::{CallId, SessionId, TurnId};

use crate::foresight::Foresight;
use crate::refusal::Refusal;
use crate::text::sha256;

/// Whose call runs, and whether it is still wanted.
pub(crate) struct Caller {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    /// The turn, if it is that of a called agent, whose conversation is its own.
    pub(crate) child: Option<TurnId>,
    pub(crate) call: CallId,
    pub(crate) stop: Stop,
    /// What a person saw of it when they approved it.
    pub(crate) approved: Option<Foresight>,
}

impl Caller {
    /// Refuses to change a file that is not as the person saw it. Called under the file's lock.
    pub(crate) fn check(&self, before: Option<&[u8]>) -> Result<(), Refusal> {
        self.stop.check()?;
        let seen = self.approved.as_ref();
        if seen.is_none_or(|seen| seen.before == before.map(sha256)) {
            return Ok(());
        }
        let why = "the file was changed since the person saw this call and approved it; nothing was \
                   written; read the file, then call again";
        Err(why.into())
    }
}

/// Whether a call that runs is still wanted; its thread cannot be ended from outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Ends a call that is no longer wanted; its result is discarded.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.is_set() {
            return Err("the call was stopped".into());
        }
        Ok(())
    }
}
