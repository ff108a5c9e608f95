//! A data directory that came with somebody's files: what lies in it is neither followed nor waited
//! for.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use samovar_server::{Address, Config, Opening, Server};
use tempfile::TempDir;

/// A data directory, and a file beside it that is none of the server's business.
struct Desk {
    root: TempDir,
    config: Config,
}

impl Desk {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["data", "workspace"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("victim"), "theirs").unwrap();
        let folder = |name: &str| root.path().join(name);
        let mut config = Config::new(folder("data"), folder("workspace"));
        config.server.port = 0;
        Self { root, config }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.config.data_dir.join(name)
    }

    fn link(self, name: &str) -> Self {
        symlink(self.root.path().join("victim"), self.path(name)).unwrap();
        self
    }

    fn pipe(self, name: &str) -> Self {
        let made = Command::new("mkfifo").arg(self.path(name)).status();
        assert!(made.unwrap().success());
        self
    }

    /// Why the directory cannot be used.
    fn refusal(&self) -> String {
        let error = Opening::begin(&self.config).err().unwrap();
        assert_eq!(error.code(), "token_unusable");
        error.to_string()
    }

    fn victim(&self) -> String {
        fs::read_to_string(self.root.path().join("victim")).unwrap()
    }
}

// proves TL-14
#[tokio::test]
async fn nothing_is_written_through_a_link_in_the_data_directory() {
    let desk = ["server.new", "token.new", "tokens.new", "server.json"]
        .into_iter()
        .fold(Desk::new(), Desk::link);
    samovar_testkit::install_tls();

    let server = Server::start(desk.config.clone()).await.unwrap();

    assert_eq!(desk.victim(), "theirs");
    let told = Address::read(&desk.config.data_dir).unwrap();
    assert_eq!(told.address, server.address());
    for name in ["server.json", "token"] {
        let meta = fs::symlink_metadata(desk.path(name)).unwrap();
        assert!(meta.is_file(), "{name}");
        assert_eq!(meta.mode() & 0o777, 0o600, "{name}");
    }
    server.stop().await;
    assert_eq!(desk.victim(), "theirs");
}

// proves TL-14
#[tokio::test]
async fn a_token_that_is_a_link_or_a_pipe_is_refused_at_once() {
    for name in ["token", "tokens.json"] {
        let linked = Desk::new().link(name).refusal();
        assert!(linked.contains("it is a link"), "{linked}");
        let piped = Desk::new().pipe(name).refusal();
        assert!(piped.contains("not a regular file"), "{piped}");
    }
}

#[test]
fn an_address_that_is_a_link_or_a_pipe_names_nobody() {
    for desk in [
        Desk::new().link("server.json"),
        Desk::new().pipe("server.json"),
    ] {
        assert!(Address::read(&desk.config.data_dir).is_none());
    }
}
