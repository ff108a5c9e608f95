//! Tools that run elsewhere: those in the configuration, and those that clients register, which are
//! kept in `tools.json` (TL-1, TL-17).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use samovar_core::tool::Origin;
use samovar_core::{Code, Effect, Error, ToolSpec, Toolset};
use samovar_egress::{Client, Target};
use samovar_engine::{Engine, Toolbox};
use samovar_locale as locale;
use samovar_sandbox::{SmallFiles, Survival};
use samovar_tools::{Declared, client_tool, no_arguments, webhook};
use samovar_wire::api::{RegisterToolParams, ToolInfo};

use crate::config::ConfiguredTool;

const NAME: &str = "tools.json";

/// Registered tools, at most; each stands in every prompt.
const MAX_TOOLS: usize = 64;

/// Bytes of the file, at most: more than that many tools have.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// How long a name may take to be found before its tool is taken unseen.
const PATIENCE: Duration = Duration::from_secs(5);

/// The timeout of a tool whose owner sets none.
const DEFAULT_TIMEOUT_SECONDS: u32 = 60;

/// The tools that the configuration names, and those that are registered.
pub(crate) struct RegisteredTools {
    files: SmallFiles,
    client: Client,
    /// One change after the other, each until it is kept.
    kept: Mutex<Vec<RegisterToolParams>>,
}

impl RegisteredTools {
    /// Reads those of a data directory.
    ///
    /// # Errors
    /// What the system said, or that the file is damaged.
    pub(crate) fn open(files: SmallFiles, client: Client) -> std::io::Result<Self> {
        let kept = kept(&files)?;
        Ok(Self {
            files,
            client,
            kept: Mutex::new(kept),
        })
    }

    /// Puts all of them into a toolbox that has the built-in ones.
    ///
    /// # Errors
    /// A tool of the configuration is out of bounds, or has a name that is taken.
    pub(crate) fn furnish(
        &self,
        toolbox: &Toolbox,
        configured: &[ConfiguredTool],
    ) -> Result<(), Error> {
        if configured.len() > MAX_TOOLS {
            let why = locale::tool::too_many(MAX_TOOLS as u64);
            return Err(Error::new(Code::InvalidParams, why));
        }
        for tool in configured {
            toolbox.add(&self.configured_toolset(tool)?)?;
        }
        for params in self.lock().iter() {
            let added = self
                .toolset(params)
                .and_then(|toolset| toolbox.add(&toolset));
            if let Err(error) = added {
                // It stays kept: the name may be free again at another start.
                tracing::warn!(tool = params.name, %error, "a registered tool is left out");
            }
        }
        Ok(())
    }

