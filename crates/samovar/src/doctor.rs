//! `samovar doctor`: every finding is a fact, a reason, and what to type. It starts nothing and, but
//! for `--fix`, changes nothing, so it can be asked at any time, beside a running server too: the
//! stores are looked at only when no other process has them.

mod agents;
mod audit;
mod chat;
mod damage;
mod data;
mod deep;
mod disk;
mod files;
mod hooks;
mod models;
mod relay;
mod sandbox;
mod stores;

use std::io;

use samovar_descriptors::LEAST;
use samovar_locale::doctor as text;
use samovar_server::{
    Home, UnreadReason, layer_sources, skill_folders, told_instructions, unread_instructions,
};
use samovar_wire::api::{DoctorFinding, DoctorReport, FindingState};
use serde_json::json;

use crate::args::{self, DirArgs};
use crate::config::{self, LocalData, Setup};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::screen::{put, shell_word, visible};
use crate::style::{Tone, columns, has_colours, painted, wrapped};

/// Characters of the mark that a finding begins with.
const MARK_CHARS: usize = 5;

/// What was found out about one thing.
pub(crate) struct Finding {
    /// The name of the thing for programs, which is never translated.
    what: &'static str,
    /// The exit code that it asks for.
    exit: Exit,
    fact: String,
    reason: String,
    /// What to type, when something can be done.
    command: Option<String>,
    /// Whether it was mended just now.
    is_mended: bool,
    /// Whether the line only says that something is missing, without a verdict.
    is_absent: bool,
}

/// Whether what can be mended is mended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Look,
    Mend,
}

/// Looks at everything that a turn needs.
///
/// # Errors
/// It cannot be written.
pub(crate) async fn doctor(args: &args::Doctor) -> Result<Exit, Failure> {
    let findings = find(args).await;
    let exit = worst(&findings);
    let shown = if args.json {
        as_json(&findings, exit)?
    } else {
        as_text(&findings, args.verbose)
    };
    // Whoever closed the pipe has read enough.
    put(&shown).map(|_| exit)
}

/// What is found, as a server tells its owner.
pub(crate) async fn report(args: &args::Doctor) -> DoctorReport {
    let findings = find(args).await;
    let ok = worst(&findings) == Exit::Ok;
    let findings = findings.into_iter().map(|finding| DoctorFinding {
        what: finding.what.to_owned(),
        label: name(finding.what).to_owned(),
        state: match (finding.exit, finding.is_absent) {
            (Exit::Ok, true) => FindingState::Absent,
            (Exit::Ok, false) => FindingState::Ok,
            _ => FindingState::Bad,
        },
        fact: finding.fact,
        reason: finding.reason,
        command: finding.command,
    });
    DoctorReport {
        ok,
        findings: findings.collect(),
    }
}

async fn find(args: &args::Doctor) -> Vec<Finding> {
    let care = if args.fix { Mode::Mend } else { Mode::Look };
    let found = match config::read(&args.places, &args.who, LocalData::UseOnly) {
        Ok(found) => found,
        Err(failure) => return vec![unreadable(failure)],
    };
    let mut findings = examine(&found, care).await;
    if args.deep {
        findings.extend(deep::examine(&found).await);
    }
    let places = places(&args.places);
    let commands = findings
        .iter_mut()
        .filter_map(|found| found.command.as_mut());
    commands.for_each(|command| command.push_str(&placed(command, &places)));
    findings
}

/// The first exit code that is not [`Exit::Ok`].
fn worst(findings: &[Finding]) -> Exit {
    let mut exits = findings.iter().map(|finding| finding.exit);
    exits.find(|exit| *exit != Exit::Ok).unwrap_or(Exit::Ok)
}

async fn examine(found: &Setup, care: Mode) -> Vec<Finding> {
    let known = damage::known(found);
    let mut findings = data::examine(found, care).await;
    findings.extend(stores::examine(found, care).await);
    findings.extend(disk::examine(found));
    findings.push(descriptors(found));
    findings.extend(damage::examine(found, care, &known));
    findings.extend(audit::examine(found));
    findings.push(workspace(found));
    findings.push(trust(found));
    findings.extend(instructions(found));
    findings.extend(texts(found));
    findings.extend(skills(found));
    findings.push(models::meaning(found));
    findings.extend(models::memories(found).await);
    findings.extend(hooks::examine(found).await);
    findings.extend(hooks::closed(found));
    findings.push(hooks::search(found));
    findings.extend(sandbox::examine(found).await);
    findings.extend(sandbox::undo(found).await);
    findings.extend(agents::examine(found));
    findings.push(models::answers(found).await);
    findings.extend(models::fallbacks(found));
    findings.extend(chat::set(found));
    findings.extend(relay::set(found));
    findings.push(models::near(found).await);
    findings.push(models::keys(found));
    findings.extend(models::proxies(found));
    findings.extend(found.registry.idle_keys().iter().map(models::idle));
    findings
}

impl Finding {
    fn good(what: &'static str, fact: String, reason: impl Into<String>) -> Self {
        Self {
            what,
            exit: Exit::Ok,
            fact,
            reason: reason.into(),
            command: None,
            is_mended: false,
            is_absent: false,
        }
    }

