//! The notes of what was said and got over the relay.

use std::time::Duration;

use super::Stage;
use crate::client::Address;
use crate::observed::{Ending, Envelope, Incident, Link, SentMessage};

/// How long a server may live that has closed a connection because it stops.
const LAST_LIFE: Duration = Duration::from_secs(10);

impl Stage {
    /// Notes that an agent's connection begins, and gives its place.
    pub(crate) fn links(&self, life: u64, room: &str) -> usize {
        let mut notes = self.notes();
        let links = &mut notes.observed.relay.links;
        links.push(Link {
            life,
            room: room.to_owned(),
            ..Link::default()
        });
        links.len() - 1
    }

    /// Notes what an agent is about to say.
    pub(crate) fn will_say(&self, place: usize, said: SentMessage) {
        let mut notes = self.notes();
        if let Some(link) = notes.observed.relay.links.get_mut(place) {
            link.said.push(said);
        }
    }

    /// Notes what it got.
    pub(crate) fn got(&self, place: usize, envelope: Envelope) {
        let mut notes = self.notes();
        if let Some(link) = notes.observed.relay.links.get_mut(place) {
            link.got.push(envelope);
        }
    }

    /// Notes, unless this server soon is no more, that it has closed somebody's connection.
    pub(crate) async fn is_cut_off(&self, at: &Address, who: &str) {
        let over = tokio::time::timeout(LAST_LIFE, self.is_over(at.life));
        if over.await.is_err() {
            let found = format!("the connection of {who} was closed");
            self.note(Incident::Malformed(found));
        }
    }

    /// Notes what a host on a socket of its own was asked.
    pub(crate) fn is_asked(&self, mark: &str) {
        self.notes().observed.relay.asked.push(mark.to_owned());
    }

    /// Notes what an agent was told at the end of a study.
    pub(crate) fn is_told_the_end(&self, ending: Ending) {
        self.notes().observed.relay.endings.push(ending);
    }

    /// Notes a request that was not answered although the server lived on.
    pub(crate) fn is_unanswered(&self, mark: &str) {
        let mut notes = self.notes();
        notes.observed.relay.unanswered.push(mark.to_owned());
    }
}
