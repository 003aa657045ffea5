//! Processes that a test starts: each is ended with the test, whichever way that ends.

use std::ops::{Deref, DerefMut};
use std::process::{Child, Command};

/// A child that is killed and waited for when this value goes.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().expect("the program can be started"))
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Already gone is as good.
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_fails_leaves_no_process() {
        let (tell, told) = std::sync::mpsc::channel();
        let failed = std::thread::spawn(move || {
            let child = Running::start(Command::new("sleep").arg("86400"));
            tell.send(child.id()).expect("somebody listens");
            panic!("the test fails");
        });
        let id = told.recv().expect("it was started");
        assert!(failed.join().is_err());
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists(), "{id} is left");
    }
}
