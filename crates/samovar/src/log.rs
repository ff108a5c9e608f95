//! What goes to the log and what a panic says, without keys (TL-14).

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};
use std::panic::PanicHookInfo;

use samovar_core::redact;
use tracing_subscriber::EnvFilter;

/// Begins to log on stderr.
pub(crate) fn begin(filter: EnvFilter) {
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Redacted(io::stderr()))
        .with_ansi(false)
        // It would panic once stderr is closed.
        .log_internal_errors(false)
        .init();
    std::panic::set_hook(Box::new(|panic| {
        let _nobody_reads = io::stderr().write_all(said(panic).as_bytes());
    }));
}

/// Writes text in which keys are replaced. Each write is a whole line of the log.
struct Redacted<W>(W);

impl<W: Write> Write for Redacted<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        self.0.write_all(redact::for_logs(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A panic, as the standard library says it.
fn said(panic: &PanicHookInfo) -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    let why = panic.payload_as_str().unwrap_or("Box<dyn Any>");
    let place = panic
        .location()
        .map(ToString::to_string)
        .unwrap_or_default();
    let trace = Backtrace::capture();
    let trace = match trace.status() {
        BacktraceStatus::Captured => format!("stack backtrace:\n{trace}"),
        _ => String::new(),
    };
    let text = format!("\nthread '{name}' panicked at {place}:\n{why}\n{trace}");
    redact::for_logs(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use samovar_core::redact::Secret;
    use samovar_doubles::spellings::{self, KEY, Spelling};
    use tracing_subscriber::fmt::MakeWriter;

    use super::*;

    #[derive(Clone, Default)]
    struct Pages(Arc<Mutex<Vec<u8>>>);

    impl Write for Pages {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Pages {
        type Writer = Redacted<Self>;

        fn make_writer(&'a self) -> Self::Writer {
            Redacted(self.clone())
        }
    }

    impl Pages {
        fn take(&self) -> String {
            let bytes = std::mem::take(&mut *self.0.lock().unwrap());
            String::from_utf8(bytes).unwrap()
        }
    }

    /// What the log and a panic have of a text: as a message, as a field, as a field that is escaped.
    fn logged_and_panicked(text: &str) -> (String, String) {
        let pages = Pages::default();
        let log = tracing_subscriber::fmt()
            .with_writer(pages.clone())
            .with_ansi(false)
            .finish();
        tracing::subscriber::with_default(log, || {
            tracing::error!("{text}");
            tracing::warn!(%text, "a field");
            tracing::info!(text, "an escaped field");
        });
        let panicked = Arc::new(Mutex::new(String::new()));
        let hears = panicked.clone();
        std::panic::set_hook(Box::new(move |panic| {
            *hears.lock().unwrap_or_else(PoisonError::into_inner) = said(panic);
        }));
        let ended = std::panic::catch_unwind(|| panic!("{text}"));
        drop(std::panic::take_hook());
        assert!(ended.is_err());
        let panicked = panicked.lock().unwrap().clone();
        (pages.take(), panicked)
    }

    // proves TL-14
    #[test]
    fn neither_a_line_of_the_log_nor_a_panic_has_a_key_of_ours() {
        // No text that has the format of a service's key.
        let key = KEY.replace("sk-", "ky-");
        let all = spellings::of(&key);
        for Spelling { name, text, needle } in &all {
            let (logged, panicked) = logged_and_panicked(text);
            let by_format = [
                "header",
                "debugged header",
                "user info",
                "query",
                "YAML",
                "TOML",
                "environment",
                "shell",
            ];
            if !by_format.contains(name) {
                assert!(logged.contains(needle), "the log has {name}: {logged}");
                assert!(panicked.contains(needle), "a panic has {name}: {panicked}");
            }
        }

        redact::protect("K", &Secret::new(&key).unwrap());

        // What a field's debug form escapes once more is not known.
        let is_known = |spelling: &&Spelling| !spelling.text.contains(['\0', '\r', '\u{200b}']);
        let all = all.iter().filter(is_known);
        for Spelling { name, text, needle } in all {
            let (logged, panicked) = logged_and_panicked(text);
            assert!(
                !logged.contains(needle) && !logged.contains(&key),
                "{name}: {logged}"
            );
            assert!(
                logged.matches("[redacted: ").count() >= 3,
                "{name}: {logged}"
            );
            assert!(!panicked.contains(needle), "{name}: {panicked}");
            assert!(panicked.contains("[redacted: "), "{name}: {panicked}");
        }
    }

    // proves TL-14
    #[test]
    fn a_line_of_the_log_has_no_key_of_somebody_else_either() {
        let (logged, panicked) =
            logged_and_panicked("Bearer aB3dE5fG7hJ9kL1mN3pQ5rS7 ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7");
        assert_eq!(
            logged.matches("aB3dE5fG7hJ9kL1mN3pQ5rS7").count(),
            0,
            "{logged}"
        );
        assert!(!panicked.contains("aB3dE5fG7hJ9kL1mN3pQ5rS7"), "{panicked}");
    }
}
