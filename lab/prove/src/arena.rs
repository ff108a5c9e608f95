//! One data directory and the clients around it: lives of its server, each ended by force, then one
//! in which all comes to its end and everything is read again.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use samovar_model_server::ModelServer;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client::Address;
use crate::copier::Copier;
use crate::damage;
use crate::dice::Dice;
use crate::driver::Driver;
use crate::effects::World;
use crate::keeper::Keeper;
use crate::killer::Ending;
use crate::listener::Listener;
use crate::observed::{ChatAgent, Incident, Observed, ObservedPrompt, Spool, Stored};
use crate::orphans;
use crate::passer::Passer;
use crate::person::Person;
use crate::plan::{Needs, Plan, Point};
use crate::retelling;
use crate::rooms;
use crate::scene;
use crate::server::{Folders, Orders, Retention, Server, StartResult};
use crate::stage::Stage;
use crate::ticker::Ticker;
use crate::web::{Editor, Page};

/// Sessions that talk at once.
const SESSIONS: u32 = 5;
/// The one of them in which agents work in the background.
const BESIDE: u32 = 5;

/// Persons who answer questions.
const PERSONS: u32 = 3;

/// How long a process that was killed may take to be gone.
const LAST_BREATH: Duration = Duration::from_secs(5);

/// How long a server may take to remove what is finished, and to stop.
const SWEEPING: Duration = Duration::from_secs(20);

/// A data directory, its server's lives, and the clients.
pub(crate) struct Arena {
    plan: Arc<Plan>,
    folder: TempDir,
    folders: Folders,
    world: World,
    stage: Arc<Stage>,
    address: watch::Sender<Option<Address>>,
    is_closing: watch::Sender<bool>,
    drivers: JoinSet<()>,
    /// Who answers what turns ask, and who listens: as long as anybody talks.
    people: JoinSet<()>,
    agent: ChatAgent,
    dice: Dice,
    lives: u64,
    /// What the model was asked so far; it forgets.
    asked: Vec<ObservedPrompt>,
}

/// What became of one life.
#[derive(Debug, Default)]
pub(crate) struct Life {
    /// From its start to its serving; none when it was ended before.
    pub(crate) ready_after: Option<Duration>,
    /// How it ended.
    pub(crate) end: LifeEnd,
    /// Whether there can be another one.
    pub(crate) is_last: bool,
}

/// How a life ended.
#[derive(Debug, Default)]
pub(crate) enum LifeEnd {
    /// By itself, because it was asked to.
    #[default]
    Stopped,
    /// By itself, and nobody had asked: a promise is broken.
    Unasked,
    /// It was killed.
    Killed,
    /// It killed itself at this named point.
    Point(String),
}

