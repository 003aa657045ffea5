//! The process table of this machine, as far as the kill needs it.

/// One process. Number and start time together name it even when the number is used again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub pid: i32,
    pub parent: i32,
    pub started: u64,
    pub name: String,
    pub zombie: bool,
}

#[cfg(target_os = "linux")]
fn read(pid: i32) -> Option<Process> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &String::from_utf8_lossy(&stat))
}

/// Reads one `/proc/PID/stat` line. The name stands in brackets and may hold brackets itself.
#[cfg(target_os = "linux")]
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (open, close) = (stat.find('(')?, stat.rfind(')')?);
    let name = stat.get(open + 1..close)?.to_owned();
    let fields: Vec<&str> = stat.get(close + 2..)?.split(' ').collect();
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
        name,
        zombie: matches!(*fields.first()?, "Z" | "X"),
    })
}

/// Every process this user can see.
#[cfg(target_os = "linux")]
pub(super) fn table() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(read)
        .collect()
}

/// macOS has no /proc; `ps` tells the same.
#[cfg(not(target_os = "linux"))]
pub(super) fn table() -> Vec<Process> {
    let Ok(out) = std::process::Command::new("/bin/ps").args(["-axo", "pid=,ppid=,state=,comm="]).output()
    else {
        return Vec::new();
    };
    String::from_utf8_lossy(&out.stdout)
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let pid = words.next()?.parse().ok()?;
            let parent = words.next()?.parse().ok()?;
            let zombie = words.next()?.starts_with('Z');
            Some(Process { pid, parent, started: 0, name: words.next()?.to_owned(), zombie })
        })
        .collect()
}

/// Everything below `root`, however deep and whichever session; `root` itself not.
pub(super) fn descendants(root: i32) -> Vec<Process> {
    let all = table();
    let mut found: Vec<Process> = Vec::new();
    let mut todo = vec![root];
    while let Some(parent) = todo.pop() {
        for process in all.iter().filter(|p| p.parent == parent) {
            if !found.contains(process) {
                todo.push(process.pid);
                found.push(process.clone());
            }
        }
    }
    found
}

/// True while this very process runs; a zombie has ended.
pub(super) fn lives(process: &Process) -> bool {
    #[cfg(target_os = "linux")]
    let now = read(process.pid);
    #[cfg(not(target_os = "linux"))]
    let now = table().into_iter().find(|p| p.pid == process.pid);
    now.is_some_and(|now| now.started == process.started && !now.zombie)
}

/// Every process in the pid namespace with this inode.
#[cfg(target_os = "linux")]
pub(super) fn in_namespace(inode: u64) -> Vec<Process> {
    let wanted = format!("pid:[{inode}]");
    table()
        .into_iter()
        .filter(|p| !p.zombie)
        .filter(|p| {
            std::fs::read_link(format!("/proc/{}/ns/pid", p.pid))
                .is_ok_and(|link| link.as_os_str() == wanted.as_str())
        })
        .collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let rest = "S 41 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0";
        let process = parse(42, &format!("42 (a) b (c)) {rest}")).expect("reads");
        assert_eq!((process.parent, process.started, process.name.as_str()), (41, 777, "a) b (c)"));
    }

    #[test]
    fn a_cut_line_is_no_process() {
        for line in ["", "42", "42 (x", "42 (x) S", "42 (x) S 1 1", ") ( S 1"] {
            assert_eq!(parse(42, line), None, "{line:?}");
        }
    }
}
