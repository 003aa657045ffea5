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
