//! What an agent is told: read once, when its turn begins or resumes.

use samovar_core::error::FaultCode;
use samovar_core::provider::Layer;
use samovar_core::{Agent, AgentPath, ContextLimit, Prompt, Situation, SystemPrompt};
use samovar_locale as locale;

use super::layers::{self, Texts};
use super::retry::Failure;
use crate::context;
use crate::delegation;
use crate::guide::{Audience, Guidance, READ_SKILL};
use crate::parts::Parts;

/// What an agent is told in its turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// The layers of its system prompt.
    pub(crate) layers: Vec<Layer>,
    /// Whether some of them are text from outside (TL-10).
    pub(crate) is_foreign: bool,
    /// Whether there are skills, so that it is offered the tool to read them.
    pub(crate) has_skills: bool,
}

impl Parts {
    /// Reads what an agent is told now. The files are looked at on a thread that may block.
    pub(crate) async fn tell(
        &self,
        agent: &Agent,
        path: &AgentPath,
        session: Option<SystemPrompt>,
        situation: Option<&Situation>,
    ) -> Told {
        let environment = situation.and_then(|situation| situation.environment.as_ref());
        let specs = self.toolbox.specs();
        let has_tool = specs.iter().any(|spec| spec.name == READ_SKILL);
        let audience = Audience {
            reads_skills: has_tool && delegation::has_tool(agent, READ_SKILL),
            ..Audience::of(agent, path.depth(), environment)
        };
        let (folder, guide) = (self.settings.folder.clone(), self.settings.guide.clone());
        let (folder, guidance) = if folder.is_silent() && guide.is_silent() {
            (None, Guidance::default())
        } else {
            let read = move || (folder.read(), guide.read(audience));
            let read = tokio::task::spawn_blocking(read).await;
            read.unwrap_or_else(|error| {
                tracing::error!(%error, "the files that tell agents how to work could not be read");
                (None, Guidance::default())
            })
        };
        let texts = Texts {
            session,
            folder,
            guidance,
        };
        let is_foreign = texts.folder.as_ref().is_some_and(|file| file.is_foreign);
        Told {
            layers: layers::layers(agent, &self.settings, &texts),
            is_foreign: is_foreign || texts.guidance.is_foreign,
            has_skills: texts.guidance.skills.is_some(),
        }
    }
}

/// Why a prompt is not sent: even without the conversation it is longer than the model's window.
pub(super) fn too_long(prompt: &Prompt, limit: Option<&ContextLimit>) -> Option<Failure> {
    let limit = limit.filter(|limit| context::has_no_room(prompt, limit))?;
    let (name, tokens) = layers::largest(&prompt.layers)?;
    Some(Failure {
        code: FaultCode::ContextFull,
        message: locale::turn::prompt_too_long(limit.tokens, name, tokens),
        retry_after: None,
        usage: None,
        context: None,
        is_final: true,
    })
}
