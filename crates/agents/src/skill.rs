//! A skill as a Markdown file: optional front matter, then the text (MD-16).

use samovar_locale::{guide, quoted};
use serde::Deserialize;

use crate::markdown::{front_matter, split};

/// Maximum length of a skill's name, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Maximum length of its description, in characters; what is longer is cut.
const MAX_DESCRIPTION_CHARS: usize = 300;

/// Maximum number of programs and variables that it needs.
const MAX_NEEDS: usize = 16;

/// What a skill says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillDraft {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// What it is for, on one line.
    pub description: String,
    /// The programs that it needs, and as `env:NAME` the variables.
    pub requires: Vec<String>,
    /// Whether it wants to be in every prompt in full.
    pub always: bool,
    /// The text without the front matter.
    pub body: String,
}

/// The front matter. Other keys, which other programs use, are left alone.
#[derive(Default, Deserialize)]
struct FrontMatter {
    name: Option<String>,
    description: Option<String>,
    #[serde(default)]
    requires: Vec<String>,
    #[serde(default)]
    always: bool,
}

/// Parses the text of a skill whose file or folder has this name. Without front matter the first
/// paragraph describes it.
///
/// # Errors
/// Why it is no skill, in one sentence.
pub fn parse_skill(file: &str, content: &str) -> Result<SkillDraft, String> {
    let (found, body) = match split(content) {
        Some((yaml, body)) => (front_matter::<FrontMatter>(yaml)?.unwrap_or_default(), body),
        None => (FrontMatter::default(), content),
    };
    let name = found.name.unwrap_or_else(|| file.to_owned());
    if !is_name(&name) {
        return Err(guide::bad_skill_name(quoted(&name)));
    }
    let body = body.trim();
    let description = found.description.unwrap_or_else(|| first_paragraph(body));
    let needs = found.requires.len();
    if needs > MAX_NEEDS {
        return Err(guide::many_skill_needs(needs as u64, MAX_NEEDS as u64));
    }
    if let Some(bad) = found.requires.iter().find(|need| !is_need(need)) {
        return Err(guide::bad_skill_need(quoted(bad)));
    }
    Ok(SkillDraft {
        name,
        description: one_line(&description),
        requires: found.requires,
        always: found.always,
        body: body.to_owned(),
    })
}

/// The name in the front matter of a skill, also of one that [`parse_skill`] refuses for something else.
pub fn skill_name(content: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: Option<String>,
    }
    let (yaml, _) = split(content)?;
    let found = front_matter::<Named>(yaml).ok()??;
    found.name.filter(|name| is_name(name))
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(fits)
}

/// Whether it names a program without a path, or a variable.
fn is_need(need: &str) -> bool {
    let name = need.strip_prefix("env:").unwrap_or(need);
    let fits = |c: char| !c.is_control() && !c.is_whitespace() && c != '/';
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(fits)
}

/// The first lines that are no heading, up to an empty one.
fn first_paragraph(body: &str) -> String {
    let is_other = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    let lines = body.lines().skip_while(is_other);
    let lines: Vec<_> = lines.take_while(|line| !line.trim().is_empty()).collect();
    lines.join(" ")
}

fn one_line(description: &str) -> String {
    let words: Vec<_> = description.split_whitespace().collect();
    let words = words.join(" ");
    let shown = words.chars().filter(|c| !c.is_control());
    shown.take(MAX_DESCRIPTION_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves MD-16
    #[test]
    fn a_skill_says_what_it_is_in_front_matter_or_in_its_first_paragraph() {
        let full = "---\nname: deploy\ndescription: >\n  How to\n  deploy.\nrequires: [podman, 'env:KEY']\n\
                    always: true\nlicense: MIT\n---\n\n# Deploy\n\nRun it.\n";
        let expected = SkillDraft {
            name: "deploy".to_owned(),
            description: "How to deploy.".to_owned(),
            requires: vec!["podman".to_owned(), "env:KEY".to_owned()],
            always: true,
            body: "# Deploy\n\nRun it.".to_owned(),
        };
        assert_eq!(parse_skill("file", full).unwrap(), expected);

        let plain = parse_skill("tea", "# Tea\n\nHow to\nmake tea.\n\nBoil water.").unwrap();
        let (name, description) = (plain.name.as_str(), plain.description.as_str());
        assert_eq!((name, description), ("tea", "How to make tea."));
        assert!(!plain.always && plain.requires.is_empty());
        assert!(plain.body.starts_with("# Tea"));
        let long = parse_skill("tea", &"x".repeat(1_000)).unwrap();
        assert_eq!(long.description.len(), MAX_DESCRIPTION_CHARS);
    }

    // proves MD-16, MD-17
    #[test]
    fn a_bad_name_a_bad_need_and_yaml_that_stands_for_more_are_refused() {
        let with = |front: &str| parse_skill("file", &format!("---\n{front}\n---\ntext"));
        for front in [
            "name: ../../etc/passwd",
            "name: a/b",
            "name: ''",
            "requires: [/bin/sh]",
            "requires: ['env:']",
            "requires: &a [x]\nname: b",
            "description: &a x\nname: *a",
            "a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: [*b,*b,*b]",
            "description: !!python/object x",
            "always: yes",
            "name: [",
        ] {
            assert!(with(front).is_err(), "{front}");
        }
        let needing = |count: usize| with(&format!("requires: [{}]", vec!["sh"; count].join(", ")));
        assert_eq!(needing(MAX_NEEDS).unwrap().requires.len(), MAX_NEEDS);
        let refused = needing(25_000).unwrap_err();
        assert!(
            refused.contains("25,000") || refused.contains("25000"),
            "{refused}"
        );
        assert!(parse_skill("bad name", "text").is_err());
        assert!(with("name: good-name_2").is_ok());
        let name = |front: &str| skill_name(&format!("---\n{front}\n---\ntext"));
        let kept = name("name: tea\nrequires: [/bin/sh]\nalways: 1");
        assert_eq!(kept.as_deref(), Some("tea"));
        assert_eq!((name("name: ../x"), name("description: x")), (None, None));
        assert_eq!((name("name: ["), skill_name("name: tea")), (None, None));
    }
}
