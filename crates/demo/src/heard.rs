//! Who speaks: the person, in plain words, or another agent, in a line of JSON.

use serde::Deserialize;

/// What the last message of a prompt says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Heard {
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

/// Whose words a message holds: the person's, which may stand behind lines of other agents, else
/// those of the agent that spoke last.
pub(super) fn heard(text: &str) -> Heard {
    let mut rest = text;
    let mut last = None;
    while let Some((line, behind)) = first_line(rest) {
        (last, rest) = (Some(line), behind);
    }
    match last {
        Some(line) if rest.trim().is_empty() => Heard {
            author: (line.role != "user").then_some(line.author),
            text: line.text,
        },
        Some(_) | None => Heard {
            author: None,
            text: rest.to_owned(),
        },
    }
}

/// The line of an agent that a text begins with, and what stands behind it.
fn first_line(text: &str) -> Option<(Line, &str)> {
    let text = text.trim_start();
    let (line, behind) = text.split_once('\n').unwrap_or((text, ""));
    let line = line.starts_with('{').then(|| serde_json::from_str(line));
    Some((line?.ok()?, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_person_speaks_plainly_and_other_agents_in_json() {
        let check = |text: &str, author: Option<&str>, said: &str| {
            let expected = Heard {
                author: author.map(str::to_owned),
                text: said.to_owned(),
            };
            assert_eq!(heard(text), expected, "{text}");
        };
        let line = r#"{"author":"master","role":"agent","text":"list\nfiles"}"#;
        check("hello\nyou", None, "hello\nyou");
        check(line, Some("master"), "list\nfiles");
        check(&format!("{line}\nhello\nyou"), None, "hello\nyou");
        check(&format!("{line}\n{line}\n"), Some("master"), "list\nfiles");
        check(&line.replace("agent", "user"), None, "list\nfiles");
        // What only looks like it is the person's.
        let broken = [
            "{}",
            r#"{"author":"master","text":"hi"}"#,
            r#"{"author":1,"role":"agent","text":"hi"}"#,
            r#"["author"]"#,
            "{",
            "",
        ];
        for text in broken {
            check(text, None, text);
        }
    }
}