impl Arena {
    /// Makes the folders, the model and the world, and sends the clients in; they wait for a server.
    pub(crate) async fn open(
        plan: Arc<Plan>,
        (name, agent): (&str, ChatAgent),
        mut dice: Dice,
    ) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("samovar-prove-")
            .tempdir()?;
        let folders = Folders::make(folder.path())?;
        let model = ModelServer::start(vec![scene::to_the_chat()]).await?;
        let ticker = Ticker::default();
        let world = World::start(dice.fork(), ticker.clone()).await?;
        std::fs::write(folders.config(), config(&model, &world, agent))?;
        let read_me = folders.workspace().join(scene::READ_ME);
        std::fs::write(read_me, format!("{}\n", scene::READ_ME_SAYS))?;
        let runs_commands = folders.can_run_commands(&plan.binary).await;
        let (address, at) = watch::channel(None);
        let (is_closing, must_close) = watch::channel(false);
        let mut stage = Stage::new(model, folders.workspace(), at, must_close, ticker);
        stage.runs_commands = runs_commands;
        let stage = Arc::new(stage);
        let mut drivers = JoinSet::new();
        for number in 1..=SESSIONS {
            let driver = Driver {
                stage: stage.clone(),
                session: format!("{name}-s{number}"),
                is_beside: number == BESIDE,
                dice: dice.fork(),
            };
            drivers.spawn(driver.drive());
        }
        let passer = Passer {
            stage: stage.clone(),
            name: format!("{name}-p"),
            dice: dice.fork(),
        };
        drivers.spawn(passer.pass());
        let copier = Copier {
            stage: stage.clone(),
            name: format!("{name}-a"),
            sessions: (1..=SESSIONS)
                .map(|number| format!("{name}-s{number}"))
                .collect(),
            dice: dice.fork(),
            forks: Vec::new(),
        };
        drivers.spawn(copier.copy());
        drivers.spawn(keeper(&stage, name, &mut dice).keep());
        let mut people = people(&stage, name, plan.patience / 2, &mut dice);
        pages(&stage, name, (&mut drivers, &mut people), &mut dice);
        let (data, patience) = (folders.data(), plan.patience / 2);
        let talkers = (&mut drivers, &mut people);
        rooms::fill(&stage, name, (&data, patience), talkers, &mut dice);
        Ok(Self {
            plan,
            folder,
            folders,
            world,
            stage,
            address,
            is_closing,
            drivers,
            people,
            agent,
            dice,
            lives: 0,
            asked: Vec::new(),
        })
    }

    /// One life of the server, to its end by force.
    pub(crate) async fn live(&mut self, ending: &Ending) -> io::Result<Life> {
        let mut life = Life::default();
        let mut server = self.start(ending.failpoint(), Retention::Long)?;
        let up = server.is_up(&self.folders, &self.stage.client);
        let started = match ending {
            Ending::Starting(after) => timeout(*after, up).await.ok(),
            Ending::Point { .. } | Ending::Asked { .. } | Ending::Serving(_) => Some(up.await),
        };
        match started {
            Some(StartResult::Serving(address, took)) => {
                life.ready_after = Some(took);
                self.address.send_replace(Some(address));
                serve_until(&mut server, ending).await?;
            }
            Some(StartResult::Hanging) => {
                life.is_last = true;
                self.note_hanging();
            }
            // How it ended is looked at below.
            Some(StartResult::Ended) | None => {}
        }
        let by_itself = server.kill().await;
        self.address.send_replace(None);
        match by_itself {
            Some(status) => self.explain(ending, status, &mut life),
            None => life.end = LifeEnd::Killed,
        }
        self.between().await?;
        Ok(life)
    }

    /// A last life, in which every turn comes to its end; then everything is read again.
    pub(crate) async fn settle(&mut self) -> io::Result<()> {
        self.is_closing.send_replace(true);
        let mut server = self.start(None, Retention::Long)?;
        match server.is_up(&self.folders, &self.stage.client).await {
            StartResult::Serving(address, _) => {
                self.address.send_replace(Some(address.clone()));
                let all_read = async { while self.drivers.join_next().await.is_some() {} };
                if timeout(self.plan.patience, all_read).await.is_err() {
                    let left = format!("{} clients", self.drivers.len());
                    self.stage.note(Incident::Unfinished(left));
                    self.drivers.abort_all();
                    while self.drivers.join_next().await.is_some() {}
                }
                self.people.shutdown().await;
                retelling::read_again(&self.stage, &address, self.plan.patience).await;
            }
            StartResult::Ended | StartResult::Hanging => {
                self.drivers.abort_all();
                let why = self.folders.last_words();
                self.stage.note(Incident::NotServing(why));
            }
        }
        self.end(server).await;
        Ok(())
    }

    /// Removes what is finished from the journal, in a life that ends at a point of that; what is
    /// stored is as it was.
    pub(crate) async fn sweep(&mut self, point: Point) -> io::Result<Life> {
        let mut life = Life::default();
        let ending = Ending::Point {
            point,
            visit: 1,
            at_last: SWEEPING,
        };
        let mut server = self.start(ending.failpoint(), Retention::Never)?;
        match server.is_up(&self.folders, &self.stage.client).await {
            StartResult::Serving(_, took) => {
                life.ready_after = Some(took);
                serve_until(&mut server, &ending).await?;
            }
            StartResult::Hanging => self.note_hanging(),
            // How it ended is looked at below.
            StartResult::Ended => {}
        }
        match server.kill().await {
            Some(status) => self.explain(&ending, status, &mut life),
            None => life.end = LifeEnd::Killed,
        }
        let mut server = self.start(None, Retention::Long)?;
        match server.is_up(&self.folders, &self.stage.client).await {
            StartResult::Serving(at, _) => self.look_for_lost_rows(&at).await,
            StartResult::Hanging => self.note_hanging(),
            // What ends unasked is noted below.
            StartResult::Ended => {}
        }
        self.end(server).await;
        Ok(life)
    }

    /// What was in the history before finished turns were swept has to be there after it.
    async fn look_for_lost_rows(&self, at: &Address) {
        for (session, before) in self.stage.rows() {
            let after = retelling::rows(&self.stage, at, &session).await;
            let is_gone = |row: &Stored| !after.contains(row);
            self.stage.lost(before.into_iter().filter(is_gone));
        }
    }

    fn note_hanging(&self) {
        let why = self.folders.last_words();
        self.stage.note(Incident::NotServing(why));
    }

    /// Ends a life in which nobody may end before.
    async fn end(&mut self, mut server: Server) {
        if let Some(status) = server.kill().await {
            let how = format!("{status}: {}", self.folders.last_words());
            self.stage.note(Incident::Ended(how));
        }
        self.address.send_replace(None);
        self.look_for_orphans().await;
    }

    /// What was seen in all lives.
    pub(crate) fn observed(&mut self) -> io::Result<Observed> {
        self.note_asked();
        for line in self.folders.panics() {
            self.stage.note(Incident::Panicked(line));
        }
        let mut observed = self.stage.observed();
        observed.spool = self.plan.spool;
        observed.chat.agent = self.agent;
        observed.effects = self.world.effects();
        observed.relay.logs = rooms::logs(&self.folders.data())?;
        observed.files = texts(&self.folders.workspace())?;
        observed.asked = std::mem::take(&mut self.asked);
        Ok(observed)
    }

    /// Notes what the model was asked since this was done last.
    fn note_asked(&mut self) {
        let known = self.asked.last().map_or(0, |last| last.number + 1);
        let prompts = self.stage.model.prompts();
        let asked = prompts.iter().filter_map(scene::asked);
        let new = asked.filter(|asked| asked.number >= known);
        self.asked.extend(new);
    }

    /// The folder with everything in it.
    pub(crate) fn into_folder(self) -> TempDir {
        self.folder
    }

    /// Leaves everything as it is and removes it, once nothing writes there any more: a server that
    /// was dropped is killed, but its end is not waited for.
    pub(crate) async fn abandon(mut self) -> io::Result<()> {
        self.drivers.shutdown().await;
        self.people.shutdown().await;
        self.wait_for_the_dying(LAST_BREATH).await;
        self.folder.close()
    }

    fn start(&mut self, point: Option<String>, keeping: Retention) -> io::Result<Server> {
        self.lives += 1;
        let orders = Orders {
            binary: &self.plan.binary,
            point,
            plant: self.plan.plant.as_deref(),
            keeping,
        };
        Server::start(&self.folders, &orders, self.lives)
    }

    /// A server ends itself at its point and nowhere else.
    fn explain(&self, ending: &Ending, status: ExitStatus, life: &mut Life) {
        use std::os::unix::process::ExitStatusExt;
        const KILL: i32 = 9;
        match ending {
            Ending::Point { point, .. } if status.signal() == Some(KILL) => {
                life.end = LifeEnd::Point(point.name.clone());
            }
            Ending::Asked { .. } if status.success() => {}
            Ending::Point { point, .. } if status.success() && is_asked(point) => {}
            Ending::Point { .. }
            | Ending::Asked { .. }
            | Ending::Serving(_)
            | Ending::Starting(_) => {
                let how = format!("{status}: {}", self.folders.last_words());
                let is_up = life.ready_after.is_some();
                life.is_last = !is_up;
                life.end = LifeEnd::Unasked;
                self.stage.note(if is_up {
                    Incident::Ended(how)
                } else {
                    Incident::NotServing(how)
                });
            }
        }
    }

    /// What happens between a kill and the next start.
    async fn between(&mut self) -> io::Result<()> {
        self.note_asked();
        self.look_for_orphans().await;
        match self.plan.spool {
            Spool::Whole => Ok(()),
            Spool::Cut => damage::cut(&self.folders.data().join("spool"), &mut self.dice),
        }
    }

    async fn wait_for_the_dying(&self, within: Duration) {
        let dying = async {
            while !orphans::of(&self.folders.root).is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _some_stay = timeout(within, dying).await;
    }

    async fn look_for_orphans(&self) {
        for process in orphans::after_a_kill(&self.folders.root).await {
            self.stage.note(Incident::Orphan(process.name));
        }
    }
}

