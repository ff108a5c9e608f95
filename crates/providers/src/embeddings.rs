//! Vectors of texts from a provider: `POST /embeddings`, as `OpenAI` has it and most servers follow.

use std::sync::Arc;

use samovar_core::{Error, ProviderEvent};
use samovar_locale as locale;
use serde::Deserialize;
use serde_json::json;

use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::http;
use crate::registry::Registry;
use crate::timeouts::Watch;

/// The bytes of an answer, at most: 8,192 numbers in any spelling.
const MAX_BYTES: usize = 1 << 20;

/// A model that makes vectors.
pub struct Embeddings {
    endpoint: Endpoint,
    /// Its name at the endpoint.
    model: String,
    name: String,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<One>,
}

#[derive(Deserialize)]
struct One {
    embedding: Vec<f32>,
}

impl Registry {
    /// The model for vectors of a name, which is `provider/model`.
    ///
    /// # Errors
    /// [`Error`]: there is no such provider, or its settings do not do.
    pub fn embeddings(&self, name: &str) -> Result<Arc<Embeddings>, Error> {
        let (endpoint, model) = self.endpoint_of(name)?;
        Ok(Arc::new(Embeddings {
            endpoint,
            model,
            name: name.to_owned(),
        }))
    }
}

impl Embeddings {
    /// The name that it was asked for by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The vector of a text.
    ///
    /// # Errors
    /// Why not, in one sentence, without the key.
    pub async fn embed(&self, text: &str) -> Result<Vec<f32>, String> {
        let asked = self.ask(text).await;
        asked.map_err(|fault| match self.endpoint.failed(&fault, &self.model) {
            ProviderEvent::Failed { message, .. } => message,
            _ => fault.message,
        })
    }

    async fn ask(&self, text: &str) -> Result<Vec<f32>, Fault> {
        let mut watch = Watch::start(self.endpoint.timeouts);
        let body = json!({"model": self.model, "input": text, "encoding_format": "float"});
        let body = body.to_string().into_bytes();
        let url = self.endpoint.url(&["embeddings"]);
        let mut response = http::ask(&self.endpoint, url, &[], body, &mut watch).await?;
        let mut answer = Vec::new();
        loop {
            let chunk = watch.wait(response.chunk()).await;
            let chunk = chunk.map_err(|limit| self.endpoint.late(limit))?;
            let Some(bytes) = chunk.map_err(|error| http::cut(&error))? else {
                break;
            };
            if answer.len() + bytes.len() > MAX_BYTES {
                return Err(Fault::too_large(locale::provider::answer_too_large(
                    MAX_BYTES as u64,
                )));
            }
            answer.extend_from_slice(&bytes);
        }
        let read: Answer = serde_json::from_slice(&answer)
            .map_err(|error| Fault::bad(locale::provider::no_embedding(error)))?;
        let mut data = read.data.into_iter();
        match (data.next(), data.next()) {
            (Some(one), None) => Ok(one.embedding),
            _ => Err(Fault::bad(locale::provider::no_embedding("data"))),
        }
    }
}
