//! Any order of asking, answering, leaving and waiting: each request has one answer, at most, and its
//! asker alone gets it.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Something that happens.
#[derive(Clone, Debug)]
enum Deed {
    /// An agent calls a tool: under no id, the next of its own, or the last one again. All agents count
    /// alike.
    Asks(Key, Option<bool>),
    /// The host answers one of all requests that it ever had, rightly or with another kind.
    Answers(usize, MessageKind),
    /// Somebody comes, or is there already.
    Comes(Key),
    Leaves(Key),
    Waits(u64),
}

fn deed() -> impl Strategy<Value = Deed> {
    let agent = 2..6u64;
    let kinds = prop_oneof![
        6 => Just(MessageKind::ToolResult),
        1 => Just(MessageKind::Error),
        1 => Just(MessageKind::SnapshotState),
    ];
    prop_oneof![
        8 => (agent.clone(), prop::option::of(any::<bool>())).prop_map(|(key, id)| Deed::Asks(key, id)),
        8 => (any::<usize>(), kinds).prop_map(|(which, kind)| Deed::Answers(which, kind)),
        1 => (0..6u64).prop_map(Deed::Comes),
        1 => (0..6u64).prop_map(Deed::Leaves),
        1 => (0..20u64).prop_map(Deed::Waits),
    ]
}

/// The room, and what everybody knows of it.
struct World {
    scene: Scene,
    /// Each request by its number: its asker, the id that it gave it, and how often it was answered.
    asked: Vec<(Key, Option<String>, usize)>,
    /// What the hosts were asked: the id, and the request's number.
    heard: Vec<(String, usize)>,
    /// Requests whose asker was there all the time.
    waiting: BTreeMap<Key, Vec<usize>>,
}

impl World {
    fn happens(&mut self, deed: &Deed) {
        let step = match deed {
            Deed::Asks(key, id) => {
                let number = self.asked.len();
                let id = id.map(|is_again| self.id(*key, is_again));
                self.asked.push((*key, id.clone(), 0));
                let call = json!({"toolName": "t", "params": {"number": number}});
                let call = Envelope {
                    id,
                    ..message(MessageKind::ToolCall, &call)
                };
                if self.scene.room.role(*key).is_some() {
                    self.waiting.entry(*key).or_default().push(number);
                }
                let step = self.scene.says(*key, call);
                return self.sees(&step, Some(number));
            }
            Deed::Answers(which, kind) => {
                let Some((host, _)) = self.scene.room.host() else {
                    return;
                };
                if self.heard.is_empty() {
                    return;
                }
                let (id, number) = self.heard[which % self.heard.len()].clone();
                let mut payload = json!({"number": number});
                if *kind == MessageKind::Error {
                    payload["code"] = "UNKNOWN_TOOL".into();
                }
                let reply = message(*kind, &payload).replying_to(Some(id));
                self.scene.says(host, reply)
            }
            Deed::Comes(key) => {
                let role = if *key < 2 {
                    RelayRole::Host
                } else {
                    RelayRole::Agent
                };
                self.scene.enters(*key, role)
            }
            Deed::Leaves(key) => {
                // What it asked is nobody's: an answer to that would be a second one.
                for number in self.waiting.remove(key).unwrap_or_default() {
                    self.asked[number].2 = 1;
                }
                self.scene.leaves(*key)
            }
            Deed::Waits(seconds) => self.scene.passes(*seconds),
        };
        self.sees(&step, None);
    }

    /// An id that the agent has no answer to.
    fn id(&self, key: Key, is_again: bool) -> String {
        let mine = self.asked.iter().filter(|(asker, ..)| *asker == key);
        let last = mine.clone().rfind(|(_, id, _)| id.is_some());
        let last = last.and_then(|(_, id, _)| id.as_ref());
        let is_open = |id: &&String| {
            let mut same = mine
                .clone()
                .filter(|(_, given, _)| given.as_ref() == Some(*id));
            same.all(|(_, _, times)| *times == 0)
        };
        let next = || format!("{}", mine.clone().count());
        last.filter(|_| is_again)
            .filter(is_open)
            .cloned()
            .unwrap_or_else(next)
    }

    /// What everybody gets; a refusal is of this request, if it is known.
    fn sees(&mut self, step: &Step, request: Option<usize>) {
        for Delivery { to, envelope, .. } in &step.deliveries {
            match envelope.kind {
                MessageKind::ToolCall => {
                    let number = envelope.payload["params"]["number"].as_u64().unwrap();
                    let id = envelope.id.clone().unwrap();
                    self.heard.push((id, usize::try_from(number).unwrap()));
                }
                MessageKind::ToolResult | MessageKind::Error if *to >= 2 => {
                    self.is_answered(*to, envelope, request);
                }
                _ => {}
            }
        }
    }

    fn is_answered(&mut self, to: Key, reply: &Envelope, request: Option<usize>) {
        let told = reply.payload.get("number").and_then(Value::as_u64);
        let told = told.map(|number| usize::try_from(number).unwrap());
        // The relay's own answer does not say which; it is the oldest of the asker's under this id.
        let is_it = |(key, id, times): &(Key, Option<String>, usize)| {
            *key == to && *id == reply.reply_to && *times == 0
        };
        let number = told
            .or(request)
            .or_else(|| self.asked.iter().position(is_it));
        let number = number.expect("nobody has asked");
        let (asker, id, times) = &mut self.asked[number];
        assert_eq!((*asker, &*id), (to, &reply.reply_to), "somebody else's");
        *times += 1;
        assert_eq!(*times, 1, "answered twice");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    // proves RL-7, RL-8
    #[test]
    fn every_request_is_answered_once_to_its_asker_alone(
        deeds in prop::collection::vec(deed(), 1..120),
    ) {
        let mut world = World {
            scene: Scene::full(),
            asked: Vec::new(),
            heard: Vec::new(),
            waiting: BTreeMap::new(),
        };
        for deed in &deeds {
            world.happens(deed);
        }
        world.happens(&Deed::Waits(30));
        for number in world.waiting.values().flatten() {
            prop_assert_eq!(world.asked[*number].2, 1, "request {} in the end", number);
        }
        prop_assert_eq!(world.scene.room.deadline(), None);
    }
}
