//! Eight readers of event streams that are in wide use, unmodified: whatever byte of a frame a
//! connection breaks at, each hands over every frame once, no empty event while the model is silent,
//! and asks for nothing after the end, but for what it does whatever it is sent.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use reqwest_eventsource as rust;
use samovar_model_server::{Gate, When, say};
use samovar_testkit::{App, AppBuilder};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::resume::{back, read};

/// A reader, and what it does whatever it is sent.
struct Reader {
    /// Its package, which is also the path of its streams at the proxy.
    package: &'static str,
    /// What becomes of a frame that was cut.
    cut_frame: CutFrame,
    /// What it asks for after an end, again and again or until it gets a 204.
    after_end: AfterEnd,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CutFrame {
    /// It comes again, once.
    Again,
    /// The same, unless only its empty line is missing: its id counts already.
    LostAtLast,
    /// It is glued to the next one.
    Glued,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterEnd {
    Nothing,
    /// Once, and the 204 ends it.
    Once,
    /// Each time that its pause is over.
    Ever,
    /// Nothing, or what [`AfterEnd::Ever`] does: it takes a 204 for an error, if it comes back at all.
    NothingOrEver,
}

const fn reader(package: &'static str, after_end: AfterEnd) -> Reader {
    Reader {
        package,
        cut_frame: CutFrame::Again,
        after_end,
    }
}

const OF_NODE: [Reader; 5] = [
    Reader {
        cut_frame: CutFrame::Glued,
        ..reader("eventsource-2", AfterEnd::Once)
    },
    reader("eventsource-4", AfterEnd::Once),
    reader("eventsource-5", AfterEnd::Once),
    reader("eventsource-client", AfterEnd::Once),
    Reader {
        cut_frame: CutFrame::LostAtLast,
        ..reader("@microsoft/fetch-event-source", AfterEnd::NothingOrEver)
    },
];
const OF_PYTHON: [Reader; 2] = [
    reader("httpx-sse", AfterEnd::Nothing),
    Reader {
        cut_frame: CutFrame::Glued,
        ..reader("sseclient", AfterEnd::Ever)
    },
];
const OF_RUST: [Reader; 1] = [reader("reqwest-eventsource", AfterEnd::Once)];

/// How long a reader may take for all its streams.
const PATIENCE: Duration = Duration::from_mins(2);
/// How long it is watched after the last end: longer than any of them pauses.
const AFTERWARDS: Duration = Duration::from_secs(10);
/// More than all that a reader hands over.
const TOLD: usize = 16 * 1024;
/// How many comments a silent stream has before its model speaks.
const PINGS: usize = 3;

/// The body that every reader is to hand over, and where its connections break off.
struct Scene {
    app: App,
    /// The `data` of each frame.
    frames: Vec<String>,
    /// The first byte of the frame that is cut, and its length.
    cut: (usize, usize),
    gate: Gate,
}

impl Scene {
    async fn start() -> Self {
        let gate = Gate::new("silence");
        let words = "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 ";
        let app = AppBuilder::new()
            .with(|config| config.server.ping_every = Duration::from_millis(200))
            .start([
                say(words).deltas_of(3).when(When::user("broken")),
                say(words)
                    .deltas_of(3)
                    .hold_after(4, &gate)
                    .when(When::user("silent")),
            ])
            .await;
        // In a store's first session a model is offered fewer tools.
        app.session().await;
        for session in ["cut", "silent"] {
            app.ok("createSession", json!({ "sessionId": session }))
                .await;
        }
        app.turn("cut", "broken").await;
        let mut silent = app.say("silent", "silent").await;
        silent.until("text_delta").await;
        let body = read(back(&app, "cut", "")).await;
        let start = body.match_indices("\n\n").nth(5).unwrap().0 + 2;
        let length = body[start..].find("\n\n").unwrap() + 2;
        let frames = body.lines().filter_map(|line| line.strip_prefix("data: "));
        Self {
            frames: frames.map(str::to_owned).collect(),
            cut: (start, length),
            app,
            gate,
        }
    }

    /// The number of each reader's streams: one for each cut, and the silent one.
    fn streams(&self) -> usize {
        self.cut.1 + 1
    }
}

/// A request to the proxy: after how many of the stream's ends it came, and how it was answered.
type Asked = HashMap<(String, usize), Vec<u16>>;

/// A proxy in front of the server: it adds the token, and breaks off the first connection of a stream.
#[derive(Clone)]
struct Proxy {
    server: SocketAddr,
    token: String,
    cut: (usize, usize),
    asked: Arc<Mutex<Asked>>,
    pings: mpsc::Sender<String>,
}

impl Proxy {
    async fn serve(self, listener: TcpListener) {
        let mut connections = JoinSet::new();
        while let Ok((client, _)) = listener.accept().await {
            let proxy = self.clone();
            connections.spawn(async move { proxy.pass(client).await });
        }
    }

    /// Answers one request; the connection ends with its answer.
    async fn pass(self, mut client: TcpStream) -> Option<()> {
        let head = head(&mut client).await?;
        let path = head.split(' ').nth(1)?;
        let (reader, stream) = path.trim_start_matches('/').rsplit_once('/')?;
        let stream: usize = stream.parse().ok()?;
        let is_silent = stream == self.cut.1;
        let session = if is_silent { "silent" } else { "cut" };
        let target = format!("/services/agent/sendMessage/stream?sessionId={session}");
        let mut server = TcpStream::connect(self.server).await.ok()?;
        let id = head.lines().find_map(|line| {
            let (name, id) = line.split_once(':')?;
            (name.eq_ignore_ascii_case("last-event-id")).then(|| id.trim())
        });
        let id = id.map_or_else(String::new, |id| format!("last-event-id: {id}\r\n"));
        let request = format!(
            "GET {target} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n{id}\
             connection: close\r\n\r\n",
            self.server, self.token
        );
        server.write_all(request.as_bytes()).await.ok()?;
        let answered = self::head(&mut server).await?;
        let status = answered.split(' ').nth(1)?.parse().ok()?;
        let is_first = {
            let mut asked = self.asked.lock().unwrap();
            let asked = asked.entry((reader.to_owned(), stream)).or_default();
            asked.push(status);
            asked.len() == 1
        };
        client.write_all(answered.as_bytes()).await.ok()?;
        let mut left = (is_first && !is_silent).then_some(self.cut.0 + stream);
        let mut pings = 0;
        while let Some(data) = chunk(&mut server).await {
            let cut = left.map_or(data.len(), |left| left.min(data.len()));
            left = left.map(|left| left - cut);
            let size = format!("{:x}\r\n", data.len());
            client.write_all(size.as_bytes()).await.ok()?;
            client.write_all(&data[..cut]).await.ok()?;
            if left == Some(0) {
                return None;
            }
            client.write_all(b"\r\n").await.ok()?;
            if is_silent && data == b": ping\n" {
                pings += 1;
                if pings == PINGS {
                    self.pings.send(reader.to_owned()).await.ok()?;
                }
            }
        }
        if status == 200 {
            client.write_all(b"0\r\n\r\n").await.ok()?;
        }
        Some(())
    }
}

/// The head of a request or an answer, with the empty line.
async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

/// The next chunk of a body.
async fn chunk(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut size = Vec::new();
    while !size.ends_with(b"\r\n") {
        size.push(stream.read_u8().await.ok()?);
    }
    let size = std::str::from_utf8(&size).ok()?.trim();
    let size = usize::from_str_radix(size, 16)
        .ok()
        .filter(|size| *size > 0)?;
    let mut data = vec![0; size + 2];
    stream.read_exact(&mut data).await.ok()?;
    data.truncate(size);
    Some(data)
}

/// What a reader handed over: its stream, and the data.
type Told = mpsc::Sender<(usize, String)>;

/// Lets each of these readers read all streams, and checks what it hands over and asks for.
async fn check(readers: &[Reader], start: impl Fn(&str, String, usize, Told, &mut JoinSet<()>)) {
    let scene = Scene::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (pings, mut pinged) = mpsc::channel(TOLD);
    let asked = Arc::<Mutex<Asked>>::default();
    let proxy = Proxy {
        server: scene.app.address(),
        token: scene.app.token().to_owned(),
        cut: scene.cut,
        asked: asked.clone(),
        pings,
    };
    let mut tasks = JoinSet::new();
    tasks.spawn(proxy.serve(listener));
    let mut all = Vec::new();
    for reader in readers {
        let (told, telling) = mpsc::channel(TOLD);
        let base = format!("http://{at}/{}", reader.package);
        start(reader.package, base, scene.streams(), told, &mut tasks);
        all.push((reader, telling));
    }
    for _ in readers {
        let heard = timeout(PATIENCE, pinged.recv()).await;
        heard.expect("every silent stream has comments").unwrap();
    }
    scene.app.model.open(&scene.gate).unwrap();
    for (reader, mut telling) in all {
        let mut came = vec![Vec::new(); scene.streams()];
        let mut ended = 0;
        while ended < scene.streams() {
            let next = timeout(PATIENCE, telling.recv()).await;
            let next = next.unwrap_or_else(|_| panic!("{}: {came:?}", reader.package));
            let (stream, data) = next.expect(reader.package);
            ended += usize::from(data == "[DONE]");
            came[stream].push(data);
        }
        for (stream, came) in came.iter().enumerate() {
            // Some hand over an empty event for the 204 that follows the end.
            let end = came.iter().position(|data| data == "[DONE]");
            let came = &came[..=end.unwrap()];
            // Cut between two frames, or not at all.
            let is_whole = stream == 0 || stream == scene.cut.1;
            let is_exact = match reader.cut_frame {
                CutFrame::Again => true,
                CutFrame::LostAtLast => stream + 1 != scene.cut.1,
                CutFrame::Glued => is_whole,
            };
            if is_exact {
                assert_eq!(came, scene.frames, "{} cut at {stream}", reader.package);
            }
        }
    }
    let before = asked.lock().unwrap().clone();
    sleep(AFTERWARDS).await;
    let after = asked.lock().unwrap().clone();
    for reader in readers {
        afterwards(reader, &before, &after);
    }
}

/// What a reader asked for after the ends of its streams; `before` may have seen some of it.
fn afterwards(reader: &Reader, before: &Asked, after: &Asked) {
    for ((package, stream), asked) in after {
        if package != reader.package {
            continue;
        }
        // The first connection broke off, unless it is the silent stream's, and the next one ended.
        let ended = asked.iter().take_while(|status| **status == 200).count();
        let (read, rest) = asked.split_at(ended);
        assert!(
            read.len() <= 2,
            "{package} {stream}: {asked:?} is read again"
        );
        assert!(
            rest.iter().all(|status| *status == 204),
            "{package} {stream}: {asked:?}"
        );
        let count = match reader.after_end {
            AfterEnd::Nothing => rest.is_empty(),
            AfterEnd::Once => rest.len() == 1,
            AfterEnd::NothingOrEver => true,
            AfterEnd::Ever => rest.len() > before[&(package.clone(), *stream)].len() - ended,
        };
        assert!(
            count,
            "{package} {stream} {:?}: {asked:?}",
            reader.after_end
        );
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/readers")
}

/// Starts a program that reads all streams with a reader and prints what it hands over.
fn program(mut command: Command, told: Told, tasks: &mut JoinSet<()>) {
    let command = command.kill_on_drop(true).stdout(Stdio::piped());
    let mut reading = command
        .spawn()
        .expect("cargo xtask test installs what it needs");
    tasks.spawn(async move {
        let mut lines = BufReader::new(reading.stdout.take().unwrap()).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let (stream, data) = serde_json::from_str(&line).unwrap();
            if told.send((stream, data)).await.is_err() {
                break;
            }
        }
        // Killed with the task, which the test ends.
        std::future::pending::<()>().await;
        drop(reading);
    });
}

// proves AS-4, AS-9, DU-7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn needs_npm_five_readers_of_node_get_every_frame_once_and_stop_at_the_end() {
    check(&OF_NODE, |package, base, count, told, tasks| {
        let mut node = Command::new("node");
        node.arg(folder().join("read.mjs"));
        node.args([package, &base, &count.to_string()]);
        program(node, told, tasks);
    })
    .await;
}

// proves AS-4, AS-9, DU-7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn needs_python_two_readers_of_python_get_every_frame_once() {
    check(&OF_PYTHON, |package, base, count, told, tasks| {
        let mut python =
            Command::new(folder().join("../../examples/relay-python/.venv/bin/python"));
        python.arg(folder().join("read.py"));
        python.args([package, &base, &count.to_string()]);
        program(python, told, tasks);
    })
    .await;
}