    /// Something that need not be there.
    fn absent(what: &'static str, fact: String, reason: impl Into<String>) -> Self {
        Self {
            is_absent: true,
            ..Self::good(what, fact, reason)
        }
    }

    fn bad(what: &'static str, exit: Exit, fact: String, reason: impl Into<String>) -> Self {
        Self {
            exit,
            ..Self::good(what, fact, reason)
        }
    }

    /// Whether a person is told of it who did not ask for everything.
    fn is_notable(&self) -> bool {
        let is_asked_for = ["model", "rows"].contains(&self.what);
        let is_missing = self.is_absent && self.what == "data";
        let is_told = self.is_mended || self.command.is_some() || is_asked_for || is_missing;
        self.exit != Exit::Ok || is_told
    }

    fn with_command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }
}

/// The options that let another command find the same data.
fn places(typed: &DirArgs) -> String {
    let options = [
        ("--data-dir", &typed.data_dir),
        ("--workspace", &typed.workspace),
    ];
    let typed = options.into_iter().filter_map(|(name, dir)| {
        let dir = shell_word(dir.as_ref()?);
        Some(format!(" {name} {dir}"))
    });
    typed.collect()
}

/// What of these options a command lacks that works on the data directory.
fn placed(command: &str, places: &str) -> String {
    let is_ours = command.starts_with("samovar ") && !command.starts_with("samovar config ");
    let has_places = ["--data-dir", "--workspace"]
        .iter()
        .any(|name| command.contains(name));
    if is_ours && !has_places {
        places.to_owned()
    } else {
        String::new()
    }
}

fn unreadable(failure: Failure) -> Finding {
    let reason = text::code(&failure.code);
    let command = match failure.code.as_str() {
        "config_untrusted" => "samovar config trust",
        "data_dir_unusable" => "samovar doctor --data-dir \"$PWD/data\"",
        _ => "samovar config path",
    };
    Finding::bad("configuration", failure.exit, failure.message, reason).with_command(command)
}

fn workspace(found: &Setup) -> Finding {
    let reason = found.workspace_reason.as_str();
    match Home::try_workspace(&found.config) {
        Ok(()) => {
            let fact = text::workspace_usable(found.config.workspace.display());
            Finding::good("workspace", fact, reason)
        }
        Err(error) => Finding::bad("workspace", Exit::Configuration, error.to_string(), reason)
            .with_command("samovar doctor --workspace \"$HOME\""),
    }
}

/// Whether what the folder's files say is text from outside.
fn trust(found: &Setup) -> Finding {
    let (trust, folder) = (&found.config.trust, found.config.workspace.display());
    let reason = text::trust_why();
    let told = told_instructions(&found.config);
    let is_foreign = |name: &str, text: &str| trust.is_foreign_text(name, text);
    let (fact, is_trusted) = match (trust.is_foreign(), told) {
        (true, _) => (text::trust_none(folder), false),
        (false, Some((name, text))) if is_foreign(name, &text) => {
            (text::trust_changed(name), false)
        }
        (false, _) => (text::trust_held(folder), true),
    };
    if is_trusted {
        return Finding::good("trust", fact, reason);
    }
    Finding::absent("trust", fact, reason).with_command("samovar config trust")
}

/// A finding for each file of the workspace that is for agents and that agents are not told of.
fn instructions(found: &Setup) -> impl Iterator<Item = Finding> {
    let unread = unread_instructions(&found.config).into_iter();
    unread.map(|unread| {
        let (fact, reason) = (unread.to_string(), text::instructions_why());
        let (what, file) = ("instructions", unread.file);
        let bad = |fact| Finding::bad(what, Exit::Configuration, fact, reason);
        match unread.reason {
            UnreadReason::Empty(_) => {
                Finding::absent(what, fact, reason).with_command(format!("rm {file}"))
            }
            UnreadReason::NotText => bad(fact).with_command(format!("file {file}")),
            UnreadReason::Unreadable(_) => bad(fact).with_command(format!("ls -l {file}")),
        }
    })
}

/// Which of the person's files agents are told of, and which cannot be used.
fn texts(found: &Setup) -> Vec<Finding> {
    let (sources, problems) = layer_sources(&found.config);
    let reason = text::texts_why();
    let files = sources.iter().filter_map(|source| source.file.as_ref());
    let files: Vec<_> = files.map(|file| file.display().to_string()).collect();
    let told = if files.is_empty() {
        Finding::good("texts", text::texts_built_in().to_owned(), reason)
    } else {
        Finding::good("texts", text::texts(files.join(", ")), reason)
    };
    let broken = problems.into_iter().map(|why| {
        let why = Finding::bad("texts", Exit::Configuration, why, reason);
        why.with_command("samovar config show")
    });
    [told].into_iter().chain(broken).collect()
}