/// Who has an agent remember.
fn keeper(stage: &Arc<Stage>, name: &str, dice: &mut Dice) -> Keeper {
    Keeper {
        stage: stage.clone(),
        name: format!("{name}-k"),
        dice: dice.fork(),
    }
}

/// Pages: one that edits, and readers of every session.
fn pages(
    stage: &Arc<Stage>,
    name: &str,
    (drivers, people): (&mut JoinSet<()>, &mut JoinSet<()>),
    dice: &mut Dice,
) {
    let mut page = |session: String| Page {
        stage: stage.clone(),
        session,
        dice: dice.fork(),
    };
    drivers.spawn(Editor::new(page(format!("{name}-e"))).talk());
    for number in 1..=SESSIONS {
        let session = format!("{name}-s{number}");
        people.spawn(page(session.clone()).read_answers(number % 2 == 0));
        people.spawn(page(session).follow_feed());
    }
}

/// Who answers and who listens.
fn people(stage: &Arc<Stage>, name: &str, patience: Duration, dice: &mut Dice) -> JoinSet<()> {
    let mut people = JoinSet::new();
    for number in 1..=PERSONS {
        let person = Person {
            stage: stage.clone(),
            name: format!("{name}-w{number}"),
            patience,
            said: 0,
            dice: dice.fork(),
        };
        people.spawn(person.answer());
    }
    let listener = Listener {
        stage: stage.clone(),
        dice: dice.fork(),
    };
    people.spawn(listener.listen());
    people
}

