//! The skills: which there are, and what they say (MD-16).

use std::sync::Arc;

use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_wire::agent::{
    BASE_PATH, GetSkillParams, NoParams, SkillDefinition, SkillOrigin, SkillSummary,
};

use super::state::{Call, Endpoint};
use crate::endpoint;
use crate::engine_cell::starting;
use crate::guide::{Guide, Origin, Skill};

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
    let (guide, skills) = skills(&call).await?;
    let all = skills.into_iter();
    Ok(all
        .map(|(skill, missing)| summary(&guide, &skill, missing))
        .collect())
}

async fn get_skill(call: Call, params: GetSkillParams) -> Result<SkillDefinition, Error> {
    let (guide, skills) = skills(&call).await?;
    let found = skills
        .into_iter()
        .find(|(skill, _)| skill.name == params.name);
    let (skill, missing) = found.ok_or_else(|| {
        let why = locale::guide::unknown_skill(locale::quoted(&params.name));
        Error::new(Code::UnknownSkill, why)
    })?;
    let summary = summary(&guide, &skill, missing);
    let requires = skill.requires.clone();
    let read = tokio::task::spawn_blocking(move || guide.text(&skill, None)).await;
    let read = read.unwrap_or_else(|error| Err(error.to_string()));
    let read = read.map_err(|why| Error::new(Code::UnknownSkill, why))?;
    Ok(SkillDefinition {
        summary,
        requires,
        content: read.text,
        sha256: read.sha256,
    })
}

/// The skills of the server, each with what it needs and commands lack.
async fn skills(call: &Call) -> Result<(Arc<Guide>, Vec<(Arc<Skill>, Vec<String>)>), Error> {
    let specs = call.engine().await?.toolbox().specs();
    let guide = call.state.guide.get().ok_or_else(starting)?.clone();
    let looking = guide.clone();
    let look = move || {
        let has_tool = |tool: &str| specs.iter().any(|spec| spec.name == tool);
        looking.skills(has_tool, None)
    };
    let skills = tokio::task::spawn_blocking(look).await;
    let skills = skills.map_err(|error| Error::new(Code::Internal, error.to_string()))?;
    Ok((guide, skills))
}

fn summary(guide: &Guide, skill: &Skill, missing: Vec<String>) -> SkillSummary {
    SkillSummary {
        name: skill.name.clone(),
        description: skill.description.clone(),
        always: skill.always,
        available: missing.is_empty(),
        missing,
        origin: match skill.origin {
            Origin::Own => SkillOrigin::User,
            Origin::BuiltIn => SkillOrigin::BuiltIn,
            Origin::Folder => SkillOrigin::Workspace,
        },
        foreign: guide.is_foreign(skill),
    }
}
