//! The engine on its real stores against a small reference model: what people say, say again, stop
//! and wait for, while the disk fills and the process dies at any of its writes.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use samovar_core::{
    Accepted, Action, Approval, Code, Error, Event, Kind, Limits, MessageId, Outcome, Resume,
    Sender, Seq, SessionId, Toolset, TurnId,
};
use samovar_doubles::{CountedIds, Over, TestClock};
use samovar_engine::{DelegationTools, Engine, OpenCall, Ports, Retry, Settings, Toolbox};
use samovar_stores::history::SqliteHistory;
use samovar_stores::journal::LmdbJournal;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::rig::{opening, said_as};

use self::mortal::{Life, MortalHistory, MortalJournal};
use self::world::{Definitions, ModelScript, Outside, World};

mod judge;
mod mortal;
mod world;

/// How long anything may take before it counts as stuck.
const PATIENCE: Duration = Duration::from_mins(1);
const SESSIONS: usize = 2;

/// What somebody does.
#[derive(Clone, Debug)]
enum Op {
    /// Says something new.
    Say(usize, ModelScript),
    /// Sends something again that was sent before.
    Again(usize),
    /// Sends something else under an id that was used before.
    Twist(usize),
    /// Stops the turn of what was said.
    Stop(usize),
    /// Stops the turn of one of the children that live.
    Prune(usize),
    /// A person answers one of the questions.
    Answer(usize),
    /// Waits for the end of a turn, while a person answers all questions.
    Wait(usize),
    /// So many commits find the disk full.
    Fill(u32),
    /// The process is killed.
    Kill,
    /// The process is asked to stop.
    Restart,
}

fn op() -> impl Strategy<Value = Op> {
    let tree = prop_oneof![2 => Just(0), 3 => 0..64_u8];
    let wish = (0..16_u8, prop::bool::weighted(0.2), tree);
    let wish = wish.prop_map(|(tools, fails, tree)| ModelScript { tools, fails, tree });
    prop_oneof![
        8 => (0..SESSIONS, wish).prop_map(|(session, wish)| Op::Say(session, wish)),
        3 => (0..20_usize).prop_map(Op::Again),
        1 => (0..20_usize).prop_map(Op::Twist),
        2 => (0..20_usize).prop_map(Op::Stop),
        2 => (0..20_usize).prop_map(Op::Prune),
        2 => (0..20_usize).prop_map(Op::Answer),
        4 => (0..20_usize).prop_map(Op::Wait),
        1 => (1..3_u32).prop_map(Op::Fill),
        1 => Just(Op::Kill),
        1 => Just(Op::Restart),
    ]
}

/// What was said, as whoever said it knows it.
#[derive(Clone, Debug)]
struct Post {
    session: usize,
    id: MessageId,
    text: String,
    /// Set once it was accepted.
    turn: Option<TurnId>,
    /// Whether the process died before it answered.
    is_unheard: bool,
    is_stopped: bool,
    /// Whether somebody asked to stop it and never heard whether that was done.
    may_be_stopped: bool,
}

impl Post {
    fn saying(&self, text: &str) -> Action {
        said_as(self.id.as_str(), text)
    }
}

/// What readers saw of each session, by position.
type SeenEvents = Arc<Mutex<HashMap<(usize, u64), Arc<Event>>>>;

struct Machine {
    folder: TempDir,
    world: Arc<World>,
    clock: Arc<TestClock>,
    ids: Arc<CountedIds>,
    deaths: VecDeque<(i64, bool)>,
    /// Whether a turn that a death cuts continues.
    resume: Resume,
    posts: Vec<Post>,
    seen: SeenEvents,
    alive: Option<Process>,
}

/// A process.
struct Process {
    runtime: Runtime,
    engine: Arc<Engine>,
    life: Arc<Life>,
}

impl Machine {
    fn new(deaths: Vec<(i64, bool)>, resume: Resume) -> Self {
        let mut machine = Self {
            folder: tempfile::tempdir().unwrap(),
            world: Arc::default(),
            clock: Arc::new(TestClock::late()),
            ids: Arc::default(),
            deaths: deaths.into(),
            resume,
            posts: Vec::new(),
            seen: SeenEvents::default(),
            alive: None,
        };
        machine.live();
        machine
    }

