//! What a restart would make of the stores, against the state that runs.

use samovar_core::Seq;

use super::State;
use super::recent::Recent;

impl State {
    /// How it differs from the state that runs, if it does. What was accepted before the oldest open
    /// turn is the history's to know, and the window moves when a turn begins, or is loaded for that.
    pub(crate) fn difference(self, live: Self) -> Option<String> {
        if let Some(known) = self.recent.differs(&live.recent) {
            return Some(format!("{known:?} in {:#?}", live.recent));
        }
        let (loaded, live) = (self.comparable(), live.comparable());
        (loaded != live).then(|| format!("loaded: {loaded:#?}\nlive: {live:#?}"))
    }

    fn comparable(mut self) -> Self {
        (self.at, self.read_to, self.model_at) = (Seq(0), Seq(0), Seq(0));
        self.was_stopped = false;
        self.recent = Recent::default();
        if self.root().is_none() {
            self.transcript.make_room(self.max);
        }
        self.transcript.forget_place_of_limit();
        self
    }
}
