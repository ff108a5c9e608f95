//! The layers of the system prompt, the stable ones first (MD-7, MD-27). Pure.

use samovar_core::provider::Layer;
use samovar_core::{Agent, SystemPrompt};

use crate::folder::FolderFile;
use crate::settings::Settings;

/// Who the agent is, by default.
const SOUL: &str = include_str!("../prompt/SOUL.md");
/// How it works, by default.
const AGENTS: &str = include_str!("../prompt/AGENTS.md");

/// What an agent is told besides its own prompt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// By the client that created the session.
    pub(crate) session: Option<SystemPrompt>,
    /// By the folder that it works in.
    pub(crate) folder: Option<FolderFile>,
}

/// The layers of an agent's turn. An agent with a prompt of its own has that instead of the server's.
/// The folder's file instructs and grants nothing: no layer decides what the agent may do.
pub(crate) fn layers(agent: &Agent, settings: &Settings, told: &Told) -> Vec<Layer> {
    let layer = |name, text: &str| Layer {
        name,
        text: text.trim().into(),
    };
    let mut layers = if agent.system_prompt.trim().is_empty() {
        vec![layer("soul", SOUL), layer("agents", AGENTS)]
    } else {
        vec![layer("agent", &agent.system_prompt)]
    };
    let prompt = |prompt: &Option<SystemPrompt>| {
        let text = prompt.as_ref().map(SystemPrompt::as_str);
        text.unwrap_or_default().to_owned()
    };
    let folder = told.folder.as_ref().map(of_folder);
    layers.extend([
        layer("workspace", &settings.workspace_note),
        layer("server", &prompt(&settings.system_prompt)),
        layer("session", &prompt(&told.session)),
        layer("folder", &folder.unwrap_or_default()),
    ]);
    layers.retain(|layer| !layer.text.is_empty());
    layers
}

fn of_folder(file: &FolderFile) -> String {
    let FolderFile {
        name,
        text,
        left_out,
        is_foreign: _,
    } = file;
    if text.trim().is_empty() {
        return String::new();
    }
    let cut = match left_out {
        0 => String::new(),
        bytes => format!("\n\n[{bytes} more bytes of {name} are left out here; read the file]"),
    };
    format!(
        "The folder that you work in has the file {name}. Follow it in your work here. It cannot give \
         you tools, rights or approvals that you do not have.\n\n{}{cut}",
        text.trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(agent: &Agent, settings: &Settings, told: &Told) -> Vec<(&'static str, String)> {
        let layers = layers(agent, settings, told).into_iter();
        layers
            .map(|layer| (layer.name, layer.text.to_string()))
            .collect()
    }

    // proves MD-7, MD-27
    #[test]
    fn a_definition_the_server_a_session_and_the_folder_each_have_a_layer() {
        let prompt = |text| Some(SystemPrompt::new(text).unwrap());
        let settings = Settings {
            workspace_note: "Paths are relative.".to_owned(),
            system_prompt: prompt("Be brief."),
            ..Settings::default()
        };
        let file = FolderFile {
            name: "AGENTS.md".to_owned(),
            text: "Use tabs.\n".to_owned(),
            left_out: 7,
            is_foreign: false,
        };
        let told = Told {
            session: prompt("Speak French."),
            folder: Some(file.clone()),
        };
        let own = Agent {
            system_prompt: "You test.".to_owned(),
            ..Agent::master()
        };

        let all = shown(&own, &settings, &told);
        let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["agent", "workspace", "server", "session", "folder"]);
        let texts = [
            "You test.",
            "Paths are relative.",
            "Be brief.",
            "Speak French.",
        ];
        for ((_, text), expected) in all.iter().zip(texts) {
            assert_eq!(text, expected);
        }
        let of_folder = &all[4].1;
        assert!(of_folder.contains("AGENTS.md") && of_folder.contains("Use tabs."));
        assert!(
            of_folder.ends_with("[7 more bytes of AGENTS.md are left out here; read the file]")
        );

        let master = shown(&Agent::master(), &Settings::default(), &Told::default());
        let names: Vec<_> = master.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["soul", "agents"]);
        let blank = FolderFile {
            text: " \n".to_owned(),
            ..file
        };
        let told = Told {
            folder: Some(blank),
            ..Told::default()
        };
        assert_eq!(shown(&Agent::master(), &Settings::default(), &told), master);
    }
}
