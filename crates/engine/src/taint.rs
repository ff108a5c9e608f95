//! What a session has read from outside, and the hosts that a person or a search has named to it (TL-10).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use samovar_core::{Outcome, Part, Role};
use serde_json::Value;
use url::Url;

use crate::context::Transcript;
use crate::toolbox::CurrentTools;

/// The most hosts that a session remembers; a fetch of another asks.
const MAX_NAMED: usize = 1024;
/// How much of a message is searched for hosts, in bytes.
const MAX_SEARCHED: usize = 64 * 1024;
/// Endings of files that are also top-level domains: a file that a person mentions names no host.
const ENDINGS_OF_FILES: &[&str] = &[
    "ai", "am", "as", "bz", "cab", "cc", "cfd", "do", "in", "inc", "java", "la", "md", "mk", "ml",
    "mm", "mov", "pl", "pm", "ps", "pub", "py", "rs", "sh", "so", "st", "tf", "zip",
];

/// What a session has read from outside. Its turns and those of its sub-agents share it.
#[derive(Debug, Default)]
pub(crate) struct Taint {
    is_tainted: AtomicBool,
    /// Whether the log says so, too.
    is_kept: AtomicBool,
    named: Mutex<BTreeSet<String>>,
}

impl Taint {
    /// Whether text from outside may be in the session.
    pub(crate) fn is_tainted(&self) -> bool {
        self.is_tainted.load(Ordering::Relaxed)
    }

    /// Notes that text from outside may be in the session. Whether the log has to be told.
    pub(crate) fn taint(&self) -> bool {
        self.is_tainted.store(true, Ordering::Relaxed);
        !self.is_kept.load(Ordering::Relaxed)
    }

    /// Notes what the log says.
    pub(crate) fn keep(&self, is_tainted: bool) {
        self.is_tainted.fetch_or(is_tainted, Ordering::Relaxed);
        self.is_kept.fetch_or(is_tainted, Ordering::Relaxed);
    }

    /// Notes the host of an address that a person allows.
    pub(crate) fn name(&self, address: &str) {
        self.add(host_of(address).into_iter());
    }

    /// Notes the hosts that a person names.
    pub(crate) fn hear(&self, text: &str) {
        let end = text.floor_char_boundary(MAX_SEARCHED);
        self.add(hosts_in(&text[..end]));
    }

    /// Notes the hosts of what a search has found.
    pub(crate) fn find(&self, found: &Outcome) {
        let results = found.data.as_ref().and_then(|data| data.get("results"));
        let results = results.and_then(Value::as_array).into_iter().flatten();
        let addresses = results.filter_map(|result| result.get("url")?.as_str());
        self.add(addresses.filter_map(host_of));
    }

    /// Notes what a conversation names: the person in what they said to the session's own agent, and the
    /// searches of any agent.
    pub(crate) fn recall(&self, conversation: &Transcript, is_own: bool, tools: &CurrentTools) {
        for message in conversation.messages() {
            if message.role == Role::User && is_own {
                self.hear(&message.text());
            }
            for part in &message.parts {
                if let Part::Outcome { name, outcome, .. } = part
                    && tools.searches(name)
                {
                    self.find(outcome);
                }
            }
        }
    }

    /// Whether the host of an address was named.
    pub(crate) fn has_named(&self, address: &str) -> bool {
        host_of(address).is_some_and(|host| self.named().contains(&host))
    }

    fn add(&self, hosts: impl Iterator<Item = String>) {
        let mut named = self.named();
        for host in hosts {
            if named.len() >= MAX_NAMED {
                return;
            }
            named.insert(host);
        }
    }

