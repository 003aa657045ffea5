//! The `steward` command line.

mod contain;
mod mcp;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["mcp", "review"] => mcp::review().await,
        ["contain", "probe"] => contain::probe(),
        #[cfg(target_os = "linux")]
        ["contain", "exec", "--orders", fd] => Err(contain::exec(fd.parse()?)),
        #[cfg(target_os = "linux")]
        ["contain", "run", "--orders", fd, "--parent", pid] => {
            std::process::exit(contain::run(fd.parse()?, pid.parse()?).await?)
        }
        _ => anyhow::bail!("unknown command"),
    }
}
