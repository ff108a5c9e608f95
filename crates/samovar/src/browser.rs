//! The person's browser.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::config::browser_variables;

/// How long a browser is watched for: one that cannot start says so at once.
const WATCHED: Duration = Duration::from_millis(500);

/// How often it is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What the environment says of browsers.
#[derive(Clone, Debug, Default)]
pub(crate) struct BrowserVariables {
    /// The commands of `BROWSER`, separated by colons; `%s` stands for the address.
    pub(crate) browser: Option<String>,
    /// Whether there is a screen to open a window on.
    pub(crate) has_screen: bool,
}

/// Shows an address in a browser; whether one started.
pub(crate) fn show(url: &str) -> bool {
    let commands = commands(&browser_variables(), url);
    commands.into_iter().any(|command| starts(&command))
}

/// The commands that are tried, each with its arguments.
fn commands(set: &BrowserVariables, url: &str) -> Vec<Vec<OsString>> {
    let of_person = set.browser.iter().flat_map(|all| all.split(':'));
    let of_system = if cfg!(target_os = "macos") {
        Some("open")
    } else {
        set.has_screen.then_some("xdg-open")
    };
    let all = of_person.chain(of_system);
    let words = all.map(|command| {
        let words: Vec<_> = command.split_whitespace().collect();
        let has_place = words.iter().any(|word| word.contains("%s"));
        let filled = words.iter().map(|word| word.replace("%s", url).into());
        let end = (!words.is_empty() && !has_place).then(|| url.into());
        filled.chain(end).collect()
    });
    words.filter(|words: &Vec<_>| !words.is_empty()).collect()
}

/// Starts a command, which outlives this program; true unless it failed at once.
fn starts(command: &[OsString]) -> bool {
    let Some((program, arguments)) = command.split_first() else {
        return false;
    };
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // What interrupts this program leaves the browser alone.
        .process_group(0)
        .spawn();
    let Ok(mut child) = started else {
        return false;
    };
    let looks = WATCHED.as_millis() / LOOK_EVERY.as_millis();
    for _ in 0..looks {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(LOOK_EVERY),
            Err(_) => break,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves FC-1
    #[test]
    fn the_persons_browser_comes_first_and_the_system_is_asked_where_there_is_a_screen() {
        for (browser, has_screen, expected) in [
            (None, false, ""),
            (None, true, "xdg-open URL"),
            (Some(""), false, ""),
            (Some("firefox"), false, "firefox URL"),
            (
                Some("w3m %s -x:links"),
                true,
                "w3m URL -x|links URL|xdg-open URL",
            ),
            (Some("a --new=%s"), false, "a --new=URL"),
        ] {
            let browser = browser.map(str::to_owned);
            let set = BrowserVariables {
                browser,
                has_screen,
            };
            let commands: Vec<_> = commands(&set, "URL")
                .iter()
                .map(|words| words.join(" ".as_ref()).into_string().unwrap())
                .collect();
            assert_eq!(commands.join("|"), expected, "{set:?}");
        }
    }
}
