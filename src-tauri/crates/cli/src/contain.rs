//! `steward contain …`, hidden: the processes that the boundary is made of.

/// Runs the confined program of `orders` and outlives everything below it.
#[cfg(target_os = "linux")]
pub async fn run(orders: i32, parent: u32) -> anyhow::Result<i32> {
    Ok(steward_core::sandbox::supervise(orders, parent).await?)
}

/// Closes the world to this process and becomes the program.
#[cfg(target_os = "linux")]
pub fn exec(orders: i32) -> anyhow::Error {
    steward_core::sandbox::confine_and_exec(orders).into()
}

/// Tries to get out, and answers on standard output.
pub fn probe() -> anyhow::Result<()> {
    Ok(steward_core::sandbox::answer_from_inside()?)
}

/// Runs one helper by its words.
pub fn run_words(words: &[&str]) -> anyhow::Result<std::process::ExitCode> {
    match words {
        ["probe"] => probe().map(|()| std::process::ExitCode::SUCCESS),
        #[cfg(target_os = "linux")]
        ["exec", "--orders", fd] => Err(exec(fd.parse()?)),
        #[cfg(target_os = "linux")]
        ["run", "--orders", fd, "--parent", pid] => {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
            let code = runtime.block_on(run(fd.parse()?, pid.parse()?))?;
            std::process::exit(code)
        }
        _ => anyhow::bail!("unknown helper"),
    }
}
