//! The situation in which a message was sent, as its client tells it: for that message's turn alone
//! (SA-16, SA-17).

use std::collections::BTreeSet;
use std::sync::Arc;

use samovar_locale as locale;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::{Code, Error};

/// Maximum length of a posted context as JSON text, in bytes.
pub const MAX_CONTEXT_BYTES: usize = 64 * 1024;

/// Maximum length of an environment, in bytes of its values.
pub const MAX_ENVIRONMENT_BYTES: usize = 16 * 1024;

/// The mode of a turn that none was decided for.
pub const DEFAULT_MODE: &str = "default";

/// What a client's UI shows to the person.
// It is text from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Context")]
pub struct PostedContext {
    /// The workspace of the UI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// The page of the UI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_id: Option<String>,
    /// The tab that the person looks at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_tab: Option<Tab>,
    /// The open tabs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tabs: Vec<Tab>,
}

/// A tab of a client's UI.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tab {
    /// Its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The address of what it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What kind of tab it is, such as `settings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// Variables for commands: 16 KiB at most, without control characters.
// They come from the owner's shell, for the commands of a turn (TL-6).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub struct Environment {
    /// The folders in which programs are found; commands may read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
    /// The time zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tz: Option<String>,
}

impl Environment {
    /// The variables that are set.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [("PATH", &self.path), ("LANG", &self.lang), ("TZ", &self.tz)];
        all.into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }

    pub(crate) fn values(&mut self) -> impl Iterator<Item = &mut String> {
        let all = [&mut self.path, &mut self.lang, &mut self.tz];
        all.into_iter().flatten()
    }

    fn bytes(&self) -> usize {
        self.variables().map(|(_, value)| value.len()).sum()
    }
}

/// What a client tells with a message, before anything is decided of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Posted {
    context: Option<Arc<PostedContext>>,
    mode: Option<String>,
    environment: Option<Arc<Environment>>,
    is_guests: bool,
}

impl Posted {
    /// Takes a context, and the name of a mode; `None` to have it decided from the context.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] when the context is longer than [`MAX_CONTEXT_BYTES`].
    pub fn new(context: Option<PostedContext>, mode: Option<String>) -> Result<Self, Error> {
        let bytes = context.as_ref().map_or(0, PostedContext::json_bytes);
        if bytes > MAX_CONTEXT_BYTES {
            let why = locale::request::context_too_long(bytes, MAX_CONTEXT_BYTES);
            let details = json!({"parameter": "context"});
            return Err(Error::new(Code::InvalidParams, why).with_details(details));
        }
        let context = context.map(Arc::new);
        Ok(Self {
            context,
            mode,
            ..Self::default()
        })
    }

    /// The same with the environment of the owner's shell.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] when it is longer than [`MAX_ENVIRONMENT_BYTES`] or has control
    /// characters.
    pub fn with_environment(self, environment: Environment) -> Result<Self, Error> {
        let refused = |why: String| {
            let details = json!({"parameter": "environment"});
            Err(Error::new(Code::InvalidParams, why).with_details(details))
        };
        let bytes = environment.bytes();
        if bytes > MAX_ENVIRONMENT_BYTES {
            let why = locale::request::environment_too_long(bytes, MAX_ENVIRONMENT_BYTES);
            return refused(why);
        }
        let is_odd = |(_, value): (_, &str)| value.chars().any(char::is_control);
        if environment.variables().any(is_odd) {
            return refused(locale::request::environment_has_controls().to_owned());
        }
        let environment = (environment != Environment::default()).then(|| Arc::new(environment));
        Ok(Self {
            environment,
            ..self
        })
    }

    /// The same in a session of the owner's, from a client that is not the owner's.
    #[must_use]
    pub fn by_guest(self) -> Self {
        Self {
            is_guests: true,
            ..self
        }
    }

    /// Whether a client that is not the owner's sent it into a session of the owner's.
    pub fn is_guests(&self) -> bool {
        self.is_guests
    }

    /// The environment of the owner's shell.
    pub fn environment(&self) -> Option<&Arc<Environment>> {
        self.environment.as_ref()
    }

    /// What the client's UI shows.
    pub fn context(&self) -> Option<&Arc<PostedContext>> {
        self.context.as_ref()
    }

    /// The name of the mode that the client asks for.
    pub fn mode(&self) -> Option<&str> {
        self.mode.as_deref()
    }

    /// Whether nothing was told.
    pub fn is_empty(&self) -> bool {
        self.context.is_none() && self.mode.is_none() && self.environment.is_none()
    }
}

impl PostedContext {
    /// Its length as JSON text, in bytes.
    pub fn json_bytes(&self) -> usize {
        // It has only texts, so it is always JSON.
        serde_json::to_string(self).map_or(0, |json| json.len())
    }
}

/// What the person is doing, and the tools that no agent has meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMode {
    /// Its name.
    pub name: String,
    /// The tools that are taken away.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub denied: BTreeSet<String>,
}

/// The situation of a turn. Stored with its first message, so that a resumed turn has it again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Situation {
    /// What the client's UI shows; `None` if no UI said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<PostedContext>>,
    /// The mode; `None` for [`DEFAULT_MODE`] with nothing taken away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<AgentMode>,
    /// What commands get of the owner's shell; `None` for the server's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Arc<Environment>>,
    /// Whether a client that is not the owner's sent the message into a session of the owner's: its turn
    /// has none of the owner's memory (MD-11).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_guests: bool,
}

impl Situation {
    /// The same for those who care only whether there is one: `None` when it says nothing.
    pub fn shared(self) -> Option<Arc<Self>> {
        (self != Self::default()).then(|| Arc::new(self))
    }

    /// The name of its mode.
    pub fn mode_name(&self) -> &str {
        let mode = self.mode.as_ref();
        mode.map_or(DEFAULT_MODE, |mode| mode.name.as_str())
    }

    /// How much memory it takes, in bytes, about.
    pub fn bytes(&self) -> usize {
        let context = self.context.as_ref();
        let environment = self.environment.as_ref();
        context.map_or(0, |context| context.json_bytes())
            + environment.map_or(0, |environment| environment.bytes())
            + size_of::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves TL-6
    #[test]
    fn an_environment_is_bounded_and_has_no_control_characters() {
        let long = "x".repeat(MAX_ENVIRONMENT_BYTES);
        let rows = [
            (Some("/bin:/usr/bin"), Some("C.UTF-8"), true),
            (None, None, true),
            (Some(&*long), None, true),
            (Some(&*long), Some("C"), false),
            (Some("/bin\0"), None, false),
            (None, Some("a\nb"), false),
        ];
        for (path, lang, is_taken) in rows {
            let environment = Environment {
                path: path.map(str::to_owned),
                lang: lang.map(str::to_owned),
                tz: None,
            };
            let posted = Posted::default().with_environment(environment);
            assert_eq!(posted.is_ok(), is_taken, "{path:?} {lang:?}");
            if let Ok(posted) = posted {
                assert_eq!(posted.is_empty(), path.is_none());
            }
        }
    }
}
