//! What the tools answer, as values for the steps and sentences after them.

use std::borrow::Cow;
use std::cmp::Reverse;

use samovar_core::command::is_blank;
use serde_json::{Map, Value};

use crate::arithmetic::{self, Trouble};
use crate::language::Language;
use crate::pattern::{self, Values};
use crate::table::TABLE;

/// At most so many entries or lines are told; a file gets all.
const MAX_TOLD: usize = 100;
/// A line is told up to so many characters.
const MAX_TOLD_CHARACTERS: usize = 500;

/// Adds the values that a good result of a tool has; a value that it lacks is not there, so no
/// sentence that needs it is said.
///
/// # Errors
/// The key of a sentence that says why nothing can come after it.
pub(crate) fn read(
    language: Language,
    tool: &str,
    args: &Map<String, Value>,
    text: &str,
    values: &mut Values,
) -> Result<(), &'static str> {
    let path = args.get("path").and_then(Value::as_str).unwrap_or_default();
    values.remove("notes");
    match tool {
        "list_dir" => entries(language, text, values),
        "read_file" => lines(language, path, text, values),
        "web_fetch" => page(language, args, text, values),
        "read_skill" | "recall" => {
            let all = text.trim().lines().map(str::to_owned).collect();
            put(values, "lines", bounded_lines(language, all));
        }
        "search_files" => matches(language, text, values),
        "ask_user" if is_blank(text) => return Err("no_answer"),
        "ask_user" => put(values, "answer", text),
        "write_file" => put(values, "written", path),
        "edit_file" => put(values, "edited", replacements(text)),
        "post_message" | "remember" => put(
            values,
            "id",
            text.trim().rsplit(' ').next().unwrap_or_default(),
        ),
        "subAgent" => agent(args, text, values),
        "=" => sum(args, values),
        _ => put(values, "result", text),
    }
    Ok(())
}

/// A page: below the line that says where it is from, its title and its text.
fn page(language: Language, args: &Map<String, Value>, text: &str, values: &mut Values) {
    let (mark, text) = text.split_once('\n').unwrap_or((text, ""));
    let from = mark
        .strip_prefix("[from ")
        .and_then(|mark| mark.split_once(';'));
    let asked = args.get("url").and_then(Value::as_str).unwrap_or_default();
    put(values, "page", from.map_or(asked, |(address, _)| address));
    let all = text.trim().lines().map(str::to_owned).collect();
    put(values, "lines", bounded_lines(language, all));
}

/// What another agent has said last.
fn agent(args: &Map<String, Value>, text: &str, values: &mut Values) {
    let said: Value = serde_json::from_str(text).unwrap_or_default();
    let name = args.get("name").and_then(Value::as_str);
    put(values, "agent", name.unwrap_or_default());
    put(values, "lines", said["summary"].as_str().unwrap_or(text));
}

fn put(values: &mut Values, name: &str, value: impl Into<String>) {
    values.insert(name.to_owned(), value.into());
}

/// A line of `list_dir`: the size right-aligned, two spaces, the name.
fn entry(line: &str) -> Option<Entry<'_>> {
    let (size, name) = line.trim_start_matches(' ').split_once("  ")?;
    let size = size
        .parse()
        .map(Some)
        .or_else(|_| (size == "-").then_some(None).ok_or(()));
    Some((size.ok()?, name))
}

type Entry<'a> = (Option<u64>, &'a str);

/// The entries of the wanted kind in the wanted order, without the file `path` that is written next,
/// and whether that was left out.
fn wanted<'a>(text: &'a str, values: &Values) -> (Vec<Entry<'a>>, bool) {
    let get = |name: &str| values.get(name).map_or("", String::as_str);
    let plain = |path: &str| {
        path.trim_start_matches("./")
            .trim_end_matches('/')
            .to_owned()
    };
    let (sink, folder) = (plain(get("path")), plain(get("folder")));
    let is_sink = |name: &str| match folder.as_str() {
        "" | "." => sink == name,
        folder => sink == format!("{folder}/{name}"),
    };
    let mut all: Vec<_> = text.lines().skip(1).filter_map(entry).collect();
    all.retain(|(size, name)| match get("kind") {
        "files" => size.is_some(),
        "folders" => size.is_none() && name.ends_with('/'),
        _ => true,
    });
    let before = all.len();
    all.retain(|(_, name)| !is_sink(name));
    let is_left_out = all.len() < before;
    match get("order") {
        "largest" => all.sort_by_key(|(size, name)| (Reverse(*size), name.to_lowercase())),
        "smallest" => all.sort_by_key(|(size, name)| (*size, name.to_lowercase())),
        _ => all.sort_by_key(|(_, name)| name.to_lowercase()),
    }
    (all, is_left_out)
}

