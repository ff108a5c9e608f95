//! Requests matched with the script: settings, rules, gates, requests.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    cache::{Cache, CacheUse},
    dialect::{Dialect, Route},
    exchange::Exchange,
    model::Model,
    prompt::Prompt,
    request::{Answered, Entry, Requests},
    script::{Answer, Failure, Gate, Page, Reply, Rule, Times, When, fail},
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
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    /// The body, as far as the limit.
    pub(crate) raw: Bytes,
    pub(crate) is_too_long: bool,
}

/// A request that is counted, with what it is given.
pub(crate) struct Matched {
    pub(crate) number: u64,
    pub(crate) dialect: &'static Dialect,
    pub(crate) prompt: Prompt,
    pub(crate) cache: CacheUse,
    pub(crate) reply: Arc<Reply>,
    pub(crate) exchange: Arc<Exchange>,
}

/// What all connections of a server share.
pub(crate) struct Matcher {
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
    when: When,
    left: Times,
    reply: Arc<Reply>,
}

/// What a request gets.
enum Outcome {
    /// A reply that needs no script.
    Given(Answered, Arc<Reply>),
    /// The reply of a rule.
    Scripted(Prompt),
}

impl Matcher {
    pub(crate) fn new(settings: Settings) -> Matcher {
        let gates = Arc::<Gates>::default();
        if let Some(always) = &settings.always {
            gates.add(always);
        }
        Matcher {
            settings,
            gates,
            changed: Arc::default(),
            book: Mutex::default(),
        }
    }

    pub(crate) fn push(&self, rule: Rule) {
        self.gates.add(&rule.reply);
        self.book().rules.push(OpenRule {
            when: rule.when,
            left: rule.times,
            reply: Arc::new(rule.reply),
        });
    }

    /// Counts a request and finds its reply, in one step, so that the order of arrival is the
    /// order in which rules are used.
    pub(crate) fn take(&self, received: Received) -> Matched {
        let dialect = Dialect::of(&received.path, &received.headers);
        let route = dialect.route(&received.method, &received.path);
        let body = serde_json::from_slice::<Value>(&received.raw).ok();
        let outcome = self.read(dialect, &route, &received, body.as_ref());
        let outcome = outcome.unwrap_or_else(|failure| {
            let reply = fail(failure.clone());
            Outcome::Given(Answered::Refused(failure), Arc::new(reply))
        });
        let exchange = Arc::new(Exchange::new(self.changed.clone()));

        let mut book = self.book();
        let number = book.requests.next_number();
        let is_prompt = route == Ok(Route::Prompt);
        let prompt_number = is_prompt.then(|| book.requests.next_prompt());
        let (answered, reply, prompt) = match outcome {
            Outcome::Given(answered, reply) => (answered, reply, Prompt::default()),
            Outcome::Scripted(prompt) => {
                let (answered, reply) = book.choose(&prompt);
                (answered, reply, prompt)
            }
        };
        let cache = match &reply.answer {
            Answer::Said(_) => book.cache.pass(&prompt.boundaries),
            _ => CacheUse::default(),
        };
        book.requests.add(Entry {
            number,
            prompt: prompt_number,
            received,
            body: body.unwrap_or(Value::Null),
            said: (prompt.last_user.clone(), prompt.tool_results_since_user),
            answered,
            exchange: exchange.clone(),
        });
        drop(book);
        self.changed.notify_waiters();
        Matched {
            number,
            dialect,
            prompt,
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
        dialect: &Dialect,
        route: &Result<Route, Failure>,
        received: &Received,
        body: Option<&Value>,
    ) -> Result<Outcome, Failure> {
        let Settings {
            key,
            models,
            surface,
            always,
            max_body_bytes,
        } = &self.settings;
        if let Some(reply) = always {
            return Ok(Outcome::Given(Answered::Always, reply.clone()));
        }
        let question = Question {
            method: &received.method,
            path: &received.path,
            body,
        };
        let is_prompt = *route == Ok(Route::Prompt);
        let page = match surface.answer(&question, models).filter(|_| !is_prompt) {
            Some(page) => Some(page),
            None => match route.clone()? {
                Route::Prompt => None,
                Route::Models => Some(Page::json(200, &dialect.models(models))),
            },
        };
        if let Some(key) = key {
            (dialect.check_key)(&received.headers, key)?;
        }
        if let Some(page) = page {
            let reply = Reply::from(Answer::Page(page));
            return Ok(Outcome::Given(Answered::Models, Arc::new(reply)));
        }
        if received.is_too_long {
            return Err((dialect.too_long)(*max_body_bytes));
        }
        let mut prompt = (dialect.read)(&received.headers, body)?;
        prompt.bytes = received.raw.len();
        match models.iter().find(|model| model.name == prompt.model) {
            Some(model) => surface.check_tools(model, &prompt.tools)?,
            None if models.is_empty() && surface.takes_any_model() => {}
            None => return Err((dialect.unknown_model)(&prompt.model)),
        }
        Ok(Outcome::Scripted(prompt))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn choose(&mut self, prompt: &Prompt) -> (Answered, Arc<Reply>) {
        let mut rules = self.rules.iter_mut().enumerate();
        let found = rules.find(|(_, open)| open.is_open() && open.when.holds(prompt));
        let Some((index, open)) = found else {
            let reply = fail(self.unmatched(prompt));
            return (Answered::Unmatched, Arc::new(reply));
        };
        if let Times::Exactly(left) = &mut open.left {
            *left -= 1;
        }
        (Answered::Rule(index), open.reply.clone())
    }

    fn unmatched(&self, prompt: &Prompt) -> Failure {
        const SHOWN_CHARS: usize = 200;
        let last_user: String = prompt.last_user.chars().take(SHOWN_CHARS).collect();
        let used_up = self.rules.iter().filter(|open| !open.is_open()).count();
        let message = format!(
            "the script has no reply for this prompt: model {:?}, last user message {last_user:?}, \
             {} tool results, {} of them since that message; {used_up} of {} rules are used up",
            prompt.model,
            prompt.tool_results,
            prompt.tool_results_since_user,
            self.rules.len(),
        );
        Failure::new(500, message).code("unmatched_prompt")
    }
}

impl OpenRule {
    fn is_open(&self) -> bool {
        self.left != Times::Exactly(0)
    }
}

/// The gates of a script, by name; closed until they are opened, then open for good.
#[derive(Default)]
pub(crate) struct Gates(Mutex<HashMap<String, CancellationToken>>);

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
        let opened = gates.get(gate.name());
        let opened = opened.ok_or_else(|| UnknownGate(gate.name().to_owned()))?;
        opened.cancel();
        Ok(())
    }

    /// Waits until the gate is open.
    pub(crate) async fn pass(&self, gate: &Gate) {
        let opened = self.gates().get(gate.name()).cloned();
        if let Some(opened) = opened {
            opened.cancelled().await;
        }
    }

    fn gates(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