/// The skills, and those that agents cannot read.
fn skills(found: &Setup) -> Vec<Finding> {
    let skills = skill_folders(&found.config);
    let reason = text::skills_why();
    let folders = skills.folders.iter().map(|it| it.display().to_string());
    let folders = folders.collect::<Vec<_>>().join(", ");
    let fact = text::skills(skills.count as u64, folders);
    let broken = skills.problems.into_iter().map(|why| {
        let why = Finding::absent("skills", why, reason);
        why.with_command("samovar skills list")
    });
    let good = Finding::good("skills", fact, reason);
    [good].into_iter().chain(broken).collect()
}

fn descriptors(found: &Setup) -> Finding {
    let budget = found.config.budget();
    if !budget.is_enough() {
        let fact = text::descriptors_few(budget.limit, LEAST);
        let reason = text::descriptors_why();
        return Finding::bad("descriptors", Exit::Configuration, fact, reason)
            .with_command("ulimit -n 1024");
    }
    let (connections, asking) = (budget.connections as u64, budget.asking as u64);
    let fact = text::descriptors(budget.limit, connections, asking);
    Finding::good("descriptors", fact, text::descriptors_why())
}

/// The name of a thing for people.
fn name(what: &str) -> &'static str {
    match what {
        "agents" => text::what_agents(),
        "audit" => text::what_audit(),
        "configuration" => text::what_configuration(),
        "data" => text::what_data(),
        "modes" => text::what_modes(),
        "server" => text::what_server(),
        "page" => text::what_page(),
        "recovery" => text::what_recovery(),
        "proxy" => text::what_proxy(),
        "question" => text::what_question(),
        "chat" => text::what_chat(),
        "greeting" => text::what_greeting(),
        "relay" => text::what_relay(),
        "rooms" => text::what_rooms(),
        "studies" => text::what_studies(),
        "sandbox" => text::what_sandbox(),
        "undo" => text::what_undo(),
        "workspace" => text::what_workspace(),
        "model" => text::what_model(),
        "fallback" => text::what_fallback(),
        "history" => text::what_history(),
        "instructions" => text::what_instructions(),
        "texts" => text::what_texts(),
        "skills" => text::what_skills(),
        "meaning" => text::what_meaning(),
        "search" => text::what_search(),
        "local" => text::what_local(),
        "key" => text::what_key(),
        "backup" => text::what_backup(),
        "damage" => text::what_damage(),
        "disk" => text::what_disk(),
        "descriptors" => text::what_descriptors(),
        "durability" => text::what_durability(),
        "aside" => text::what_aside(),
        "stores" => text::what_stores(),
        "rows" => text::what_rows(),
        "start" => text::what_start(),
        "links" => text::what_links(),
        "tokens" => text::what_tokens(),
        "tool" => text::what_tool(),
        "trust" => text::what_trust(),
        _ => text::what_providers(),
    }
}

/// All findings, or those that a person has something to do about.
fn as_text(findings: &[Finding], is_all: bool) -> String {
    let is_shown = |finding: &&Finding| is_all || finding.is_notable();
    let shown: Vec<_> = findings.iter().filter(is_shown).collect();
    let left_out = (findings.len() - shown.len()) as u64;
    let mut text = lines(&shown);
    if left_out > 0 {
        text = text + &self::shown(&text::ok_beside(left_out)) + "\n";
    }
    text
}

fn lines(findings: &[&Finding]) -> String {
    let lines = findings.iter().flat_map(|finding| {
        let (what, fact) = (name(finding.what), &finding.fact);
        let is_bad = finding.exit != Exit::Ok && !finding.is_mended;
        let fact = match (is_bad, finding.is_mended) {
            (_, true) => text::mended(what, fact),
            (false, false) if finding.is_absent => text::absent(what, fact),
            (false, false) => text::good(what, fact),
            (true, false) => text::bad(what, fact),
        };
        let fact = shown(&fact);
        let fact = if is_bad && has_colours(&io::stdout()) {
            let lines = fact.lines().map(|line| painted(line, Tone::Bad));
            lines.collect::<Vec<_>>().join("\n")
        } else {
            fact
        };
        let reason = shown(&text::why(&finding.reason));
        let command = finding.command.as_ref().map(text::command);
        let command = command.as_deref().map(visible);
        [Some(fact), Some(reason), command].into_iter().flatten()
    });
    lines.map(|line| line + "\n").collect()
}

/// A line whose continuation is indented to its text, after the mark.
fn shown(line: &str) -> String {
    let line = visible(line);
    match (line.split_at_checked(MARK_CHARS), columns(&io::stdout())) {
        (Some((mark, rest)), Some(columns)) => {
            let lines = wrapped(&format!("{:MARK_CHARS$}{rest}", ""), columns);
            lines.replacen(&" ".repeat(MARK_CHARS), mark, 1)
        }
        _ => line,
    }
}

fn as_json(findings: &[Finding], exit: Exit) -> Result<String, Failure> {
    let rows = findings.iter().map(|finding| {
        json!({
            "what": finding.what,
            "ok": finding.exit == Exit::Ok,
            "fact": finding.fact,
            "reason": finding.reason,
            "command": finding.command,
            "mended": finding.is_mended,
        })
    });
    let rows: Vec<_> = rows.collect();
    let document = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "ok": exit == Exit::Ok,
        "findings": rows,
    });
    output::line("doctor", &document)
}
