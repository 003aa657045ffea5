//! `cargo xtask run`: set up, build the app with its pages inside, start it.

use anyhow::Result;

use crate::setup;
use crate::shell::{cargo, must, target};

pub fn run(words: &[String]) -> Result<()> {
    setup::for_app()?;
    println!("app: cargo build");
    // The workspace as a whole, as the tests build it: a part of it alone would be compiled anew.
    must(cargo().args(["build", "--workspace"]))?;
    println!("app: starting");
    let app = target().join("debug").join("steward-desktop").with_extension(std::env::consts::EXE_EXTENSION);
    must(std::process::Command::new(app).args(words))
}
