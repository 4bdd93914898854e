//! The model of a workload, applied to a running server.

use super::{Found, Server};
use crate::dataset::MODEL;
use std::path::Path;
use std::process::Command;

impl Found {
    /// Applies the model with the command of the server's own binary, so that an earlier build is called in
    /// its own way; the error says why the server has no model.
    pub(crate) fn apply_model(&self, server: &Server, directory: &Path) -> Result<(), String> {
        if !self.target.is_trestle() {
            return Err("it has no models".to_owned());
        }
        let file = directory.join("model.toml");
        std::fs::write(&file, MODEL).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let mut command = Command::new(&self.program);
        command.args(["model", "apply", "--endpoint"]);
        command.arg(format!("http://{}", server.address)).arg(&file);
        let output = command
            .output()
            .map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }
}
