//! Named places at which a test lets this process die, as a power cut would.

/// Kills this process when `STEWARD_FAIL` names this step. Release builds have no such place.
#[cfg(any(debug_assertions, feature = "failpoints"))]
pub(crate) fn reach(step: &str) {
    if std::env::var_os("STEWARD_FAIL").is_some_and(|wanted| wanted == step) {
        tracing::warn!(step, "dying here, as STEWARD_FAIL demands");
        #[cfg(unix)]
        let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
        std::process::abort();
    }
}

#[cfg(not(any(debug_assertions, feature = "failpoints")))]
pub(crate) fn reach(_step: &str) {}
