//! The tools through which an agent reaches the person: `ask_user` and `post_message`.

use std::sync::Arc;

use samovar_core::tool::{DEFAULT_TIMEOUT, Origin, Sharing};
use samovar_core::{
    AgentPath, CallContext, ChatMeta, Closer, Effect, Future, Outcome, ToolCall, ToolReply,
    ToolSpec, Toolset,
};
use serde_json::{Value, json};

use crate::chat::{ADAPTIVE_AGENT, Chat, MAX_TEXT_BYTES};

/// The tool that asks the person.
pub const ASK_USER: &str = "ask_user";
/// The tool that writes to the person.
pub const POST_MESSAGE: &str = "post_message";

/// Answers that a question offers, at most.
const MAX_OPTIONS: usize = 20;

/// Characters of such an answer, at most.
const MAX_OPTION_CHARS: usize = 500;

/// What a call of [`ASK_USER`] asks: the question, then each answer that it offers on a line. `None` if
/// the arguments have no question.
pub fn question_text(args: &Value) -> Option<String> {
    let offered = args["options"].as_array().into_iter().flatten();
    let offered = offered.filter_map(Value::as_str);
    let question = args["question"].as_str()?.to_owned();
    Some(offered.fold(question, |text, option| text + "\n- " + option))
}

/// Under which name the agents of an engine speak in the chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// Each under its own path.
    Path,
    /// The chat's own agent, and what is below it.
    Adaptive,
}

impl Name {
    /// The name of one of them.
    pub fn of(self, agent: &AgentPath) -> String {
        let path = agent.to_string();
        match self {
            Self::Path => path,
            Self::Adaptive => match path.split_once('/') {
                None => ADAPTIVE_AGENT.to_owned(),
                Some((_, below)) => format!("{ADAPTIVE_AGENT}/{below}"),
            },
        }
    }
}

/// Both tools, for the agents of one engine (CH-10).
pub fn tools(chat: &Chat, name: Name) -> Arc<dyn Toolset> {
    let chat = chat.clone();
    let specs = [Arc::new(ask_user()), Arc::new(post_message())];
    Arc::new(ChatTools { chat, name, specs })
}

struct ChatTools {
    chat: Chat,
    name: Name,
    specs: [Arc<ToolSpec>; 2],
}

impl Toolset for ChatTools {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        self.specs.to_vec()
    }

    fn call(&self, call: ToolCall, context: CallContext) -> Future<'static, ToolReply> {
        if call.name == ASK_USER {
            // Its call is open now, and that is what the chat asks for.
            return Box::pin(std::future::ready(ToolReply::Open));
        }
        let (chat, name) = (self.chat.clone(), self.name);
        Box::pin(async move { ToolReply::Closed(post(&chat, name, &call.args, context).await) })
    }
}

async fn post(chat: &Chat, name: Name, args: &Value, context: CallContext) -> Outcome {
    let text = args["text"].as_str().unwrap_or_default();
    let author = name.of(&context.agent);
    let said = (author.as_str(), text, ChatMeta::default());
    let posted = chat.post_for(&context.turn, Some(context.key), said).await;
    match posted {
        Ok(id) => {
            if args["signal"] == true {
                chat.wake(&author, id);
            }
            Outcome::done(format!("posted as message {id}")).with_data(json!({ "id": id }))
        }
        Err(error) => Outcome::failed(error.message),
    }
}

fn ask_user() -> ToolSpec {
    ToolSpec {
        name: ASK_USER.to_owned(),
        description:
            "Asks the user a question and waits for the answer, which is the result. Use it \
                      when you cannot continue without something that only the user knows or decides. \
                      You do nothing else until they have answered."
                .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "question": {
                    "type": "string",
                    "description": "The question, in the words that the user reads.",
                    "minLength": 1,
                    "maxLength": MAX_TEXT_BYTES,
                },
                "options": {
                    "type": "array",
                    "description": "Answers to offer; the user may give any other.",
                    "items": {"type": "string", "minLength": 1, "maxLength": MAX_OPTION_CHARS},
                    "maxItems": MAX_OPTIONS,
                },
            },
            "required": ["question"],
            "additionalProperties": false,
        }),
        effect: Effect::Read,
        asks: None,
        origin: Origin::BuiltIn,
        closed: false,
        timeout: DEFAULT_TIMEOUT,
        sharing: Sharing::Exclusive,
        closer: Closer::Person,
    }
}

fn post_message() -> ToolSpec {
    ToolSpec {
        name: POST_MESSAGE.to_owned(),
        description:
            "Posts a message to the user in the server's chat, which they may read now or later. \
                      Does not wait for an answer."
                .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "text": {
                    "type": "string",
                    "description": "The message.",
                    "minLength": 1,
                    "maxLength": MAX_TEXT_BYTES,
                },
                "signal": {
                    "type": "boolean",
                    "description": "Whether this message also wakes the chat's own agent.",
                },
            },
            "required": ["text"],
            "additionalProperties": false,
        }),
        effect: Effect::Idempotent,
        asks: None,
        origin: Origin::BuiltIn,
        closed: false,
        timeout: DEFAULT_TIMEOUT,
        sharing: Sharing::Exclusive,
        closer: Closer::Tool,
    }
}
