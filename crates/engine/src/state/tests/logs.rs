//! Random logs: at each event, what a restart makes of the history and of the end of the log is the
//! state that all of the log makes, and what is to be done next is the same.

use proptest::prelude::*;
use samovar_core::SessionId;

use super::*;
use crate::log::note_turn;
use crate::projection;

/// A session whose turns do at random what turns may do.
struct World {
    log: Logged,
    /// How many messages, answers and calls there are.
    count: usize,
}

impl World {
    fn new() -> Self {
        let mut log = Logged::new();
        let opened = Kind::SessionOpened {
            model: "m".to_owned(),
            route: None,
            metadata: serde_json::Map::new(),
            system_prompt: None,
            approval: None,
            begun_by: Some(Beginner::Owner),
        };
        log.happens(None, &master(), opened);
        Self { log, count: 0 }
    }

    fn name(&mut self, of: &str) -> String {
        self.count += 1;
        format!("{of}{}", self.count)
    }

    /// Something happens, chosen by a random number; after each event the state is compared.
    fn goes_on(&mut self, choice: u8) {
        let (which, what) = (usize::from(choice / 8), choice % 8);
        let begun: Vec<_> = self.log.state.begun().map(|(id, _)| id.clone()).collect();
        let turn = begun.get(which % begun.len().max(1)).cloned();
        match (what, turn) {
            (0, _) => self.says(choice),
            (1, _) => self.changes(choice),
            (2, Some(_)) => self.waits_no_more(),
            (3, Some(turn)) => self.ends(&turn),
            (_, Some(turn)) => self.works(&turn, choice),
            (_, None) => self.begins(),
        }
    }

    fn happens(&mut self, of: Option<&TurnId>, agent: &AgentPath, kind: Kind) {
        self.log.happens(of, agent, kind);
        self.compare();
    }

    fn says(&mut self, choice: u8) {
        let entry = match (choice / 8 % 4, self.log.state.root()) {
            (0, Some(_)) => Entry::Steers,
            (1, Some(_)) => Entry::Interrupts,
            _ => Entry::Own,
        };
        let name = self.name("t");
        self.happens(Some(&turn(&name)), &master(), said(&name, entry));
    }

    fn changes(&mut self, choice: u8) {
        let even = choice.is_multiple_of(16);
        let change = SessionChange {
            model: even.then(|| self.name("m")),
            approval: (!even).then_some(Approval::Supervised),
            tainted: choice > 200,
            ..SessionChange::default()
        };
        self.happens(None, &master(), Kind::SessionChanged(change));
    }

    fn begins(&mut self) {
        if let Some(said) = self.log.state.to_begin().cloned() {
            self.happens(Some(&said.turn), &master(), started(None));
        }
    }

    /// A message that waits joins the turn of the session's own agent, or is taken out.
    fn waits_no_more(&mut self) {
        let root = self.log.state.root().cloned();
        let Some(waiting) = self.log.state.next().cloned() else {
            return;
        };
        let joins = root.filter(|_| waiting.entry == Entry::Steers);
        let reason = if joins.is_some() {
            FinishReason::Steered
        } else {
            FinishReason::Cancelled
        };
        if let Some(root) = joins {
            let joined = said(waiting.turn.as_str(), Entry::Joined);
            self.log.happens(Some(&root), &master(), joined);
        }
        self.happens(Some(&waiting.turn), &master(), over(reason));
    }

    fn ends(&mut self, id: &TurnId) {
        let agent = self.log.state.turn(id).unwrap().agent.clone();
        self.happens(Some(id), &agent, over(FinishReason::Model("stop".into())));
    }

    /// A turn asks its model, runs what that wants, and hears of children.
    fn works(&mut self, id: &TurnId, choice: u8) {
        let known = self.log.state.turn(id).unwrap().clone();
        let ended = self.log.state.ended().find(|end| end.parent == *id);
        if let Some(end) = ended.cloned() {
            let kind = Kind::CallClosed {
                call: end.call,
                name: "subAgent".to_owned(),
                outcome: end.outcome,
            };
            return self.happens(Some(id), &known.agent, kind);
        }
        match known.turn.next() {
            Step::Record(kind) => self.happens(Some(id), &known.agent, kind),
            Step::CallModel { .. } => {
                let wanted: Vec<_> = (0..choice / 8 % 3).map(|_| call(&self.name("c"))).collect();
                let name = self.name("a");
                self.happens(Some(id), &known.agent, asks(&name, wanted));
            }
            Step::CallTools(wanted) => {
                let wanted = &wanted[0];
                let is_child = choice.is_multiple_of(3) && known.agent.depth() < 2;
                if !is_child {
                    self.happens(Some(id), &known.agent, calls(wanted, Closer::Tool));
                    return self.happens(Some(id), &known.agent, closed(wanted));
                }
                // With one commit.
                let (name, below) = (self.name("u"), known.agent.child("helper"));
                let begins = calls(wanted, Closer::Child);
                self.log.happens(Some(id), &known.agent, begins);
                let task = said(&name, Entry::Own);
                self.log.happens(Some(&turn(&name)), &below, task);
                let begins = started(Some(wanted.id.clone()));
                self.happens(Some(&turn(&name)), &below, begins);
            }
            Step::Remind(..) | Step::Wait | Step::Over => {}
        }
    }

    fn compare(&self) {
        let (events, full) = (&self.log.events, &self.log.state);
        let mut open = Vec::new();
        for event in events {
            note_turn(&mut open, event);
        }
        let from = open.iter().map(|(seq, _)| *seq).min();
        let tail = events
            .iter()
            .filter(|event| Some(event.seq) >= from && from.is_some());
        let session = SessionId::new("s").unwrap();
        let row = projection::overlay_session(None, &session, events).unwrap();

        let mut loaded = State::loaded(row, 8);
        tail.for_each(|event| loaded.apply(event));
        loaded.miss_children();
        loaded.read(full.transcript.clone(), events.last().unwrap().seq);

        loaded.takes_up();
        assert_eq!(loaded.actions(), full.actions());
        if let Some(difference) = loaded.difference(full.clone()) {
            panic!("{difference}");
        }
    }
}

proptest! {
    // proves DU-4
    #[test]
    fn at_each_event_a_restart_makes_the_state_that_the_whole_log_makes(
        choices in prop::collection::vec(any::<u8>(), 1..120),
    ) {
        let mut world = World::new();
        for choice in choices {
            world.goes_on(choice);
        }
    }
}
