//! Ends the process at a named point, as `kill -9` would: `SAMOVAR_FAILPOINT=name` at its first
//! visit, `name:3` at its third. Only in builds with the feature `failpoints`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::config;

struct Armed {
    name: String,
    visit: u64,
    seen: AtomicU64,
}

static ARMED: OnceLock<Armed> = OnceLock::new();

/// Reads the variable and sets the hook.
pub(crate) fn arm() {
    let Some(given) = config::failpoint() else {
        return;
    };
    let (name, visit) = given.split_once(':').unwrap_or((&given, "1"));
    let visit = visit.parse().unwrap_or(1);
    let armed = Armed {
        name: name.to_owned(),
        visit,
        seen: AtomicU64::new(0),
    };
    if ARMED.set(armed).is_err() || samovar_core::failpoint::arm(reached).is_err() {
        tracing::error!("a failpoint was armed before");
    }
}

fn reached(name: &'static str) {
    let Some(armed) = ARMED.get().filter(|armed| armed.name == name) else {
        return;
    };
    if armed.seen.fetch_add(1, Ordering::SeqCst) + 1 == armed.visit {
        let own = rustix::process::getpid();
        let killed = rustix::process::kill_process(own, rustix::process::Signal::KILL);
        tracing::error!(?killed, "the process could not end itself");
    }
}
