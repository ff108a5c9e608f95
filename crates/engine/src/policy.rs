//! The rules of the configuration about calls (TL-4). Pure.

use globset::{GlobBuilder, GlobMatcher};
use samovar_core::Approval;
use samovar_core::approval::PolicyVerdict;

use crate::gate::Subject;
use samovar_core::situation::DEFAULT_MODE;

/// A rule of the configuration. It fits a call when all that it names does.
#[derive(Clone, Debug)]
pub struct PolicyRule {
    /// Its name in the configuration.
    pub name: String,
    /// What becomes of the calls that it fits.
    pub verdict: PolicyVerdict,
    /// The tool's name.
    pub tool: Pattern,
    /// The file or folder that the call names, relative to the workspace; `None` fits every call.
    pub path: Option<Pattern>,
    /// A program that the call runs, with its subcommand; `None` fits every call.
    pub program: Option<Pattern>,
    /// The approval level of the call's turn; `None` fits every one.
    pub level: Option<Approval>,
    /// What the person is doing; `None` fits every mode.
    pub mode: Option<String>,
    /// Whether a rule that allows also allows what is asked about at every level: the network for a
    /// command, a command without a sandbox, and what could send data out of a session that has read
    /// text from outside.
    pub sends: bool,
}

impl PolicyRule {
    /// Whether it lets a call that it fits run unasked.
    pub(crate) fn allows(&self, subject: &Subject<'_>) -> bool {
        let insists = subject.facts.is_some_and(|facts| facts.insists.is_some());
        self.verdict == PolicyVerdict::Allow
            && (self.sends || !insists && subject.spreads.is_none())
    }
}

/// A name or a path with wildcards: `*` and `?` stop at a `/`, `**` does not.
#[derive(Clone, Debug)]
pub struct Pattern(GlobMatcher);

impl Pattern {
    /// Parses a pattern. Returns `None` if the text is not valid, such as with an unclosed bracket.
    pub fn new(text: &str) -> Option<Self> {
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        glob.ok().map(|glob| Self(glob.compile_matcher()))
    }

    /// The same for a path whose case does not matter, so that no spelling that a file system takes for
    /// the same gets past a rule that forbids or asks.
    pub fn ignoring_case(text: &str) -> Option<Self> {
        let mut glob = GlobBuilder::new(text);
        let glob = glob.literal_separator(true).case_insensitive(true).build();
        glob.ok().map(|glob| Self(glob.compile_matcher()))
    }

    /// The same for programs with their first words, of which the words may be paths: `*` and `?` do not
    /// stop at a `/`, so that `rm*` fits `rm src/a`. For rules that forbid or ask.
    pub fn crossing_slashes(text: &str) -> Option<Self> {
        let glob = GlobBuilder::new(text).literal_separator(false).build();
        glob.ok().map(|glob| Self(glob.compile_matcher()))
    }

    fn fits(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// The rules. Their order does not matter: of those that fit a call, the strictest decides.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<PolicyRule>,
    has_paths: bool,
}

impl Policy {
    /// These rules.
    pub fn new(rules: Vec<PolicyRule>) -> Self {
        let has_paths = rules.iter().any(|rule| rule.path.is_some());
        Self { rules, has_paths }
    }

    /// Whether a rule depends on the file or folder that a call names.
    pub(crate) fn has_paths(&self) -> bool {
        self.has_paths
    }

