//! Calls of tools and their results, as a person would write them: `$ cargo test` and what it wrote,
//! `read_file notes.md: lines 1-40 of 120`.

use samovar_core::approval::visible_line;
use samovar_locale::view as text;
use serde_json::{Map, Value};

use crate::screen::{beginning, visible};

/// Characters of a call's arguments or of its result that are shown on its line.
pub(crate) const SHOWN: usize = 160;

/// Lines that a command wrote which are shown unless all are wanted.
const LAST_LINES: usize = 20;

/// Changed files that are named on one line.
const NAMED: usize = 6;

/// The tool that runs commands.
pub(crate) const EXEC: &str = "exec";

/// Arguments that need no name.
const UNNAMED: [&str; 2] = ["path", "url"];

/// Arguments with the text of a file, which no line has room for, and the tools that have them.
const CONTENTS: [&str; 3] = ["content", "old", "new"];
const WRITERS: [&str; 2] = ["write_file", "edit_file"];

/// A call on one line, at its whole length.
pub(crate) fn whole(tool: &str, args: &Value) -> String {
    let Some(args) = args.as_object() else {
        return format!("{tool} {args}");
    };
    if let (EXEC, Some(command)) = (tool, args.get("command").and_then(Value::as_str)) {
        return command_line(command, args);
    }
    let mut line = tool.to_owned();
    let unnamed = UNNAMED.iter().filter_map(|name| args.get(*name));
    let named = args.iter().filter(|(name, _)| {
        let name = name.as_str();
        let is_content = WRITERS.contains(&tool) && CONTENTS.contains(&name);
        !(is_content || UNNAMED.contains(&name))
    });
    let words = unnamed.map(word);
    for word in words.chain(named.map(|(name, value)| format!("{name}: {}", word(value)))) {
        line = format!("{line} {word}");
    }
    line
}

/// The same, cut to what a line has room for.
pub(crate) fn brief(tool: &str, args: &Value) -> String {
    beginning(&visible(&whole(tool, args)), SHOWN)
}

/// As the preview of an approval has it.
fn command_line(command: &str, args: &Map<String, Value>) -> String {
    let network = match args.get("network") {
        Some(Value::Bool(true)) => "with the network: ",
        _ => "",
    };
    let cwd = args.get("cwd").and_then(Value::as_str);
    let place = cwd.filter(|cwd| *cwd != ".");
    let place = place.map_or_else(String::new, |cwd| format!("in {cwd}: "));
    format!("{network}{place}$ {command}")
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => visible_line(text),
        other => other.to_string(),
    }
}

/// What is shown of a result.
pub(crate) struct Told {
    /// The tool, with its file if it read one.
    pub(crate) subject: String,
    /// What became of the call.
    pub(crate) what: String,
    /// What the command wrote, and what else there is to know.
    pub(crate) below: Vec<String>,
}

/// How much of what a command wrote is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    End,
    All,
}

impl Extent {
    /// What `-v` asks for.
    pub(crate) fn of(is_verbose: bool) -> Self {
        if is_verbose { Self::All } else { Self::End }
    }
}

/// A result as it is shown.
pub(crate) fn result(tool: &str, said: &str, data: Option<&Value>, extent: Extent) -> Told {
    let (subject, what) = match data.and_then(|data| read(tool, data)) {
        Some((path, what)) => (path.map(|path| format!("{tool} {path}")), what),
        // The rest stands below.
        None if tool == EXEC && data.is_some() => {
            let first = said.lines().next().unwrap_or_default();
            (None, beginning(first, SHOWN))
        }
        None => (None, beginning(said, SHOWN)),
    };
    let mut below = Vec::new();
    if let (EXEC, Some(data)) = (tool, data) {
        below.extend(written(data, extent));
        below.extend(notes(said, data));
        below.extend(changed(data));
    }
    Told {
        subject: subject.unwrap_or_else(|| tool.to_owned()),
        what,
        below,
    }
}

/// How much was read, and from which file, where the first line of a result does not say so.
fn read<'a>(tool: &str, data: &'a Value) -> Option<(Option<&'a str>, String)> {
    let word = |name: &str| data[name].as_str();
    let number = |name: &str| data[name].as_u64();
    match tool {
        "read_file" => {
            let what = match (data["binary"] == true, number("bytes")?) {
                (true, bytes) => text::binary(bytes),
                (false, 0) => text::empty_file().to_owned(),
                (false, _) => match (number("from")?, number("to")?, number("lines")?) {
                    (1, to, lines) if to == lines => text::all_lines(lines),
                    (from, to, lines) => text::lines(from, to, lines),
                },
            };
            Some((word("path"), what))
        }
        "web_fetch" => {
            let title = word("title").filter(|title| !title.is_empty());
            let title = title.or_else(|| word("url"))?;
            Some((
                None,
                text::page(beginning(title, SHOWN), number("characters")?),
            ))
        }
        _ => None,
    }
}

