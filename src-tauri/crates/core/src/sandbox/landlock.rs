//! Landlock: where user namespaces are forbidden, the process closes the world to itself.

use std::ffi::OsString;
use std::io::{Seek, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope, path_beneath_rules,
};
use nix::sys::memfd::{MFdFlags, memfd_create};
use serde::{Deserialize, Serialize};

use super::SandboxError;
use super::child::{Prepared, Wall};
use super::spec::{BoundarySpec, Limits, Network};

const SYSTEM: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/nix/store",
    "/etc/ssl",
    "/etc/ca-certificates",
    "/etc/pki",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
];
const DEVICES_READ: [&str; 3] = ["/dev/urandom", "/dev/random", "/dev/zero"];
const DEVICES_WRITE: [&str; 1] = ["/dev/null"];

/// What the supervisor is told, through a descriptor.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Orders {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: Vec<(String, OsString)>,
    pub read_only: Vec<PathBuf>,
    pub writable: Vec<PathBuf>,
    pub cwd: PathBuf,
    pub network: Network,
    pub limits: Limits,
}

impl Orders {
    pub(super) fn read(fd: RawFd) -> std::io::Result<Self> {
        let file = std::fs::File::open(format!("/proc/self/fd/{fd}"))?;
        serde_json::from_reader(std::io::BufReader::new(file)).map_err(std::io::Error::other)
    }
}

/// True when this kernel enforces Landlock rules. The rule set is made and thrown away.
pub(super) fn available() -> Result<(), String> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(Ruleset::create)
        .map(|_| ())
        .map_err(|error| format!("this kernel has no Landlock: {error}"))
}

/// Builds the supervisor's command.
pub(super) fn prepare(steward: &Path, spec: &BoundarySpec) -> Result<Prepared, SandboxError> {
    for folder in ["home", "tmp"] {
        std::fs::create_dir_all(spec.scratch.join(folder)).map_err(SandboxError::Arguments)?;
    }
    let hosts = |binds: &[super::Bind]| binds.iter().map(|b| b.host.clone()).collect::<Vec<_>>();
    let mut read_only = hosts(&spec.read_only);
    read_only.push(spec.program.host.clone());
    read_only.extend(hosts(&spec.sockets));
    let mut writable = hosts(&spec.writable);
    writable.push(spec.scratch.clone());
    let orders = Orders {
        program: spec.program.host.clone(),
        args: spec.args.clone(),
        env: spec.env.clone(),
        read_only,
        writable,
        cwd: spec.cwd.clone(),
        network: spec.network,
        limits: spec.limits,
    };
    let write = || -> std::io::Result<std::os::fd::OwnedFd> {
        let mut file = std::fs::File::from(memfd_create("orders", MFdFlags::MFD_CLOEXEC)?);
        file.write_all(&serde_json::to_vec(&orders).map_err(std::io::Error::other)?)?;
        file.rewind()?;
        Ok(file.into())
    };
    let fd = write().map_err(SandboxError::Arguments)?;
    let mut command = Command::new(steward);
    command
        .env_clear()
        .current_dir("/")
        .args(["contain", "run", "--orders", &fd.as_raw_fd().to_string()])
        .args(["--parent", &std::process::id().to_string()]);
    Ok(Prepared { command, wall: Wall::Supervisor, inherit: vec![fd], about: None })
}

/// Closes the world to this process and becomes the program. Returns only when that failed.
pub fn confine_and_exec(fd: RawFd) -> std::io::Error {
    let work = || -> std::io::Result<std::io::Error> {
        let orders = Orders::read(fd)?;
        nix::unistd::close(fd)?;
        nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
        super::raw::apply(&orders.limits)?;
        std::env::set_current_dir(&orders.cwd)?;
        restrict(&orders).map_err(std::io::Error::other)?;
        let mut command = Command::new(&orders.program);
        command.args(&orders.args).env_clear().envs(orders.env);
        Ok(command.exec())
    };
    work().unwrap_or_else(|error| error)
}

fn restrict(orders: &Orders) -> Result<(), String> {
    let abi = ABI::V6;
    let said = |error: landlock::RulesetError| format!("landlock refused the rules: {error}");
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|rules| rules.scope(Scope::AbstractUnixSocket | Scope::Signal))
        .map_err(said)?;
    match orders.network {
        Network::None => {
            rules = rules.handle_access(AccessNet::ConnectTcp | AccessNet::BindTcp).map_err(said)?;
        }
        Network::Host => {}
    }
    let network_files: &[&str] = match orders.network {
        Network::None => &[],
        Network::Host => &super::NETWORK_FILES,
    };
    let there =
        |paths: &[&str]| paths.iter().map(PathBuf::from).filter(|path| path.exists()).collect::<Vec<_>>();
    let mut read = there(&SYSTEM);
    read.extend(there(network_files));
    read.extend(there(&DEVICES_READ));
    read.extend(orders.read_only.iter().cloned());
    let mut write = there(&DEVICES_WRITE);
    write.extend(orders.writable.iter().cloned());
    let status = rules
        .create()
        .and_then(|rules| rules.add_rules(path_beneath_rules(read, AccessFs::from_read(abi))))
        .and_then(|rules| rules.add_rules(path_beneath_rules(write, AccessFs::from_all(abi))))
        .and_then(|rules| rules.restrict_self())
        .map_err(said)?;
    match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err("landlock is not enforced on this kernel".to_owned()),
    }
}
