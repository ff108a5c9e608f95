//! What makes vectors of texts: the model in the binary, or a server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_embed::{MAX_TOKENS, Means, Model, Side, Vector};

/// The tokens of a query that count.
const QUERY_TOKENS: usize = 64;
/// What the model in the binary takes when it is built up, in bytes, about.
const BUILT: usize = 4 << 20;
/// Queries that are embedded at once.
const MAX_QUERIES: usize = 2;

/// Makes vectors of texts. All of it may block.
pub trait Embedder: Send + Sync {
    /// The name of its model, which is kept with each vector.
    fn model(&self) -> &str;

    /// The vector of a text.
    ///
    /// # Errors
    /// Why not, in one sentence.
    fn embed(&self, side: Side, text: &str) -> Result<Vector, String>;

    /// The vectors of texts as they are compared with those of queries.
    fn centred(&self, texts: &[(&str, &Vector)]) -> Vec<Vector> {
        texts.iter().map(|(_, vector)| (*vector).clone()).collect()
    }

    /// How much memory it takes now.
    fn bytes(&self) -> usize {
        0
    }

    /// Nothing was asked for ten minutes: what is held only for speed can go.
    fn rest(&self) {}
}

/// The model in the binary, which is built up when it is first used.
pub struct Embedded {
    means: Means,
    model: Mutex<Option<Arc<Model<'static>>>>,
    queries: AtomicUsize,
}

impl Embedded {
    /// It, if this binary has one. It is not built up here, which would take a third of a start.
    pub fn new() -> Option<Self> {
        if !samovar_embed::IS_EMBEDDED {
            return None;
        }
        match samovar_embed::means() {
            Ok(means) => Some(Self {
                means,
                model: Mutex::default(),
                queries: AtomicUsize::new(0),
            }),
            Err(fault) => {
                tracing::error!(%fault, "the embedding model in this binary cannot be used");
                None
            }
        }
    }

    fn model(&self) -> MutexGuard<'_, Option<Arc<Model<'static>>>> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn built(&self) -> Result<Arc<Model<'static>>, String> {
        let mut model = self.model();
        if let Some(built) = &*model {
            return Ok(built.clone());
        }
        let read = samovar_embed::embedded().map_err(|fault| fault.to_string())?;
        let built = Arc::new(read.ok_or("there is no model in this binary")?);
        *model = Some(built.clone());
        Ok(built)
    }
}

impl Embedder for Embedded {
    fn model(&self) -> &str {
        samovar_embed::NAME
    }

    fn embed(&self, side: Side, text: &str) -> Result<Vector, String> {
        let none = || "the text has no vector".to_owned();
        if side == Side::Passage {
            return self.built()?.embed(side, text, MAX_TOKENS).ok_or_else(none);
        }
        let others = self.queries.fetch_add(1, Ordering::AcqRel);
        let embedded = if others < MAX_QUERIES {
            let built = self.built();
            built.and_then(|model| model.embed(side, text, QUERY_TOKENS).ok_or_else(none))
        } else {
            Err("other queries are asked at this moment".to_owned())
        };
        self.queries.fetch_sub(1, Ordering::AcqRel);
        embedded
    }

    fn centred(&self, texts: &[(&str, &Vector)]) -> Vec<Vector> {
        self.means.centred(texts)
    }

    fn bytes(&self) -> usize {
        self.model().as_ref().map_or(0, |_| BUILT)
    }

    fn rest(&self) {
        *self.model() = None;
    }
}

#[cfg(test)]
#[cfg(feature = "embedded-model")]
mod tests {
    use super::*;

    /// Nanoseconds of processor time that this thread takes for fifty of something: the system counts
    /// in ticks of some milliseconds.
    fn cpu_of<T>(mut run: impl FnMut() -> T) -> u64 {
        let now = || -> u64 {
            let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
            told.split(' ').next().unwrap().parse().unwrap()
        };
        let before = now();
        (0..50).for_each(|_| drop(std::hint::black_box(run())));
        now() - before
    }

    // proves PF-2
    #[test]
    fn the_model_is_not_built_up_at_a_start() {
        let (built, new) = (cpu_of(samovar_embed::embedded), cpu_of(Embedded::new));
        assert!(3 * new < built, "{new} ns, and {built} ns to build it up");
        assert_eq!(Embedded::new().unwrap().bytes(), 0);
    }
}
