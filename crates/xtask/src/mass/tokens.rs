//! A Rust file as words and marks, and its comments apart.
//!
//! It reads no syntax: enough to find paths, items and the ends of groups. What a literal says is
//! left out, so no word of a string is taken for code.

/// What a file is made of.
#[derive(Default)]
pub(super) struct Tokens<'t> {
    /// Words, `::`, single marks, and `""` for each string.
    pub(super) code: Vec<&'t str>,
    pub(super) comments: Vec<&'t str>,
}

impl<'t> Tokens<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let mut tokens = Self::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let length = tokens.take(rest, first);
            rest = rest.get(length..).unwrap_or_default();
        }
        tokens
    }

    /// Reads one token and returns its length in bytes.
    fn take(&mut self, rest: &'t str, first: char) -> usize {
        if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            self.comments.push(&rest[..length]);
            length
        } else if rest.starts_with("/*") {
            let length = block_comment(rest);
            self.comments.push(&rest[..length]);
            length
        } else if first.is_whitespace() {
            first.len_utf8()
        } else if let Some(length) = string(rest) {
            self.code.push("\"\"");
            length
        } else if first == '\'' {
            quoted(rest)
        } else if first.is_alphanumeric() || first == '_' {
            let word = word(rest);
            if rest[word.len()..].starts_with('#') && word == "r" {
                return 2;
            }
            if !first.is_ascii_digit() {
                self.code.push(word);
            }
            word.len()
        } else {
            let length = if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            self.code.push(&rest[..length]);
            length
        }
    }
}

fn word(rest: &str) -> &str {
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    &rest[..end.unwrap_or(rest.len())]
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let ahead = &rest.as_bytes()[at..];
        let (change, length) = match ahead {
            [b'/', b'*', ..] => (1, 2),
            [b'*', b'/', ..] => (-1, 2),
            _ => (0, 1),
        };
        depth += change;
        at += length;
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of the string literal at the front, of whatever kind.
fn string(rest: &str) -> Option<usize> {
    if !rest.starts_with(['b', 'c', 'r', '"']) {
        return None;
    }
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix);
        after.is_some_and(|after| after.trim_start_matches('#').starts_with('"'))
    })?;
    let after = &rest[prefix.len()..];
    let hashes = after.len() - after.trim_start_matches('#').len();
    let start = prefix.len() + hashes + 1;
    if prefix.ends_with('r') {
        let close = format!("\"{}", "#".repeat(hashes));
        let length = rest[start..].find(&close)?;
        return Some(start + length + close.len());
    }
    let mut is_escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(start) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return (hashes == 0).then_some(at + 1),
            _ => {}
        }
    }
    None
}

/// The length of the character, or of the lifetime's mark, at the front.
fn quoted(rest: &str) -> usize {
    let mut inside = rest.char_indices().skip(1);
    match (inside.next(), inside.next()) {
        (Some((_, '\\')), Some((at, escaped))) => {
            let after = at + escaped.len_utf8();
            rest[after..]
                .find('\'')
                .map_or(1, |length| after + length + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1 + word(&rest[1..]).len(),
    }
}

/// The code without the items under `#[cfg(test)]`, and the names of the modules among those.
pub(super) fn without_tests<'t>(code: &[&'t str]) -> (Vec<&'t str>, Vec<&'t str>) {
    const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut modules, mut at) = (Vec::new(), Vec::new(), 0);
    while at < code.len() {
        if !code[at..].starts_with(&TEST) {
            kept.push(code[at]);
            at += 1;
            continue;
        }
        let item = &code[at + TEST.len()..];
        let end = end_of_item(item);
        let head = item.iter().position(|token| *token == "mod");
        modules.extend(
            head.filter(|head| *head < end)
                .and_then(|head| item.get(head + 1)),
        );
        at += TEST.len() + end;
    }
    (kept, modules)
}

/// How many tokens an item takes: up to its semicolon, or to the end of its braces.
fn end_of_item(item: &[&str]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in item.iter().enumerate() {
        match *token {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(*token, ";" | "}") {
            return at + 1;
        }
    }
    item.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_words_and_marks_and_no_literals() {
        for (text, code, comments) in [
            ("use a::b; // c\n", "use a :: b ;", "// c"),
            ("/* a /* b */ c */ d", "d", "/* a /* b */ c */"),
            (
                r#"f("a \" :: b", 'c', '\'', '\u{1}')"#,
                r#"f ( "" , , , )"#,
                "",
            ),
            ("r#type r#\"a \" b\"# br\"x\" b'y'", r#"type "" "" b"#, ""),
            ("&'a str; 1.5e3", "& str ; .", ""),
        ] {
            let tokens = Tokens::of(text);
            assert_eq!(tokens.code.join(" "), code, "{text}");
            assert_eq!(tokens.comments.join(" "), comments, "{text}");
        }
    }

    #[test]
    fn leaves_out_the_items_of_tests() {
        let text = "use a; #[cfg(test)] mod far; #[cfg(test)] fn f(a: [u8; 2]) { x; } fn g() {} \
                    #[cfg(test)] pub(crate) mod near { fn h() {} } fn i() {}";
        let tokens = Tokens::of(text);
        let (kept, modules) = without_tests(&tokens.code);
        assert_eq!(kept.join(" "), "use a ; fn g ( ) { } fn i ( ) { }");
        assert_eq!(modules, ["far", "near"]);
    }
}
