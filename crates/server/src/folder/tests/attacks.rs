//! The table of attacks.

use Step::{Dir, File, Hard, Link, Rename};

/// A change of the tree; paths count from the folder around the workspace `ws`.
#[derive(Clone, Copy)]
pub(super) enum Step {
    File(&'static str),
    Dir(&'static str),
    /// A link and its target.
    Link(&'static str, &'static str),
    /// A second name, and the first.
    Hard(&'static str, &'static str),
    Rename(&'static str, &'static str),
}

/// A path that a model writes to, the tree before the jail is opened, and what happens after.
pub(super) type Attack = (&'static str, &'static [Step], &'static [Step]);

/// Files that are there.
pub(super) const REPLACE: &[Attack] = &[
    ("samovar.toml", &[File("ws/samovar.toml")], &[]),
    ("SOUL.md", &[File("ws/SOUL.md")], &[]),
    ("USER.md", &[File("ws/USER.md")], &[]),
    ("AGENTS.md", &[File("ws/AGENTS.md")], &[]),
    ("CLAUDE.md", &[File("ws/CLAUDE.md")], &[]),
    ("MEMORY.md", &[File("ws/MEMORY.md")], &[]),
    (
        "skills/tea/SKILL.md",
        &[File("ws/skills/tea/SKILL.md")],
        &[],
    ),
    ("agents/x.md", &[File("ws/agents/x.md")], &[]),
    ("memory/today.md", &[File("ws/memory/today.md")], &[]),
    (".git/config", &[File("ws/.git/config")], &[]),
    (
        ".git/hooks/pre-commit",
        &[File("ws/.git/hooks/pre-commit")],
        &[],
    ),
    ("a/.git/config", &[File("ws/a/.git/config")], &[]),
    ("own/samovar.toml", &[], &[]),
    ("sub/samovar.toml", &[File("ws/sub/samovar.toml")], &[]),
    ("a/samovar.toml", &[File("ws/a/samovar.toml")], &[]),
];

/// Files that are not there yet.
const CREATE: &[Attack] = &[
    ("samovar.toml", &[], &[]),
    ("SOUL.md", &[], &[]),
    ("USER.md", &[], &[]),
    ("AGENTS.md", &[], &[]),
    ("CLAUDE.md", &[], &[]),
    ("MEMORY.md", &[], &[]),
    ("skills/new/SKILL.md", &[], &[]),
    ("skills/tea/more.md", &[File("ws/skills/tea/SKILL.md")], &[]),
    ("agents/x.md", &[], &[]),
    ("agents/x.md", &[Dir("ws/agents")], &[]),
    ("memory/2026-01-01.md", &[], &[]),
    ("skills", &[], &[]),
    (".git/hooks/post-checkout", &[], &[]),
    (".git", &[], &[]),
    ("a/.git/config", &[], &[]),
    ("a/b/.git", &[], &[]),
    ("own/new.toml", &[], &[]),
    ("later/samovar.toml", &[], &[]),
    ("sub/samovar.toml", &[], &[]),
    ("a/b/samovar.toml", &[], &[]),
    // Made after the server started.
    ("agents/x.md", &[], &[Dir("ws/agents")]),
    ("later/samovar.toml", &[], &[Dir("ws/later")]),
];

/// Other spellings of a path.
const SPELL: &[Attack] = &[
    ("./samovar.toml", &[], &[]),
    (".//samovar.toml", &[], &[]),
    ("a/../samovar.toml", &[Dir("ws/a")], &[]),
    ("a/b/../../skills/x.md", &[Dir("ws/a/b")], &[]),
    ("skills/../samovar.toml", &[File("ws/skills/x.md")], &[]),
    (
        "skills//tea//SKILL.md",
        &[File("ws/skills/tea/SKILL.md")],
        &[],
    ),
    (
        "./skills/./tea/../tea/SKILL.md",
        &[File("ws/skills/tea/SKILL.md")],
        &[],
    ),
    ("../ws/samovar.toml", &[], &[]),
    ("{top}/ws/samovar.toml", &[], &[]),
    ("{top}/ws/../ws/agents/x.md", &[], &[]),
    ("{top}//ws/./.git/config", &[File("ws/.git/config")], &[]),
    ("/../{top}/ws/samovar.toml", &[], &[]),
    ("a/../../ws/memory/x.md", &[Dir("ws/a")], &[]),
];

/// Names that some file system takes for a trusted one.
const FOLD: &[Attack] = &[
    ("SAMOVAR.TOML", &[], &[]),
    ("Samovar.toml", &[], &[]),
    ("\u{17f}amovar.toml", &[], &[]),
    ("sa\u{200d}movar.toml", &[], &[]),
    ("samovar.toml.", &[], &[]),
    ("samovar.toml ", &[], &[]),
    ("Agents.md", &[], &[]),
    ("agents.MD", &[], &[]),
    ("SKILLS/x.md", &[], &[]),
    ("s\u{212a}ills/x.md", &[], &[]),
    ("memory /x.md", &[], &[]),
    ("SUB/samovar.toml", &[], &[]),
    (".GIT/config", &[], &[]),
    (".g\u{200c}it/config", &[], &[]),
    ("a/.Git/config", &[], &[]),
];

/// Links, to a trusted file and from one.
const LINKS: &[Attack] = &[
    (
        "note.md",
        &[File("ws/note.md"), Link("ws/AGENTS.md", "note.md")],
        &[],
    ),
    (
        "a/skills/x.md",
        &[Dir("ws/a/skills"), Link("ws/skills", "a/skills")],
        &[],
    ),
    (
        "a/skills/deep/x.md",
        &[Dir("ws/a/skills"), Link("ws/skills", "a/skills")],
        &[],
    ),
    ("conf.toml", &[Link("ws/samovar.toml", "conf.toml")], &[]),
    ("Conf.TOML", &[Link("ws/samovar.toml", "Conf.TOML")], &[]),
    (
        "a/conf.toml",
        &[Dir("ws/a"), Link("ws/samovar.toml", "a/conf.toml")],
        &[],
    ),
    (
        "two",
        &[Link("ws/samovar.toml", "one"), Link("ws/one", "two")],
        &[],
    ),
    ("s/x.md", &[Link("ws/skills", "s")], &[]),
    ("s/x.md", &[Dir("ws/a"), Link("ws/memory", "a/../s")], &[]),
    (
        "link",
        &[File("ws/samovar.toml"), Link("ws/link", "samovar.toml")],
        &[],
    ),
    (
        "a/link",
        &[Dir("ws/a"), Link("ws/a/link", "../samovar.toml")],
        &[],
    ),
    (
        "a/s/x.md",
        &[Dir("ws/a"), Dir("ws/skills"), Link("ws/a/s", "../skills")],
        &[],
    ),
    ("here/samovar.toml", &[Link("ws/here", ".")], &[]),
    ("up/ws/samovar.toml", &[Link("ws/up", "..")], &[]),
    ("out", &[Link("ws/out", "../config/samovar.toml")], &[]),
    ("out/samovar.toml", &[Link("ws/out", "../config")], &[]),
    ("d/token", &[Link("ws/d", "data")], &[]),
    ("d/new", &[Link("ws/d", "data")], &[]),
    // Made while the server runs.
    (
        "link",
        &[File("ws/samovar.toml")],
        &[Link("ws/link", "samovar.toml")],
    ),
    ("conf.toml", &[], &[Link("ws/samovar.toml", "conf.toml")]),
    ("s/x.md", &[], &[Link("ws/skills", "s")]),
];

/// Second names of trusted files.
const HARD_LINKS: &[Attack] = &[
    (
        "twin",
        &[File("ws/samovar.toml"), Hard("ws/twin", "ws/samovar.toml")],
        &[],
    ),
    (
        "twin.md",
        &[File("ws/skills/x.md"), Hard("ws/twin.md", "ws/skills/x.md")],
        &[],
    ),
    (
        "a/twin",
        &[Dir("ws/a"), Hard("ws/a/twin", "config/samovar.toml")],
        &[],
    ),
    ("twin", &[Hard("ws/twin", "ws/data/token")], &[]),
    (
        "twin",
        &[File("ws/AGENTS.md")],
        &[Hard("ws/twin", "ws/AGENTS.md")],
    ),
];

/// The data directory in the workspace, and the user's configuration outside.
pub(super) const HIDDEN: &[Attack] = &[
    ("data/token", &[], &[]),
    ("data/new", &[], &[]),
    ("data/agents/evil.md", &[], &[]),
    ("data/undo/0000000000000001", &[], &[]),
    ("./data/token", &[], &[]),
    ("data/../data/token", &[], &[]),
    ("{top}/ws/data/token", &[], &[]),
    ("../config/samovar.toml", &[], &[]),
    ("{top}/config/trusted.toml", &[], &[]),
    ("/proc/self/root{top}/config/samovar.toml", &[], &[]),
    (
        "{top}/ws/later/samovar.toml",
        &[],
        &[File("ws/later/samovar.toml")],
    ),
];

/// Folders that are renamed while the server runs.
pub(super) const RENAMED: &[Attack] = &[
    ("other/token", &[], &[Rename("ws/data", "ws/other")]),
    ("other/new", &[], &[Rename("ws/data", "ws/other")]),
    (
        "a/data/token",
        &[Dir("ws/a")],
        &[Rename("ws/data", "ws/a/data")],
    ),
    (
        "z/data/token",
        &[Dir("ws/a")],
        &[Rename("ws/data", "ws/a/data"), Rename("ws/a", "ws/z")],
    ),
    (
        "z/tea/SKILL.md",
        &[File("ws/skills/tea/SKILL.md")],
        &[Rename("ws/skills", "ws/z")],
    ),
    (
        "z/config",
        &[File("ws/.git/config")],
        &[Rename("ws/.git", "ws/z"), Dir("ws/.git")],
    ),
    (
        "skills/x.md",
        &[Dir("ws/a")],
        &[Rename("ws/a", "ws/skills")],
    ),
    (
        "z/skills/x.md",
        &[Dir("ws/a/skills"), Link("ws/skills", "a/skills")],
        &[Rename("ws/a", "ws/z"), Link("ws/a", "z")],
    ),
];

/// All of them.
pub(super) fn corpus() -> Vec<Attack> {
    [
        REPLACE, CREATE, SPELL, FOLD, LINKS, HARD_LINKS, HIDDEN, RENAMED,
    ]
    .concat()
}
