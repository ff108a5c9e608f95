//! `read_skill`: the text of a skill, or of a file beside it (MD-25).

use std::sync::Arc;

use samovar_core::tool::{DEFAULT_TIMEOUT, Origin as ToolOrigin, OutsideText, Sharing};
use samovar_core::{
    CallContext, CallFacts, Closer, Effect, Future, Outcome, ToolCall, ToolReply, ToolSpec, Toolset,
};
use samovar_engine::READ_SKILL;
use serde::Deserialize;
use serde_json::json;

use super::Guide;

/// The tool that reads the skills of a server.
pub(crate) fn read_skill(guide: Arc<Guide>) -> Arc<dyn Toolset> {
    Arc::new(ReadSkill(guide))
}

struct ReadSkill(Arc<Guide>);

#[derive(Deserialize)]
struct Asked {
    name: String,
    file: Option<String>,
}

fn asked(call: &ToolCall) -> Option<Asked> {
    Asked::deserialize(&call.args).ok()
}

impl Toolset for ReadSkill {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        vec![Arc::new(ToolSpec {
            name: READ_SKILL.to_owned(),
            description: "Loads a skill of the list, or a file of it, before a task of its kind."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"name": {"type": "string"}, "file": {"type": "string"}},
                "required": ["name"],
                "additionalProperties": false
            }),
            effect: Effect::Read,
            asks: None,
            origin: ToolOrigin::BuiltIn,
            closed: false,
            timeout: DEFAULT_TIMEOUT,
            sharing: Sharing::Parallel,
            closer: Closer::Tool,
        })]
    }

    fn facts(&self, call: &ToolCall) -> Option<CallFacts> {
        let is_foreign = asked(call).is_some_and(|asked| self.0.was_foreign(&asked.name));
        Some(CallFacts {
            reads: true,
            outside: is_foreign.then_some(OutsideText::Plain),
            ..CallFacts::default()
        })
    }

    fn call(&self, call: ToolCall, context: CallContext) -> Future<'static, ToolReply> {
        let guide = self.0.clone();
        let read = tokio::task::spawn_blocking(move || answer(&guide, &call, &context));
        Box::pin(async move {
            let read = read.await;
            ToolReply::Closed(read.unwrap_or_else(|error| Outcome::failed(error.to_string())))
        })
    }
}

fn answer(guide: &Guide, call: &ToolCall, context: &CallContext) -> Outcome {
    let Some(Asked { name, file }) = asked(call) else {
        return Outcome::failed("name is the name of a skill");
    };
    let may_read = |name| {
        context
            .skills
            .as_ref()
            .is_none_or(|told| told.contains(name))
    };
    let found = guide.skill(&name).filter(|_| may_read(&name));
    let Some((skill, is_foreign)) = found else {
        return Outcome::failed(unknown(&name, context));
    };
    // The gate has decided by what the skill was when the call was examined.
    let outside = context.facts.as_ref().and_then(|facts| facts.outside);
    if is_foreign && outside.is_none() {
        return Outcome::failed(format!(
            "the skill {name:?} has just changed; read it again"
        ));
    }
    match skill.text(file.as_deref()) {
        Err(why) => Outcome::failed(why),
        Ok(read) => {
            let data = json!({"name": skill.name, "file": file, "sha256": read.sha256});
            Outcome::done(read.text).with_data(data)
        }
    }
}

/// A small model takes a word of the question for the name of a skill.
fn unknown(name: &str, context: &CallContext) -> String {
    let names = context.skills.iter().flat_map(|skills| skills.iter());
    let names: Vec<_> = names.map(String::as_str).collect();
    format!(
        "{name:?} is no skill; yours are: {}. Look for it in the files",
        names.join(", ")
    )
}
