//! A client that knows the API.

use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::socket::Socket;
use crate::stream::{EventStream, Frame};

/// A client of one server, with its token.
pub struct Api {
    client: Client,
    address: String,
    token: String,
    /// What it brings, and says of itself, in place of the token.
    browser: Option<[(&'static str, String); 2]>,
}

/// An answer that is not a stream.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: reqwest::header::HeaderMap,
    /// The body as JSON; null when it is none.
    pub body: Value,
}

impl Answer {
    /// The `code` of a refusal.
    pub fn code(&self) -> &str {
        let said = self.headers.get("x-samovar-code");
        let said = said.and_then(|code| code.to_str().ok());
        self.body["code"].as_str().or(said).unwrap_or_default()
    }
}

/// Sets TLS up for this process, as a client of models needs it; [`Api`] and [`App`](crate::App) do
/// so by themselves.
pub fn install_tls() {
    // Only fails when another test of this process did it before.
    let _was_there = rustls::crypto::ring::default_provider()
        .install_default()
        .is_err();
}

impl Api {
    /// A client for the server at an address such as `127.0.0.1:4747`.
    ///
    /// # Panics
    /// When there can be no client.
    pub fn new(address: &str, token: &str) -> Self {
        install_tls();
        Self {
            client: Client::builder().no_proxy().build().expect("a client"),
            address: address.to_owned(),
            token: token.to_owned(),
            browser: None,
        }
    }

    /// The page of a server as a browser with this cookie sends its requests.
    ///
    /// # Panics
    /// When there can be no client.
    pub fn with_cookie(address: &str, cookie: &str) -> Self {
        let origin = format!("http://{address}");
        Self {
            browser: Some([("cookie", cookie.to_owned()), ("origin", origin)]),
            ..Self::new(address, "")
        }
    }

    /// The token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A request with the token, not sent yet.
    pub fn request(&self, verb: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.address);
        let request = self.client.request(verb, url);
        match &self.browser {
            None => request.bearer_auth(&self.token),
            Some(headers) => headers.iter().fold(request, |request, (name, value)| {
                request.header(*name, value)
            }),
        }
    }

    /// Calls a method of the agent service.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn call(&self, method: &str, params: Value) -> Answer {
        let path = format!("/services/agent/{method}");
        self.answer(self.request(Method::POST, &path).json(&params))
            .await
    }

    /// Calls a method of the agent service that has to succeed.
    ///
    /// # Panics
    /// When it does not.
    pub async fn ok(&self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params).await;
        assert_eq!(answer.status, 200, "{method}: {}", answer.body);
        answer.body
    }

    /// Sends any request.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn answer(&self, request: RequestBuilder) -> Answer {
        let response = request.send().await.expect("the server answers");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.expect("the answer is whole");
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Answer {
            status,
            headers,
            body,
        }
    }

    /// Makes a session and gives its id.
    pub async fn session(&self) -> String {
        let session = self.ok("createSession", json!({})).await;
        session["id"].as_str().unwrap_or_default().to_owned()
    }

    /// Says something, and leaves the stream to be read.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn say(&self, session: &str, content: &str) -> EventStream {
        self.stream(json!({"sessionId": session, "content": content}))
            .await
    }

    /// Posts to `sendMessage/stream`, and leaves the stream to be read.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn stream(&self, params: Value) -> EventStream {
        let response = self.post_stream(params.clone()).await;
        let status = response.status();
        if status != 200 {
            let why = response.text().await.unwrap_or_default();
            panic!("{params} was refused with {status}: {why}");
        }
        EventStream::new(response)
    }

    /// Posts to `sendMessage/stream`.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn post_stream(&self, params: Value) -> Response {
        let path = "/services/agent/sendMessage/stream";
        let request = self.request(Method::POST, path).json(&params);
        request.send().await.expect("the server answers")
    }

    /// Gets an answer, with its path and query as they are.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn get(&self, path: &str) -> Answer {
        self.answer(self.request(Method::GET, path)).await
    }

    /// Follows a stream that changes nothing.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn follow(&self, path: &str) -> EventStream {
        let response = self.request(Method::GET, path).send().await;
        let response = response.expect("the server answers");
        assert_eq!(response.status(), 200, "{path}");
        EventStream::new(response)
    }

    /// Opens a WebSocket.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn socket(&self, path: &str) -> Socket {
        let address = self.address.parse().expect("an address of numbers");
        let socket = match &self.browser {
            None => Socket::open(address, &self.token, path).await,
            Some([(cookie, kept), (origin, own)]) => {
                Socket::with(address, &[(cookie, kept), (origin, own)], path).await
            }
        };
        socket.unwrap_or_else(|status| panic!("{path} was refused with {status}"))
    }

    /// Opens a WebSocket at a server that may be gone; none when it does not take it.
    pub async fn try_socket(&self, path: &str) -> Option<Socket> {
        let stream = TcpStream::connect(&self.address).await.ok()?;
        Socket::over(stream, &self.token, path).await.ok()
    }

    /// Says something and reads the whole turn.
    pub async fn turn(&self, session: &str, content: &str) -> Vec<Frame> {
        self.say(session, content).await.rest().await
    }
}
