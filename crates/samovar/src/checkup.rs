//! What the server's owner can have looked at from elsewhere, as `samovar doctor` and `samovar models
//! test` do it here.

use std::fmt;
use std::sync::Arc;

use samovar_core::{Error, Future};
use samovar_server::providers::Registry;
use samovar_server::{Examiner, TestLines};
use samovar_wire::api::DoctorReport;

use crate::args::{DirArgs, Doctor, ModelArgs};
use crate::config::Setup;
use crate::{doctor, model_test};

/// Looks at the server that this process is.
pub(crate) struct Checkup {
    places: DirArgs,
    who: ModelArgs,
    registry: Arc<Registry>,
    temperature: f32,
}

impl Checkup {
    pub(crate) fn of(found: &Setup, places: &DirArgs, who: &ModelArgs) -> Self {
        Self {
            places: places.clone(),
            who: who.clone(),
            registry: found.registry.clone(),
            temperature: found.config.settings.limits.temperature,
        }
    }
}

impl fmt::Debug for Checkup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkup").finish_non_exhaustive()
    }
}

impl Examiner for Checkup {
    fn doctor(&self) -> Future<'static, Result<DoctorReport, Error>> {
        let args = Doctor::looking(self.places.clone(), self.who.clone());
        // It asks this very server, too, and ends with who waits for it.
        Box::pin(async move { Ok(doctor::report(&args).await) })
    }

    fn test_model(&self, name: String) -> TestLines {
        model_test::lines(self.registry.clone(), name, self.temperature)
    }
}