// proves AS-4, AS-9, DU-7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_of_rust_gets_every_frame_once_and_stops_at_the_end() {
    check(&OF_RUST, |_, base, count, told, tasks| {
        for stream in 0..count {
            let (url, told) = (format!("{base}/{stream}"), told.clone());
            tasks.spawn(async move {
                let mut source = rust::EventSource::get(url);
                while let Some(event) = source.next().await {
                    if let Ok(rust::Event::Message(event)) = event {
                        told.send((stream, event.data)).await.ok();
                    }
                }
            });
        }
    })
    .await;
}

#[test]
fn the_packages_of_the_readers_are_told_by_their_content_and_not_by_a_place() {
    let lock = std::fs::read_to_string(folder().join("package-lock.json")).unwrap();
    let lock: Value = serde_json::from_str(&lock).unwrap();
    let packages = lock["packages"].as_object().unwrap();
    for (name, package) in packages.iter().filter(|(name, _)| !name.is_empty()) {
        assert!(package.get("resolved").is_none(), "{name} has a place");
        assert!(package.get("integrity").is_some(), "{name} has no hash");
    }
    let list = std::fs::read_to_string(folder().join("requirements.txt")).unwrap();
    let mut packages = list.lines().filter(|line| !line.starts_with('#'));
    assert!(packages.all(|line| line.contains("==") && line.contains("--hash=sha256:")));
}