    /// Starts a process, and another one when it dies before it serves.
    fn live(&mut self) {
        loop {
            let life = Life::new(self.deaths.pop_front());
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            let engine = runtime.block_on(self.open(&life));
            let alive = Process {
                runtime,
                engine,
                life,
            };
            if (0..SESSIONS).all(|session| alive.begin(session, &self.seen)) {
                self.alive = Some(alive);
                return;
            }
            alive.end();
        }
    }

    async fn open(&self, life: &Arc<Life>) -> Arc<Engine> {
        let dir = self.folder.path();
        // The one before may need a moment to let go.
        let journal = loop {
            match LmdbJournal::open(dir, 1000) {
                Ok((journal, _)) => break journal,
                Err(_) => std::thread::yield_now(),
            }
        };
        let history = SqliteHistory::open(dir.join("history.db")).await.unwrap();
        let outside = Outside(self.world.clone(), life.clone());
        let toolbox = Toolbox::default();
        let tools: Arc<dyn Toolset> = Arc::new(outside.clone());
        toolbox.add(&tools).unwrap();
        let delegation: Arc<dyn Toolset> = Arc::new(DelegationTools);
        toolbox.add_built_in(&delegation).unwrap();
        let ports = Ports {
            journal: Arc::new(Over(MortalJournal(journal, life.clone()))),
            history: Arc::new(Over(MortalHistory(history, life.clone()))),
            blobs: Arc::new(samovar_core::blob::MemoryBlobs::default()),
            models: Arc::new(outside.model()),
            toolbox: Arc::new(toolbox),
            agents: Arc::new(Definitions),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            damages: Arc::new(()),
            audit: Arc::new(()),
        };
        let settings = Settings {
            approval: Approval::Auto,
            read_wait: PATIENCE,
            resume: self.resume,
            limits: Limits::default(),
            retry: Retry {
                first_wait: Duration::from_millis(1),
                ..Retry::default()
            },
            ..Settings::default()
        };
        Engine::start(ports, settings).await.unwrap()
    }

    fn alive(&self) -> &Process {
        self.alive.as_ref().unwrap()
    }

    /// Ends the process, and starts another.
    fn die(&mut self) {
        if let Some(alive) = self.alive.take() {
            alive.life.die();
            alive.end();
        }
        self.live();
    }

    fn does(&mut self, op: &Op) {
        let count = self.posts.len().max(1);
        match op {
            Op::Say(session, wish) => self.say(*session, *wish),
            Op::Again(which) => self.again(which % count),
            Op::Twist(which) => self.twist(which % count),
            Op::Stop(which) => self.stop(which % count),
            Op::Prune(which) => self.prune(*which),
            Op::Answer(which) => self.answer(*which),
            Op::Wait(which) => self.wait(which % count),
            Op::Fill(commits) => self.alive().life.fill(*commits),
            Op::Kill => self.die(),
            Op::Restart => {
                let alive = self.alive();
                alive.until_death(alive.engine.shutdown(Duration::ZERO));
                self.die();
            }
        }
        self.alive().compare();
        if self.alive().life.is_dead() {
            self.die();
        }
    }

    fn say(&mut self, session: usize, wish: ModelScript) {
        let number = self.posts.len();
        self.posts.push(Post {
            session,
            id: MessageId::new(&format!("m{number}")).unwrap(),
            text: wish.text(number),
            turn: None,
            is_unheard: false,
            is_stopped: false,
            may_be_stopped: false,
        });
        self.again(number);
    }

    fn again(&mut self, which: usize) {
        let Some(post) = self.posts.get(which).cloned() else {
            return;
        };
        let answer = self.alive().submit(post.session, post.saying(&post.text));
        let known = &mut self.posts[which];
        match answer {
            None => known.is_unheard = true,
            Some(Ok(Accepted::Posted { turn, .. })) => {
                let first = known.turn.get_or_insert_with(|| turn.clone());
                assert_eq!(*first, turn, "{post:?} began a second turn");
            }
            Some(Err(Error {
                code: Code::StoreFull,
                ..
            })) => {}
            other => panic!("{post:?}: {other:?}"),
        }
    }

