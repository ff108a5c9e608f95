//! The layers of the system prompt, the stable ones first (MD-7, MD-8, MD-27). Pure.

use samovar_core::provider::Layer;
use samovar_core::{Agent, SystemPrompt};

use crate::context;
use crate::folder::FolderFile;
use crate::guide::Guidance;
use crate::settings::Settings;

/// Who the agent is, by default.
const SOUL: &str = include_str!("prompt/SOUL.md");
/// How it works, by default.
const AGENTS: &str = include_str!("prompt/AGENTS.md");

/// A layer that is no longer than this is not cut to fit a window, in tokens.
const LEAST: u64 = 128;
/// The tokens of the long-term memory that a prompt has, at most.
const MEMORY: u64 = 8_000;
/// The layer with the skills, which is the last.
const SKILLS: &str = "skills";
/// The layer with what the client posted, in the layout of the seeds.
const CONTEXT: &str = "context";

/// The texts besides an agent's own prompt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    /// By the client that created the session.
    pub(crate) session: Option<SystemPrompt>,
    /// By the folder that it works in.
    pub(crate) folder: Option<FolderFile>,
    /// By the person's own files.
    pub(crate) guidance: Guidance,
}

/// The layers of an agent's turn, each within its budget of tokens. A definition's prompt takes the
/// place of SOUL and AGENTS, except where the agent has its own file for one of them.
/// The folder's file instructs and grants nothing: no layer decides what the agent may do.
pub(crate) fn layers(agent: &Agent, settings: &Settings, texts: &Texts) -> Vec<Layer> {
    let prompt = |prompt: &Option<SystemPrompt>| {
        let text = prompt.as_ref().map(SystemPrompt::as_str);
        text.unwrap_or_default().to_owned()
    };
    let has_prompt = !agent.system_prompt.trim().is_empty();
    let or_usual = |text: &Option<String>, usual: &str| {
        let usual = if has_prompt { "" } else { usual };
        text.clone().unwrap_or_else(|| usual.to_owned())
    };
    let given = |text: &Option<String>| text.clone().unwrap_or_default();
    let guidance = &texts.guidance;
    let folder = texts.folder.as_ref().map(of_folder);
    let all = [
        ("soul", 4_000, or_usual(&guidance.soul, SOUL)),
        ("agent", 24_000, agent.system_prompt.clone()),
        ("user", 4_000, given(&guidance.user)),
        ("agents", 8_000, or_usual(&guidance.agents, AGENTS)),
        ("workspace", 2_000, settings.workspace_note.clone()),
        ("server", 8_000, prompt(&settings.system_prompt)),
        ("session", 24_000, prompt(&texts.session)),
        ("folder", 16_000, folder.unwrap_or_default()),
        ("memory", MEMORY, given(&guidance.memory)),
        ("events", 4_000, given(&guidance.events)),
        (SKILLS, 8_000, given(&guidance.skills)),
    ];
    let mut layers = Vec::with_capacity(all.len());
    for (name, budget, text) in all {
        let text = text.trim();
        if !text.is_empty() {
            layers.push(Layer {
                name,
                text: within(name, text, budget).into(),
            });
        }
    }
    layers
}

/// How many tokens a long-term memory has, and of how many a prompt has the beginning, if that is not
/// all of it.
pub fn memory_left_out(text: &str) -> Option<(u64, u64)> {
    let tokens = context::tokens_of(text);
    (tokens > MEMORY).then_some((tokens, MEMORY))
}

/// Puts what changes from turn to turn into the system prompt, before the skills (MD-23).
pub(crate) fn with_context(mut layers: Vec<Layer>, text: &str) -> Vec<Layer> {
    let is_skills = layers.last().is_some_and(|layer| layer.name == SKILLS);
    let context = Layer {
        name: CONTEXT,
        text: text.trim().into(),
    };
    layers.insert(layers.len() - usize::from(is_skills), context);
    layers
}

/// Cuts layers, the longest first, until all together have at most `room` tokens. What is short stays
/// whole.
pub(crate) fn fitted(mut layers: Vec<Layer>, room: u64) -> Vec<Layer> {
    let mut sizes: Vec<_> = layers.iter().map(size).collect();
    if sizes.iter().sum::<u64>() <= room {
        return layers;
    }
    sizes.sort_unstable();
    // Each of those that are left gets the same share of what the shorter ones leave.
    let (mut left, mut most) = (room, LEAST);
    for (at, size) in sizes.iter().enumerate() {
        most = left / (sizes.len() - at) as u64;
        if *size > most {
            break;
        }
        left -= size;
    }
    for layer in &mut layers {
        if size(layer) > most.max(LEAST) {
            layer.text = within(layer.name, &layer.text, most.max(LEAST)).into();
        }
    }
    layers
}

/// The longest layer, with its tokens.
pub(crate) fn largest(layers: &[Layer]) -> Option<(&'static str, u64)> {
    let sizes = layers.iter().map(|layer| (layer.name, size(layer)));
    sizes.max_by_key(|(_, size)| *size)
}

/// How many tokens a layer has, about.
pub(crate) fn size(layer: &Layer) -> u64 {
    context::tokens_of(&layer.text)
}

