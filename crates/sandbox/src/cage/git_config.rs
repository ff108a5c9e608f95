//! Settings of a repository with which git runs nothing, so that they may stay, no matter who wrote them.
//!
//! A new file may differ from the old one in plain settings alone. What is not written as git itself
//! writes it is not understood, and so not plain.

/// A setting. `value` has the bytes of the file, without blanks around them.
#[derive(Debug, PartialEq)]
struct Setting<'a> {
    section: String,
    subsection: Option<&'a str>,
    key: String,
    value: Option<&'a str>,
}

impl Setting<'_> {
    fn is_beside(&self, other: &Setting<'_>) -> bool {
        (&self.section, self.subsection) == (&other.section, other.subsection)
    }
}

/// Whether git runs with the new settings what it ran with the old ones, and no more.
pub(super) fn runs_no_more(old: &[u8], new: &[u8]) -> bool {
    let (Some(old), Some(new)) = (settings(old), settings(new)) else {
        return false;
    };
    // Of a setting that is there twice the last one counts, so the order of the others stays as well.
    let others = |of: &[Setting<'_>]| -> Vec<String> {
        let others = of
            .iter()
            .filter(|it| !is_plain(it, &old, of) && !is_gone(it, &new));
        others.map(|it| format!("{it:?}")).collect()
    };
    others(&old) == others(&new)
}

/// Whether a branch has no settings any more.
fn is_gone(it: &Setting<'_>, new: &[Setting<'_>]) -> bool {
    it.section == "branch" && !new.iter().any(|new| new.is_beside(it))
}

/// Whether git runs nothing because of a setting, whatever else is set.
fn is_plain(it: &Setting<'_>, old: &[Setting<'_>], all: &[Setting<'_>]) -> bool {
    let Some(value) = it.value else {
        return false;
    };
    // Where a known remote leads is not changed: a push would go elsewhere.
    let is_new = || !old.iter().any(|old| old.is_beside(it));
    match (it.section.as_str(), it.subsection, it.key.as_str()) {
        ("core", None, "repositoryformatversion") => ["0", "1"].contains(&value),
        ("core", None, "filemode" | "bare" | "ignorecase" | "precomposeunicode" | "symlinks") => {
            ["true", "false"].contains(&value)
        }
        ("core", None, "logallrefupdates") => ["true", "false", "always"].contains(&value),
        ("user", None, "name" | "email") => !value.contains('\\'),
        ("init", None, "defaultbranch") => is_ref(value),
        ("remote", Some(name), "url") => is_nick(name) && is_address(value) && is_new(),
        ("remote", Some(name), "fetch") => is_nick(name) && is_refspec(value, name) && is_new(),
        ("branch", Some(_), "remote") => is_new() && (value == "." || is_remote(value, all)),
        ("branch", Some(_), "merge") => {
            is_new() && value.strip_prefix("refs/heads/").is_some_and(is_ref)
        }
        ("branch", Some(_), "rebase") => is_new() && ["true", "false", "merges"].contains(&value),
        _ => false,
    }
}