    fn twist(&mut self, which: usize) {
        let Some(post) = self.posts.get(which) else {
            return;
        };
        if post.turn.is_some() {
            let twisted = format!("{} ", post.text.replace(' ', "  "));
            match self.alive().submit(post.session, post.saying(&twisted)) {
                None => {}
                Some(Err(error)) if error.code == Code::MessageConflict => {}
                other => panic!("{post:?} was taken with other words: {other:?}"),
            }
        }
    }

    fn stop(&mut self, which: usize) {
        let Some(Post { session, turn, .. }) = self.posts.get(which).cloned() else {
            return;
        };
        if turn.is_some() {
            let stopped = self.alive().submit(session, Action::Cancel { turn });
            let post = &mut self.posts[which];
            match stopped {
                Some(Ok(Accepted::Cancelled { stopped })) => post.is_stopped |= stopped,
                None | Some(Err(_)) => post.may_be_stopped = true,
                other => panic!("{post:?}: {other:?}"),
            }
        }
    }

    /// Stops a child, of those that readers have seen begin and not end.
    fn prune(&self, which: usize) {
        let mut live = BTreeSet::new();
        {
            let seen = self.seen.lock().unwrap();
            let mut seen: Vec<_> = seen.iter().collect();
            seen.sort_by_key(|(place, _)| **place);
            for ((session, _), event) in seen {
                let Some(turn) = &event.turn else { continue };
                match &event.kind {
                    Kind::TurnStarted { .. } if event.agent.depth() > 0 => {
                        live.insert((*session, turn.clone()));
                    }
                    Kind::TurnFinished { .. } => drop(live.remove(&(*session, turn.clone()))),
                    _ => {}
                }
            }
        }
        let chosen = live.iter().nth(which % live.len().max(1)).cloned();
        if let Some((session, turn)) = chosen {
            let turn = Some(turn);
            let stopped = self.alive().submit(session, Action::Cancel { turn });
            let is_well = matches!(
                stopped,
                None | Some(Ok(Accepted::Cancelled { .. }) | Err(_))
            );
            assert!(is_well, "{stopped:?}");
        }
    }

    fn answer(&self, which: usize) {
        let alive = self.alive();
        alive.until_death(async {
            let open = alive.engine.open_calls().await.unwrap_or_default();
            if let Some(open) = open.get(which % open.len().max(1)) {
                let _closed = alive.settle(open).await;
            }
        });
    }

    fn wait(&self, which: usize) {
        if let Some(Post {
            session,
            turn: Some(turn),
            ..
        }) = self.posts.get(which)
        {
            let alive = self.alive();
            alive.until_death(async {
                tokio::select! {
                    () = alive.over(*session, turn) => {}
                    () = alive.answer_all() => {}
                }
            });
        }
    }

    /// A last life without a fault, in which all comes to its end.
    fn settle(&mut self) {
        self.deaths.clear();
        self.die();
        for which in 0..self.posts.len() {
            if self.posts[which].is_unheard {
                self.again(which);
            }
        }
        for which in 0..self.posts.len() {
            self.wait(which);
        }
    }
}

