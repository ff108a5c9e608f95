//! The skills: which there are, and what they say (MD-16).

use samovar_core::{Code, Error, redact};
use samovar_locale as locale;
use samovar_wire::agent::{
    BASE_PATH, GetSkillParams, NoParams, SkillDefinition, SkillOrigin, SkillSummary,
};

use super::state::{Call, Endpoint};
use crate::endpoint;
use crate::engine_cell::starting;
use crate::guide::{Known, Origin};

pub(super) fn routes() -> Vec<Endpoint> {
    vec![
        endpoint::Endpoint::reading(
            format!("{BASE_PATH}/listSkills"),
            "Returns the skills that agents may read.",
            list_skills,
        ),
        endpoint::Endpoint::reading(
            format!("{BASE_PATH}/getSkill"),
            "Returns a skill and what it says.",
            get_skill,
        ),
    ]
}

async fn list_skills(call: Call, _params: NoParams) -> Result<Vec<SkillSummary>, Error> {
    looked(&call, |skills| skills.iter().map(summary).collect()).await
}

async fn get_skill(call: Call, params: GetSkillParams) -> Result<SkillDefinition, Error> {
    let shown = move |skills: Vec<Known>| {
        let found = skills.iter().find(|known| known.skill.name == params.name);
        let known = found.ok_or_else(|| {
            let why = locale::guide::unknown_skill(locale::quoted(&params.name));
            Error::new(Code::UnknownSkill, why)
        })?;
        let read = known.skill.text(None);
        let read = read.map_err(|why| Error::new(Code::UnknownSkill, why))?;
        Ok(SkillDefinition {
            summary: summary(known),
            requires: known.skill.requires.clone(),
            content: redact::own().redact(&read.text).into_owned(),
            sha256: read.sha256,
        })
    };
    looked(&call, shown).await?
}

/// Looks at the skills of the server, and shows them, on a thread that may block.
async fn looked<T: Send + 'static>(
    call: &Call,
    show: impl FnOnce(Vec<Known>) -> T + Send + 'static,
) -> Result<T, Error> {
    let specs = call.engine().await?.toolbox().specs();
    let guide = call.state.guide.get().ok_or_else(starting)?.clone();
    let look = move || {
        let has_tool = |tool: &str| specs.iter().any(|spec| spec.name == tool);
        show(guide.skills(has_tool, None))
    };
    let shown = tokio::task::spawn_blocking(look).await;
    shown.map_err(|error| Error::new(Code::Internal, error.to_string()))
}

/// A skill for people, without keys.
fn summary(known: &Known) -> SkillSummary {
    let skill = &known.skill;
    SkillSummary {
        name: skill.name.clone(),
        description: redact::own().redact(&skill.description).into_owned(),
        always: known.is_whole(),
        available: known.missing.is_empty(),
        missing: known.missing.clone(),
        origin: match skill.origin {
            Origin::Own => SkillOrigin::User,
            Origin::BuiltIn => SkillOrigin::BuiltIn,
            Origin::Folder => SkillOrigin::Workspace,
        },
        foreign: known.is_foreign,
    }
}
