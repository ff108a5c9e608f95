//! `cargo xtask dist`: what is installed without a compiler. A tarball and a Debian package with one
//! binary that needs no library of the machine, the recipe of an image, and the checksums of all.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packs this binary instead of building one.
const BINARY: &str = "--binary";

/// The folder for what is made.
const OUT: &str = "--out";

/// The kind of machine to make it for.
const TARGET: &str = "--target";

/// The profile of what is packed.
const PROFILE: &str = "dist";

/// Bytes of a program for `x86_64` with the model for recall, at most (spec 10).
const MAX_BYTES: u64 = 62_000_000;

/// Where the emulator of another kind of machine is in the root in which the tarball is tried.
const EMULATOR: &str = "/emulator";

/// Where files are in the tarball and in the package. The sources are paths from the root.
const FILES: [(&str, &str, &str); 5] = [
    ("README.md", "README.md", "usr/share/doc/samovar/README.md"),
    (
        "CHANGELOG.md",
        "CHANGELOG.md",
        "usr/share/doc/samovar/CHANGELOG.md",
    ),
    (
        "docs/upgrade.md",
        "upgrade.md",
        "usr/share/doc/samovar/upgrade.md",
    ),
    (
        "packaging/samovar.service",
        "lib/systemd/system/samovar.service",
        "usr/lib/systemd/system/samovar.service",
    ),
    (
        "packaging/sysusers.conf",
        "lib/sysusers.d/samovar.conf",
        "usr/lib/sysusers.d/samovar.conf",
    ),
];

/// Runs a command in a root that has the kernel's own folders; nothing else sees that.
const ENTER: &str = r#"mount --rbind /dev "$0/dev"; mount -t proc proc "$0/proc"
exec unshare --root "$0" --wd /work "$@""#;

/// The scripts that complete its commands: the shell, and where it looks for them.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/samovar"),
    ("zsh", "share/zsh/vendor-completions/_samovar"),
    ("fish", "share/fish/vendor_completions.d/samovar.fish"),
];

const LICENSES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// Makes all of it, and prints where it is.
///
/// # Errors
/// Why something could not be made.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let (mut binary, mut out) = (None, root.join("target/dist"));
    let host = said(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let mut target = host.clone();
    for pair in words.chunks(2) {
        match pair {
            [flag, path] if flag == BINARY => binary = Some(PathBuf::from(path)),
            [flag, path] if flag == OUT => out = PathBuf::from(path),
            [flag, name] if flag == TARGET => target.clone_from(name),
            _ => {
                return Err(format!(
                    "dist takes {BINARY} FILE, {OUT} DIR and {TARGET} TARGET"
                ));
            }
        }
    }
    let architecture = architecture(&target)?;
    let emulator = (machine(&target) != machine(&host)).then(|| emulator(&target));
    let emulator = emulator.transpose()?;
    let binary = match binary {
        Some(binary) => fs::canonicalize(&binary).map_err(|why| failed(&binary, &why))?,
        None => build(root, &target, emulator.is_some())?,
    };
    check_size(&binary, &target)?;
    let made = Release {
        root,
        out: &out,
        binary: &binary,
        emulator: emulator.as_deref(),
        name: String::new(),
        version: String::new(),
        architecture,
    };
    let said_version = said(made.program().arg("--version"))?;
    let version = said_version.split(' ').nth(1).ok_or("it has no version")?;
    let made = Release {
        name: format!("samovar-{version}-{target}"),
        version: version.to_owned(),
        ..made
    };
    fs::create_dir_all(&out).map_err(|why| failed(&out, &why))?;
    let recipe = "Containerfile".to_owned();
    copy(
        &root.join("packaging").join(&recipe),
        &out.join(&recipe),
        0o644,
    )?;
    let tarball = made.tarball()?;
    made.try_out(&tarball)?;
    made.package()?;
    let mut files = releases(&out, &made.version)?;
    files.push(recipe);
    let sums = said(Command::new("sha256sum").args(&files).current_dir(&out))?;
    write(
        &out.join("SHA256SUMS"),
        format!("{sums}\n").as_bytes(),
        0o644,
    )?;
    eprintln!("dist: in {}:\n{sums}", out.display());
    Ok(())
}

