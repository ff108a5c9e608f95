//! What agents have asked and no host has answered yet (RL-7, RL-8).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use samovar_core::planted;
use samovar_core::relay::MessageKind;

use super::step::Key;

/// Ids that are not used again, because a host may still answer to them, or a second time; at most so
/// many of each sort, the oldest go first.
const MAX_SPENT: usize = 1024;
/// Words of agents that an error may still answer, at most; the oldest go first.
const MAX_WORDS: usize = 256;

/// A message of an agent that the host has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) agent: Key,
    pub(crate) kind: MessageKind,
    /// The id that the agent gave it, which its answer names.
    pub(crate) asked_as: Option<String>,
    /// Since the relay began.
    pub(crate) deadline: Duration,
}

impl Request {
    /// Whether the agent waits for an answer; to its words it gets one only when they are refused.
    pub(crate) fn is_awaited(&self) -> bool {
        self.kind != MessageKind::AgentMessage
    }
}

/// Ids in the order in which they were used up.
type Ring = VecDeque<(u64, String)>;

/// The open requests of a room, by the id under which the host has them.
#[derive(Default)]
pub(crate) struct Pending {
    open: HashMap<String, (u64, Request)>,
    /// The ids in the order in which they were given, which is that of their deadlines.
    order: BTreeMap<u64, String>,
    words: VecDeque<(u64, String)>,
    /// The ids that were used, each with when.
    spent: HashMap<String, u64>,
    given_up: Ring,
    answered: Ring,
    last: u64,
    made: u64,
}

impl Pending {
    /// An id for the host: the agent's own, unless it has none or an answer to another message could
    /// still come to it. With the number of the last one that was made.
    pub(crate) fn id_for(&self, wanted: Option<&str>) -> (String, u64) {
        planted!("relay-ids-mixed-up", {
            return (wanted.unwrap_or_default().to_owned(), self.made);
        });
        if let Some(id) = wanted.filter(|id| !self.is_taken(id)) {
            return (id.to_owned(), self.made);
        }
        let mut made = self.made + 1;
        while self.is_taken(&format!("relay-{made}")) {
            made += 1;
        }
        (format!("relay-{made}"), made)
    }

    fn is_taken(&self, id: &str) -> bool {
        self.open.contains_key(id) || self.spent.contains_key(id)
    }

    /// Remembers a request. Answers with the words that are forgotten for it, if there are too many.
    pub(crate) fn remember(&mut self, id: String, request: Request, made: u64) -> Option<Request> {
        self.made = made;
        self.last += 1;
        let is_awaited = request.is_awaited();
        self.order.insert(self.last, id.clone());
        self.open.insert(id.clone(), (self.last, request));
        if is_awaited {
            return None;
        }
        self.words.push_back((self.last, id));
        if self.words.len() <= MAX_WORDS {
            return None;
        }
        let (number, id) = self.words.pop_front()?;
        let is_same = self.open.get(&id).is_some_and(|(at, _)| *at == number);
        is_same.then(|| self.forget(&id)).flatten()
    }

    /// A request is given up: nobody gets its id soon, because its answer may still come.
    pub(crate) fn forget(&mut self, id: &str) -> Option<Request> {
        let request = self.take(id)?;
        let is_awaited = request.is_awaited();
        self.spend(id, is_awaited);
        Some(request)
    }

    /// A request is answered: nor does anybody, also not who asked, get its id soon, because the answer
    /// may come twice.
    pub(crate) fn answered(&mut self, id: &str) -> Option<Request> {
        let request = self.take(id)?;
        self.spend(id, false);
        Some(request)
    }

    fn take(&mut self, id: &str) -> Option<Request> {
        let (number, request) = self.open.remove(id)?;
        self.order.remove(&number);
        Some(request)
    }

    /// Uses an id up, and forgets one of long ago. What is quick to come, answers and words, makes
    /// none forgotten whose answer is still to come.
    fn spend(&mut self, id: &str, is_to_come: bool) {
        self.last += 1;
        self.spent.insert(id.to_owned(), self.last);
        let ring = if is_to_come {
            &mut self.given_up
        } else {
            &mut self.answered
        };
        ring.push_back((self.last, id.to_owned()));
        if ring.len() > MAX_SPENT
            && let Some((number, id)) = ring.pop_front()
            && self.spent.get(&id) == Some(&number)
        {
            self.spent.remove(&id);
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Request> {
        self.open.get(id).map(|(_, request)| request)
    }

    /// All of them, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Request)> {
        let of = |id: &String| self.open.get_key_value(id);
        let found = self.order.values().filter_map(of);
        found.map(|(id, (_, request))| (id.as_str(), request))
    }

    /// When the oldest is given up.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.iter().next().map(|(_, request)| request.deadline)
    }
}
