//! Where requests are matched with the script: settings, rules, gates, requests.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;
use tokio::sync::{Notify, watch};

use crate::{
    asked::Asked,
    cache::{Cache, CacheUse},
    dialect::{Dialect, Route},
    exchange::Exchange,
    model::Model,
    request::{Answered, Entry, Requests},
    script::{Answer, Failure, Gate, Page, Reply, Rule, Times, fail},
    surface::{Question, Surface},
};

/// No rule of the script waits at a gate of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no rule of the script waits at a gate named {0:?}")]
pub struct UnknownGate(pub String);

/// What the server insists on before it looks at the script.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The key that every request must carry, if any.
    pub(crate) key: Option<String>,
    /// The models there are; any name will do when there are none.
    pub(crate) models: Vec<Model>,
    /// Whose server it passes for.
    pub(crate) surface: Surface,
    /// What it answers to everything, if anything.
    pub(crate) always: Option<Arc<Reply>>,
    /// Bytes of a request's body.
    pub(crate) max_body_bytes: usize,
}

/// A request, read to its end.
pub(crate) struct Heard {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    /// The body, as far as the limit.
    pub(crate) raw: Bytes,
    pub(crate) is_too_long: bool,
}

/// A request that is counted, with what it is given.
pub(crate) struct Taken {
    pub(crate) number: u64,
    pub(crate) dialect: Dialect,
    pub(crate) asked: Asked,
    pub(crate) cache: CacheUse,
    pub(crate) reply: Arc<Reply>,
    pub(crate) exchange: Arc<Exchange>,
}

/// The one place that all connections of a server share.
pub(crate) struct Desk {
    pub(crate) settings: Settings,
    pub(crate) gates: Arc<Gates>,
    pub(crate) changed: Arc<Notify>,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    rules: Vec<OpenRule>,
    requests: Requests,
    cache: Cache,
}

struct OpenRule {
    rule: Rule,
    reply: Arc<Reply>,
    left: Times,
}

/// A good request: what it wants.
enum Wanted {
    Always(Arc<Reply>),
    Page(Page),
    Reply(Asked),
}

impl Desk {
    pub(crate) fn new(settings: Settings) -> Desk {
        let gates = Arc::<Gates>::default();
        if let Some(always) = &settings.always {
            gates.add(always);
        }
        Desk {
            settings,
            gates,
            changed: Arc::default(),
            book: Mutex::default(),
        }
    }

    pub(crate) fn push(&self, rule: Rule) {
        self.gates.add(&rule.reply);
        self.book().rules.push(OpenRule {
            reply: Arc::new(rule.reply.clone()),
            left: rule.times,
            rule,
        });
    }

    /// Counts a request and finds its reply, in one step, so that the order of arrival is the
    /// order in which rules are used.
    pub(crate) fn take(&self, heard: Heard) -> Taken {
        let dialect = Dialect::of(&heard.path, &heard.headers);
        let route = Route::of(dialect, &heard.method, &heard.path);
        let body = serde_json::from_slice::<Value>(&heard.raw).ok();
        let wanted = self.read(dialect, &route, &heard, body.as_ref());
        let is_prompt = matches!(route, Ok(Route::Prompt));
        let exchange = Arc::new(Exchange::new(self.changed.clone()));

        let mut book = self.book();
        let number = book.requests.next_number();
        let prompt = is_prompt.then(|| book.requests.next_prompt());
        let (answered, reply, asked) = match wanted {
            Ok(Wanted::Reply(asked)) => book.choose(asked),
            Ok(Wanted::Always(reply)) => (Answered::Always, reply, Asked::default()),
            Ok(Wanted::Page(page)) => {
                let reply = Arc::new(Reply::from(Answer::Page(page)));
                (Answered::Models, reply, Asked::default())
            }
            Err(failure) => {
                let reply = Arc::new(fail(failure.clone()));
                (Answered::Refused(failure), reply, Asked::default())
            }
        };
        let cache = if let Answer::Said(_) = &reply.answer {
            book.cache.pass(&asked.boundaries)
        } else {
            CacheUse::default()
        };
        book.requests.add(Entry {
            number,
            prompt,
            method: heard.method,
            path: heard.path,
            headers: heard.headers,
            raw: heard.raw,
            body: body.unwrap_or(Value::Null),
            said: (asked.last_user.clone(), asked.tool_results_since_user),
            answered,
            exchange: exchange.clone(),
        });
        drop(book);
        self.changed.notify_waiters();
        Taken {
            number,
            dialect,
            asked,
            cache,
            reply,
            exchange,
        }
    }

    /// Looks at the requests so far.
    pub(crate) fn requests<T>(&self, look: impl FnOnce(&Requests) -> T) -> T {
        look(&self.book().requests)
    }

    /// The rules that must still answer, by index.
    pub(crate) fn left_over(&self) -> Vec<usize> {
        let book = self.book();
        let rules = book.rules.iter().enumerate();
        rules
            .filter(|(_, open)| matches!(open.left, Times::Exactly(1..)))
            .map(|(index, _)| index)
            .collect()
    }