/// One for another kind of machine may be larger.
fn check_size(binary: &Path, target: &str) -> Result<(), String> {
    let about = fs::metadata(binary).map_err(|why| failed(binary, &why))?;
    let bytes = about.len();
    if machine(target) == "x86_64" && bytes > MAX_BYTES {
        return Err(format!(
            "the program has {bytes} bytes; what is packed may have {MAX_BYTES}"
        ));
    }
    Ok(())
}

/// The tarballs and packages of a version in a folder, of all kinds of machines.
fn releases(out: &Path, version: &str) -> Result<Vec<String>, String> {
    let beginnings = [format!("samovar-{version}-"), format!("samovar_{version}_")];
    let names = fs::read_dir(out).map_err(|why| failed(out, &why))?;
    let mut names: Vec<String> = names
        .filter_map(|file| file.ok()?.file_name().into_string().ok())
        .filter(|name| beginnings.iter().any(|it| name.starts_with(it)))
        .filter(|name| {
            let kind = Path::new(name).extension();
            kind.is_some_and(|kind| kind == "gz" || kind == "deb")
        })
        .collect();
    names.sort();
    Ok(names)
}

/// The program of Debian's package `qemu-user-static` that runs programs for a target.
fn emulator(target: &str) -> Result<PathBuf, String> {
    let name = format!("qemu-{}-static", machine(target));
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(&name));
    places.find(|place| place.is_file()).ok_or_else(|| {
        format!("{name} is missing, which runs the program for {target}: Debian has it in qemu-user-static")
    })
}

/// Builds the binary, with what it needs of libraries inside.
fn build(root: &Path, target: &str, is_foreign: bool) -> Result<PathBuf, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // A target that is named keeps the flags from what runs during the build.
    cargo
        .args([
            "build",
            "--profile",
            PROFILE,
            "--locked",
            "--package",
            "samovar",
            "--target",
            target,
        ])
        .current_dir(root);
    let linker = format!(
        "CARGO_TARGET_{}_LINKER",
        target.to_uppercase().replace('-', "_")
    );
    if is_foreign && std::env::var_os(&linker).is_none() {
        cargo.env(linker, format!("{}-linux-gnu-gcc", machine(target)));
    }
    // Packed, the addresses that are set at the start take a hundredth of the place.
    let mut flags = "-C target-feature=+crt-static -C link-arg=-Wl,-z,pack-relative-relocs";
    if machine(target) == "aarch64" {
        // Its kernels may have pages of 64 KiB. In a program at a random place its C library needs a table
        // of addresses of at most 32 KiB; this one's is larger.
        cargo.env("JEMALLOC_SYS_WITH_LG_PAGE", "16");
        flags = "-C target-feature=+crt-static -C relocation-model=static";
    }
    if let Ok(commit) = said(
        Command::new("git")
            .args(["rev-parse", "--short=12", "HEAD"])
            .current_dir(root),
    ) {
        let version = env!("CARGO_PKG_VERSION");
        cargo.env("SAMOVAR_VERSION", format!("{version} ({commit})"));
    }
    cargo.env("RUSTFLAGS", flags);
    let ended = cargo.status().map_err(|why| why.to_string())?;
    if !ended.success() {
        return Err("the binary could not be built".to_owned());
    }
    let built =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(built.join(target).join(PROFILE).join("samovar"))
}

struct Release<'a> {
    root: &'a Path,
    out: &'a Path,
    binary: &'a Path,
    /// Runs it where it is for another kind of machine.
    emulator: Option<&'a Path>,
    name: String,
    version: String,
    architecture: &'static str,
}