    /// Registers a tool, in place of the one that was registered under its name.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] when it is out of bounds, its address is neither public nor opened, its
    /// name is not free, or there are too many; [`Code::StoreFull`] when it cannot be kept.
    pub(crate) async fn register(
        self: &Arc<Self>,
        engine: Arc<Engine>,
        params: RegisterToolParams,
    ) -> Result<ToolInfo, Error> {
        let toolset = self.toolset(&params)?;
        Toolbox::default().add(&toolset)?;
        if let Some(url) = &params.url {
            let target = target(&params.name, url)?;
            let checked = self.client.check(&target, PATIENCE).await;
            checked.map_err(|problem| {
                let name = locale::quoted(&params.name);
                invalid(locale::tool::bad_address(name, problem))
            })?;
        }
        let own = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            own.put(engine.toolbox(), params, &toolset)?;
            Ok(toolset)
        });
        let toolset = done
            .await
            .unwrap_or_else(|error| Err(not_kept(&error.into())))?;
        let infos = toolset.specs();
        let infos = infos.first().map(|spec| ToolInfo::from(&**spec));
        infos.ok_or_else(|| not_kept(&std::io::Error::other(NAME)))
    }

    /// Removes a registered tool. Calls that run go on.
    ///
    /// # Errors
    /// [`Code::UnknownTool`] when there is none; [`Code::InvalidParams`] when it was not registered;
    /// [`Code::StoreFull`] when that cannot be kept.
    pub(crate) async fn remove(
        self: &Arc<Self>,
        engine: Arc<Engine>,
        name: String,
    ) -> Result<(), Error> {
        let own = self.clone();
        let done = tokio::task::spawn_blocking(move || own.take(engine.toolbox(), &name));
        done.await
            .unwrap_or_else(|error| Err(not_kept(&error.into())))
    }

    /// The client that its calls are made with.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    fn put(
        &self,
        toolbox: &Toolbox,
        params: RegisterToolParams,
        toolset: &Arc<dyn Toolset>,
    ) -> Result<(), Error> {
        let mut kept = self.lock();
        let mut changed = kept.clone();
        let before = changed.iter().position(|other| other.name == params.name);
        let specs = toolbox.specs();
        let is_taken =
            |spec: &&Arc<ToolSpec>| spec.name == params.name || spec.is_like_built_in(&params.name);
        let there = specs.iter().find(is_taken);
        if there.is_some_and(|spec| before.is_none() || spec.origin != Origin::Registered) {
            let why = locale::tool::name_taken(locale::quoted(&params.name));
            return Err(invalid(why));
        }
        match before {
            Some(at) => changed[at] = params,
            None if changed.len() >= MAX_TOOLS => {
                return Err(invalid(locale::tool::too_many(MAX_TOOLS as u64)));
            }
            None => changed.push(params),
        }
        self.keep(&changed)?;
        *kept = changed;
        toolbox.replace(toolset)
    }

    fn take(&self, toolbox: &Toolbox, name: &str) -> Result<(), Error> {
        let mut kept = self.lock();
        let mut changed = kept.clone();
        changed.retain(|other| other.name != name);
        if changed.len() == kept.len() {
            let is_there = toolbox.specs().iter().any(|spec| spec.name == name);
            let name = locale::quoted(name);
            return Err(if is_there {
                invalid(locale::tool::not_registered(name))
            } else {
                Error::new(Code::UnknownTool, locale::tool::unknown(name))
            });
        }
        self.keep(&changed)?;
        *kept = changed;
        // Who has taken its name meanwhile stays: a built-in tool, or one of the configuration.
        let specs = toolbox.specs();
        let there = specs.iter().find(|spec| spec.name == name);
        if there.is_some_and(|spec| spec.origin == Origin::Registered) {
            toolbox.remove(name);
        }
        Ok(())
    }

    /// Kept first: what counts here must count after the next start, too.
    fn keep(&self, changed: &[RegisterToolParams]) -> Result<(), Error> {
        let text = serde_json::to_vec(changed).map_err(|error| not_kept(&error.into()))?;
        let kept = self.files.write(NAME, &text, Survival::Crash);
        kept.map_err(|error| not_kept(&error))
    }

    fn toolset(&self, params: &RegisterToolParams) -> Result<Arc<dyn Toolset>, Error> {
        let effect = params.effect.unwrap_or_default().into();
        let seconds = params.timeout.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
        let declared = Declared {
            name: params.name.clone(),
            description: params.description.clone(),
            parameters: params.parameters.clone().unwrap_or_else(no_arguments),
            effect,
            timeout: Duration::from_secs(seconds.into()),
            origin: Origin::Registered,
            closed: params.closed,
        };
        declared
            .check()
            .map_err(|error| invalid(error.to_string()))?;
        let name = || locale::quoted(&params.name);
        match (&params.url, params.client) {
            (Some(url), false) => {
                let target = target(&params.name, url)?;
                Ok(webhook(declared, target, self.client.clone()))
            }
            (None, true) if params.timeout.is_some() => {
                Err(invalid(locale::tool::client_timeout(name())))
            }
            (None, true) => Ok(client_tool(declared)),
            (Some(_), true) | (None, false) => Err(invalid(locale::tool::url_or_client(name()))),
        }
    }

    fn configured_toolset(&self, tool: &ConfiguredTool) -> Result<Arc<dyn Toolset>, Error> {
        let declared = Declared {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone().unwrap_or_else(no_arguments),
            effect: tool.effect,
            timeout: tool.timeout,
            origin: Origin::Configuration,
            closed: tool.closed,
        };
        declared
            .check()
            .map_err(|error| invalid(error.to_string()))?;
        let target = target(&tool.name, &tool.url)?;
        Ok(webhook(declared, target, self.client.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RegisterToolParams>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConfiguredTool {
    /// A tool with the default timeout whose calls must not be repeated.
    pub fn new(name: &str, description: &str, url: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: None,
            url: url.to_owned(),
            effect: Effect::Unsafe,
            timeout: Duration::from_secs(DEFAULT_TIMEOUT_SECONDS.into()),
            closed: false,
        }
    }

    /// Why its calls would be refused now: its address cannot be resolved, or is neither public nor
    /// in these ranges. `None` if no reason is known.
    pub async fn refusal(&self, client: &Client) -> Option<String> {
        match target(&self.name, &self.url) {
            Err(error) => Some(error.message.into_owned()),
            Ok(target) => {
                let checked = client.check(&target, PATIENCE).await;
                checked.err().map(|problem| problem.to_string())
            }
        }
    }
}

/// The tools that a data directory keeps.
///
/// # Errors
/// What the system said, or that the list is damaged.
pub(crate) fn kept(files: &SmallFiles) -> std::io::Result<Vec<RegisterToolParams>> {
    match files.read(NAME, MAX_BYTES)? {
        Some(text) => Ok(serde_json::from_str(&text)?),
        None => Ok(Vec::new()),
    }
}

fn target(name: &str, url: &str) -> Result<Target, Error> {
    Target::parse(url)
        .map_err(|error| invalid(locale::tool::bad_address(locale::quoted(name), error)))
}

fn invalid(why: String) -> Error {
    Error::new(Code::InvalidParams, why)
}

fn not_kept(error: &std::io::Error) -> Error {
    Error::new(Code::StoreFull, locale::tool::not_kept(error))
}