/// The beginning of a text that is longer than `budget` tokens, with a note.
fn within(name: &str, text: &str, budget: u64) -> String {
    let tokens = context::tokens_of(text);
    if tokens <= budget {
        return text.to_owned();
    }
    let begin = context::beginning_of(text, budget.saturating_sub(LEAST / 4));
    let left_out = tokens - context::tokens_of(begin);
    format!(
        "{}\n\n[about {left_out} more tokens of this text are left out ({name})]",
        begin.trim_end()
    )
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

    fn shown(agent: &Agent, settings: &Settings, texts: &Texts) -> Vec<(&'static str, String)> {
        let layers = layers(agent, settings, texts).into_iter();
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
        let texts = Texts {
            session: prompt("Speak French."),
            folder: Some(file.clone()),
            guidance: Guidance::default(),
        };
        let own = Agent {
            system_prompt: "You test.".to_owned(),
            ..Agent::master()
        };

        let all = shown(&own, &settings, &texts);
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

        let master = shown(&Agent::master(), &Settings::default(), &Texts::default());
        let names: Vec<_> = master.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["soul", "agents"]);
        let blank = FolderFile {
            text: " \n".to_owned(),
            ..file
        };
        let texts = Texts {
            folder: Some(blank),
            ..Texts::default()
        };
        assert_eq!(
            shown(&Agent::master(), &Settings::default(), &texts),
            master
        );
    }

    fn layer(name: &'static str, text: &str) -> Layer {
        Layer {
            name,
            text: text.into(),
        }
    }

    fn names(layers: &[Layer]) -> Vec<&'static str> {
        layers.iter().map(|layer| layer.name).collect()
    }

    // proves MD-6, MD-7, MD-22
    #[test]
    fn a_persons_files_take_the_place_of_single_layers() {
        let guidance = |soul: &str, agents: &str| {
            let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            Guidance {
                soul: text(soul),
                user: text("The person likes tea."),
                agents: text(agents),
                skills: text("tea - how to make tea"),
                ..Guidance::default()
            }
        };
        let own = Agent {
            system_prompt: "You test.".to_owned(),
            ..Agent::master()
        };
        for (agent, soul, agents, expected) in [
            (Agent::master(), "", "", vec![SOUL.trim(), AGENTS.trim()]),
            (
                Agent::master(),
                "A pirate.",
                "",
                vec!["A pirate.", AGENTS.trim()],
            ),
            (
                Agent::master(),
                "",
                "No tools.",
                vec![SOUL.trim(), "No tools."],
            ),
            (own.clone(), "", "", vec!["You test."]),
            (own.clone(), "A pirate.", "", vec!["A pirate.", "You test."]),
            (own, "", "No tools.", vec!["You test.", "No tools."]),
        ] {
            let texts = Texts {
                guidance: guidance(soul, agents),
                ..Texts::default()
            };
            let layers = layers(&agent, &Settings::default(), &texts);
            let is_other = |layer: &&Layer| !matches!(layer.name, "user" | "skills");
            let told: Vec<_> = layers.iter().filter(is_other).map(|it| &*it.text).collect();
            assert_eq!(told, expected);
            let order = ["soul", "agent", "user", "agents", "skills"];
            let order = order.iter().filter(|name| names(&layers).contains(name));
            assert_eq!(names(&layers), order.copied().collect::<Vec<_>>());
        }
    }

    // proves MD-8
    #[test]
    fn a_layer_over_its_budget_is_cut_with_a_note() {
        let long = "word ".repeat(20_000);
        let texts = Texts {
            guidance: Guidance {
                soul: Some(long),
                ..Guidance::default()
            },
            ..Texts::default()
        };
        let layers = layers(&Agent::master(), &Settings::default(), &texts);
        assert!((3_800..=4_000).contains(&size(&layers[0])));
        assert!(
            layers[0]
                .text
                .ends_with(" more tokens of this text are left out (soul)]")
        );
        assert_eq!(&*layers[1].text, AGENTS.trim());
    }

    // proves MD-8
    #[test]
    fn layers_fit_a_window_by_cutting_the_longest() {
        let long = "word ".repeat(1_000);
        let all = || {
            vec![
                layer("soul", "Short."),
                layer("folder", &long),
                layer("skills", &long.repeat(3)),
            ]
        };
        let total = |layers: &[Layer]| layers.iter().map(size).sum::<u64>();
        assert_eq!(fitted(all(), 10_000), all());
        for room in [500, 1_000, 1_500, 2_500, 3_500] {
            let fitted = fitted(all(), room);
            assert!(total(&fitted) <= room, "{room}: {}", total(&fitted));
            assert!(total(&fitted) + 100 >= room, "{room}: {}", total(&fitted));
            assert_eq!(fitted[0], all()[0]);
        }
        // What is short is never cut: then the prompt has no room.
        assert!(total(&fitted(all(), 10)) >= 2 * (LEAST - 20));
        assert_eq!(largest(&all()).unwrap().0, "skills");
    }

    // proves MD-23
    #[test]
    fn what_changes_stands_before_the_skills_in_the_layout_of_the_seeds() {
        let layers = vec![layer("soul", "s"), layer("skills", "k")];
        assert_eq!(
            names(&with_context(layers, "c")),
            ["soul", "context", "skills"]
        );
        let layers = vec![layer("soul", "s")];
        assert_eq!(names(&with_context(layers, "c")), ["soul", "context"]);
    }
}