    /// The strictest rule that fits a call.
    pub(crate) fn rule(&self, level: Approval, subject: &Subject<'_>) -> Option<&PolicyRule> {
        let fits = |rule: &&PolicyRule| {
            let path = subject.reach.map(|reach| reach.path.as_str());
            let in_path = |pattern: &Pattern| path.is_some_and(|path| pattern.fits(path));
            let mode = subject.mode.unwrap_or(DEFAULT_MODE);
            rule.tool.fits(&subject.spec.name)
                && rule.path.as_ref().is_none_or(in_path)
                && rule
                    .program
                    .as_ref()
                    .is_none_or(|it| runs(it, rule.verdict, subject))
                && rule.level.is_none_or(|wanted| wanted == level)
                && rule.mode.as_deref().is_none_or(|wanted| wanted == mode)
        };
        let fitting = self.rules.iter().filter(fits);
        fitting.max_by_key(|rule| (rule.verdict, rule.sends))
    }
}

/// Whether a pattern fits a program of a call. A rule that allows has to fit all of them as they are
/// written; one that does not fits also what cannot be known, and a program wherever it is.
fn runs(pattern: &Pattern, verdict: PolicyVerdict, subject: &Subject<'_>) -> bool {
    let Some(facts) = subject.facts else {
        return false;
    };
    let allows = verdict == PolicyVerdict::Allow;
    match &facts.programs {
        None => !allows,
        Some(programs) if allows => {
            !programs.is_empty() && programs.iter().all(|program| pattern.fits(program))
        }
        Some(programs) => programs.iter().any(|program| {
            let (path, words) = program.split_once(' ').unwrap_or((program, ""));
            let name = path.rsplit('/').next().unwrap_or(path);
            pattern.fits(program) || pattern.fits(name) || pattern.fits(&format!("{name} {words}"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use samovar_core::CallFacts;
    use samovar_core::tool::{Closer, DEFAULT_TIMEOUT, Effect, Origin, Sharing, ToolSpec};
    use serde_json::json;

    use super::*;

    /// Whether a rule with this program fits a call with these programs; `None` if they are not known.
    fn fits(verdict: PolicyVerdict, program: &str, programs: Option<&[&str]>) -> bool {
        let program = match verdict {
            PolicyVerdict::Allow => Pattern::new(program),
            PolicyVerdict::Ask | PolicyVerdict::Deny => Pattern::crossing_slashes(program),
        };
        let rule = PolicyRule {
            name: "rule".to_owned(),
            verdict,
            tool: Pattern::new("exec").unwrap(),
            path: None,
            program,
            level: None,
            mode: None,
            sends: false,
        };
        let spec = ToolSpec {
            name: "exec".to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            effect: Effect::Unsafe,
            asks: None,
            origin: Origin::BuiltIn,
            closed: false,
            timeout: DEFAULT_TIMEOUT,
            sharing: Sharing::Exclusive,
            closer: Closer::Tool,
        };
        let owned = |programs: &[&str]| programs.iter().map(|&it| it.to_owned()).collect();
        let facts = CallFacts {
            programs: programs.map(owned),
            ..CallFacts::default()
        };
        let subject = Subject {
            spec: &spec,
            identity: None,
            reach: None,
            facts: Some(&facts),
            mode: None,
            spreads: None,
        };
        Policy::new(vec![rule])
            .rule(Approval::Auto, &subject)
            .is_some()
    }

    // proves TL-4
    #[test]
    fn a_rule_by_program_that_forbids_misses_no_spelling_and_one_that_allows_takes_no_other() {
        use PolicyVerdict::{Allow, Ask, Deny};
        let rows: [(&str, Option<&[&str]>, bool, bool); 16] = [
            ("rm*", Some(&["rm src/a"]), true, false),
            ("rm*", Some(&["/bin/rm x"]), true, false),
            ("rm", Some(&["rm x"]), true, false),
            ("git push*", Some(&["ls", "git push"]), true, false),
            ("git push*", Some(&["/usr/local/bin/git push"]), true, false),
            (
                "git push*",
                Some(&["git", "git .", "git push"]),
                true,
                false,
            ),
            ("git push*", Some(&["git pull"]), false, false),
            ("git push*", Some(&["git push"]), true, true),
            ("git push*", None, true, false),
            ("cargo*", Some(&["cargo test", "cargo"]), true, true),
            ("cargo*", Some(&["cargo/evil x"]), true, false),
            ("cargo*", Some(&["./cargo test"]), true, false),
            ("git status", Some(&["git status"]), true, true),
            ("git status", Some(&["git", "git status"]), true, false),
            ("/usr/bin/git*", Some(&["/usr/bin/git push"]), true, true),
            ("*", Some(&[]), false, false),
        ];
        for (program, programs, forbids, allows) in rows {
            let found = [Deny, Ask, Allow].map(|verdict| fits(verdict, program, programs));
            assert_eq!(found, [forbids, forbids, allows], "{program} {programs:?}");
        }
    }
}
