//! What is counted, one arena's numbers added to the others'.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::shown::WebCounts;
use crate::turn_record::TurnEnd;

/// Numbers of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Servers that were killed at a named point, by its name.
    pub points: BTreeMap<String, u64>,
    /// Servers that were killed at a random time.
    pub random_kills: u64,
    /// Servers that were asked to stop, and did before anybody killed them.
    pub stopped: u64,
    /// Messages that a server said it has.
    pub accepted: u64,
    /// Those of them that are gone.
    pub lost: u64,
    /// Forks, appended messages and memories.
    pub copies: CopyCounts,
    /// What pages read, and edited.
    pub web: WebCounts,
    /// Messages that were refused because their session was busy, as they wanted.
    pub rejected: u64,
    /// Messages that have joined a turn that ran.
    pub steered: u64,
    /// How often something was to be tried again in a moment, by the code of the refusal.
    pub put_off: BTreeMap<String, u64>,
    /// Sessions that were deleted.
    pub deleted: u64,
    /// How turns ended, by the word or the code.
    pub ends: BTreeMap<String, u64>,
    /// Turns without an end.
    pub stuck: u64,
    /// How often a turn went on after a kill.
    pub continued: u64,
    /// Attempts that were told to be void.
    pub resets: u64,
    /// Holes that were told.
    pub losses_told: u64,
    /// Calls of tools.
    pub calls: u64,
    /// Unsafe calls whose effect happened.
    pub unsafe_effects: u64,
    /// How often an effect that must happen once happened again.
    pub unsafe_repeated: u64,
    /// Commands that ran.
    pub commands: u64,
    /// Idempotent calls that were made.
    pub idempotent_effects: u64,
    /// How often they were made again under the same key, as they may be.
    pub idempotent_again: u64,
    /// Calls that were closed as outcome unknown.
    pub doubts_told: u64,
    /// Called agents.
    pub trees: TreeCounts,
    /// Questions and their answers.
    #[serde(flatten)]
    pub chat: QuestionCounts,
    /// Calls that a person was asked about.
    pub approvals: ApprovalCounts,
    /// The relay's studies.
    pub relay: Studies,
    /// Connections that read a stream.
    pub readings: u64,
    /// Those of them that went on behind an id.
    pub resumed: u64,
    /// Frames that were read.
    pub frames: u64,
    /// Processes that outlived their server.
    pub orphans: u64,
}

/// Numbers of forks, appended messages and memories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CopyCounts {
    /// Sessions that were forked.
    pub forks: u64,
    /// Sessions that were imported.
    pub imports: u64,
    /// Messages that were appended.
    pub appended: u64,
    /// Messages with an image.
    pub images: u64,
    /// Turns that remembered something.
    pub remembered: u64,
    /// Those of them whose memories were deleted.
    pub forgotten: u64,
}

/// Numbers of called agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TreeCounts {
    /// Turns of agents whose caller waited for them.
    pub called: u64,
    /// Those of them whose caller was called itself.
    pub nested: u64,
    /// Turns of called agents that went on after a kill, as far as their caller's stream shows.
    pub resumed: u64,
    /// Agents that began to work in the background.
    pub background: u64,
    /// Messages with the results of those.
    pub results: u64,
}

/// Numbers of questions, and of what was said to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QuestionCounts {
    /// Questions that turns have asked a person in the global chat.
    pub questions: u64,
    /// How often one was asked again in a later life, because it was open still.
    pub asked_again: u64,
    /// Answers to them that a server said it has, or that the chat has shown.
    pub answers: u64,
    /// Questions that were closed with what a person has said.
    pub answers_kept: u64,
    /// Words of persons that were taken and are not what came of their question.
    pub answers_lost: u64,
    /// Words of persons that answered nothing.
    pub strays: u64,
    /// What turns have said in the chat without a question.
    pub posted: u64,
    /// What the chat's own agent has said.
    pub own_words: u64,
}

/// Numbers of calls that a person was asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ApprovalCounts {
    /// All of them.
    pub asked: u64,
    /// Those that ran.
    pub allowed: u64,
    /// Those that a person denied.
    pub denied: u64,
    /// Those that were denied because no decision came.
    pub expired: u64,
}

/// Numbers of the relay, its studies and their logs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Studies {
    /// What agents asked over their sockets and were answered.
    pub answered: u64,
    /// Rows of logs that were checked.
    pub rows: u64,
    /// Logs of studies.
    pub studies: u64,
    /// Studies of whose beginning an agent was told.
    pub begun: u64,
    /// Those of whose end one was.
    pub ended: u64,
    /// How often one went on in a later life.
    pub continued: u64,
}

