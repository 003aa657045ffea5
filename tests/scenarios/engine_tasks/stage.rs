//! A catalogue of data with a clone of ours, and the tools of its policy.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use steward_core::git::work::Person;
use steward_core::git::{BareClone, Git};
use steward_core::home::Home;
use steward_core::loops::engine::validating::Tools;
use steward_core::sandbox::Boundary;
use steward_kit::binary;
use steward_kit::git::Repo;
use steward_kit::home::TestHome;
use steward_rules::engine::policy::{Policy, Preset, ValidatePolicy};
use steward_rules::ids::{RepoName, Sha};
use tokio_util::sync::CancellationToken;

/// The name of the catalogue.
pub const NAME: &str = "octo/catalogue";

/// A formatter that takes away space at line ends in the data.
pub const FORMAT: &str = "#!/bin/sh\nexec find data -type f -exec sed -i 's/[[:space:]]*$//' {} +\n";
/// A validator that refuses the word BROKEN in the data.
pub const CHECK: &str = "#!/bin/sh\nif grep -rn BROKEN data; then exit 3; fi\n";

/// One installation, one catalogue.
pub struct Stage {
    pub home: TestHome,
    pub repo: Repo,
}

/// A commit id of the fixture.
pub fn sha(id: &str) -> Sha {
    Sha::new(id).expect("a commit id")
}

/// A JSON object with one entry on each line, as the catalogue writes them.
pub fn works(entries: &[(&str, &str)]) -> Vec<u8> {
    let lines: Vec<String> =
        entries.iter().map(|(key, title)| format!("  \"{key}\": {{\"title\": \"{title}\"}}")).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n")).into_bytes()
}

impl Stage {
    /// A catalogue whose `main` holds works, redirects and a script.
    pub fn new() -> Self {
        let home = TestHome::new();
        let repo = Repo::init(home.outside("origin"));
        repo.commit(
            "the catalogue",
            &[
                (
                    "data/works/a.json",
                    Some(&works(&[("alpha", "Alpha"), ("beta", "Beta"), ("gamma", "Gamma")])),
                ),
                ("data/redirects.json", Some(b"{\n  \"old\": \"new\"\n}\n")),
                ("tools/build.sh", Some(b"echo one\necho two\n")),
                ("README.md", Some(b"a catalogue\n")),
            ],
        );
        Self { home, repo }
    }

    pub fn steward_home(&self) -> Home {
        let home = Home::under(&self.home.path());
        home.create().expect("a home");
        home
    }

    /// Our clone, with every branch of the catalogue in it.
    pub fn clone(&self) -> BareClone {
        let home = self.steward_home();
        let git = Git::find(&home.clones()).expect("git");
        let name = RepoName::parse(NAME).expect("a name");
        let clone = BareClone::open_alone(&git, &home.clones(), "github.com", &name).expect("a clone");
        let from = self.repo.path().to_string_lossy().into_owned();
        Repo::at(clone.dir()).git(&["fetch", "--quiet", &from, "+refs/heads/*:refs/steward/commit/*"]);
        clone
    }

    /// Writes an executable file outside of `STEWARD_HOME`.
    pub fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.outside(name);
        std::fs::write(&path, text).expect("a program");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("an executable program");
        path
    }

    /// The catalogue's policy with the formatter and the validator of these texts, pinned by hash.
    pub fn policy(&self, format: &str, check: &str) -> Policy {
        let (format, check) = (self.program("metafmt", format), self.program("metacheck", check));
        Policy {
            validate: Some(ValidatePolicy {
                pin: Some(format!("{} {}", hash(&format), hash(&check))),
                format: vec![format.to_string_lossy().into_owned()],
                check: vec![check.to_string_lossy().into_owned()],
                timeout_secs: 60,
                heavy: true,
            }),
            base: Some("main".to_owned()),
            ..Preset::DataCatalogue.policy()
        }
    }

    pub async fn tools(&self, policy: &Policy) -> Tools {
        let boundary = Boundary::choose(&binary::steward());
        Tools::find(policy.validate.as_ref(), &self.steward_home(), &boundary, &CancellationToken::new())
            .await
            .expect("the tools are as pinned")
    }
}

pub fn hash(path: &Path) -> String {
    hex::encode(Sha256::digest(std::fs::read(path).expect("a program")))
}

/// Who commits.
pub fn steward() -> Person {
    Person { name: "Octo Steward".to_owned(), email: "steward@example.org".to_owned() }
}
