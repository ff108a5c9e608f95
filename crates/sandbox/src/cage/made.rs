//! What a command may make of trusted names, from its beginning to the look after it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::lookout::Lookout;
use super::plan::{Ended, Step, View};
use super::trusted::{PutAside, RunId, Trusted};

/// Puts aside what a command made of trusted names, at the latest when it is dropped.
#[derive(Debug)]
pub(super) struct Made {
    of: Arc<Trusted>,
    run: RunId,
    /// Only a command that may write is ended because of what git obeys.
    lookout: Option<Lookout>,
    is_done: bool,
}

impl Made {
    /// Called before a command; also returns the names on which no mount counts.
    pub(super) fn begin(
        trusted: &Arc<Trusted>,
        view: &View,
        writes: bool,
    ) -> io::Result<(Self, Vec<PathBuf>)> {
        let lookout = writes.then(|| Lookout::new(trusted.clone(), &view.git));
        let (run, passing) = trusted.begin(view, writes)?;
        let made = Self {
            of: trusted.clone(),
            run,
            lookout,
            is_done: false,
        };
        Ok((made, passing))
    }

    /// `None` from the second time on.
    pub(super) fn lookout(&mut self) -> Option<Lookout> {
        self.lookout.take()
    }

    /// `stood` are the names on which its mounts stood.
    pub(super) fn put_aside(mut self, ended: &Ended, stood: &[PathBuf]) -> PutAside {
        self.is_done = true;
        // What fails at its beginning may have begun.
        if matches!(ended, Ended::Failed { step, .. } if *step != Step::Begin) {
            self.of.never_began(self.run);
            return PutAside::default();
        }
        self.of.end(self.run, stood)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.is_done {
            self.of.end(self.run, &[]);
        }
    }
}