impl Release<'_> {
    /// The program, to be run here.
    fn program(&self) -> Command {
        let Some(emulator) = self.emulator else {
            return Command::new(self.binary);
        };
        let mut program = Command::new(emulator);
        program.arg(self.binary);
        program
    }

    /// The tarball, with everything in one folder.
    fn tarball(&self) -> Result<String, String> {
        let folder = self.out.join(&self.name);
        clear(&folder)?;
        copy(self.binary, &folder.join("bin/samovar"), 0o755)?;
        for (source, place, _) in FILES {
            copy(&self.root.join(source), &folder.join(place), 0o644)?;
        }
        for license in LICENSES {
            copy(&self.root.join(license), &folder.join(license), 0o644)?;
        }
        self.complete(&folder)?;
        let file = format!("{}.tar.gz", self.name);
        self.tar(self.out, &file, &[&self.name])?;
        clear(&folder)?;
        Ok(file)
    }

    /// Runs README's first command in a root that has the unpacked tarball, an empty folder to work in,
    /// the kernel's `/dev` and `/proc`, and nothing else. A program for another kind of machine says its
    /// version there: QEMU 7.2 lacks `openat2`, without which it does not work.
    fn try_out(&self, tarball: &str) -> Result<(), String> {
        let words = match self.emulator {
            Some(_) => vec!["--version".to_owned()],
            None => vec!["run".to_owned(), first_command(self.root)?],
        };
        let empty = self.out.join("root");
        clear(&empty)?;
        for folder in ["dev", "home", "proc", "tmp", "work"] {
            let folder = empty.join(folder);
            fs::create_dir_all(&folder).map_err(|why| failed(&folder, &why))?;
        }
        let packed = Path::new("..").join(tarball);
        let mut unpack = Command::new("tar");
        said(
            unpack
                .args(["--extract", "--no-same-owner", "--file"])
                .arg(packed)
                .current_dir(&empty),
        )?;
        if let Some(emulator) = self.emulator {
            copy(emulator, &empty.join(&EMULATOR[1..]), 0o755)?;
        }
        let mut run = Command::new("unshare");
        run.args(["--user", "--map-root-user", "--mount", "--pid", "--fork"]);
        run.args(["sh", "-euc", ENTER]).arg(&empty);
        run.args(self.emulator.map(|_| EMULATOR));
        run.arg(format!("/{}/bin/samovar", self.name));
        run.args(words).env_clear().env("HOME", "/home");
        if let Some(path) = std::env::var_os("PATH") {
            run.env("PATH", path);
        }
        let told = said(&mut run).map_err(|why| format!("in an empty root: {why}"))?;
        eprintln!("dist: in an empty root it says:\n{told}");
        clear(&empty)
    }

    /// The Debian package: an archive of three members.
    fn package(&self) -> Result<String, String> {
        let (data, control) = (self.out.join("data"), self.out.join("control"));
        clear(&data)?;
        clear(&control)?;
        copy(self.binary, &data.join("usr/bin/samovar"), 0o755)?;
        for (source, _, place) in FILES {
            copy(&self.root.join(source), &data.join(place), 0o644)?;
        }
        let licenses = LICENSES.map(|name| fs::read_to_string(self.root.join(name)));
        let licenses: Result<Vec<_>, _> = licenses.into_iter().collect();
        let licenses = licenses.map_err(|why| failed(self.root, &why))?;
        let copyright = data.join("usr/share/doc/samovar/copyright");
        write(&copyright, licenses.join("\n\n").as_bytes(), 0o644)?;
        self.complete(&data.join("usr"))?;
        write(&control.join("control"), self.control()?.as_bytes(), 0o644)?;
        copy(
            &self.root.join("packaging/postinst"),
            &control.join("postinst"),
            0o755,
        )?;
        let mut archive = b"!<arch>\n".to_vec();
        member(&mut archive, "debian-binary", b"2.0\n");
        for (name, folder) in [("control.tar.gz", &control), ("data.tar.gz", &data)] {
            self.tar(folder, &format!("../{name}"), &["."])?;
            let packed = self.out.join(name);
            let bytes = fs::read(&packed).map_err(|why| failed(&packed, &why))?;
            member(&mut archive, name, &bytes);
            fs::remove_file(&packed).map_err(|why| failed(&packed, &why))?;
            clear(folder)?;
        }
        let file = format!("samovar_{}_{}.deb", self.version, self.architecture);
        write(&self.out.join(&file), &archive, 0o644)?;
        Ok(file)
    }

    fn control(&self) -> Result<String, String> {
        let bytes = fs::metadata(self.binary)
            .map_err(|why| failed(self.binary, &why))?
            .len();
        Ok(format!(
            "Package: samovar\nVersion: {}\nArchitecture: {}\nInstalled-Size: {}\n\
             Maintainer: The Samovar developers <noreply@samovar.example>\n\
             Recommends: ca-certificates\nSection: net\nPriority: optional\n\
             Homepage: https://github.com/samovar-dev/samovar\n\
             Description: agent server that saves every step\n \
             Runs agents (model, tools, model again) for many clients, saves every step before\n \
             it shows it, and streams the result.\n",
            self.version,
            self.architecture,
            bytes.div_ceil(1024)
        ))
    }

    /// Writes the completions below a folder.
    fn complete(&self, folder: &Path) -> Result<(), String> {
        for (shell, place) in COMPLETIONS {
            let script = said(self.program().args(["completions", shell]))?;
            write(&folder.join(place), format!("{script}\n").as_bytes(), 0o644)?;
        }
        Ok(())
    }

    /// Packs files of a folder, the same bytes for the same files.
    fn tar(&self, folder: &Path, file: &str, files: &[&str]) -> Result<(), String> {
        let time = said(
            Command::new("git")
                .args(["log", "-1", "--format=%ct"])
                .current_dir(self.root),
        );
        let mut tar = Command::new("tar");
        tar.args([
            "--create",
            "--sort=name",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
        ])
        .arg(format!(
            "--mtime=@{}",
            time.unwrap_or_else(|_| "0".to_owned())
        ))
        .args(["--use-compress-program=gzip -n", "--file", file])
        .args(files)
        .current_dir(folder);
        said(&mut tar).map(drop)
    }
}

