//! Faults made on purpose: those of a port in `lab/doubles`, each other one at the place where the
//! real guarantee is made.

/// Does what is wrong when the fault of this name is planted: `planted!("result-not-kept", {
/// self.forget(); })`.
#[cfg(feature = "plant")]
#[macro_export]
macro_rules! planted {
    ($name:literal, $wrong:block) => {
        if $crate::plant::is_planted($name) {
            $wrong
        }
    };
}

/// Does what is wrong when the fault of this name is planted; no code in this build.
#[cfg(not(feature = "plant"))]
#[macro_export]
macro_rules! planted {
    ($name:literal, $wrong:block) => {};
}

#[cfg(feature = "plant")]
mod chosen {
    use std::sync::OnceLock;

    static CHOSEN: OnceLock<String> = OnceLock::new();

    /// Plants a fault, once for the process.
    ///
    /// # Errors
    /// Its name, when one is planted already.
    pub fn plant(name: String) -> Result<(), String> {
        CHOSEN.set(name)
    }

    /// Called by [`planted!`](crate::planted!).
    pub fn is_planted(name: &str) -> bool {
        CHOSEN.get().is_some_and(|chosen| chosen == name)
    }
}

#[cfg(feature = "plant")]
mod table;

#[cfg(feature = "plant")]
pub use chosen::{is_planted, plant};
#[cfg(feature = "plant")]
pub use table::{Detection, FAULTS, Fault};
