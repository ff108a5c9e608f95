//! The gate that every call passes: schema, capability, policy, approval. Pure; it decides, and the
//! caller keeps what follows.

use std::fmt::Write as _;

use samovar_core::approval::PolicyVerdict;
use samovar_core::tool::Origin;
use samovar_core::{Approval, CallFacts, Effect, Grant, Grounds, Reach, Rule, Sends, ToolSpec};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::policy::Policy;

/// What the gate says of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It runs; on which grounds, unless the level asks nothing about it.
    Allow(Option<Grounds>),
    /// It does not, for this reason.
    Deny(String),
    /// A person decides, for this reason.
    Ask(String),
}

/// A call as the gate sees it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its tool.
    pub spec: &'a ToolSpec,
    /// What stands under the tool's name, as in [`Grant::identity`].
    pub identity: Option<&'a str>,
    /// What it changes in the workspace.
    pub reach: Option<&'a Reach>,
    /// What is particular about this call.
    pub facts: Option<&'a CallFacts>,
    /// What the person is doing, as in [`AgentMode`](samovar_core::AgentMode).
    pub mode: Option<&'a str>,
    /// Why a person decides about it after the session has read text from outside (TL-10).
    pub spreads: Option<Spreads>,
}

/// What a call could do with text from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spreads {
    /// Follows the tool's name.
    pub why: &'static str,
    /// Whether [`Approval::Auto`] lets it through all the same.
    pub runs_at_auto: bool,
}

/// What people and the configuration have said before about calls like this one.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The rules of the configuration.
    pub policy: &'a Policy,
    /// What a person allowed for the turn.
    pub grants: &'a [Grant],
    /// What a person allowed for good.
    pub rules: &'a [Rule],
}

/// Decides whether a call may run at an approval level (TL-4). A rule of the configuration that denies
/// goes first, then [`Approval::ReadOnly`], which nothing widens. What a rule, or else the level,
/// asks about runs if a person has allowed such calls.
pub fn judge(level: Approval, subject: &Subject<'_>, known: &Known<'_>) -> Verdict {
    let (spec, rule) = (subject.spec, known.policy.rule(level, subject));
    let name = &spec.name;
    let why = match (rule, by_level(level, subject)) {
        (Some(rule), _) if rule.verdict == PolicyVerdict::Deny => {
            let rule = &rule.name;
            let why = format!("{name} is denied by the configuration (tools.policy.{rule})");
            return Verdict::Deny(why);
        }
        (_, Verdict::Deny(why)) => return Verdict::Deny(why),
        (Some(rule), by_level) if rule.allows(subject) => {
            let is_asked = matches!(by_level, Verdict::Ask(_));
            return Verdict::Allow(is_asked.then(|| Grounds::Policy(rule.name.clone())));
        }
        (Some(rule), _) if rule.verdict == PolicyVerdict::Ask => format!(
            "{name} asks because of the configuration (tools.policy.{})",
            rule.name
        ),
        (_, Verdict::Ask(why)) => why,
        (_, allowed) => return allowed,
    };
    match granted(subject, known) {
        Some(grounds) => Verdict::Allow(Some(grounds)),
        None => Verdict::Ask(why),
    }
}

/// What an approval level says of a tool.
fn by_level(level: Approval, subject: &Subject<'_>) -> Verdict {
    let (spec, facts) = (subject.spec, subject.facts);
    let name = &spec.name;
    let asks = facts.map_or(spec.asks, |facts| facts.asks);
    match (level, asks) {
        (Approval::ReadOnly, Some(asks)) if spec.effect != Effect::Read => Verdict::Deny(format!(
            "{name} {}, and the approval level is read-only",
            asks.read_only
        )),
        (Approval::ReadOnly, _) if facts.is_some_and(|facts| facts.instructs) => Verdict::Deny(
            format!("{name} changes what instructs agents, and the approval level is read-only"),
        ),
        _ if let Some(why) = facts.and_then(|facts| facts.insists) => match level {
            Approval::ReadOnly => {
                Verdict::Deny(format!("{name} {why}, and the approval level is read-only"))
            }
            Approval::Auto | Approval::Supervised => Verdict::Ask(format!("{name} {why}")),
        },
        _ if let Some(spreads) = subject.spreads
            && !(spreads.runs_at_auto && level == Approval::Auto) =>
        {
            let (why, cure) = (spreads.why, cure(spec));
            Verdict::Ask(format!(
                "{name} {why}, and this session has read text from outside{cure}"
            ))
        }
        (Approval::Auto | Approval::ReadOnly, _) | (_, None) => Verdict::Allow(None),
        (Approval::Supervised, Some(asks)) => Verdict::Ask(format!("{name} {}", asks.supervised)),
    }
}

