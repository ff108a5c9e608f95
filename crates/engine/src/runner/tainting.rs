//! Text from outside comes into a session (TL-10).

use samovar_core::{Author, Kind};

use super::state::Runner;
use crate::keep::is_taint;

impl Runner {
    /// What the person has open comes from outside.
    pub(super) fn taint_by_tabs(&mut self) {
        let posted = self.turn.posted();
        if posted.is_some_and(|posted| posted.active_tab.is_some() || !posted.tabs.is_empty()) {
            self.taint();
        }
    }

    /// Notes that text from outside may be in the session; before the text is (TL-10).
    pub(super) fn taint(&mut self) {
        let is_noted = self.pending.iter().any(|draft| is_taint(&draft.kind));
        if self.session.taint.taint() && !is_noted {
            let changed = Kind::SessionChanged {
                model: None,
                route: None,
                title: None,
                approval: None,
                tainted: true,
                context: None,
            };
            self.note_by(Author::System, changed);
        }
    }
}
