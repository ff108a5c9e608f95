//! `samovar audit`: the records of decisions, and whether their chain is whole (TL-15).

use std::io;

use samovar_core::message::Status;
use samovar_locale::audit as text;
use samovar_wire::api::{AuditPage, AuditProblem, AuditRecord, AuditVerdict};

use crate::args::Audit;
use crate::client::{Client, segment};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::sessions::look;
use crate::style::{columns, wrapped};
use crate::timestamps::moment;

/// By how much the rest of a record is indented deeper than its beginning.
const HANGING: usize = 4;

/// Digits of a hash that are shown in a line.
const HASH_DIGITS: usize = 12;

/// `samovar audit`.
pub(crate) async fn audit(command: Audit) -> Result<Exit, Failure> {
    match command {
        Audit::Show {
            session,
            tool,
            since,
            limit,
            head,
            common,
        } => {
            let limit = if head { 1 } else { limit };
            let mut path = format!("/api/audit?limit={limit}");
            let since = since.map(|since| since.0.to_string());
            for (name, value) in [("sessionId", session), ("tool", tool), ("since", since)] {
                let value = value.map(|value| format!("&{name}={}", segment(&value)));
                path.push_str(&value.unwrap_or_default());
            }
            let asked = async |client: &Client| client.get::<AuditPage>(&path).await;
            let page = look(&common, asked).await?;
            let format = common.machine.format();
            if head {
                output::one(format, "audit_head", &page.head, |head| {
                    format!("{}  {}\n", head.record, head.hash)
                })?;
            } else {
                output::list(format, "audit_record", &page.items, shown)?;
            }
            Ok(Exit::Ok)
        }
        Audit::Verify { head, common } => {
            let head = head.map(|hash| format!("?head={}", segment(&hash)));
            let path = format!("/api/audit/verify{}", head.unwrap_or_default());
            let asked = async |client: &Client| client.get::<AuditVerdict>(&path).await;
            let verdict = look(&common, asked).await?;
            output::one(common.machine.format(), "audit_verdict", &verdict, judged)?;
            Ok(if verdict.ok {
                Exit::Ok
            } else {
                Exit::TurnFailed
            })
        }
    }
}

/// The records, each a line that is broken where the terminal is narrow.
fn shown(records: &[AuditRecord]) -> String {
    if records.is_empty() {
        return text::empty().to_owned() + "\n";
    }
    let columns = columns(&io::stdout());
    let lines = records
        .iter()
        .map(|record| fitted(&line(record), columns) + "\n");
    lines.collect()
}

/// A record as one line. What comes from outside cannot end it or hide in it.
fn line(record: &AuditRecord) -> String {
    let inside = |text: &String| text.escape_debug().to_string();
    let named = |name: fn(String) -> String, value: &Option<String>| {
        value.as_ref().map(|value| name(inside(value)))
    };
    let short = |hash: &String| hash.chars().take(HASH_DIGITS).collect::<String>();
    let cells = [
        Some(record.record.to_string()),
        Some(moment(record.at)),
        Some(inside(&record.event)),
        record.tool.as_ref().map(inside),
        record.result.map(|result| status(result).to_owned()),
        Some(text::by(inside(&record.who))),
        record.rule.as_ref().map(inside),
        named(text::about, &record.about),
        record.tainted.then(|| text::tainted().to_owned()),
        record.agent.as_ref().map(inside),
        named(text::session, &record.session_id),
        named(text::call, &record.call_id),
        record
            .args_hash
            .as_ref()
            .map(|hash| text::args(short(hash))),
    ];
    cells.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

fn fitted(line: &str, columns: Option<usize>) -> String {
    match columns {
        Some(columns) => {
            wrapped(line, columns - HANGING).replace('\n', &format!("\n{:HANGING$}", ""))
        }
        None => line.to_owned(),
    }
}

/// The word for programs, which a record has too.
fn status(status: Status) -> &'static str {
    match status {
        Status::Done => "done",
        Status::Failed => "failed",
        Status::Denied => "denied",
        Status::Cancelled => "cancelled",
        Status::Unknown => "unknown",
    }
}

/// What was found, for a person.
pub(crate) fn judged(verdict: &AuditVerdict) -> String {
    if verdict.ok {
        return text::whole(verdict.records) + "\n";
    }
    let mut lines: Vec<_> = verdict.problems.iter().map(problem).collect();
    let more = verdict.problem_count.saturating_sub(lines.len() as u64);
    if more > 0 {
        lines.push(text::more(more));
    }
    lines.push(text::broken(verdict.problem_count));
    lines.join("\n") + "\n"
}

fn problem(problem: &AuditProblem) -> String {
    let (record, other) = (problem.record, problem.other.unwrap_or_default());
    match problem.kind.as_str() {
        "unreadable" => text::unreadable(record),
        "changed" => text::changed(record),
        "number" => text::number(record, other),
        "link" => text::link(record),
        "cut" => text::cut(record, other),
        "head" => text::head(record),
        _ => text::anchor().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use samovar_core::Millis;

    use super::*;

    fn record() -> AuditRecord {
        AuditRecord {
            record: 12,
            at: Millis(1_795_311_059_999),
            event: "call_closed".to_owned(),
            who: "policy".to_owned(),
            session_id: Some("s-1".to_owned()),
            turn_id: None,
            call_id: Some("call-1".to_owned()),
            agent: Some("master/writer".to_owned()),
            tool: Some("write\n13  x\u{202e}\u{1b}[2J".to_owned()),
            args_hash: Some("0123456789abcdef".repeat(4)),
            rule: Some("level:read-only".to_owned()),
            result: Some(Status::Denied),
            about: None,
            tainted: true,
            hash: String::new(),
        }
    }

    // proves TL-15
    #[test]
    fn a_record_is_one_line_whatever_its_names_are() {
        let line = line(&record());

        assert_eq!(
            line,
            "12  2026-11-22 01:30Z  call_closed  write\\n13  x\\u{202e}\\u{1b}[2J  denied  \
             by policy  level:read-only  after text from outside  master/writer  session s-1  call call-1  \
             arguments 0123456789ab"
        );
    }

    // proves TL-15
    #[test]
    fn a_record_fits_a_narrow_terminal_and_is_one_line_in_a_wide_one() {
        let line = line(&record());
        let narrow = fitted(&line, Some(39));

        assert!(narrow.lines().count() > 3, "{narrow}");
        assert!(
            narrow.lines().all(|line| line.chars().count() <= 39),
            "{narrow}"
        );
        assert!(
            narrow.lines().skip(1).all(|line| line.starts_with("    ")),
            "{narrow}"
        );
        assert_eq!(fitted(&line, Some(199)), line);
        assert_eq!(fitted(&line, None), line);
    }
}
