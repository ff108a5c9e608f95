//! The return type of the ports.

/// A boxed future: the return type of the ports.
pub type Future<'a, T> = std::pin::Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;
