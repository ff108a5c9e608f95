//! Everything that can be wrong, and what a person is told: a row is what was done, the exit code,
//! the stable code, and the one sentence on stderr, word for word.
//!
//! In a sentence, `{work}` is the folder that the program is started in, `{home}` is `HOME`.

mod configuration;
mod environment;
mod models;
mod places;
mod sessions;
mod stdin;
mod tokens;
mod typed;

use std::ffi::OsString;

use samovar_testkit::{Finished, Program};

use crate::setup::program;

/// What was done, and what is said about it.
struct WrongInput {
    args: Vec<OsString>,
    given: Vec<Precondition>,
    exit: i32,
    code: &'static str,
    sentence: &'static str,
}

/// What was there before.
enum Precondition {
    Variable(String, OsString),
    File(&'static str, &'static [u8]),
    Stdin(Vec<u8>),
    /// A command that went well.
    Ran(Vec<&'static str>),
}

/// These arguments.
fn wrong<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> WrongInput {
    WrongInput {
        args: args.into_iter().map(Into::into).collect(),
        given: Vec::new(),
        exit: 0,
        code: "",
        sentence: "",
    }
}

/// These arguments, separated by blanks.
fn line(args: &str) -> WrongInput {
    wrong(args.split(' '))
}

impl WrongInput {
    /// With a variable.
    fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.given
            .push(Precondition::Variable(name.to_owned(), value.into()));
        self
    }

    /// With a file, and the folders around it, in the folder that it is started in.
    fn beside(mut self, name: &'static str, content: &'static [u8]) -> Self {
        self.given.push(Precondition::File(name, content));
        self
    }

    /// With this on stdin, which else is empty.
    fn reading(mut self, stdin: impl Into<Vec<u8>>) -> Self {
        self.given.push(Precondition::Stdin(stdin.into()));
        self
    }

    /// After a command that went well.
    fn after(mut self, args: impl IntoIterator<Item = &'static str>) -> Self {
        self.given
            .push(Precondition::Ran(args.into_iter().collect()));
        self
    }

    /// Ends so.
    fn is(mut self, exit: i32, code: &'static str, sentence: &'static str) -> Self {
        (self.exit, self.code, self.sentence) = (exit, code, sentence);
        self
    }

    /// How it differs from what is expected; none when it does not.
    async fn differs(&self) -> Option<String> {
        let program = program();
        let said = self.run(&program).await;
        let folder = |path: std::path::PathBuf| path.canonicalize().unwrap().display().to_string();
        let sentence = self.sentence.replace("{work}", &folder(program.folder()));
        let sentence = sentence.replace("{home}", &folder(program.home()));
        let expected = format!("samovar: {sentence} [{}]", self.code);
        let is_right = said.code == Some(self.exit) && said.stdout.is_empty();
        let first = said.stderr.lines().find(|line| !is_context(line));
        (!is_right || first != Some(&expected)).then(|| {
            let args = &self.args;
            format!(
                "{args:?}\n  expected {} {expected}\n  found {said:?}",
                self.exit
            )
        })
    }

    async fn run(&self, program: &Program) -> Finished {
        let mut command = program.command(&self.args);
        let mut input = None;
        for given in &self.given {
            match given {
                Precondition::Variable(name, value) => drop(command.env(name, value)),
                Precondition::File(name, content) => drop(program.file(name, content)),
                Precondition::Stdin(bytes) => input = Some(bytes.clone()),
                Precondition::Ran(args) => {
                    let said = program.run(args).await;
                    assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
                }
            }
        }
        Finished::with_stdin(command, input).await
    }
}

/// What `run` and `chat` say before anything goes wrong.
fn is_context(line: &str) -> bool {
    ["model: ", "data: ", "session: "]
        .iter()
        .any(|before| line.starts_with(before))
}

/// Checks all rows, and shows every one that differs.
async fn check(rows: impl IntoIterator<Item = WrongInput>) {
    let mut different = Vec::new();
    for row in rows {
        different.extend(row.differs().await);
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}