/// Whether it names a remote that has an address. Anything else would be an address itself.
fn is_remote(name: &str, all: &[Setting<'_>]) -> bool {
    let mut all = all.iter();
    is_nick(name)
        && all.any(|it| it.section == "remote" && it.subsection == Some(name) && it.key == "url")
}

fn is_of(text: &str, others: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    !text.is_empty() && text.chars().all(fits)
}

fn begins_plainly(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// A name of a remote that is no path.
fn is_nick(name: &str) -> bool {
    begins_plainly(name) && is_of(name, "._-") && !name.contains("..")
}

fn is_ref(name: &str) -> bool {
    begins_plainly(name) && is_of(name, "._-/") && !name.contains("..")
}

/// What `git remote add` and `git clone` write.
fn is_refspec(value: &str, remote: &str) -> bool {
    let Some((from, to)) = value.strip_prefix('+').unwrap_or(value).split_once(':') else {
        return false;
    };
    let branch = |text: &str| text == "*" || is_ref(text);
    let to = to
        .strip_prefix("refs/remotes/")
        .and_then(|to| to.strip_prefix(remote));
    from.strip_prefix("refs/heads/").is_some_and(branch)
        && to.and_then(|to| to.strip_prefix('/')).is_some_and(branch)
}

/// An address of another machine. That of a path does not count: a push to a repository runs its hooks.
/// `name::` runs the program `git-remote-name`.
fn is_address(value: &str) -> bool {
    if !is_of(value, "-._~:/@%+,=&?") || value.contains("::") {
        return false;
    }
    let schemes = ["https://", "http://", "ssh://", "git://"];
    let rest = schemes.iter().find_map(|scheme| value.strip_prefix(scheme));
    let host = |authority: &str| {
        let (user, host) = authority.rsplit_once('@').unwrap_or(("x", authority));
        begins_plainly(user) && begins_plainly(host)
    };
    match rest {
        Some(rest) => host(rest.split(['/', '?']).next().unwrap_or_default()),
        // As ssh has it: `git@host:path`.
        None => value.split_once(':').is_some_and(|(authority, path)| {
            host(authority)
                && is_of(authority, "-._@")
                && !path.starts_with("//")
                && path.starts_with(|c: char| c.is_ascii_alphanumeric() || "/~".contains(c))
        }),
    }
}

/// The settings in their order; `None` if a line is not as git writes it.
fn settings(text: &[u8]) -> Option<Vec<Setting<'_>>> {
    let text = std::str::from_utf8(text).ok()?;
    let blanks = [' ', '\t'];
    let (mut section, mut all) = (None, Vec::new());
    for line in text.split('\n') {
        let line = line.trim_matches(blanks);
        if line.chars().any(|c| c.is_control() && c != '\t') || !is_whole(line) {
            return None;
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            section = Some(header_of(header.strip_suffix(']')?)?);
            continue;
        }
        let (section, subsection): &(String, _) = section.as_ref()?;
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim_end_matches(blanks), Some(value)),
            None => (line, None),
        };
        if !key.starts_with(|c: char| c.is_ascii_alphabetic()) || !is_of(key, "-") {
            return None;
        }
        all.push(Setting {
            section: section.clone(),
            subsection: *subsection,
            key: key.to_ascii_lowercase(),
            value: value.map(|value| value.trim_matches(blanks)),
        });
    }
    Some(all)
}

/// The section and subsection between the brackets.
fn header_of(header: &str) -> Option<(String, Option<&str>)> {
    let (name, subsection) = match header.split_once(' ') {
        Some((name, subsection)) => {
            let subsection = subsection.strip_prefix('"')?.strip_suffix('"')?;
            (name, Some(subsection))
        }
        None => (header, None),
    };
    let is_simple = subsection.is_none_or(|it| !it.contains(['"', '\\']));
    (is_of(name, "-") && is_simple).then(|| (name.to_ascii_lowercase(), subsection))
}

