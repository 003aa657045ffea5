//! bubblewrap: own namespaces, a minimal read-only system, and arguments nobody can list.

use std::ffi::{OsStr, OsString};
use std::io::{Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::SandboxError;
use super::child::{Prepared, Wall};
use super::spec::{BoundarySpec, Limits, Network};
use super::tool::Tool;

/// Places where a package puts it; the person's PATH is asked last.
const PLACES: [&str; 4] =
    ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// Of util-linux.
const PRLIMIT: &str = "/usr/bin/prlimit";

/// Parts of the system a program needs to start: code, its links, certificates.
const SYSTEM: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const SYSTEM_FILES: [&str; 7] = [
    "/nix/store",
    "/etc/ssl",
    "/etc/ca-certificates",
    "/etc/pki",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
];

/// Finds a bubblewrap that can really make its namespaces here.
pub(super) fn find() -> Result<PathBuf, String> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let bwrap = candidates(&on_path)
        .find(|path| path.is_file())
        .ok_or("bubblewrap is not installed (package bubblewrap)")?;
    let mut line = Line::default();
    line.system(Network::None, 1 << 20);
    let out = Command::new(&bwrap)
        .env_clear()
        .args(&line.0)
        .args(["--", "/usr/bin/true"])
        .output()
        .map_err(|error| format!("bubblewrap did not start: {error}"))?;
    if out.status.success() {
        return Ok(bwrap);
    }
    let said = String::from_utf8_lossy(&out.stderr);
    Err(format!("bubblewrap cannot make its namespaces: {}", said.lines().next().unwrap_or("no message")))
}

/// Where it may be. A relative folder of the PATH would name a file of whatever folder this is started in.
fn candidates(on_path: &OsStr) -> impl Iterator<Item = PathBuf> {
    let on_path = std::env::split_paths(on_path).filter(|folder| folder.is_absolute());
    PLACES.iter().map(PathBuf::from).chain(on_path.map(|folder| folder.join("bwrap")))
}

/// Builds the command. Its visible line names no path and no secret; the rest goes through a
/// descriptor.
pub(super) fn prepare(bwrap: &Path, spec: &BoundarySpec) -> Result<Prepared, SandboxError> {
    let mut line = Line::default();
    line.system(spec.network, spec.limits.scratch_bytes);
    let read_only = [&spec.program].into_iter().chain(&spec.read_only).chain(&spec.sockets);
    for bind in read_only {
        line.add([OsStr::new("--ro-bind"), bind.host.as_os_str(), bind.inside.as_os_str()]);
    }
    for bind in &spec.writable {
        line.add([OsStr::new("--bind"), bind.host.as_os_str(), bind.inside.as_os_str()]);
    }
    line.add(["--remount-ro", "/"]);
    line.add([OsStr::new("--chdir"), spec.cwd.as_os_str()]);
    for (name, value) in &spec.env {
        line.add([OsStr::new("--setenv"), OsStr::new(name), value]);
    }

    finish(bwrap, &line, &spec.limits, spec.program.inside.as_os_str(), &spec.args)
}

fn finish(
    bwrap: &Path,
    line: &Line,
    limits: &Limits,
    program: &OsStr,
    args: &[OsString],
) -> Result<Prepared, SandboxError> {
    let arguments = pass(&line.0).map_err(SandboxError::Arguments)?;
    let (read, write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)
        .map_err(|error| SandboxError::Arguments(error.into()))?;
    let mut command = Command::new(bwrap);
    command
        .env_clear()
        .args(["--args", &arguments.as_raw_fd().to_string()])
        .args(["--info-fd", &write.as_raw_fd().to_string()])
        .arg("--")
        .args(task_limit(limits))
        .arg(program)
        .args(args);
    Ok(Prepared { command, wall: Wall::Namespace, inherit: vec![arguments], about: Some((read, write)) })
}