/// What README's first command says to an agent.
fn first_command(root: &Path) -> Result<String, String> {
    let readme = root.join("README.md");
    let text = fs::read_to_string(&readme).map_err(|why| failed(&readme, &why))?;
    let mut lines = text.lines();
    let words = lines.find_map(|line| line.strip_prefix("samovar run \"")?.strip_suffix('"'));
    Ok(words.ok_or("README has no first command")?.to_owned())
}

/// A member of an archive as `ar` writes it: a head of 60 bytes, and an even number of bytes.
fn member(archive: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    let size = bytes.len();
    let head = format!(
        "{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n",
        0, 0, 0, 100_644
    );
    archive.extend_from_slice(head.as_bytes());
    archive.extend_from_slice(bytes);
    if size % 2 == 1 {
        archive.push(b'\n');
    }
}

/// The kind of machine of a target.
fn machine(target: &str) -> &str {
    target.split('-').next().unwrap_or(target)
}

/// Debian's word for the machine.
fn architecture(target: &str) -> Result<&'static str, String> {
    match machine(target) {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        _ => Err(format!("Samovar does not run on {target}")),
    }
}

/// What a program says, which has to succeed.
fn said(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|why| format!("{name}: {why}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{name}: {}", why.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned())
}

fn copy(from: &Path, to: &Path, mode: u32) -> Result<(), String> {
    write(to, &fs::read(from).map_err(|why| failed(from, &why))?, mode)
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, bytes))
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(mode)))
        .map_err(|why| failed(path, &why))
}

/// Removes a folder that an earlier run may have left.
fn clear(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(why) if why.kind() != std::io::ErrorKind::NotFound => Err(failed(folder, &why)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn failed(path: &Path, why: &std::io::Error) -> String {
    format!("{}: {why}", path.display())
}