/// The lines that a command wrote, but for blank ones; of two channels each gets its share.
fn written(data: &Value, extent: Extent) -> Vec<String> {
    let lines = |name: &str| -> Vec<&str> {
        let written = data[name].as_str().unwrap_or_default().lines();
        written.filter(|line| !line.trim().is_empty()).collect()
    };
    let (out, err) = (lines("stdout"), lines("stderr"));
    let most = match extent {
        Extent::End => LAST_LINES,
        Extent::All => usize::MAX,
    };
    let of_err = err
        .len()
        .min((most / 2).max(most.saturating_sub(out.len())));
    let of_out = out.len().min(most - of_err);
    let left_out = out.len() + err.len() - of_out - of_err;
    let more = (left_out > 0).then(|| text::more_lines(left_out as u64));
    let shown = out[out.len() - of_out..]
        .iter()
        .chain(&err[err.len() - of_err..]);
    let shown = shown.map(|line| (*line).to_owned());
    more.into_iter().chain(shown).collect()
}

/// What the tool itself says below what the command wrote.
fn notes(said: &str, data: &Value) -> Vec<String> {
    let mut notes = said.to_owned();
    for name in ["stdout", "stderr"] {
        let written = data[name].as_str().unwrap_or_default().trim_end();
        if !written.is_empty() {
            notes = notes.replacen(&format!("\n{name}:\n{written}"), "", 1);
        }
    }
    notes.lines().skip(1).map(str::to_owned).collect()
}

/// The files that a command changed.
fn changed(data: &Value) -> Option<String> {
    let files = data["changed"]
        .as_array()
        .filter(|files| !files.is_empty())?;
    let names = files.iter().take(NAMED).filter_map(|file| {
        let path = file["path"].as_str()?;
        Some(match file["change"].as_str() {
            Some("created") => text::changed_new(path),
            Some("deleted") => text::changed_deleted(path),
            _ => path.to_owned(),
        })
    });
    let names = names.collect::<Vec<_>>().join(", ");
    let unlisted = data["changedMore"].as_u64().unwrap_or_default();
    Some(match files.len().saturating_sub(NAMED) as u64 + unlisted {
        0 => text::changed(names),
        more => text::changed_and_more(names, more),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // proves FC-1
    #[test]
    fn a_call_is_written_as_a_person_would_write_it() {
        for (tool, args, line) in [
            ("exec", json!({"command": "cargo test"}), "$ cargo test"),
            (
                "exec",
                json!({"command": "npm ci\nnpm test", "cwd": "web", "network": true}),
                "with the network: in web: $ npm ci…",
            ),
            (
                "write_file",
                json!({"path": "notes.md", "content": "a\nb"}),
                "write_file notes.md",
            ),
            (
                "read_file",
                json!({"path": "notes.md", "offset": 40}),
                "read_file notes.md offset: 40",
            ),
            (
                "web_fetch",
                json!({"url": "https://example.com"}),
                "web_fetch https://example.com",
            ),
            (
                "post",
                json!({"content": "two\nlines", "to": ["a", "b"]}),
                r#"post content: two\nlines to: ["a","b"]"#,
            ),
            ("odd", json!([1]), "odd [1]"),
        ] {
            assert_eq!(brief(tool, &args), line);
        }
    }

    // proves FC-1
    #[test]
    fn a_result_says_what_was_read_and_a_command_what_it_wrote_and_changed() {
        let told = |tool, said, data: Value, extent| {
            let told = result(tool, said, Some(&data), extent);
            format!("{}: {}\n{}", told.subject, told.what, told.below.join("\n"))
        };
        let read =
            json!({"path": "n.md", "from": 1, "to": 40, "lines": 120, "bytes": 9, "binary": false});
        assert_eq!(
            told("read_file", "1\tx", read, Extent::End),
            "read_file n.md: lines 1–40 of 120\n"
        );
        let page = json!({"url": "https://a.b", "title": "A page", "characters": 1234});
        assert_eq!(
            told("web_fetch", "[from …]", page, Extent::End),
            "web_fetch: A page (1234 characters)\n"
        );
        let changed = json!([
            {"path": "a", "change": "changed"},
            {"path": "b", "change": "created"},
            {"path": "c", "change": "deleted"},
        ]);
        let ran = json!({"stdout": "one\n\ntwo\n", "stderr": "three\n", "changed": changed});
        assert_eq!(
            told(
                "exec",
                "exit code 1\nstdout:\none\n\ntwo\nstderr:\nthree\n[a note]",
                ran,
                Extent::End
            ),
            "exec: exit code 1\none\ntwo\nthree\n[a note]\nchanged: a, b (new), c (deleted)"
        );
        let many = |name: &str, count: usize| {
            let lines = (1..=count).map(|at| format!("{name}{at}"));
            lines.collect::<Vec<_>>().join("\n")
        };
        for (out, err, shown) in [
            (
                30,
                0,
                vec!["… 10 more lines; -v shows them all", "o11", "o30"],
            ),
            (
                30,
                2,
                vec!["… 12 more lines; -v shows them all", "o13", "e2"],
            ),
            (
                30,
                30,
                vec!["… 40 more lines; -v shows them all", "o21", "e30"],
            ),
            (
                2,
                30,
                vec!["… 12 more lines; -v shows them all", "o1", "e30"],
            ),
        ] {
            let data = json!({"stdout": many("o", out), "stderr": many("e", err)});
            let lines = written(&data, Extent::End);
            let (first, last) = (lines[1].as_str(), lines[lines.len() - 1].as_str());
            assert_eq!(vec![lines[0].as_str(), first, last], shown);
            assert_eq!(lines.len(), LAST_LINES + 1);
            assert_eq!(written(&data, Extent::All).len(), out + err);
        }
    }
}