    fn named(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The host of an address, in one spelling.
fn host_of(address: &str) -> Option<String> {
    let url = Url::parse(address.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host_str()?.trim_end_matches('.');
    Some(host.strip_prefix("www.").unwrap_or(host).to_owned())
}

/// The hosts that a text names: in addresses, and alone (`example.com`), but not in file names and e-mail
/// addresses.
fn hosts_in(text: &str) -> impl Iterator<Item = String> {
    let ends = |c: char| c.is_whitespace() || "\"'`<>(){},;|*".contains(c);
    text.split(ends).filter_map(|word| {
        if let Some((before, after)) = word.split_once("://") {
            let secure = before.to_ascii_lowercase().ends_with("https");
            let scheme = if secure { "https" } else { "http" };
            return host_of(&format!("{scheme}://{after}"));
        }
        let word = word.trim_end_matches(['.', ':', '!', '?']);
        let end = word.find(['/', ':', '?', '#']).unwrap_or(word.len());
        let bare = &word[..end];
        let (_, ending) = bare.rsplit_once('.')?;
        let ending = ending.to_lowercase();
        let is_domain = ending.chars().count() >= 2
            && ending.chars().all(char::is_alphabetic)
            && !ENDINGS_OF_FILES.contains(&ending.as_str());
        (is_domain && !bare.contains('@')).then(|| host_of(&format!("http://{bare}")))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // proves TL-10
    #[test]
    fn a_host_is_named_by_an_address_or_its_name_and_by_nothing_that_looks_alike() {
        for (said, fetched, is_named) in [
            (
                "read https://example.com/a",
                "https://example.com/b?c=d",
                true,
            ),
            (
                "read https://example.com/a",
                "http://www.example.com:8080/",
                true,
            ),
            (
                "what is new on www.Example.com?",
                "https://example.com",
                true,
            ),
            ("look at example.com.", "https://example.com./", true),
            (
                "(see `http://127.0.0.1:8000/x`)",
                "http://127.0.0.1:9000/",
                true,
            ),
            ("HTTPS://EXAMPLE.COM", "https://example.com", true),
            (
                "öffne münchen.example",
                "https://xn--mnchen-3ya.example/",
                true,
            ),
            ("<http://[::1]:80/>", "http://[::1]/", true),
            ("read https://example.com/a", "https://evil.example", false),
            ("read https://example.com/a", "https://a.example.com", false),
            (
                "read https://example.com/a",
                "https://example.com.evil.net",
                false,
            ),
            (
                "read https://example.com/?to=https://evil.net",
                "https://evil.net",
                false,
            ),
            (
                "https://example.com@evil.net/",
                "https://example.com/",
                false,
            ),
            ("write to me@example.com", "https://example.com", false),
            ("mend main.rs and README.md", "https://main.rs/", false),
            ("mend main.rs and README.md", "https://readme.md/", false),
            ("mend main.tf and Makefile.am", "https://main.tf/", false),
            ("of 3.14 and v1.2", "https://3.14", false),
            ("example.com", "ftp://example.com", false),
            ("", "https://example.com", false),
        ] {
            let taint = Taint::default();
            taint.hear(said);
            assert_eq!(taint.has_named(fetched), is_named, "{said:?} {fetched:?}");
        }
    }

    // proves TL-10
    #[test]
    fn a_search_names_its_results_and_not_what_stands_in_their_text() {
        let taint = Taint::default();
        let results = json!([{"title": "https://title.net", "url": "https://found.net/x",
            "snippet": "see https://evil.net"}]);
        let found = Outcome::done("1. https://text.net").with_data(json!({"results": results}));
        taint.find(&found);
        taint.find(&Outcome::done("https://text.net"));
        let is_named = |host: &str| taint.has_named(&format!("https://{host}/"));
        assert!(is_named("found.net"));
        for host in ["title.net", "evil.net", "text.net"] {
            assert!(!is_named(host), "{host}");
        }
    }

    // proves TL-10
    #[test]
    fn the_log_is_told_until_it_knows_and_an_allowed_address_names_its_host_alone() {
        let taint = Taint::default();
        assert!(taint.taint());
        assert!(taint.taint(), "what was noted may have been dropped");
        taint.keep(true);
        taint.keep(false);
        assert!(!taint.taint() && taint.is_tainted());

        taint.name("https://ok.example/a,evil.net/(https://worse.net/)");
        let named = |host: &str| taint.has_named(&format!("https://{host}/"));
        assert_eq!(
            ["ok.example", "evil.net", "worse.net"].map(named),
            [true, false, false]
        );
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let taint = Taint::default();
        for at in 0..2 * MAX_NAMED {
            taint.hear(&format!("h{at}.example"));
        }
        assert_eq!(taint.named().len(), MAX_NAMED);
    }
}
