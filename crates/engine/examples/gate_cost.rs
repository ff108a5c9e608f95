//! What the gate costs: `cargo run --release -p samovar-engine --example gate_cost`.
//!
//! Judges a call of `write_file` with 2 KB of content 100,000 times, against 1,000 rules that people
//! made and 20 of the configuration, of which none fits, and hashes its arguments as an intent does.
//! Prints the CPU time for each call.

#![expect(
    clippy::print_stdout,
    reason = "it is a measurement that a person reads"
)]

use std::hint::black_box;
use std::time::Duration;

use samovar_core::approval::PolicyVerdict;
use samovar_core::tool::{Asks, DEFAULT_TIMEOUT, Origin, Sharing};
use samovar_core::{Approval, Closer, Effect, Grant, Millis, Reach, Rule, RuleId, ToolSpec};
use samovar_engine::RuleBook;
use samovar_engine::gate::{Known, Subject, args_hash, judge};
use samovar_engine::policy::{Pattern, Policy, PolicyRule};
use serde_json::json;

const CALLS: u32 = 100_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rules = (0..1_000).map(|number| {
        Ok::<_, Box<dyn std::error::Error>>(Rule {
            id: RuleId::new(&format!("rule_{number}"))?,
            grant: Grant {
                tool: "write_file".to_owned(),
                identity: None,
                folder: Some(format!("src/folder-{number}")),
                programs: Vec::new(),
                tainted: false,
            },
            workspace: "here".to_owned(),
            made_at: Millis(0),
            by: "owner".to_owned(),
        })
    });
    let rules = rules.collect::<Result<_, _>>()?;
    let rules = RuleBook::new("here".to_owned(), rules, |_| Ok(()));
    let pattern = |text: &str| Pattern::new(text).ok_or("not a pattern");
    let policy = (0..20).map(|number| {
        Ok::<_, Box<dyn std::error::Error>>(PolicyRule {
            name: format!("p{number}"),
            verdict: PolicyVerdict::Deny,
            tool: pattern("write_*")?,
            path: Some(pattern(&format!("kept-{number}/**"))?),
            program: None,
            level: None,
            mode: None,
            sends: false,
        })
    });
    let policy = Policy::new(policy.collect::<Result<_, _>>()?);
    let spec = spec();
    let args = json!({"path": "src/lib.rs", "content": "fn main() {}\n".repeat(150)});
    let reach = Reach {
        path: "src/lib.rs".to_owned(),
        instructs: false,
    };
    let subject = Subject {
        spec: &spec,
        identity: None,
        reach: Some(&reach),
        facts: None,
        spreads: None,
        mode: None,
    };

    let judging = each(|| {
        let in_force = rules.in_force();
        let known = Known {
            policy: &policy,
            grants: &[],
            rules: &in_force,
        };
        black_box(judge(Approval::Supervised, black_box(&subject), &known));
    })?;
    let hashing = each(|| drop(black_box(args_hash(black_box(&args)))))?;

    println!("judging a call: {judging:.2} µs");
    println!("hashing its arguments: {hashing:.2} µs");
    Ok(())
}

/// Microseconds of CPU time that this takes, each time.
///
/// # Errors
/// The system does not say.
fn each(work: impl Fn()) -> Result<f64, Box<dyn std::error::Error>> {
    let before = nanoseconds()?;
    (0..CALLS).for_each(|_| work());
    let spent = Duration::from_nanos(nanoseconds()?.saturating_sub(before));
    Ok(spent.as_secs_f64() * 1e6 / f64::from(CALLS))
}

/// The CPU time of this thread.
fn nanoseconds() -> Result<u64, Box<dyn std::error::Error>> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let spent = told.split(' ').next().unwrap_or_default();
    Ok(spent.parse()?)
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "write_file".to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
        effect: Effect::Verifiable,
        asks: Some(Asks::because("changes files")),
        origin: Origin::BuiltIn,
        closed: false,
        timeout: DEFAULT_TIMEOUT,
        sharing: Sharing::Parallel,
        closer: Closer::Tool,
    }
}