fn entries(language: Language, text: &str, values: &mut Values) {
    let (mut all, is_left_out) = wanted(text, values);
    let count = values.get("n").and_then(|n| n.parse::<usize>().ok());
    let (total, shown) = (all.len(), count.unwrap_or(all.len()).min(all.len()));
    all.truncate(shown);
    let told = all.iter().enumerate().map(|(at, (size, name))| {
        let size = size.map(|size| format!(" ({size} B)")).unwrap_or_default();
        format!("{}. {name}{size}", at + 1)
    });
    let told = bounded_lines(language, told.collect());
    let names: String = all.iter().flat_map(|(_, name)| [*name, "\n"]).collect();
    if is_left_out {
        put(values, "left_out", values["path"].clone());
    }
    if let Some(asked) = count.filter(|asked| *asked > total) {
        put(values, "asked", asked.to_string());
    }
    put(values, "total", total.to_string());
    put(values, "shown", shown.to_string());
    let class = match shown {
        _ if shown == total => "all",
        1 => "one",
        _ => "some",
    };
    let key = match values.get("order").map(String::as_str) {
        Some(order @ ("largest" | "smallest")) if total > 0 => format!("{order}.{class}"),
        Some(_) | None => "counted".to_owned(),
    };
    if let Some(listed) = TABLE.fill(language, TABLE.say(language, &key), values) {
        put(values, "listed", listed);
    }
    if !names.is_empty() {
        put(values, "names", names);
        put(values, "lines", told);
    }
    let head = text.lines().next().unwrap_or_default();
    let cut = head.ends_with(" shown").then(|| TABLE.say(language, "cut"));
    let noted = text.lines().filter(|line| line.starts_with('['));
    notes(values, cut.into_iter().chain(noted));
}

fn notes<'a>(values: &mut Values, notes: impl Iterator<Item = &'a str>) {
    let notes: Vec<_> = notes.collect();
    if !notes.is_empty() {
        put(values, "notes", notes.join("\n"));
    }
}

/// A line of `read_file`: its number right-aligned, a tab, its text.
fn numbered(line: &str) -> Option<(u64, &str)> {
    let (number, text) = line.split_once('\t')?;
    Some((number.trim_start_matches(' ').parse().ok()?, text))
}

/// How many lines there are, as the note below a part says: `[lines 1-20 of 300; …]`.
fn total_of(note: &str) -> Option<u64> {
    let (_, after) = note.strip_prefix("[lines ")?.split_once(" of ")?;
    after.split(';').next()?.parse().ok()
}

fn lines(language: Language, path: &str, text: &str, values: &mut Values) {
    let all: Vec<_> = text.split('\n').filter_map(numbered).collect();
    let noted = text.split('\n').filter(|line| line.starts_with('['));
    let (Some((first, _)), Some((last, _))) = (all.first(), all.last()) else {
        if text.starts_with("[empty") {
            put(values, "empty", path);
            put(values, "read", path);
            put(values, "count", "0");
        } else {
            put(values, "binary", format!("{path}: {}", text.trim_end()));
        }
        return;
    };
    let total = noted.clone().find_map(total_of).unwrap_or(*last);
    put(values, "read", path);
    put(values, "count", total.to_string());
    notes(values, noted.filter(|note| total_of(note).is_none()));
    let shown: Vec<_> = all.iter().map(|(_, line)| (*line).to_owned()).collect();
    if *first > 1 || *last < total {
        put(values, "first", first.to_string());
        put(values, "last", last.to_string());
        put(values, "total", total.to_string());
    } else if let Some(end) = unique_end(&shown) {
        put(values, "end", end);
    }
    put(values, "lines", bounded_lines(language, shown));
}

