//! Tools that run elsewhere: behind an address that is called, or with a client that settles.

use std::sync::Arc;
use std::time::Duration;

use samovar_core::{
    CallContext, Closer, Effect, Future, Outcome, Status, ToolCall, ToolReply, ToolSpec, Toolset,
    failpoint,
};
use samovar_egress::{
    Answer, Bounds, Client, Failure, HeaderMap, HeaderName, HeaderValue, Method, Problem, Request,
    Target, header,
};
use serde_json::json;

use crate::declared::Declared;
use crate::text::{grouped, visible};

/// Bytes of an answer that a model is shown.
const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// Bytes of a failure's answer that a model is shown.
const MAX_FAILURE_CHARS: usize = 2_000;
/// The types of an answer that can be shown.
const SHOWN_TYPES: &[&str] = &[
    "text/*",
    "application/json",
    "application/*+json",
    "application/xml",
    "application/*+xml",
];
/// How much sooner than the engine a webhook gives up, which can then say what was sent.
const HEAD_START: Duration = Duration::from_millis(50);
/// The key that is the same for every try of a call (DU-5).
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A tool whose calls are sent to an address.
pub fn webhook(declared: Declared, target: Target, client: Client) -> Arc<dyn Toolset> {
    Arc::new(Webhook {
        spec: Arc::new(declared.spec(Closer::Tool)),
        target,
        client,
    })
}

/// A tool whose calls stay open until a client settles them.
pub fn client_tool(declared: Declared) -> Arc<dyn Toolset> {
    let spec = Arc::new(declared.spec(Closer::Outside));
    Arc::new(ClientTool { spec })
}

struct Webhook {
    spec: Arc<ToolSpec>,
    target: Target,
    client: Client,
}

impl Toolset for Webhook {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        vec![self.spec.clone()]
    }

    fn target(&self) -> Option<String> {
        Some(self.target.whole().to_owned())
    }

    fn call(&self, call: ToolCall, context: CallContext) -> Future<'static, ToolReply> {
        let request = request(self.target.clone(), &call, &context);
        let (client, effect) = (self.client.clone(), self.spec.effect);
        let bounds = Bounds {
            max_bytes: MAX_ANSWER_BYTES,
            timeout: self.spec.timeout.saturating_sub(HEAD_START),
            content_types: SHOWN_TYPES,
        };
        Box::pin(async move {
            failpoint!("tool.webhook.before");
            let answered = client.send(request, &bounds).await;
            failpoint!("tool.webhook.after");
            ToolReply::Closed(match answered {
                Ok(answer) => outcome(&answer),
                Err(failure) => unanswered(effect, &failure),
            })
        })
    }
}

fn request(target: Target, call: &ToolCall, context: &CallContext) -> Request {
    let body = json!({
        "callId": context.key,
        "name": call.name,
        "args": call.args,
        "sessionId": context.session,
        "turnId": context.turn,
    });
    let mut headers = HeaderMap::new();
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    let shown = HeaderValue::from_static("application/json, text/*;q=0.9");
    headers.insert(header::ACCEPT, shown);
    let agent = concat!("samovar/", env!("CARGO_PKG_VERSION"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(agent));
    // Ids are ours, and so plain text.
    if let Ok(key) = HeaderValue::from_str(context.key.as_str()) {
        headers.insert(IDEMPOTENCY_KEY, key);
    }
    Request {
        method: Method::POST,
        target,
        headers,
        body: body.to_string().into(),
    }
}

/// What a model reads of an answer: a result when the status is 2xx, else a failure.
fn outcome(answer: &Answer) -> Outcome {
    let status = answer.status.as_u16();
    let text = String::from_utf8_lossy(&answer.body);
    if !answer.status.is_success() {
        let shown: String = visible(text.trim())
            .chars()
            .take(MAX_FAILURE_CHARS)
            .collect();
        return Outcome::failed(match shown.as_str() {
            "" => format!("the webhook answered {status} and nothing else"),
            shown => format!("the webhook answered {status}: {shown}"),
        });
    }
    if answer.body.is_empty() {
        return Outcome::done(format!(
            "[done; the webhook answered {status} and nothing else]"
        ));
    }
    let data = samovar_core::json::read(&answer.body).ok();
    let mut text = visible(&text).into_owned();
    if answer.is_cut {
        let shown = grouped(MAX_ANSWER_BYTES);
        let note = format!("\n[the answer is longer; its first {shown} bytes are shown]");
        text.push_str(&note);
    }
    match data.filter(|_| !answer.is_cut) {
        Some(data) => Outcome::done(text).with_data(data),
        None => Outcome::done(text),
    }
}

/// What a model reads when there is no answer: whether something may have happened all the same.
fn unanswered(effect: Effect, failure: &Failure) -> Outcome {
    let problem = &failure.problem;
    match problem {
        Problem::ContentType { status, .. } | Problem::Encoding { status } => {
            if (200..300).contains(status) {
                return Outcome::done(format!(
                    "[done, but what was answered is not shown: {problem}]"
                ));
            }
            return Outcome::failed(format!("the webhook answered {status}: {problem}"));
        }
        Problem::Target(_)
        | Problem::NotPublic { .. }
        | Problem::Unresolved { .. }
        | Problem::Unreachable { .. }
        | Problem::NoDescriptor { .. }
        | Problem::Broken { .. }
        | Problem::Late { .. }
        | Problem::Redirects(_) => {}
    }
    match (failure.was_sent, effect) {
        (false, _) => Outcome::failed(format!("the webhook was not called: {problem}")),
        (true, Effect::Read) => Outcome::failed(format!("the webhook gave no answer: {problem}")),
        (true, Effect::Idempotent | Effect::Verifiable | Effect::Unsafe) => {
            let why = format!(
                "outcome unknown: the webhook was called and gave no answer: {problem}; \
                 look before you retry"
            );
            Outcome::new(Status::Unknown, why)
        }
    }
}

struct ClientTool {
    spec: Arc<ToolSpec>,
}

impl Toolset for ClientTool {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        vec![self.spec.clone()]
    }

    fn target(&self) -> Option<String> {
        Some("a client".to_owned())
    }

    fn call(&self, _call: ToolCall, _context: CallContext) -> Future<'static, ToolReply> {
        // Its start is in the log, where clients see it.
        Box::pin(std::future::ready(ToolReply::Open))
    }
}