/// Whether a server is asked to stop for a point, so that it may end without having reached it.
fn is_asked(point: &Point) -> bool {
    matches!(point.needs, Needs::Stop | Needs::Sweep)
}

/// Lets a server work for as long as it is to live. Whether it ended by itself is seen when it is
/// killed.
async fn serve_until(server: &mut Server, ending: &Ending) -> io::Result<()> {
    let (after, at_last) = match ending {
        Ending::Point {
            point,
            at_last,
            visit: _,
        } => match point.needs {
            Needs::Load | Needs::Cut(_) => (None, *at_last),
            Needs::Stop => (Some(*at_last / 4), *at_last * 3),
            Needs::Sweep => (Some(Duration::ZERO), *at_last),
        },
        Ending::Asked { after, at_last } => (Some(*after), *at_last),
        Ending::Serving(time) => (None, *time),
        Ending::Starting(_) => (None, Duration::ZERO),
    };
    if let Some(after) = after {
        if timeout(after, server.end()).await.is_ok() {
            return Ok(());
        }
        server.ask_to_stop()?;
    }
    // It is killed whether it has ended by itself or not.
    let _ended = timeout(at_last, server.end()).await;
    Ok(())
}

/// Every text in the workspace, by its path.
fn texts(workspace: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for entry in workspace.read_dir()? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let bytes = std::fs::read(entry.path())?;
        texts.insert(name, String::from_utf8_lossy(&bytes).into_owned());
    }
    Ok(texts)
}

/// Which models answer, who hears what nobody waits for in the chat, and which tools there are besides
/// the built-in ones.
fn config(model: &ModelServer, world: &World, agent: ChatAgent) -> String {
    let (base, origin, world) = (model.base_url(), model.origin(), world.address());
    let webhook = |name, effect| {
        format!(
            "[tools.custom.{name}]\n\
             description = \"Tells the world outside.\"\n\
             parameters = '{{\"type\": \"object\"}}'\n\
             url = \"http://{world}/{name}\"\n\
             effect = \"{effect}\"\n\n"
        )
    };
    // What they answer comes from outside, so otherwise each call after the first would wait for a person.
    let sent = |name| {
        format!("[tools.policy.{name}]\ntool = \"{name}\"\nverdict = \"allow\"\nsends = true\n\n")
    };
    [
        "[defaults]\nmodel = \"custom/scripted\"\n\n".to_owned(),
        format!("[providers.custom]\napi_base = \"{base}\"\n\n"),
        format!("[providers.anthropic]\napi_base = \"{origin}\"\napi_key = \"scripted\"\n\n"),
        "[models]\nprobe = false\n\n".to_owned(),
        "[tools]\napproval = \"auto\"\napproval_seconds = 2\n\n".to_owned(),
        format!(
            "[tools.policy.asked]\ntool = \"{}\"\nverdict = \"ask\"\n\n",
            scene::GRANT
        ),
        sent(scene::NOTE),
        sent(scene::PAY),
        format!("[relay]\nmovie_rooms = [\"{}\"]\n\n", rooms::BUILT_IN),
        format!("[chat]\nagent = \"{}\"\n\n", agent.word()),
        format!("[egress]\nallow = [\"{world}\"]\n\n"),
        webhook(scene::NOTE, "idempotent"),
        webhook(scene::PAY, "unsafe"),
        webhook(scene::GRANT, "unsafe"),
    ]
    .concat()
}