/// The shortest end of a text, in whole lines, that is found in it only once.
fn unique_end(lines: &[String]) -> Option<String> {
    let text = lines.join("\n");
    let ends = (1..=lines.len()).map(|count| lines[lines.len() - count..].join("\n"));
    let mut unique = ends.filter(|end| !end.is_empty() && text.matches(end.as_str()).count() == 1);
    unique.next()
}

/// How many replacements there were, by the first line of `edit_file`: `edited a.txt: 1 replacement`.
fn replacements(text: &str) -> &str {
    let head = text.lines().next().unwrap_or_default();
    let (_, count) = head.rsplit_once(": ").unwrap_or(("", head));
    count.split(' ').next().unwrap_or_default()
}

fn matches(language: Language, text: &str, values: &mut Values) {
    let mut lines: Vec<_> = text.trim_end().split('\n').collect();
    let head = lines.remove(0);
    let is_note = |line: &&str| line.starts_with('[') && !line.contains(": ");
    notes(values, lines.iter().copied().filter(is_note));
    if head.starts_with("no match") {
        let searched = values.get("text").cloned().unwrap_or_default();
        return put(values, "no_match", searched);
    }
    let count = head.split(' ').next().unwrap_or_default();
    put(values, "matches", count);
    lines.retain(|line| !is_note(line));
    let lines = lines.into_iter().map(str::to_owned).collect();
    put(values, "lines", bounded_lines(language, lines));
}

fn sum(args: &Map<String, Value>, values: &mut Values) {
    let said = args.get("sum").and_then(Value::as_str).unwrap_or_default();
    let mut expression = said
        .trim()
        .replace(['×', '·'], "*")
        .replace(['÷', ':'], "/")
        .replace('−', "-")
        .replace('（', "(")
        .replace('）', ")");
    for (sign, spellings) in TABLE.words.values("sign") {
        let sign = match sign {
            "plus" => " + ",
            "minus" => " - ",
            "times" => " * ",
            _ => " / ",
        };
        if let Ok(regex) = pattern::build(&format!(r"\s*{}\s*", pattern::cell(spellings))) {
            expression = regex.replace_all(&expression, sign).into_owned();
        }
    }
    expression = decimal_points(&expression);
    match arithmetic::evaluate(&expression) {
        Ok((value, true)) => put(values, "value", value),
        Ok((digits, false)) => put(values, "digits", digits),
        Err(Trouble::DivisionByZero) => put(values, "zero", expression.clone()),
        Err(Trouble::TooLarge) => put(values, "too_large", expression.clone()),
        Err(Trouble::Malformed) => put(values, "malformed", expression.clone()),
    }
    put(values, "expression", expression);
}

/// A comma before three digits groups them; any other is a decimal point.
fn decimal_points(expression: &str) -> String {
    let mut pieces = expression.split(',');
    let mut joined = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        let is_grouped = digits == 3 && joined.ends_with(|c: char| ('1'..='9').contains(&c));
        joined.push_str(if is_grouped { "" } else { "." });
        joined.push_str(piece);
    }
    joined
}

fn bounded_lines(language: Language, lines: Vec<String>) -> String {
    let more = lines.len().saturating_sub(MAX_TOLD);
    let mut told: Vec<_> = lines
        .into_iter()
        .take(MAX_TOLD)
        .map(|line| bounded(&line))
        .collect();
    if more > 0 {
        let values = [("count".to_owned(), more.to_string())].into();
        told.extend(TABLE.fill(language, TABLE.say(language, "more"), &values));
    }
    told.join("\n")
}

/// What a result says for people: a called agent that failed answers in JSON, with the sentence in it.
pub(crate) fn sentence(text: &str) -> Cow<'_, str> {
    let said = serde_json::from_str::<Map<String, Value>>(text);
    match said.ok().and_then(|mut said| said.remove("error")) {
        Some(Value::String(why)) => why.into(),
        _ => text.into(),
    }
}

/// A text, cut after so many characters that a person can look over it.
pub(crate) fn bounded(text: &str) -> String {
    match text.char_indices().nth(MAX_TOLD_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
