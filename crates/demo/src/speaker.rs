//! Who speaks: the person, in plain words, or another agent, in a line of JSON.

use serde::Deserialize;

/// What the last message of a prompt says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Spoken {
    /// The agent that speaks; none when it is the person.
    pub(super) author: Option<String>,
    /// What is said.
    pub(super) text: String,
}

/// A line of another agent.
#[derive(Deserialize)]
struct Line {
    author: String,
    role: String,
    text: String,
}

/// Whose words a message holds: the person's, which may stand after lines of other agents, else
/// those of the agent that spoke last.
pub(super) fn spoken(text: &str) -> Spoken {
    let mut rest = text;
    let mut last = None;
    while let Some((line, after)) = first_line(rest) {
        (last, rest) = (Some(line), after);
    }
    match last {
        Some(line) if rest.trim().is_empty() => Spoken {
            author: (line.role != "user").then_some(line.author),
            text: line.text,
        },
        Some(_) | None => Spoken {
            author: None,
            text: rest.to_owned(),
        },
    }
}

/// The line of an agent that a text begins with, and what stands after it.
fn first_line(text: &str) -> Option<(Line, &str)> {
    let text = text.trim_start();
    let (line, after) = text.split_once('\n').unwrap_or((text, ""));
    let line = line.starts_with('{').then(|| serde_json::from_str(line));
    Some((line?.ok()?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_person_speaks_plainly_and_other_agents_in_json() {
        let line = r#"{"author":"master","role":"agent","text":"list\nfiles"}"#;
        let both = (format!("{line}\nhello\nyou"), format!("{line}\n{line}\n"));
        let user = line.replace("agent", "user");
        let rows = [
            (line, Some("master"), "list\nfiles"),
            (&both.0, None, "hello\nyou"),
            (&both.1, Some("master"), "list\nfiles"),
            (&user, None, "list\nfiles"),
        ];
        // What only looks like a line of an agent is the person's.
        let broken = [
            "hello\nyou",
            "{}",
            r#"{"author":"master","text":"hi"}"#,
            "{",
            "",
        ];
        for (text, author, said) in rows
            .into_iter()
            .chain(broken.map(|text| (text, None, text)))
        {
            let spoken = spoken(text);
            assert_eq!(
                (spoken.author.as_deref(), &*spoken.text),
                (author, said),
                "{text}"
            );
        }
    }
}
