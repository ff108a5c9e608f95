//! Turns of random commands, each taken back: the tree is as it was before.

use samovar_core::file_changes::ClosedCall;
use samovar_core::{CallId, Status};
use samovar_tools::RecorderBounds;
use serde_json::json;

use super::tree;
use crate::undo::Turns;
use crate::yard::Yard;

/// The same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len())]
    }

    fn path(&mut self) -> String {
        let folder = self.one(&["", "", "d/", "d/e/", "f/"]);
        let names = ["a", "b", "c", "d", "e", "f", "g h", "-x"];
        format!("{folder}{}", self.one(&names))
    }

    /// A piece of a script; one that fails changes nothing, or a part.
    fn step(&mut self) -> String {
        let (one, other) = (
            format!("./'{}'", self.path()),
            format!("./'{}'", self.path()),
        );
        let (bytes, mode) = (self.roll(3000), self.one(&["600", "644", "755", "700"]));
        match self.roll(11) {
            0 | 1 => format!("mkdir -p \"$(dirname {one})\"; head -c {bytes} /dev/urandom > {one}"),
            2 => format!("echo {bytes} >> {one}"),
            3 => format!("rm -rf {one}"),
            4 => format!("mv {one} {other}"),
            5 => format!("mkdir -p {one}"),
            6 => format!("chmod {mode} {one}"),
            7 => format!("ln -s {other} {one}"),
            8 => format!("cp -r {one} {other}"),
            9 => format!("ln {one} {other}"),
            _ => format!("[ -f {one} ] && sed -i s/1/2/ {one}"),
        }
    }

    fn command(&mut self) -> String {
        let mut steps: Vec<String> = (0..=self.roll(6)).map(|_| self.step()).collect();
        if self.roll(5) == 0 {
            let at = self.roll(steps.len());
            steps.insert(at, "kill -9 $$".to_owned());
        }
        steps.join("; ")
    }
}

/// Takes back this many turns of a seed.
async fn take_back_turns(seed: u64, count: usize) {
    let mut dice = Dice(seed);
    let yard = Yard::commanding(RecorderBounds::default());
    let mut all = Turns::of(yard, &[("a", "1"), ("d/b", "2")]);
    let mut kept = Vec::new();
    for number in 0..count {
        let turn = format!("t{number}");
        let before = tree(&all.yard.ws(""));
        let mut told = Vec::new();
        for _ in 0..=dice.roll(3) {
            let (path, command) = (dice.path(), dice.command());
            let kind = dice.roll(6);
            told.push(match kind {
                0 => format!("write_file {path}"),
                1 => format!("cut: {command}"),
                _ => command.clone(),
            });
            match kind {
                0 => {
                    let args = json!({"path": path, "content": number.to_string()});
                    all.call(&turn, "write_file", args).await;
                }
                1 => cut(&mut all, &turn, &command).await,
                _ => drop(all.call(&turn, "exec", json!({ "command": command })).await),
            }
        }
        kept.push((turn, before, told));
        if dice.roll(2) == 0 {
            take_back_last(&all, &mut kept, seed).await;
        }
    }
    while !kept.is_empty() {
        take_back_last(&all, &mut kept, seed).await;
    }
}

type Kept = (String, super::Tree, Vec<String>);

async fn take_back_last(all: &Turns, kept: &mut Vec<Kept>, seed: u64) {
    let (turn, before, told) = kept.pop().unwrap();
    let taken = all.take_back(&[&turn]).await;
    assert!(taken.is_ok(), "seed {seed}: {told:#?}: {taken:?}");
    assert_eq!(
        tree(&all.yard.ws("")),
        before,
        "seed {seed}: {told:#?}: {taken:?}"
    );
}

/// Starts a command, and drops its call when it has begun.
async fn cut(all: &mut Turns, turn: &str, command: &str) {
    let call = format!("call{}", all.calls.len());
    let began = all.yard.ws("began");
    let command = format!("rm -rf began; : > began; {command}; sleep 600");
    let args = json!({ "command": command });
    let running = all.yard.call_as(turn, &call, "exec", args);
    #[expect(clippy::disallowed_methods, reason = "the test ends it")]
    let running = tokio::spawn(running);
    while !began.exists() && !running.is_finished() {
        tokio::task::yield_now().await;
        std::thread::yield_now();
    }
    running.abort();
    // Its future is gone then, and its command is being ended.
    running.await.ok();
    let closed = ClosedCall {
        call: CallId::new(&call).unwrap(),
        name: "exec".to_owned(),
        status: Status::Cancelled,
        data: None,
    };
    all.calls.push((turn.to_owned(), closed));
    // The next command waits until the one that was dropped has ended, which may write until then; a
    // look at the tree does not.
    let nothing = json!({"command": "true"});
    all.yard
        .call_as("wait", &format!("{call}-wait"), "exec", nothing)
        .await;
}

// proves TL-2
#[tokio::test(flavor = "multi_thread")]
async fn after_an_undo_of_any_commands_the_tree_is_as_it_was() {
    take_back_turns(1, 20).await;
}

mod proof {
    use super::take_back_turns;

    // proves TL-2
    #[tokio::test(flavor = "multi_thread")]
    async fn after_an_undo_of_two_hundred_turns_the_tree_is_as_it_was() {
        for seed in 2..6 {
            take_back_turns(seed, 50).await;
        }
    }
}
