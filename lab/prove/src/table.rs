//! A report as a person reads it.

use std::fmt;

use samovar_locale::prove as says;

use crate::report::Report;
use crate::violation::Broken;

/// A row: what was counted, how much of it, and whether it must be nothing.
struct Row {
    label: &'static str,
    count: String,
    is_broken: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = rows(self);
        let width = |of: fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or_default();
        let labels = width(|row| row.label.chars().count());
        let counts = width(|row| row.count.chars().count());
        for row in &rows {
            let mark = if row.is_broken {
                says::mark_broken()
            } else {
                ""
            };
            let line = format!("{:<labels$}  {:>counts$}  {mark}", row.label, row.count);
            writeln!(f, "{}", line.trim_end())?;
        }
        let ends = self.counts.ends.iter();
        let ends: Vec<_> = ends
            .map(|(word, count)| format!("{word} {count}"))
            .collect();
        writeln!(f, "{}", says::ends(ends.join(", ")))?;
        if !self.counts.put_off.is_empty() {
            let put_off = self.counts.put_off.iter();
            let put_off: Vec<_> = put_off
                .map(|(code, count)| format!("{code} {count}"))
                .collect();
            writeln!(f, "{}", says::put_off(put_off.join(", ")))?;
        }
        if !self.unreached.is_empty() {
            let points: Vec<_> = self.unreached.iter().map(String::as_str).collect();
            writeln!(f, "{}", says::unreached(points.join(", ")))?;
        }
        writeln!(f, "{}", says::outside())
    }
}

impl Row {
    fn counted(label: &'static str, count: u64) -> Self {
        Self {
            label,
            count: count.to_string(),
            is_broken: false,
        }
    }

    /// How often these promises were broken.
    fn broken(label: &'static str, report: &Report, kinds: &[Broken]) -> Self {
        let count: u64 = kinds.iter().map(|kind| report.times(kind.code())).sum();
        Self {
            label,
            count: count.to_string(),
            is_broken: count > 0,
        }
    }

    fn time(label: &'static str, millis: u64) -> Self {
        Self {
            label,
            count: says::millis(millis),
            is_broken: false,
        }
    }
}

fn rows(report: &Report) -> Vec<Row> {
    let others: Vec<_> = Broken::ALL
        .iter()
        .copied()
        .filter(|kind| !IN_ROWS.contains(kind))
        .collect();
    let mut rows = turns(report);
    rows.extend(calls(report));
    rows.extend(trees(report));
    rows.extend(questions(report));
    rows.extend(approvals(report));
    rows.extend(streams(report));
    rows.extend(studies(report));
    rows.extend([
        Row::broken(says::row_orphans(), report, &[Broken::Orphan]),
        Row::broken(says::row_others(), report, &others),
        Row::time(says::row_start(), report.starts.p50_ms),
        Row::time(says::row_slowest_start(), report.starts.max_ms),
    ]);
    rows
}

/// Servers, messages, turns.
fn turns(report: &Report) -> Vec<Row> {
    let (counts, counted) = (&report.counts, Row::counted);
    let broken = |label, kinds: &[Broken]| Row::broken(label, report, kinds);
    vec![
        counted(says::row_kills(), counts.kills()),
        counted(says::row_points(), counts.points.values().sum()),
        Row {
            label: says::row_reached(),
            count: says::reached(reached(report), report.points_wanted),
            is_broken: false,
        },
        counted(says::row_stopped(), counts.stopped),
        counted(says::row_accepted(), counts.accepted),
        counted(says::row_images(), counts.copies.images),
        counted(says::row_steered(), counts.steered),
        counted(says::row_rejected(), counts.rejected),
        counted(says::row_appended(), counts.copies.appended),
        counted(says::row_forks(), counts.copies.forks),
        counted(says::row_rewritten(), counts.web.rewritten),
        counted(says::row_imports(), counts.copies.imports),
        counted(says::row_remembered(), counts.copies.remembered),
        counted(says::row_forgotten(), counts.copies.forgotten),
        broken(says::row_lost(), &[Broken::MessageLost]),
        counted(says::row_turns(), counts.ends.values().sum()),
        broken(says::row_stuck(), &[Broken::StuckTurn]),
        broken(says::row_second_turns(), &[Broken::SecondTurn]),
        counted(says::row_continued(), counts.continued),
    ]
}

fn calls(report: &Report) -> Vec<Row> {
    let (counts, counted) = (&report.counts, Row::counted);
    let broken = |label, kinds: &[Broken]| Row::broken(label, report, kinds);
    vec![
        counted(says::row_calls(), counts.calls),
        counted(says::row_unsafe(), counts.unsafe_effects),
        counted(says::row_commands(), counts.commands),
        broken(says::row_repeated(), &[Broken::UnsafeRepeated]),
        broken(
            says::row_untold(),
            &[Broken::EffectUntold, Broken::EffectUnannounced],
        ),
        counted(says::row_idempotent(), counts.idempotent_again),
        broken(says::row_keys(), &[Broken::KeyChanged]),
        counted(says::row_doubts(), counts.doubts_told),
    ]
}

fn trees(report: &Report) -> Vec<Row> {
    let (counts, counted) = (&report.counts.trees, Row::counted);
    let broken = |label, kind| Row::broken(label, report, &[kind]);
    vec![
        counted(says::row_called(), counts.called),
        counted(says::row_nested(), counts.nested),
        counted(says::row_background(), counts.background),
        counted(says::row_called_resumed(), counts.resumed),
        broken(says::row_called_twice(), Broken::CalledTwice),
        broken(says::row_called_results(), Broken::CalledResultWrong),
        broken(
            says::row_background_results(),
            Broken::BackgroundResultWrong,
        ),
    ]
}

