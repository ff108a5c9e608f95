//! The two floors that turns are measured against, each in a separate process: a byte proxy before
//! the model, and a bare loop that syncs every message and does nothing else.
//!
//! What both do is what any server has to do, without waste and without tricks.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use axum::routing::post;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use self::upstream::{Upstream, streamed};
use crate::client::ServerAccess;
use crate::model::{Model, serve};

mod bare;
mod store;
mod upstream;

/// The word of the bench that makes its process a floor: a kind, the model's address and a folder
/// follow.
pub(crate) const FLOOR: &str = "--floor";

pub(crate) const PROXY: &str = "proxy";
pub(crate) const LOOP: &str = "loop";

/// A floor that runs; dropped, it is killed. It also ends when the bench does, however that ends.
pub(crate) struct Floor {
    process: Child,
    pub(crate) way_in: ServerAccess,
}

impl Floor {
    /// Starts one. The loop works in the folder: its store and the files that it reads are there.
    pub(crate) async fn start(kind: &str, model: &Model, folder: &Path) -> Result<Floor> {
        let mut process = Command::new(std::env::current_exe()?)
            .args([FLOOR, kind, &model.address.to_string()])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let said = process.stdout.take().context("no output")?;
        let said = BufReader::new(said).lines().next_line().await?;
        let address = said.with_context(|| format!("the {kind} did not start"))?;
        Ok(Floor {
            process,
            way_in: ServerAccess::at(address.parse()?),
        })
    }

    pub(crate) fn process(&self) -> Result<u32> {
        self.process.id().context("the floor has ended")
    }
}

/// Starts a floor in this process, and prints its address; dropped, the set ends it.
pub(crate) async fn run(words: &[String]) -> Result<JoinSet<()>> {
    let [kind, model, folder] = words else {
        bail!("a floor needs its kind, a model's address and a folder");
    };
    let router = router(kind, model.parse()?, Path::new(folder))?;
    let (address, server) = serve(router).await?;
    writeln!(io::stdout(), "{address}")?;
    Ok(server)
}

pub(crate) fn router(kind: &str, model: SocketAddr, folder: &Path) -> Result<Router> {
    let upstream = Upstream::new(model);
    match kind {
        PROXY => Ok(Router::new().fallback_service(post(pass).with_state(upstream))),
        LOOP => bare::router(upstream, folder),
        _ => bail!("no floor is called {kind}"),
    }
}

async fn pass(State(upstream): State<Upstream>, prompt: Body) -> Response<Body> {
    streamed(upstream.ask(prompt).await.map(Body::new))
}
