use std::collections::BTreeSet;

use proptest::prelude::*;
use samovar_core::Approval;
use samovar_core::agent::AgentOrigin;

use super::*;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const TOOLS: [&str; 5] = ["read", "write", "ask_user", "spawn", "subAgent"];

struct Defined(Vec<AgentEntry>);

impl Agents for Defined {
    fn find(&self, name: &str) -> Option<AgentEntry> {
        let mut all = self.0.iter();
        all.find(|entry| entry.agent.name.as_str() == name).cloned()
    }

    fn list(&self) -> Vec<AgentEntry> {
        self.0.clone()
    }
}

fn keys() -> impl Strategy<Value = ToolKeys> {
    prop_oneof![
        1 => Just(ToolKeys::All),
        3 => prop::collection::btree_set(prop::sample::select(&TOOLS[..]), 0..5)
            .prop_map(|keys| ToolKeys::Only(keys.into_iter().map(str::to_owned).collect())),
    ]
}

fn callees() -> impl Strategy<Value = SubAgents> {
    prop_oneof![
        1 => Just(SubAgents::All),
        4 => prop::collection::btree_set(prop::sample::select(&NAMES[..]), 0..6).prop_map(|names| {
            SubAgents::Only(names.into_iter().map(|name| AgentName::new(name).unwrap()).collect())
        }),
    ]
}

fn approval() -> impl Strategy<Value = Option<Approval>> {
    prop::option::of(prop::sample::select(&Approval::ALL[..]))
}

fn entry(name: &'static str) -> impl Strategy<Value = AgentEntry> {
    let agent = (keys(), callees(), prop::option::of(0..5_u32), approval());
    (agent, prop::bool::weighted(0.9), prop::bool::weighted(0.05)).prop_map(
        move |((tools, sub_agents, max_depth, approval), enabled, is_invalid)| AgentEntry {
            agent: Arc::new(Agent {
                name: AgentName::new(name).unwrap(),
                tools,
                sub_agents,
                max_depth,
                approval,
                ..Agent::master()
            }),
            origin: AgentOrigin::Row,
            enabled,
            invalid: is_invalid.then(|| "bad".to_owned()),
            missing: Vec::new(),
        },
    )
}

/// A chain of orders: which agent, and whether in the background.
fn orders() -> impl Strategy<Value = Vec<(usize, bool)>> {
    prop::collection::vec((0..NAMES.len(), prop::bool::weighted(0.1)), 1..12)
}

fn order(name: &str) -> Order {
    let args = json!({"name": name, "task": "go"});
    serde_json::from_value(args).unwrap()
}

fn has(agent: &Agent) -> BTreeSet<&'static str> {
    let all = TOOLS.into_iter();
    all.filter(|tool| has_tool(agent, tool)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    // proves SA-3, SA-6, SA-19, SA-21
    #[test]
    fn no_chain_of_orders_widens_rights_or_exceeds_depth(
        agents in NAMES.map(entry),
        orders in orders(),
    ) {
        let agents = Defined(agents.to_vec());
        let (mut caller, mut path) = (Agent::master(), AgentPath::root("master"));
        let mut deepest = DEFAULT_DEPTH;
        for (callee, is_background) in orders {
            let name = NAMES[callee];
            let known = agents.find(name).unwrap();
            let of = Caller { agent: &caller, path: &path, children: 0, in_tree: 0, posted: None };
            let Ok(child) = admit(&of, &order(name), is_background, &agents) else {
                continue;
            };
            prop_assert!(known.is_usable());
            prop_assert!(caller.sub_agents.has(name));
            prop_assert!(path.names().all(|above| above != name));
            let (before, now) = (has(&caller), has(&child));
            let gained: Vec<_> = now.difference(&before).filter(|tool| **tool != DELEGATE).collect();
            prop_assert!(gained.is_empty(), "{name} gained {gained:?}");
            let own = has(&known.agent);
            prop_assert!(now.is_subset(&own));
            prop_assert!(child.approval >= caller.approval && child.approval >= known.agent.approval);
            path = path.child(name);
            deepest = deepest.min(known.agent.max_depth.unwrap_or(DEFAULT_DEPTH));
            prop_assert!(path.depth() <= deepest as usize, "{path} below {deepest}");
            if is_background {
                prop_assert!(NOT_IN_BACKGROUND.iter().all(|tool| !now.contains(tool)));
                prop_assert!(child.sub_agents.is_empty());
            }
            caller = child;
        }
    }
}

// proves SA-6
#[test]
fn each_guard_has_its_code() {
    let off = |name: &str, change: fn(&mut AgentEntry)| {
        let mut entry = AgentEntry {
            agent: Arc::new(Agent {
                name: AgentName::new(name).unwrap(),
                ..Agent::master()
            }),
            origin: AgentOrigin::Row,
            enabled: true,
            invalid: None,
            missing: Vec::new(),
        };
        change(&mut entry);
        entry
    };
    let agents = Defined(vec![
        off("a", |_| {}),
        off("b", |entry| entry.enabled = false),
        off("c", |entry| {
            entry.invalid = Some("its tool is unknown".to_owned());
        }),
    ]);
    let master = Agent::master();
    let alone = Agent {
        sub_agents: SubAgents::none(),
        ..Agent::master()
    };
    let (root, below) = (
        AgentPath::root("master"),
        AgentPath::root("master").child("a"),
    );
    let deep = AgentPath::root("master").child("x").child("y").child("z");
    let rows: [(&Agent, &AgentPath, &str, usize, usize, &str); 9] = [
        (&master, &root, "zz", 0, 0, "SUBAGENT_UNKNOWN"),
        (&master, &root, "c", 0, 0, "SUBAGENT_UNKNOWN"),
        (&master, &root, "b", 0, 0, "SUBAGENT_DISABLED"),
        (&master, &below, "a", 0, 0, "SUBAGENT_CYCLE"),
        (&master, &deep, "a", 0, 0, "SUBAGENT_DEPTH"),
        (&alone, &root, "a", 0, 0, "SUBAGENT_NOT_ALLOWED"),
        (&master, &root, "a", MAX_CHILDREN, 9, "SUBAGENT_BUSY"),
        (&master, &root, "a", 0, MAX_TREE, "SUBAGENT_BUSY"),
        (&master, &root, "a", MAX_CHILDREN - 1, MAX_TREE - 1, ""),
    ];
    for (agent, path, name, children, in_tree, code) in rows {
        let caller = Caller {
            agent,
            path,
            children,
            in_tree,
            posted: None,
        };
        let admitted = admit(&caller, &order(name), false, &agents);
        let refused = admitted.err().map_or("", |refusal| refusal.code);
        assert_eq!(refused, code, "{path} {name}");
    }
}