/// The declaration that ends such questions about a tool of the owner's for good (AS-26).
fn cure(spec: &ToolSpec) -> String {
    let declare = match spec.origin {
        Origin::BuiltIn => return String::new(),
        Origin::Configuration => format!("tools.custom.{}.closed = true", spec.name),
        Origin::Registered => "`samovar tools add` with --closed".to_owned(),
    };
    format!("; if it passes nothing on and its answers are your own text, declare that: {declare}")
}

/// On which grounds a person has allowed the call already, if they did.
fn granted(subject: &Subject<'_>, known: &Known<'_>) -> Option<Grounds> {
    let wanted = grant(subject)?;
    if known.grants.iter().any(|grant| grant.covers(&wanted)) {
        return Some(Grounds::Turn);
    }
    let mut rules = known.rules.iter();
    let rule = rules.find(|rule| rule.grant.covers(&wanted))?;
    Some(Grounds::Rule(rule.id.clone()))
}

/// What a person can allow together with a call: the calls of the same tool in the same folder, with
/// the same programs. `None` for a file that instructs agents, for a command whose programs can run any
/// other, and for an address that is asked about because of what the session has read: each is decided
/// by itself.
pub fn grant(subject: &Subject<'_>) -> Option<Grant> {
    if subject.reach.is_some_and(|reach| reach.instructs) {
        return None;
    }
    // A person who allows one address has not allowed every other.
    let to_an_address = |facts: &CallFacts| matches!(facts.sends, Some(Sends::Address(_)));
    let is_alone = |facts: &CallFacts| facts.instructs || to_an_address(facts);
    if subject.spreads.is_some() && subject.facts.is_some_and(is_alone) {
        return None;
    }
    let programs = match subject.facts {
        Some(facts) => facts.grants.clone()?,
        None => Vec::new(),
    };
    Some(Grant {
        programs,
        tool: subject.spec.name.clone(),
        identity: subject.identity.map(str::to_owned),
        folder: subject.reach.map(|reach| reach.folder().to_owned()),
        tainted: subject.spreads.is_some(),
    })
}

/// What stands under a tool's name: the hash of its schema, what it does to the world, who closes its
/// calls, and where they are sent. `None` for a tool that is part of the server.
pub(crate) fn identity(spec: &ToolSpec, target: Option<&str>) -> Option<String> {
    let origin = match spec.origin {
        Origin::BuiltIn => return None,
        Origin::Configuration => "configuration",
        Origin::Registered => "registered",
    };
    Some(args_hash(&json!({
        "name": spec.name,
        "parameters": spec.parameters,
        "effect": spec.effect,
        "closer": spec.closer,
        "origin": origin,
        "target": target,
    })))
}

