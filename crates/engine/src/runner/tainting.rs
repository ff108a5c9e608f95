//! Text from outside comes into a session (TL-10).

use samovar_core::{Author, PostedContext};

use super::state::Runner;
use crate::keep::{is_taint, tainted};

impl Runner {
    /// A turn begins: its prompt may hold what the person has open, which comes from outside, and what
    /// the files of the folder tell agents, which does until a person trusts them.
    pub(super) fn taint_by_prompt(&mut self) {
        if self.agent.depth() == 0 {
            self.session.taint.begin_turn();
        }
        let posted = self.turn.posted();
        let has_tabs =
            |posted: &PostedContext| posted.active_tab.is_some() || !posted.tabs.is_empty();
        if posted.is_some_and(|posted| has_tabs(posted)) || self.told.is_foreign {
            self.taint();
        }
    }

    /// Notes that text from outside may be in the session; before the text is (TL-10).
    pub(super) fn taint(&mut self) {
        let is_noted = self.pending.iter().any(|draft| is_taint(&draft.kind));
        self.session.taint.taint();
        if !is_noted && !self.session.state.lock().is_tainted {
            self.note_by(Author::System, tainted());
        }
    }
}
