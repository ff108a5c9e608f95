//! Ordinary tasks in a trusted folder, and what a person is asked about meanwhile.

use futures_util::{StreamExt, stream};

use super::ground::{Ground, replies};
use super::{AT_ONCE, Way};

/// What the person says, the calls, and the tools that are asked about at `supervised` as they should
/// be: those that change something.
struct Task(&'static str, &'static str, &'static [&'static str]);

/// Where a task asks without need, or once about a search after a page: told apart.
const LOOP: &str = "count the lines of each page";
const SUBSTITUTION: &str = "how many files are there";
const SEARCH: &str = "search twice";

#[rustfmt::skip]
const TASKS: [Task; 40] = [
    Task("read the readme", r#"read_file {"path": "README.md"}"#, &[]),
    Task("list the files", r#"list_dir {"path": "."}"#, &[]),
    Task("where is tea named", r#"search_files {"pattern": "tea"}"#, &[]),
    Task("ls", r#"exec {"command": "ls -la"}"#, &[]),
    Task("git status", r#"exec {"command": "git status --short"}"#, &[]),
    Task("git log", r#"exec {"command": "git log --oneline -5"}"#, &[]),
    Task("git diff", r#"exec {"command": "git diff HEAD"}"#, &[]),
    Task("the head of a file", r#"exec {"command": "cat README.md | head -3"}"#, &[]),
    Task("grep", r#"exec {"command": "grep -rn project . | sort | uniq -c"}"#, &[]),
    Task("wc", r#"exec {"command": "wc -l README.md && du -sh ."}"#, &[]),
    Task("find", r#"exec {"command": "find . -name '*.md' -not -path './.git/*'"}"#, &[]),
    Task(LOOP, r#"exec {"command": "for f in *.md; do wc -c $f; done"}"#, &[]),
    Task(SUBSTITUTION, r#"exec {"command": "echo $(ls | wc -l)"}"#, &[]),
    Task("read {site}/page/a", r#"web_fetch {"url": "{site}/page/a"}"#, &[]),
    Task("read {site}/page/b?view=all", r#"web_fetch {"url": "{site}/page/b?view=all"}"#, &[]),
    Task("read {site}/page/c twice", "web_fetch {\"url\": \"{site}/page/c\"}\nweb_fetch {\"url\": \"{site}/page/c\", \"format\": \"text\"}", &[]),
    Task("read {site}/page/d and what it links to", "web_fetch {\"url\": \"{site}/page/d\"}\nweb_fetch {\"url\": \"{sink}/linked\"}", &[]),
    Task("read {site}/moved", r#"web_fetch {"url": "{site}/moved"}"#, &[]),
    Task("read {site}/page/e and the page that moved", "web_fetch {\"url\": \"{site}/page/e\"}\nweb_fetch {\"url\": \"{site}/moved\"}", &[]),
    Task("go on from {site}/page/f", "web_fetch {\"url\": \"{site}/page/f\"}\nweb_fetch {\"url\": \"{site}/page/next\"}\nweb_fetch {\"url\": \"{sink}/way/next/3\"}", &[]),
    Task("five links of {site}/page/g", "web_fetch {\"url\": \"{site}/page/g\"}\nweb_fetch {\"url\": \"{sink}/way/g/1\"}\nweb_fetch {\"url\": \"{sink}/way/g/2\"}\nweb_fetch {\"url\": \"{sink}/way/g/3\"}\nweb_fetch {\"url\": \"{sink}/way/g/4\"}\nweb_fetch {\"url\": \"{sink}/way/g/5\"}", &[]),
    Task("compare {site}/page/h with {sink}/page/h", "web_fetch {\"url\": \"{site}/page/h\"}\nweb_fetch {\"url\": \"{sink}/page/h\"}", &[]),
    Task("search", r#"web_search {"query": "tea"}"#, &[]),
    Task("search and read", "web_search {\"query\": \"tea\"}\nweb_fetch {\"url\": \"{sink}/found\"}", &[]),
    Task(SEARCH, "web_search {\"query\": \"tea\"}\nweb_search {\"query\": \"green tea\"}", &[]),
    Task("read {site}/page/i, then the readme", "web_fetch {\"url\": \"{site}/page/i\"}\nread_file {\"path\": \"README.md\"}", &[]),
    Task("read {site}/page/j, then ls", "web_fetch {\"url\": \"{site}/page/j\"}\nexec {\"command\": \"ls\"}", &[]),
    Task("read {site}/page/k, then git log", "web_fetch {\"url\": \"{site}/page/k\"}\nexec {\"command\": \"git log --oneline\"}", &[]),
    Task("look it up", r#"look {"text": "tea"}"#, &[]),
    Task("look two up", "look {\"text\": \"tea\"}\nlook {\"text\": \"more tea\"}", &[]),
    Task("look it up, then read", "look {\"text\": \"tea\"}\nread_file {\"path\": \"README.md\"}", &[]),
    Task("let the browser read {site}/page/l", "subAgent {\"name\": \"browser\", \"task\": \"read {site}/page/l\"}", &[]),
    Task("let the browser read {site}/page/m, then read it", "subAgent {\"name\": \"browser\", \"task\": \"read {site}/page/m\"}\nweb_fetch {\"url\": \"{site}/page/m\"}", &[]),
    Task("write a note", r#"write_file {"path": "notes/a.md", "content": "tea"}"#, &["write_file"]),
    Task("edit the list", "read_file {\"path\": \"list.md\"}\nedit_file {\"path\": \"list.md\", \"old\": \"tea\", \"new\": \"coffee\"}", &["edit_file"]),
    Task("make a folder", r#"exec {"command": "mkdir -p made/here"}"#, &["exec"]),
    Task("run the script", r#"exec {"command": "sh run.sh"}"#, &["exec"]),
    Task("note what {site}/page/n says", "web_fetch {\"url\": \"{site}/page/n\"}\nwrite_file {\"path\": \"notes/n.md\", \"content\": \"tea\"}", &["write_file"]),
    Task("read {site}/page/o and run the script", "web_fetch {\"url\": \"{site}/page/o\"}\nexec {\"command\": \"sh run.sh\"}", &["exec"]),
    Task("commit", r#"exec {"command": "git -c user.name=me -c user.email=me@example.com commit -q --allow-empty -m more"}"#, &["exec"]),
];

/// The tasks that asked about something without need, and about what.
async fn needless(ground: &Ground, level: &str) -> Vec<(&'static str, Vec<String>)> {
    let ran = TASKS.iter().enumerate();
    let ran = ran.map(|(number, Task(said, calls, needed))| async move {
        // No other task's words are in these.
        let said_now = format!("{} (task {number})", ground.fill(said, "", ""));
        for page in ["l", "m"] {
            let page = ground.fill(&format!("{{site}}/page/{page}"), "", "");
            ground.child(&format!("read {page}"), &page);
        }
        let calls = replies(&ground.fill(calls, "", ""));
        let left = ground.turn(&said_now, calls).await;
        let is_needed = |tool: &&str| level == "supervised" && needed.contains(tool);
        let asked = left.asked().into_iter().filter(|tool| !is_needed(tool));
        (
            *said,
            asked.map(str::to_owned).chain(left.refused()).collect(),
        )
    });
    let ran: Vec<(&str, Vec<String>)> = stream::iter(ran).buffered(AT_ONCE).collect().await;
    ran.into_iter()
        .filter(|(_, asked)| !asked.is_empty())
        .collect()
}

// proves TL-10
#[tokio::test]
async fn ordinary_work_in_a_trusted_folder_is_not_asked_about() {
    for (level, expected) in [
        ("auto", &[][..]),
        (
            "supervised",
            &[
                (LOOP, "exec"),
                (SUBSTITUTION, "exec"),
                (SEARCH, "web_search"),
            ],
        ),
    ] {
        let ground = Ground::open(level, Way::Page).await;
        let found = needless(&ground, level).await;
        let found: Vec<_> = found
            .iter()
            .map(|(said, asked)| (*said, asked.join(" ")))
            .collect();
        let found: Vec<_> = found
            .iter()
            .map(|(said, asked)| (*said, asked.as_str()))
            .collect();
        assert_eq!(found, expected, "{level}");
        ground.close().await;
    }
}
