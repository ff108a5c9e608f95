//! `samovar skills`: the texts that agents read before certain work.

use samovar_locale::guide as text;
use samovar_server::skill_folders;
use samovar_wire::agent::{GetSkillParams, NoParams, SkillDefinition, SkillOrigin, SkillSummary};
use serde_json::json;

use crate::args::{ModelArgs, Skills};
use crate::client::Client;
use crate::config::{self, LocalData};
use crate::exit::{Exit, Failure};
use crate::output::{self, table};
use crate::screen::{beginning, say};
use crate::sessions::look;

/// Characters of a description in the list.
const SHOWN: usize = 72;

/// `samovar skills`.
pub(crate) async fn skills(command: Skills) -> Result<Exit, Failure> {
    match command {
        Skills::List { common } => {
            let asked = async |client: &Client| {
                client
                    .agent::<Vec<SkillSummary>>("listSkills", &NoParams {})
                    .await
            };
            let skills = look(&common, asked).await?;
            output::list(common.machine.format(), "skill", &skills, |skills| {
                let rows = skills.iter().map(|skill| {
                    let what = beginning(&skill.description, SHOWN);
                    vec![
                        skill.name.clone(),
                        whose(skill).to_owned(),
                        state(skill),
                        what,
                    ]
                });
                table(&rows.collect::<Vec<_>>())
            })?;
            let found = config::read(&common.places, &ModelArgs::default(), LocalData::UseOnly)?;
            for why in skill_folders(&found.config).problems {
                say(&why);
            }
        }
        Skills::Show { name, common } => {
            let params = GetSkillParams { name };
            let asked =
                async |client: &Client| client.agent::<SkillDefinition>("getSkill", &params).await;
            let skill = look(&common, asked).await?;
            output::one(common.machine.format(), "skill", &skill, |skill| {
                let state = state(&skill.summary);
                let head = text::skill_shown(&skill.summary.name, whose(&skill.summary), state);
                format!("{head}\n\n{}\n", skill.content.trim())
            })?;
        }
        Skills::Path { common } => {
            let found = config::read(&common.places, &ModelArgs::default(), LocalData::UseOnly)?;
            let folders = skill_folders(&found.config).folders.into_iter();
            let folders: Vec<_> = folders
                .map(|it| json!({"path": it.display().to_string()}))
                .collect();
            output::list(common.machine.format(), "folder", &folders, |folders| {
                let lines = folders.iter().filter_map(|it| it["path"].as_str());
                lines.collect::<Vec<_>>().join("\n") + "\n"
            })?;
        }
    }
    Ok(Exit::Ok)
}

/// Where a skill comes from, for a person.
fn whose(skill: &SkillSummary) -> &'static str {
    match skill.origin {
        SkillOrigin::User => text::skill_own(),
        SkillOrigin::BuiltIn => text::skill_built_in(),
        SkillOrigin::Workspace if skill.foreign => text::skill_not_trusted(),
        SkillOrigin::Workspace => text::skill_of_folder(),
    }
}

/// Whether a skill can be used, for a person.
fn state(skill: &SkillSummary) -> String {
    if !skill.available {
        return text::skill_missing(skill.missing.join(", "));
    }
    let state = if skill.always {
        text::skill_always()
    } else {
        text::skill_available()
    };
    state.to_owned()
}
