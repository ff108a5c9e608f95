//! The definitions that are part of the program.

use samovar_core::agent::{SubAgents, ToolKeys};
use samovar_core::{Agent, AgentName};

/// The name of the global chat's own agent. No agent can call it.
pub const ADAPTIVE: &str = "adaptive";

/// The agent for tasks on the web (SA-14).
const BROWSER: &str = "browser";

const BROWSER_TOOLS: [&str; 8] = [
    "web_search",
    "web_fetch",
    "open_url",
    "get_current_tab",
    "get_tabs",
    "read_file",
    "list_dir",
    "search_files",
];

const BROWSER_STEPS: u32 = 10;

/// All of them, by name.
pub fn built_in() -> Vec<Agent> {
    let named = |name| AgentName::new(name).ok();
    let adaptive = named(ADAPTIVE).map(|name| Agent {
        name,
        display_name: "Adaptive".to_owned(),
        ..Agent::master()
    });
    let browser = named(BROWSER).map(|name| Agent {
        name,
        display_name: "Browser".to_owned(),
        system_prompt: include_str!("../prompts/browser.md").to_owned(),
        tools: ToolKeys::Only(BROWSER_TOOLS.map(str::to_owned).into()),
        sub_agents: SubAgents::none(),
        max_steps: Some(BROWSER_STEPS),
        ..Agent::master()
    });
    let all = [adaptive, browser, Some(Agent::master())];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;

    // proves SA-2
    #[test]
    fn the_program_has_three_valid_agents_in_the_order_of_their_names() {
        let all = built_in();
        let names: Vec<_> = all.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(names, ["adaptive", "browser", "master"]);
        for agent in &all {
            assert_eq!(check(agent), None, "{}", agent.name);
        }
    }

    // proves SA-19
    #[test]
    fn only_the_agents_that_people_talk_to_may_call_others_unless_configured() {
        let calling = built_in()
            .into_iter()
            .filter(|one| one.sub_agents == SubAgents::All);
        let calling: Vec<_> = calling.map(|one| one.name.to_string()).collect();
        assert_eq!(calling, ["adaptive", "master"]);
    }
}
