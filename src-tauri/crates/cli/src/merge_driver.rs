//! `steward merge-driver`: git's driver command over the rules of the config file, or over flags.
//!
//! Exit codes are what git asks for: 0 merged, 1 cannot, 2 wrong use, 3 not a keyed file, 5 a real conflict.

use std::path::PathBuf;
use std::process::ExitCode;

use steward_core::config::ConfigWatch;
use steward_core::git::merge_driver::merge_files;
use steward_core::git::{Git, Remote, Workspace};
use steward_core::home::Home;
use steward_rules::diff::RepoPath;
use steward_rules::engine::drivers;
use steward_rules::engine::policy::{DriverKind, DriverRule};
use steward_rules::ids::RepoName;

/// What git passes to a merge driver.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The version both sides come from: %O.
    base: PathBuf,
    /// Our version, which becomes the result: %A.
    ours: PathBuf,
    /// Their version: %B.
    theirs: PathBuf,
    /// The file's path in the repository: %P.
    path: PathBuf,
    /// What the file is, in place of the rule in config.yaml: `json-map`, `json-map:PATH/TO/ENTRIES`,
    /// `json-array:KEY`, `lines-set` or `text`.
    #[arg(long, value_parser = kind)]
    kind: Option<DriverKind>,
    /// Keys whose lists are united.
    #[arg(long, value_delimiter = ',', requires = "kind")]
    union_keys: Vec<String>,
    /// The repository whose rules hold, as in config.yaml; that of this checkout when absent.
    #[arg(long, value_name = "OWNER/REPO", conflicts_with = "kind")]
    repo: Option<String>,
}

fn kind(text: &str) -> Result<DriverKind, String> {
    match text.split_once(':').unwrap_or((text, "")) {
        ("json-map", path) => Ok(DriverKind::JsonMap(path.to_owned())),
        ("json-array", key) if !key.is_empty() => Ok(DriverKind::JsonArray(key.to_owned())),
        ("lines-set", "") => Ok(DriverKind::LinesSet),
        ("text", "") => Ok(DriverKind::Text),
        _ => Err("json-map, json-map:PATH, json-array:KEY, lines-set or text".to_owned()),
    }
}

/// Merges, and says on standard error why it does not.
pub fn run(args: &Args) -> ExitCode {
    match merge(args) {
        Ok(code) => code,
        Err(why) => {
            eprintln!("steward merge-driver: {why}");
            ExitCode::from(1)
        }
    }
}

fn merge(args: &Args) -> Result<ExitCode, String> {
    let home = Home::from_env().map_err(|error| error.to_string())?;
    home.create().map_err(|error| error.to_string())?;
    let git = Git::find(&home.clones()).map_err(|error| error.to_string())?;
    let rule = match &args.kind {
        Some(kind) => {
            Some(DriverRule { glob: String::new(), kind: kind.clone(), union_keys: args.union_keys.clone() })
        }
        None => configured(args, &home, &git)?,
    };
    let (kind, union_keys) = match &rule {
        Some(rule) => (&rule.kind, rule.union_keys.as_slice()),
        None => (&DriverKind::Text, [].as_slice()),
    };
    match merge_files(&git, kind, union_keys, [&args.base, &args.ours, &args.theirs]) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            let error_code = error.exit_code();
            let path = steward_rules::untrusted::Untrusted::new(args.path.to_string_lossy()).one_line(300);
            let error = steward_rules::untrusted::Untrusted::new(error.to_string()).one_line(500);
            eprintln!("steward merge-driver: {path}: {error}");
            Ok(ExitCode::from(error_code))
        }
    }
}

/// The rule of config.yaml for this file; `None` is plain text.
fn configured(args: &Args, home: &Home, git: &Git) -> Result<Option<DriverRule>, String> {
    let config = ConfigWatch::open(home, std::env::home_dir()).current().config.clone();
    let name = match &args.repo {
        Some(text) => RepoName::parse(text).ok_or_else(|| format!("{text} is not OWNER/REPO"))?,
        None => {
            let hosts: Vec<String> = config.accounts.iter().map(|account| account.host.clone()).collect();
            let here = std::env::current_dir().map_err(|error| error.to_string())?;
            let checkout = Workspace::open(git, &here, &hosts).map_err(|error| error.to_string())?;
            match checkout.remote() {
                Remote::GitHub { name, .. } => name.clone(),
                Remote::None | Remote::Path(_) | Remote::Other(_) => {
                    return Err("this checkout is of no watched repository; give --repo or --kind".to_owned());
                }
            }
        }
    };
    let repository = config.repository(&name).ok_or_else(|| format!("{name} is not in config.yaml"))?;
    let path = RepoPath::new(args.path.as_os_str().as_encoded_bytes());
    Ok(drivers::rule_for(&repository.engine.merge_drivers, &path).cloned())
}