    fn read(
        &self,
        dialect: Dialect,
        route: &Result<Route, Failure>,
        heard: &Heard,
        body: Option<&Value>,
    ) -> Result<Wanted, Failure> {
        if let Some(reply) = &self.settings.always {
            return Ok(Wanted::Always(reply.clone()));
        }
        let told = self.told(dialect, route, heard, body)?;
        if let Some(key) = &self.settings.key {
            dialect.check_key(&heard.headers, key)?;
        }
        match told {
            Some(page) => Ok(Wanted::Page(page)),
            None => self.read_prompt(dialect, heard, body).map(Wanted::Reply),
        }
    }

    /// What the server tells about itself; none when a model is asked.
    fn told(
        &self,
        dialect: Dialect,
        route: &Result<Route, Failure>,
        heard: &Heard,
        body: Option<&Value>,
    ) -> Result<Option<Page>, Failure> {
        if *route == Ok(Route::Prompt) {
            return Ok(None);
        }
        let models = &self.settings.models;
        let question = Question {
            method: &heard.method,
            path: &heard.path,
            body,
        };
        if let Some(page) = self.settings.surface.answer(&question, models) {
            return Ok(Some(page));
        }
        match route.as_ref().map_err(Clone::clone)? {
            Route::Prompt => Ok(None),
            Route::Models => Ok(Some(Page::json(200, &dialect.models(models)))),
        }
    }

    fn read_prompt(
        &self,
        dialect: Dialect,
        heard: &Heard,
        body: Option<&Value>,
    ) -> Result<Asked, Failure> {
        let Settings {
            models,
            surface,
            max_body_bytes,
            ..
        } = &self.settings;
        if heard.is_too_long {
            return Err(dialect.too_long(*max_body_bytes));
        }
        let mut asked = dialect.read(&heard.headers, body)?;
        asked.bytes = heard.raw.len();
        match models.iter().find(|model| model.name == asked.model) {
            Some(model) => surface.check_tools(model, &asked.tools)?,
            None if models.is_empty() && surface.takes_any_model() => {}
            None => return Err(dialect.unknown_model(&asked.model)),
        }
        Ok(asked)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn choose(&mut self, asked: Asked) -> (Answered, Arc<Reply>, Asked) {
        let mut rules = self.rules.iter_mut().enumerate();
        let found = rules.find(|(_, open)| open.is_open() && open.rule.when.holds(&asked));
        if let Some((index, open)) = found {
            open.use_up();
            return (Answered::Rule(index), open.reply.clone(), asked);
        }
        let reply = fail(self.unmatched(&asked));
        (Answered::Unmatched, Arc::new(reply), asked)
    }

    fn unmatched(&self, asked: &Asked) -> Failure {
        const SHOWN_CHARS: usize = 200;
        let last_user: String = asked.last_user.chars().take(SHOWN_CHARS).collect();
        let used_up = self.rules.iter().filter(|open| !open.is_open()).count();
        let message = format!(
            "the script has no reply for this prompt: model {:?}, last user message {last_user:?}, \
             {} tool results, {} of them since that message; {used_up} of {} rules are used up",
            asked.model,
            asked.tool_results,
            asked.tool_results_since_user,
            self.rules.len(),
        );
        Failure::new(500, message).code("unmatched_prompt")
    }
}

impl OpenRule {
    fn is_open(&self) -> bool {
        self.left != Times::Exactly(0)
    }

    fn use_up(&mut self) {
        if let Times::Exactly(left) = &mut self.left {
            *left = left.saturating_sub(1);
        }
    }
}

/// The gates of a script, by name; closed until they are opened, then open for good.
#[derive(Default)]
pub(crate) struct Gates(Mutex<HashMap<String, watch::Sender<bool>>>);

impl Gates {
    fn add(&self, reply: &Reply) {
        let delivery = &reply.delivery;
        let holds = delivery.holds.iter().map(|hold| &hold.gate);
        let mut gates = self.gates();
        for gate in holds.chain(&delivery.head_gate) {
            gates.entry(gate.name().to_owned()).or_default();
        }
    }

    pub(crate) fn open(&self, gate: &Gate) -> Result<(), UnknownGate> {
        let gates = self.gates();
        let sender = gates
            .get(gate.name())
            .ok_or_else(|| UnknownGate(gate.name().to_owned()))?;
        sender.send_replace(true);
        Ok(())
    }

    /// Waits until the gate is open.
    pub(crate) async fn pass(&self, gate: &Gate) {
        let receiver = self.gates().get(gate.name()).map(watch::Sender::subscribe);
        if let Some(mut receiver) = receiver {
            // Fails only when the server is gone, and the waiting reply with it.
            receiver.wait_for(|is_open| *is_open).await.ok();
        }
    }

    fn gates(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<bool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