/// Whether a line ends where it seems to: not in quotes, and not before a further line.
fn is_whole(line: &str) -> bool {
    let (mut is_quoted, mut chars) = (false, line.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.next().is_none() => return false,
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => return true,
            _ => {}
        }
    }
    !is_quoted
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    /// A person's settings.
    const OLD: &str = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://a.b/c\n\
        [branch \"main\"]\n\tremote = origin\n[alias]\n\tst = status\n";

    // proves TL-18
    #[test]
    fn settings_stay_that_run_nothing() {
        for more in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tlogallrefupdates = true\n",
            "[user]\n\tname = Ada \"of\" L\n\temail = ada@example.org\n# note\n",
            "[remote \"o\"]\n\turl = git@host.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/o/*\n",
            "[remote \"o\"]\n\turl = ssh://me@host:22/~/x\n[branch \"x\"]\n\tremote = o\n\
             \tmerge = refs/heads/x\n\trebase = true\n",
            "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n",
            "[branch \"x\"]\n\tremote = .\n[Init]\n\tdefaultBranch = trunk\n",
        ] {
            let new = format!("{OLD}{more}");
            assert!(runs_no_more(OLD.as_bytes(), new.as_bytes()), "{more}");
        }
        let gone = OLD.replace("[branch \"main\"]\n\tremote = origin\n", "");
        assert!(runs_no_more(OLD.as_bytes(), gone.as_bytes()));
    }

    // proves TL-18
    #[test]
    fn settings_do_not_stay_that_may_run_something() {
        for more in [
            "[core]\n\tfsmonitor = x\n",
            "[core] fsmonitor = x\n",
            "[core] fsmonitor = x #]\n",
            "[CORE]\n\thooksPath = x\n",
            "[user]\n\tname = a \\\n[core]\n\tfsmonitor = x\n",
            "[user]\n\tname = \"a\n",
            "[user]\r\n\tname = a\n",
            "[include]\n\tpath = x\n",
            "[includeIf \"gitdir:x\"]\n\tpath = x\n",
            "[alias]\n\tst = !x\n",
            "[remote \"o\"]\n\turl = ext::sh -c x\n",
            "[remote \"o\"]\n\turl = x::y\n",
            "[remote \"o\"]\n\turl = ./hooks-of-mine\n",
            "[remote \"o\"]\n\turl = file:///tmp/x\n",
            "[remote \"o\"]\n\turl = ssh://-oProxyCommand=x/y\n",
            "[remote \"o\"]\n\turl = -u@host:x\n",
            "[remote \"o\"]\n\turl = https://a.b/c\n\tuploadpack = x\n",
            "[remote \"o\"]\n\turl = https://a.b/c\n\tfetch = +refs/heads/*:refs/heads/*\n",
            "[remote \"origin\"]\n\turl = https://evil/c\n",
            "[remote \"a/../b\"]\n\turl = https://a.b/c\n",
            "[branch \"x\"]\n\tremote = hooks-of-mine\n",
            "[branch \"x\"]\n\tremote = ext::x\n",
            "[branch \"main\"]\n\tmerge = refs/heads/evil\n",
            "[branch \"x\"]\n\trebase = interactive\n",
            "[remote.o]\n\turl = https://a.b/c\n",
            "[url \"https://evil\"]\n\tinsteadOf = https://a.b\n",
            "[diff \"x\"]\n\ttextconv = x\n",
            "[core]\n\tbare\n",
        ] {
            let new = format!("{OLD}{more}");
            assert!(!runs_no_more(OLD.as_bytes(), new.as_bytes()), "{more}");
        }
        for (from, to) in [
            ("https://a.b/c", "https://evil/c"),
            ("= status", "= !x"),
            ("st", "x"),
        ] {
            let new = OLD.replace(from, to);
            assert!(!runs_no_more(OLD.as_bytes(), new.as_bytes()), "{from} {to}");
        }
        let marked = format!("\u{feff}{OLD}");
        assert!(!runs_no_more(OLD.as_bytes(), marked.as_bytes()));
    }

    // proves TL-18
    #[test]
    fn what_is_read_is_what_git_reads() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let odd = "[A]\n b=1 # x\n\tB = \"2 ; 3\" ; y\n;c = 1\n[a \"X\"]\nlong-key   =\n[d]\ne\n";
        for text in [OLD, odd] {
            fs::write(&file, text).unwrap();
            let mut git = Command::new("git");
            git.args(["config", "--list", "--name-only", "-f"])
                .arg(&file);
            let said = String::from_utf8(git.output().unwrap().stdout).unwrap();
            let read = settings(text.as_bytes()).unwrap().into_iter().map(|it| {
                let parts = [
                    Some(it.section.as_str()),
                    it.subsection,
                    Some(it.key.as_str()),
                ];
                let parts: Vec<&str> = parts.into_iter().flatten().collect();
                parts.join(".")
            });
            let read: Vec<String> = read.collect();
            assert_eq!(read, said.lines().collect::<Vec<_>>());
        }
    }
}