fn questions(report: &Report) -> Vec<Row> {
    let (counts, counted) = (&report.counts, Row::counted);
    let broken = |label, kinds: &[Broken]| Row::broken(label, report, kinds);
    vec![
        counted(says::row_questions(), counts.chat.questions),
        counted(says::row_asked_again(), counts.chat.asked_again),
        broken(
            says::row_unasked(),
            &[
                Broken::QuestionUnasked,
                Broken::QuestionTwice,
                Broken::QuestionMoved,
                Broken::QuestionLeft,
                Broken::AskedWhenAnswered,
                Broken::SaidByNobody,
            ],
        ),
        broken(says::row_beside(), &[Broken::RanBeside]),
        counted(says::row_answers(), counts.chat.answers),
        broken(
            says::row_answers_lost(),
            &[Broken::ReplyLost, Broken::ReplyTwice, Broken::ReplyInvented],
        ),
    ]
}

fn approvals(report: &Report) -> Vec<Row> {
    let (counts, counted) = (&report.counts.approvals, Row::counted);
    vec![
        counted(says::row_approvals(), counts.asked),
        counted(says::row_approvals_allowed(), counts.allowed),
        counted(says::row_approvals_denied(), counts.denied),
        counted(says::row_approvals_expired(), counts.expired),
        Row::broken(says::row_approvals_broken(), report, &OF_APPROVALS),
    ]
}

fn streams(report: &Report) -> Vec<Row> {
    let (counts, counted) = (&report.counts, Row::counted);
    let broken = |label, kinds: &[Broken]| Row::broken(label, report, kinds);
    vec![
        counted(says::row_readings(), counts.readings),
        counted(says::row_answers_read(), counts.web.answers),
        counted(says::row_feeds(), counts.web.feeds),
        counted(says::row_resumed(), counts.resumed),
        counted(says::row_frames(), counts.frames),
        counted(says::row_resets(), counts.resets + counts.losses_told),
        broken(
            says::row_gaps(),
            &[Broken::Gap, Broken::TakenBack, Broken::LossUntold],
        ),
        broken(says::row_repeats(), &[Broken::Repeat]),
        broken(says::row_reorders(), &[Broken::Reorder]),
        broken(says::row_changed(), &[Broken::Changed, Broken::Splice]),
        broken(says::row_duplicates(), &[Broken::DuplicateId]),
    ]
}

/// The relay, its studies and their logs.
fn studies(report: &Report) -> Vec<Row> {
    let (counts, counted) = (&report.counts.relay, Row::counted);
    let broken = |label, kinds: &[Broken]| Row::broken(label, report, kinds);
    vec![
        counted(says::row_relayed(), counts.answered),
        broken(
            says::row_relay_astray(),
            &[
                Broken::AnswerAstray,
                Broken::RequestTwice,
                Broken::RequestUnanswered,
            ],
        ),
        counted(says::row_studies(), counts.studies),
        counted(says::row_studies_continued(), counts.continued),
        counted(says::row_log_rows(), counts.rows),
        broken(
            says::row_logs_broken(),
            &[
                Broken::LogGap,
                Broken::LogChanged,
                Broken::LogRowLost,
                Broken::LogRowTwice,
                Broken::LogFileWrong,
                Broken::StudyCut,
            ],
        ),
        broken(says::row_secrets(), &[Broken::SecretOut]),
    ]
}

/// How many of the named points a server has ended at.
fn reached(report: &Report) -> u64 {
    let unreached = u64::try_from(report.unreached.len()).unwrap_or(u64::MAX);
    report.points_wanted.saturating_sub(unreached)
}

/// What can be wrong with calls that a person is asked about.
const OF_APPROVALS: [Broken; 4] = [
    Broken::RanUnallowed,
    Broken::DecisionLost,
    Broken::DecidedTwice,
    Broken::DenialInvented,
];

/// What has a row of its own.
const IN_ROWS: [Broken; 43] = [
    Broken::RanUnallowed,
    Broken::DecisionLost,
    Broken::DecidedTwice,
    Broken::DenialInvented,
    Broken::MessageLost,
    Broken::StuckTurn,
    Broken::SecondTurn,
    Broken::UnsafeRepeated,
    Broken::EffectUntold,
    Broken::EffectUnannounced,
    Broken::KeyChanged,
    Broken::CalledTwice,
    Broken::CalledResultWrong,
    Broken::BackgroundResultWrong,
    Broken::QuestionUnasked,
    Broken::QuestionTwice,
    Broken::QuestionMoved,
    Broken::QuestionLeft,
    Broken::AskedWhenAnswered,
    Broken::SaidByNobody,
    Broken::RanBeside,
    Broken::ReplyLost,
    Broken::ReplyTwice,
    Broken::ReplyInvented,
    Broken::Gap,
    Broken::TakenBack,
    Broken::LossUntold,
    Broken::Repeat,
    Broken::Reorder,
    Broken::Changed,
    Broken::Splice,
    Broken::DuplicateId,
    Broken::Orphan,
    Broken::AnswerAstray,
    Broken::RequestTwice,
    Broken::RequestUnanswered,
    Broken::LogGap,
    Broken::LogChanged,
    Broken::LogRowLost,
    Broken::LogRowTwice,
    Broken::LogFileWrong,
    Broken::StudyCut,
    Broken::SecretOut,
];
