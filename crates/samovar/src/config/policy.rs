//! The rules about calls, the approval levels, and how long a question waits.

use samovar_config::{ConfigError, Origin, PolicyRule, Resolved};
use samovar_core::approval::PolicyVerdict;
use samovar_engine::policy::{self, Pattern, Policy};
use samovar_engine::{AgentModes, Settings};
use samovar_locale as text;

use super::elsewhere::unusable;

/// Takes over what is set; the modes are set already.
///
/// # Errors
/// [`ConfigError`]: a rule lacks what it needs, or names an invalid pattern or an unknown mode.
pub(super) fn set_up(settings: &mut Settings, resolved: &Resolved) -> Result<(), ConfigError> {
    let tools = &resolved.settings.tools;
    let modes = &settings.agent_modes;
    let rules = tools.policy.iter();
    let rules = rules.map(|(name, set)| rule(resolved, modes, name, set));
    settings.policy = Policy::new(rules.collect::<Result<_, _>>()?);
    Ok(())
}

fn rule(
    resolved: &Resolved,
    modes: &AgentModes,
    name: &str,
    set: &PolicyRule,
) -> Result<policy::PolicyRule, ConfigError> {
    let wrong = |key: &str, found: &str, right: &str| {
        let key = format!("tools.policy.{name}.{key}");
        unusable(resolved, &key, place(resolved, name), found, right)
    };
    let (lacks_tool, lacks_verdict) = (
        text::config::expected_policy_tool(),
        text::config::expected_policy_verdict(),
    );
    let tool = set.tool.as_deref();
    let tool = tool.ok_or_else(|| wrong("tool", "", lacks_tool))?;
    let verdict = set.verdict;
    let verdict = verdict.ok_or_else(|| wrong("verdict", "", lacks_verdict))?;
    if let Some(mode) = set.mode.as_deref().filter(|mode| !modes.has(mode)) {
        let right = text::config::expected_policy_mode(modes.names());
        return Err(wrong("mode", mode, &right));
    }
    Ok(policy::PolicyRule {
        name: name.to_owned(),
        verdict,
        tool: Pattern::new(tool).ok_or_else(|| wrong("tool", tool, lacks_tool))?,
        path: match set.path.as_deref() {
            Some(path) => {
                let read = match verdict {
                    PolicyVerdict::Allow => Pattern::new(path),
                    PolicyVerdict::Ask | PolicyVerdict::Deny => Pattern::ignoring_case(path),
                };
                let right = text::config::expected_policy_path();
                Some(read.ok_or_else(|| wrong("path", path, right))?)
            }
            None => None,
        },
        program: match set.program.as_deref() {
            Some(program) => {
                let right = text::config::expected_policy_program();
                let read = match verdict {
                    PolicyVerdict::Allow => Pattern::new(program),
                    PolicyVerdict::Ask | PolicyVerdict::Deny => Pattern::crossing_slashes(program),
                };
                Some(read.ok_or_else(|| wrong("program", program, right))?)
            }
            None => None,
        },
        level: set.level,
        mode: set.mode.clone(),
        sends: set.sends == Some(true),
    })
}

/// Where a rule stands: what it lacks has no place of its own.
fn place(resolved: &Resolved, name: &str) -> Origin {
    let keys = [
        "tool", "verdict", "path", "program", "level", "mode", "sends",
    ];
    let mut places = keys
        .iter()
        .map(|key| resolved.origin(&format!("tools.policy.{name}.{key}")));
    places
        .find(|place| *place != Origin::Default)
        .unwrap_or(Origin::Default)
}
