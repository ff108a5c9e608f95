//! The server's numbers in Prometheus' text form.

use std::fmt::{Display, Write};
use std::fs;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use samovar_core::Error;
use samovar_engine::{Numbers, TURN_ENDS};
use samovar_wire::agent::NoParams;

use super::state::{Call, Endpoint, memory_info, store_info};

/// The path, where Prometheus looks for it.
const PATH: &str = "/metrics";

/// The media type of the text form.
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

pub(super) fn route() -> Endpoint {
    let about = "Returns the server's numbers in Prometheus' text form.";
    Endpoint::following::<_, String, _>(PATH.to_owned(), about, metrics)
}

async fn metrics(call: Call, _params: NoParams) -> Result<Response<Body>, Error> {
    let engine = call.engine().await?;
    let (store, memory) = (store_info(&call.state, &engine)?, memory_info(&engine));
    let calls = engine.open_calls().await?;
    let decisions = calls.iter().filter(|call| call.asked.is_some()).count();
    let mut page = Page::default();
    page.gauge(
        "info",
        "The server's version.",
        &[("version", env!("CARGO_PKG_VERSION"), 1)],
    );
    of_engine(&mut page, &engine.numbers());
    let about = "Calls of tools that wait for a person's decision, or for an outcome from outside.";
    let waiting = [
        ("decision", decisions),
        ("outcome", calls.len() - decisions),
    ];
    page.gauge(
        "calls_waiting",
        about,
        &waiting.map(|(what, count)| ("for", what, count)),
    );
    page.plain(
        "memory_used_bytes",
        "Memory that sessions, requests and prompts take, about.",
        memory.used_bytes,
    );
    page.plain(
        "memory_budget_bytes",
        "The most of it, as `server.memory` says.",
        memory.budget_bytes,
    );
    page.counter(
        "journal_commits_total",
        "Commits of the journal.",
        &[("", "", store.journal_commits)],
    );
    page.plain(
        "journal_used_bytes",
        "Bytes of the journal that hold something.",
        store.journal_used_bytes,
    );
    page.plain(
        "journal_map_bytes",
        "The most bytes that the journal can hold.",
        store.journal_map_bytes,
    );
    page.plain(
        "history_lag_sessions",
        "Sessions with events that the history lacks.",
        store.history_lag_sessions,
    );
    page.plain(
        "disk_full",
        "Whether the disk is full: 1 or 0.",
        u8::from(store.is_full),
    );
    if let Some(free) = store.free_bytes {
        page.plain(
            "disk_free_bytes",
            "Free bytes of the disk with the data directory.",
            free,
        );
    }
    // Reading `/proc` waits for no disk.
    of_process(&mut page);
    let mut response = Response::new(Body::from(page.0));
    response.headers_mut().insert(header::CONTENT_TYPE, TEXT);
    Ok(response)
}

fn of_engine(page: &mut Page, numbers: &Numbers) {
    page.plain(
        "turns_running",
        "Turns that run now.",
        numbers.turns_running,
    );
    let ended = TURN_ENDS.iter().zip(numbers.turns_ended);
    let ended = ended.map(|(reason, count)| ("reason", *reason, count));
    let ended: Vec<_> = ended.collect();
    page.counter(
        "turns_ended_total",
        "Turns that have ended since the start.",
        &ended,
    );
    let about = "Messages that wait for their turn, or to join one.";
    page.plain("messages_waiting", about, numbers.messages_waiting);
    let tokens = &numbers.tokens;
    let tokens = [
        ("input", tokens.input),
        ("output", tokens.output),
        ("cache_read", tokens.cache_read),
        ("cache_write", tokens.cache_write),
        ("reasoning", tokens.reasoning),
    ];
    let about =
        "Tokens of calls of models since the start; the last three are parts of the first two.";
    page.counter(
        "tokens_total",
        about,
        &tokens.map(|(kind, count)| ("kind", kind, count)),
    );
    let about = "What these calls cost, as far as prices are known.";
    page.counter("spent_usd_total", about, &[("", "", numbers.spent)]);
    let about = "Whether so much waits for the disk that new messages are refused: 1 or 0.";
    page.plain("journal_behind", about, u8::from(numbers.is_behind));
}

/// What Prometheus' own clients say of a process, under their names.
fn of_process(page: &mut Page) {
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        page.family(
            "process_open_fds",
            "gauge",
            "Open file descriptors.",
            &[("", "", open.count())],
        );
    }
    let limit = samovar_descriptors::limit();
    page.family(
        "process_max_fds",
        "gauge",
        "The most of them.",
        &[("", "", limit)],
    );
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = resident.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    if let Some(kib) = kib {
        let about = "Memory that the process takes, the pages of its binary included.";
        page.family(
            "process_resident_memory_bytes",
            "gauge",
            about,
            &[("", "", kib * 1024)],
        );
    }
}

/// The text so far.
#[derive(Default)]
struct Page(String);

/// A label, which is empty for none; its value, and the number.
type Series<'a, N> = (&'a str, &'a str, N);

impl Page {
    fn plain(&mut self, name: &str, about: &str, number: impl Display) {
        self.gauge(name, about, &[("", "", number)]);
    }

    fn gauge(&mut self, name: &str, about: &str, series: &[Series<'_, impl Display>]) {
        self.family(&format!("samovar_{name}"), "gauge", about, series);
    }

    fn counter(&mut self, name: &str, about: &str, series: &[Series<'_, impl Display>]) {
        self.family(&format!("samovar_{name}"), "counter", about, series);
    }

    /// One number, with its series. Names, labels and words are ours: none has a character to escape.
    fn family(&mut self, name: &str, kind: &str, about: &str, series: &[Series<'_, impl Display>]) {
        let text = &mut self.0;
        // Writing to a string cannot fail.
        writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}").ok();
        for (label, value, number) in series {
            if label.is_empty() {
                writeln!(text, "{name} {number}").ok();
            } else {
                writeln!(text, "{name}{{{label}=\"{value}\"}} {number}").ok();
            }
        }
    }
}
