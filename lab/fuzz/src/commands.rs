//! Commands that models write.

use samovar_shell::{Command, MAX_BYTES, MAX_COMMANDS, ReadOnly, Redirect, Script, Verdict, parse};

/// Characters that no shell takes for more than themselves in a word; a blank can only have been quoted.
const PLAIN: &str = "_-./+:=,%^@ ";

/// A command: what is read of it, written again with every word in quotes, is the same command, with the
/// same verdict, and one that a person could allow does more than read.
pub(crate) fn command(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let list = ReadOnly::built_in();
    let Ok(script) = parse(text) else {
        assert_ne!(list.judge(text), Verdict::Reads, "{text:?}");
        return;
    };
    assert!(text.len() <= MAX_BYTES && (1..=MAX_COMMANDS).contains(&script.commands().len()));
    let reads = list.verdict(&script) == Verdict::Reads;
    assert_eq!(list.judge(text) == Verdict::Reads, reads, "{text:?}");
    if reads {
        let names = list.program_names(&script);
        assert!(names.is_some_and(|names| !names.is_empty()), "{text:?}");
    } else {
        assert_ne!(
            ReadOnly::of([]).verdict(&script),
            Verdict::Reads,
            "{text:?}"
        );
    }
    for folder in [None, Some("web")] {
        keys(&list, &script, folder, reads, text);
    }
    again(&script, &list, reads, text);
}

/// A key is one line, and a grant for a command that only reads has none.
fn keys(list: &ReadOnly, script: &Script, folder: Option<&str>, reads: bool, text: &str) {
    let Some(keys) = list.grant_keys(script, folder) else {
        return;
    };
    assert_eq!(keys.is_empty(), reads, "{text:?}");
    for key in keys {
        assert!(
            !key.contains('\n') && key.trim() == key,
            "{text:?}: {key:?}"
        );
        assert!(folder.is_none() || key.starts_with("cd web && "), "{key:?}");
    }
}

/// Writes a script whose words are plain again, and reads that.
fn again(script: &Script, list: &ReadOnly, reads: bool, text: &str) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    let are_plain = |command: &Command| {
        let is_read = |redirect: &Redirect| matches!(redirect, Redirect::Read(_));
        let mut words = command.arguments.iter();
        words.all(|word| {
            word.literal()
                .is_some_and(|word| word.chars().all(is_plain))
        }) && !command.redirects.iter().any(is_read)
    };
    if !script.commands().iter().all(are_plain) {
        return;
    }
    let commands = script.commands().iter().map(|command| {
        let words = command
            .arguments
            .iter()
            .map(|word| format!(" '{}'", word.text));
        format!("{}{}", command.program, words.collect::<String>())
    });
    let written = commands.collect::<Vec<_>>().join("\n");
    if written.len() > MAX_BYTES {
        return;
    }
    let found = parse(&written).expect("words in quotes are read");
    for (one, other) in script.commands().iter().zip(found.commands()) {
        assert_eq!(
            (&one.program, &one.arguments),
            (&other.program, &other.arguments)
        );
    }
    assert_eq!(found.commands().len(), script.commands().len(), "{text:?}");
    assert_eq!(list.verdict(&found) == Verdict::Reads, reads, "{text:?}");
}
