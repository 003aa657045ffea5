//! The project's own commands: run, test, bench, generate, setup.

mod bench;
mod bench_engine;
mod bench_observer;
mod bench_questions;
mod bench_secrets;
mod generate;
mod icons;
mod packages;
mod run;
mod setup;
mod shell;
mod stages;
mod tally;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask run        set up, build the app, start it
cargo xtask test       set up, then run every check and test there is
cargo xtask bench      measure and write the benchmark file (no part of CI)
cargo xtask generate   write the TypeScript types and schemas again; `generate icons` the icons,
                       `generate screens` the README's pictures from the last test run
cargo xtask setup      install what the others need, and nothing else";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let outcome = match command {
        "run" => run::run(rest),
        "test" => test::test(rest),
        "bench" => bench::bench(rest),
        "generate" => generate::generate(rest),
        "setup" => setup::setup().map(|_| ()),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