/// Builds the command of one of the person's own tools: it reads this machine as it is, but for what is
/// closed, writes its folder and a temporary one, reaches no network, and ends with us.
pub(super) fn prepare_tool(bwrap: &Path, tool: &Tool) -> Result<Prepared, SandboxError> {
    let mut line = Line::default();
    line.add(["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-net"]);
    line.add(["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]);
    line.add(["--ro-bind", "/", "/", "--proc", "/proc"]);
    line.devices(tool.limits.scratch_bytes);
    line.add(["--size", &tool.limits.scratch_bytes.to_string(), "--tmpfs", "/tmp"]);
    for closed in tool.closed.iter().filter(|path| path.is_dir()) {
        line.add([OsStr::new("--tmpfs"), closed.as_os_str()]);
    }
    if tool.program.starts_with("/tmp") {
        line.add([OsStr::new("--ro-bind"), tool.program.as_os_str(), tool.program.as_os_str()]);
    }
    line.add([OsStr::new("--bind"), tool.folder.as_os_str(), tool.folder.as_os_str()]);
    line.add([OsStr::new("--chdir"), tool.folder.as_os_str()]);
    for (name, value) in tool.env() {
        line.add([OsStr::new("--setenv"), OsStr::new(name), &value]);
    }
    finish(bwrap, &line, &tool.limits, tool.program.as_os_str(), &tool.args)
}

/// What sets the limit of tasks, from inside: set before the namespace is made it would count whatever else the
/// person runs (Linux counts by namespace since 5.14). Nothing where that tool is not there.
fn task_limit(limits: &Limits) -> Vec<String> {
    if !Path::new(PRLIMIT).is_file() {
        return Vec::new();
    }
    vec![PRLIMIT.to_owned(), format!("--nproc={0}:{0}", limits.tasks)]
}

fn pass(args: &[OsString]) -> std::io::Result<OwnedFd> {
    let mut file = std::fs::File::from(memfd_create("arguments", MFdFlags::MFD_CLOEXEC)?);
    for arg in args {
        file.write_all(arg.as_bytes())?;
        file.write_all(b"\0")?;
    }
    file.rewind()?;
    Ok(file.into())
}

#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    fn add<S: AsRef<OsStr>>(&mut self, words: impl IntoIterator<Item = S>) {
        self.0.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
    }

    /// The devices that a program needs. What may be written beside them is the shared memory, and that has a size.
    fn devices(&mut self, shared_bytes: u64) {
        self.add(["--dev", "/dev", "--size", &shared_bytes.to_string(), "--tmpfs", "/dev/shm"]);
        self.add(["--remount-ro", "/dev"]);
    }

    /// Namespaces, and as much of the system as a program needs to start.
    fn system(&mut self, network: Network, scratch_bytes: u64) {
        self.add([
            "--unshare-user",
            "--unshare-ipc",
            "--unshare-pid",
            "--unshare-uts",
            "--unshare-cgroup-try",
        ]);
        match network {
            Network::None => self.add(["--unshare-net"]),
            Network::Host => {}
        }
        self.add([
            "--disable-userns",
            "--die-with-parent",
            "--new-session",
            "--cap-drop",
            "ALL",
            "--clearenv",
        ]);
        self.add(["--uid", "1000", "--gid", "1000", "--hostname", "seat"]);
        self.add(["--ro-bind", "/usr", "/usr"]);
        for path in SYSTEM {
            match std::fs::read_link(path) {
                Ok(target) => self.add([OsStr::new("--symlink"), target.as_os_str(), OsStr::new(path)]),
                Err(_) => self.add(["--ro-bind-try", path, path]),
            }
        }
        let network_files: &[&str] = match network {
            Network::None => &[],
            Network::Host => &super::NETWORK_FILES,
        };
        for path in SYSTEM_FILES.iter().chain(network_files) {
            self.add(["--ro-bind-try", path, path]);
        }
        self.add(["--proc", "/proc"]);
        self.devices(scratch_bytes);
        let size = scratch_bytes.to_string();
        for folder in ["/tmp", "/seat"] {
            self.add(["--size", &size, "--tmpfs", folder]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_folder_of_the_path_names_no_bubblewrap() {
        let found: Vec<PathBuf> =
            candidates(OsStr::new("bin:.::/opt/x/bin:../y")).skip(PLACES.len()).collect();
        assert_eq!(found, [PathBuf::from("/opt/x/bin/bwrap")]);
    }
}