/// SHA-256 of the canonical arguments (object keys sorted, no white space), in hex: what an
/// approval and an intent are bound to.
pub fn args_hash(args: &Value) -> String {
    let mut canonical = String::new();
    write_canonical(args, &mut canonical);
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(canonical.as_bytes()) {
        // Writing to a string cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<_> = map.iter().collect();
            pairs.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (at, (key, value)) in pairs.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Pattern, PolicyRule};
    use samovar_core::situation::DEFAULT_MODE;
    use samovar_core::tool::{Asks, DEFAULT_TIMEOUT, Sharing};
    use samovar_core::{Closer, Millis, RuleId};
    use serde_json::json;

    fn spec(asks: Option<Asks>, effect: Effect) -> ToolSpec {
        ToolSpec {
            name: "tool".to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            effect,
            asks,
            origin: Origin::BuiltIn,
            closed: false,
            timeout: DEFAULT_TIMEOUT,
            sharing: Sharing::Parallel,
            closer: Closer::Tool,
        }
    }

    fn judged(level: Approval, spec: &ToolSpec) -> Verdict {
        let (policy, subject) = (Policy::default(), subject(spec, None));
        let known = Known {
            policy: &policy,
            grants: &[],
            rules: &[],
        };
        judge(level, &subject, &known)
    }

    fn subject<'a>(spec: &'a ToolSpec, reach: Option<&'a Reach>) -> Subject<'a> {
        Subject {
            spec,
            identity: None,
            reach,
            facts: None,
            mode: None,
            spreads: None,
        }
    }

    // proves TL-4
    #[test]
    fn each_level_lets_through_what_its_name_says() {
        use Approval::{Auto, ReadOnly, Supervised};
        use Effect::{Idempotent, Read, Unsafe, Verifiable};
        let (writes, foreign) = (Some(Asks::because("changes files")), Some(Asks::FOREIGN));
        let read_only = ", and the approval level is read-only";
        let denied = |why: &str| Verdict::Deny(format!("tool {why}{read_only}"));
        let asked = |why: &str| Verdict::Ask(format!("tool {why}"));
        let unasked = || Verdict::Allow(None);
        let rows = [
            (Auto, None, Read, unasked()),
            (Auto, writes, Verifiable, unasked()),
            (Auto, foreign, Unsafe, unasked()),
            (Supervised, None, Read, unasked()),
            (Supervised, None, Idempotent, unasked()),
            (Supervised, writes, Verifiable, asked("changes files")),
            (
                Supervised,
                foreign,
                Read,
                asked("was registered from outside"),
            ),
            (ReadOnly, None, Read, unasked()),
            (ReadOnly, None, Idempotent, unasked()),
            (ReadOnly, writes, Verifiable, denied("changes files")),
            (ReadOnly, foreign, Read, unasked()),
            (ReadOnly, foreign, Unsafe, denied("may change something")),
        ];
        for (level, asks, effect, expected) in rows {
            let verdict = judged(level, &spec(asks, effect));
            assert_eq!(verdict, expected, "{level:?} {asks:?} {effect:?}");
        }
    }

    // proves TL-4, TL-10
    #[test]
    fn what_sends_is_asked_about_at_every_level_and_a_rule_allows_it_only_where_it_says_so() {
        use PolicyVerdict::{Allow, Deny};
        let (plain, allow, deny) = (
            Vec::new(),
            rule(Allow, "tool", None),
            rule(Deny, "t*", None),
        );
        let sends = PolicyRule {
            sends: true,
            ..allow.clone()
        };
        let network = Some("would use the network");
        let spreads = |runs_at_auto| Spreads {
            why: "can send data out",
            runs_at_auto,
        };
        let (outside, query) = (Some(spreads(false)), Some(spreads(true)));
        // What it insists on, what it could spread, the rules, and what becomes of it at each level.
        let rows = [
            (network, None, plain.clone(), "aad"),
            (network, None, vec![allow.clone()], "aad"),
            (network, None, vec![sends.clone()], "rrd"),
            (network, None, vec![allow.clone(), sends.clone()], "rrd"),
            (network, None, vec![sends.clone(), deny.clone()], "ddd"),
            (None, outside, plain.clone(), "aaa"),
            (None, outside, vec![allow.clone()], "aaa"),
            (None, outside, vec![sends.clone()], "rrr"),
            (None, query, plain.clone(), "raa"),
            (None, query, vec![sends.clone()], "rrr"),
            (None, None, plain, "rrr"),
        ];
        let reads = spec(None, Effect::Read);
        for (insists, spreads, rules, expected) in rows {
            let facts = CallFacts {
                insists,
                ..CallFacts::default()
            };
            let subject = Subject {
                facts: Some(&facts),
                spreads,
                ..subject(&reads, None)
            };
            let policy = Policy::new(rules);
            assert_eq!(by_levels(&policy, &subject), expected, "{policy:?}");
        }
    }

    // proves TL-4, TL-5
    #[test]
    fn what_a_person_allowed_covers_the_same_tool_in_the_same_folder_and_no_other() {
        let writes = spec(Some(Asks::because("changes files")), Effect::Verifiable);
        let reach = |path: &str, instructs| Reach {
            path: path.to_owned(),
            instructs,
        };
        let (policy, ids) = (Policy::default(), RuleId::new("rule_1").unwrap());
        let src = reach("src/a.rs", false);
        let grant = grant(&subject(&writes, Some(&src))).unwrap();
        let rule = Rule {
            id: ids.clone(),
            grant: grant.clone(),
            workspace: "w".to_owned(),
            made_at: Millis(0),
            by: "owner".to_owned(),
        };
        let other = ToolSpec {
            name: "other".to_owned(),
            ..writes.clone()
        };
        let (grants, rules) = ([grant], [rule]);
        let asks = |spec: &ToolSpec, path: &str, instructs, identity: Option<&str>| {
            let reach = reach(path, instructs);
            let subject = Subject {
                identity,
                ..subject(spec, Some(&reach))
            };
            let known = |grants, rules| Known {
                policy: &policy,
                grants,
                rules,
            };
            let supervised = |known| judge(Approval::Supervised, &subject, &known);
            let by_turn = supervised(known(&grants, &[]));
            let by_rule = supervised(known(&[], &rules));
            let allowed = Verdict::Allow(Some(Grounds::Rule(ids.clone())));
            let both = (
                by_turn == Verdict::Allow(Some(Grounds::Turn)),
                by_rule == allowed,
            );
            assert_eq!(both.0, both.1, "{path}");
            assert!(matches!(
                judge(Approval::ReadOnly, &subject, &known(&grants, &rules)),
                Verdict::Deny(_)
            ));
            !both.0
        };
        assert!(!asks(&writes, "src/b.rs", false, None));
        for (path, instructs) in [("a.rs", false), ("src/x/a.rs", false), ("src/A.md", true)] {
            assert!(asks(&writes, path, instructs, None), "{path}");
        }
        assert!(asks(&other, "src/b.rs", false, None));
        // The same name, and another tool behind it.
        assert!(asks(&writes, "src/b.rs", false, Some("another")));
    }

    fn rule(verdict: PolicyVerdict, tool: &str, path: Option<&str>) -> PolicyRule {
        PolicyRule {
            name: format!("{verdict:?}"),
            verdict,
            tool: Pattern::new(tool).unwrap(),
            path: path.map(|path| Pattern::new(path).unwrap()),
            program: None,
            level: None,
            mode: None,
            sends: false,
        }
    }

    /// Rules, a path, a mode, and what becomes of a call that changes the path and of one that reads it.
    type Row<'a> = (
        &'a [&'a PolicyRule],
        &'a str,
        Option<&'a str>,
        &'a str,
        &'a str,
    );

    /// What the gate says at `auto`, `supervised` and `read-only`: r runs, a asks, d denies.
    fn by_rules(rules: &[&PolicyRule], spec: &ToolSpec, path: &str, mode: Option<&str>) -> String {
        let policy = Policy::new(rules.iter().map(|rule| (*rule).clone()).collect());
        let reach = Reach {
            path: path.to_owned(),
            instructs: false,
        };
        let subject = Subject {
            mode,
            ..subject(spec, Some(&reach))
        };
        by_levels(&policy, &subject)
    }

    fn by_levels(policy: &Policy, subject: &Subject<'_>) -> String {
        let known = Known {
            policy,
            grants: &[],
            rules: &[],
        };
        let levels = [Approval::Auto, Approval::Supervised, Approval::ReadOnly];
        let said = levels.map(|level| match judge(level, subject, &known) {
            Verdict::Allow(_) => 'r',
            Verdict::Ask(_) => 'a',
            Verdict::Deny(_) => 'd',
        });
        said.iter().collect()
    }

    // proves TL-4
    #[test]
    fn of_the_rules_of_the_configuration_that_fit_the_strictest_decides_and_none_widens_read_only()
    {
        use PolicyVerdict::{Allow, Ask, Deny};
        let deny_docs = rule(Deny, "to*", Some("docs/**"));
        let (allow, ask) = (rule(Allow, "tool", None), rule(Ask, "tool", None));
        let (other, deny) = (rule(Deny, "tools", None), rule(Deny, "tool", None));
        let of_auto = PolicyRule {
            level: Some(Approval::Auto),
            ..deny.clone()
        };
        let in_mode = |mode: &str| PolicyRule {
            mode: Some(mode.to_owned()),
            ..deny.clone()
        };
        let (settings, default) = (in_mode("settings"), in_mode(DEFAULT_MODE));
        let rows: [Row<'_>; 14] = [
            (&[], "docs/a", None, "rad", "rrr"),
            (&[&deny_docs], "docs/a", None, "ddd", "ddd"),
            (&[&deny_docs], "docs/a/b", None, "ddd", "ddd"),
            (&[&deny_docs], "docs", None, "rad", "rrr"),
            (&[&deny_docs], "src/docs/a", None, "rad", "rrr"),
            (&[&allow], "src/a", None, "rrd", "rrr"),
            (&[&ask], "src/a", None, "aad", "aaa"),
            (&[&allow, &ask], "src/a", None, "aad", "aaa"),
            (&[&allow, &ask, &deny_docs], "docs/a", None, "ddd", "ddd"),
            (&[&of_auto], "src/a", None, "dad", "drr"),
            (&[&settings], "src/a", Some("settings"), "ddd", "ddd"),
            (&[&settings], "src/a", None, "rad", "rrr"),
            (&[&default], "src/a", None, "ddd", "ddd"),
            (&[&other], "src/a", None, "rad", "rrr"),
        ];
        let writes = spec(Some(Asks::because("changes files")), Effect::Verifiable);
        let reads = spec(None, Effect::Read);
        for (rules, path, mode, of_writing, of_reading) in rows {
            let found = by_rules(rules, &writes, path, mode);
            assert_eq!(found, of_writing, "{rules:?} {path} {mode:?}");
            let found = by_rules(rules, &reads, path, mode);
            assert_eq!(found, of_reading, "{rules:?} {path} {mode:?}");
        }
    }

    #[test]
    fn the_hash_of_arguments_does_not_depend_on_the_order_of_keys() {
        let one = json!({"a": 1, "b": {"x": [1, {"p": 1, "q": 2}], "y": "é"}});
        let other = json!({"b": {"y": "é", "x": [1, {"q": 2, "p": 1}]}, "a": 1});
        assert_eq!(args_hash(&one), args_hash(&other));
        assert_ne!(args_hash(&one), args_hash(&json!({"a": 2})));
        assert_ne!(args_hash(&json!([1, 2])), args_hash(&json!([2, 1])));
    }
}