impl Process {
    /// What comes of this; none when the process dies before.
    fn until_death<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.runtime.block_on(async {
            let work = tokio::time::timeout(PATIENCE, work);
            tokio::select! {
                done = work => Some(done.expect("it is not stuck")),
                () = self.life.died() => None,
            }
        })
    }

    fn submit(&self, session: usize, action: Action) -> Option<Result<Accepted, Error>> {
        let session = named(session);
        self.until_death(self.engine.act(&session, action))
    }

    /// A restart would make the same of the stores.
    fn compare(&self) {
        for session in 0..SESSIONS {
            let compared = self.until_death(self.engine.difference(&named(session)));
            if let Some(Ok(Some(difference))) = compared {
                panic!("session {session}: {difference}");
            }
        }
    }

    /// Opens a session and lets somebody read it; whether the process lived so long.
    fn begin(&self, session: usize, seen: &SeenEvents) -> bool {
        let opened = self.submit(session, opening());
        if let Some(opened) = &opened {
            assert!(opened.is_ok(), "{opened:?}");
            let (engine, seen) = (self.engine.clone(), seen.clone());
            self.runtime.spawn(watch(engine, session, seen));
        }
        opened.is_some()
    }

    async fn settle(&self, open: &OpenCall) -> Result<(), Error> {
        let (call, said) = (open.call.id.clone(), Outcome::done("yes"));
        self.engine.settle(Sender::Embedder, call, said).await
    }

    /// Answers every question, for as long as it is asked to.
    async fn answer_all(&self) {
        loop {
            for open in self.engine.open_calls().await.unwrap_or_default() {
                // Others may be faster, and the disk may be full.
                let _closed = self.settle(&open).await;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits until a turn is over.
    async fn over(&self, session: usize, turn: &TurnId) {
        let mut reader = self.engine.follow(&named(session), Seq(0)).await.unwrap();
        let ends = |event: &Arc<Event>| {
            matches!(event.kind, Kind::TurnFinished { .. }) && event.turn.as_ref() == Some(turn)
        };
        while !reader.next().await.unwrap().iter().any(ends) {}
    }

    /// What becomes of memory and threads when a process is killed: they are gone.
    fn end(self) {
        let Self {
            runtime, engine, ..
        } = self;
        drop(engine);
        runtime.shutdown_timeout(PATIENCE);
    }
}

/// Reads a session from its start for as long as the process lives.
async fn watch(engine: Arc<Engine>, session: usize, seen: SeenEvents) {
    // The server may be asked to stop before anybody reads.
    let Ok(mut reader) = engine.follow(&named(session), Seq(0)).await else {
        return;
    };
    let mut at = 0;
    while let Ok(events) = reader.next().await {
        let mut seen = seen.lock().unwrap();
        for event in events {
            assert_eq!(event.seq.0, at + 1, "a reader sees a gap or a repeat");
            at = event.seq.0;
            let before = seen.entry((session, at)).or_insert_with(|| event.clone());
            // Told to the judge, since nobody hears of a task that panics.
            if *before != event {
                seen.insert((session, 0), event);
            }
        }
    }
}

fn named(session: usize) -> SessionId {
    SessionId::new(&format!("s{session}")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    // proves DU-1, DU-3, DU-5, DU-6, SA-7, SA-10
    #[test]
    fn whatever_is_said_stopped_and_killed_the_engine_keeps_what_it_promised(
        ops in prop::collection::vec(op(), 1..30),
        deaths in prop::collection::vec((1..60_i64, any::<bool>()), 0..5),
        resume in prop_oneof![3 => Just(Resume::Auto), 1 => Just(Resume::Off)],
    ) {
        let mut machine = Machine::new(deaths, resume);
        for op in &ops {
            machine.does(op);
        }
        machine.settle();
        judge::judge(&machine);
    }
}

// proves SA-10
#[test]
fn a_message_that_is_sent_a_hundred_thousand_times_begins_one_turn() {
    let mut machine = Machine::new(Vec::new(), Resume::Auto);
    let wish = ModelScript {
        tools: 15,
        fails: true,
        tree: 23,
    };
    machine.say(0, wish);
    let post = machine.posts[0].clone();
    let alive = machine.alive();
    let mut clients = JoinSet::new();
    for _ in 0..50 {
        let (engine, post) = (alive.engine.clone(), post.clone());
        let client = async move {
            for _ in 0..2_000 {
                let action = post.saying(&post.text);
                let posted = engine.act(&named(post.session), action).await.unwrap();
                let joined = matches!(posted, Accepted::Posted { turn, .. } if Some(&turn) == post.turn.as_ref());
                assert!(joined, "{post:?}");
            }
        };
        clients.spawn_on(client, alive.runtime.handle());
    }
    alive.until_death(async {
        while let Some(sent) = clients.join_next().await {
            sent.unwrap();
        }
    });

    machine.settle();
    judge::judge(&machine);
}