impl Counts {
    /// Servers that were killed.
    pub fn kills(&self) -> u64 {
        self.points.values().sum::<u64>() + self.random_kills
    }

    pub(crate) fn end(&mut self, end: &TurnEnd) {
        let word = match end {
            TurnEnd::Model(word) | TurnEnd::Fault(word) | TurnEnd::Other(word) => word.as_str(),
            TurnEnd::Cancelled => "cancelled",
        };
        *self.ends.entry(word.to_owned()).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: Self) {
        let Self {
            points,
            random_kills,
            stopped,
            copies,
            web,
            rejected,
            steered,
            put_off,
            accepted,
            lost,
            deleted,
            ends,
            stuck,
            continued,
            resets,
            losses_told,
            calls,
            unsafe_effects,
            unsafe_repeated,
            commands,
            idempotent_effects,
            idempotent_again,
            doubts_told,
            trees,
            chat,
            approvals,
            relay,
            readings,
            resumed,
            frames,
            orphans,
        } = other;
        merge(&mut self.points, points);
        merge(&mut self.ends, ends);
        merge(&mut self.put_off, put_off);
        self.trees.add(&trees);
        self.copies.add(&copies);
        self.web.add(&web);
        self.chat.add(&chat);
        self.approvals.add(&approvals);
        self.relay.add(&relay);
        for (sum, more) in [
            (&mut self.random_kills, random_kills),
            (&mut self.stopped, stopped),
            (&mut self.rejected, rejected),
            (&mut self.steered, steered),
            (&mut self.accepted, accepted),
            (&mut self.lost, lost),
            (&mut self.deleted, deleted),
            (&mut self.stuck, stuck),
            (&mut self.continued, continued),
            (&mut self.resets, resets),
            (&mut self.losses_told, losses_told),
            (&mut self.calls, calls),
            (&mut self.unsafe_effects, unsafe_effects),
            (&mut self.unsafe_repeated, unsafe_repeated),
            (&mut self.commands, commands),
            (&mut self.idempotent_effects, idempotent_effects),
            (&mut self.idempotent_again, idempotent_again),
            (&mut self.doubts_told, doubts_told),
            (&mut self.readings, readings),
            (&mut self.resumed, resumed),
            (&mut self.frames, frames),
            (&mut self.orphans, orphans),
        ] {
            *sum += more;
        }
    }
}

impl CopyCounts {
    fn add(&mut self, other: &Self) {
        let Self {
            forks,
            imports,
            appended,
            images,
            remembered,
            forgotten,
        } = other;
        self.remembered += remembered;
        self.forgotten += forgotten;
        self.imports += imports;
        self.images += images;
        self.forks += forks;
        self.appended += appended;
    }
}

impl TreeCounts {
    fn add(&mut self, other: &Self) {
        let Self {
            called,
            nested,
            resumed,
            background,
            results,
        } = other;
        self.called += called;
        self.nested += nested;
        self.resumed += resumed;
        self.background += background;
        self.results += results;
    }
}

impl QuestionCounts {
    fn add(&mut self, other: &Self) {
        let Self {
            questions,
            asked_again,
            answers,
            answers_kept,
            answers_lost,
            strays,
            posted,
            own_words,
        } = other;
        self.questions += questions;
        self.asked_again += asked_again;
        self.answers += answers;
        self.answers_kept += answers_kept;
        self.answers_lost += answers_lost;
        self.strays += strays;
        self.posted += posted;
        self.own_words += own_words;
    }
}

impl ApprovalCounts {
    fn add(&mut self, other: &Self) {
        let Self {
            asked,
            allowed,
            denied,
            expired,
        } = other;
        self.asked += asked;
        self.allowed += allowed;
        self.denied += denied;
        self.expired += expired;
    }
}

impl Studies {
    fn add(&mut self, other: &Self) {
        let Self {
            answered,
            rows,
            studies,
            begun,
            ended,
            continued,
        } = other;
        self.answered += answered;
        self.rows += rows;
        self.studies += studies;
        self.begun += begun;
        self.ended += ended;
        self.continued += continued;
    }
}

fn merge(into: &mut BTreeMap<String, u64>, from: BTreeMap<String, u64>) {
    for (key, count) in from {
        *into.entry(key).or_default() += count;
    }
}
