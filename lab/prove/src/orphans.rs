//! Processes that outlived their server.

use std::path::Path;

/// What still runs with this folder as its home, by number and command line. Every process that a
/// server starts gets its environment or works in its folders.
pub(crate) fn of(root: &Path) -> Vec<String> {
    let Ok(processes) = Path::new("/proc").read_dir() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in processes.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_process = name.bytes().all(|byte| byte.is_ascii_digit());
        if is_process && belongs(&entry.path(), root) {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            found.push(format!("{name}: {}", line.trim()));
        }
    }
    found
}

/// A process that has ended meanwhile, or that is somebody else's, is none of ours.
fn belongs(process: &Path, root: &Path) -> bool {
    let environment = std::fs::read(process.join("environ")).unwrap_or_default();
    let root = root.as_os_str().as_encoded_bytes();
    let mut variables = environment.split(|byte| *byte == 0);
    let has_home = variables.any(|variable| {
        let value = variable.splitn(2, |byte| *byte == b'=').nth(1);
        value.is_some_and(|value| value.starts_with(root))
    });
    let works_there = std::fs::read_link(process.join("cwd"));
    has_home
        || works_there.is_ok_and(|place| place.as_os_str().as_encoded_bytes().starts_with(root))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_found_by_its_environment_or_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert!(of(folder.path()).is_empty());
        let wait = || {
            let mut command = Command::new("cat");
            command.stdin(Stdio::piped()).stdout(Stdio::null());
            command
        };
        let mut by_home = wait().env("HOME", folder.path()).spawn().unwrap();
        let mut by_place = wait().current_dir(folder.path()).spawn().unwrap();
        // For an instant a process that was just started shows neither.
        let mut found = of(folder.path());
        for _ in 0..1000 {
            if found.len() == 2 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
            found = of(folder.path());
        }
        for child in [&mut by_home, &mut by_place] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(of(folder.path()).is_empty());
    }
}
