//! A round as text: the line of a fault first, then what the step has printed, then the steps with their times. Start at [`text`].

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use super::fault;
use super::steps::{Round, Step};
use crate::limits::{DEV_SHOWN_LINES, SOURCE_FILES};
use nodesift::terminal::{Paint, counted, escaped};

/// A screen about a round of the project in `folder`. `is_cut` says that it has more files than are looked at.
pub(super) fn text(round: &Round, folder: &Path, is_cut: bool, paint: Paint) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    match round.failed() {
        None => {
            let took: Duration = round.steps.iter().map(|step| step.took).sum();
            let _infallible = writeln!(out, "{}  in {:.1} s", paint.good("ok"), took.as_secs_f64());
        }
        Some((step, output)) => {
            let line = fault::first(output, |path| source(folder, path)).unwrap_or_default();
            let _infallible = writeln!(out, "{}  {step}  {}\n", paint.bad("FAILED"), paint.bold(&escaped(&line)));
            out.push_str(&shown(output));
        }
    }
    out.push('\n');
    for step in &round.steps {
        let _infallible = writeln!(out, "{}", line(step, paint));
    }
    for step in &round.steps {
        if let Some(Ok(output)) = &step.outcome
            && let Some((_, more)) = output.split_once("\n\n").filter(|_| step.name == "cases")
        {
            let _infallible = write!(out, "\n{}", escaped(more));
        }
    }
    if is_cut {
        let note =
            format!("of more than {SOURCE_FILES} files {SOURCE_FILES} are looked at: a save of another is not seen");
        let _infallible = writeln!(out, "\n{note}");
    }
    let _infallible =
        writeln!(out, "\n{}", paint.dim(&format!("{}: waiting for a save", escaped(&folder.display().to_string()))));
    out
}

/// One step: its name, its time, and how it has ended.
fn line(step: &Step, paint: Paint) -> String {
    let time = format!("{:>6.1} s", step.took.as_secs_f64());
    match &step.outcome {
        None => format!("{:<10} {:>8}  {}", step.name, "-", paint.dim("not run")),
        Some(Err(_)) => format!("{:<10} {time}  {}", step.name, paint.bad("FAILED")),
        Some(Ok(output)) => {
            let said = match step.name {
                "live" => output.trim().to_owned(),
                // The lines of cases are followed by their number.
                "cases" => output.lines().find(|line| line.ends_with(" passed")).unwrap_or_default().to_owned(),
                _ => String::new(),
            };
            let ok = paint.good("ok");
            if said.is_empty() {
                format!("{:<10} {time}  {ok}", step.name)
            } else {
                format!("{:<10} {time}  {ok}  {}", step.name, escaped(&said))
            }
        }
    }
}

/// The first lines of what a step has printed.
fn shown(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let mut out: String = lines.iter().take(DEV_SHOWN_LINES).map(|line| format!("{}\n", escaped(line))).collect();
    let more = lines.len().saturating_sub(DEV_SHOWN_LINES);
    if more > 0 {
        let _infallible = writeln!(out, "… and {}", counted(more, "more line"));
    }
    out
}

/// The path in the project of one of its files, as tools name it: by its whole path, or in the project.
fn source(folder: &Path, path: &str) -> Option<String> {
    let inside = Path::new(path).strip_prefix(folder).unwrap_or(Path::new(path));
    // Builds of Rust have this name for the folder, wherever it is.
    let inside = inside.strip_prefix("/src").unwrap_or(inside);
    let inside = inside.strip_prefix(".").unwrap_or(inside);
    let is_own = !inside.as_os_str().is_empty() && inside.is_relative() && !inside.starts_with("sdk");
    (is_own && folder.join(inside).is_file()).then(|| inside.display().to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_fault_is_on_top() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("src/lib.rs"), "").unwrap();
        let whole = folder.path().join("src/lib.rs");
        for path in ["src/lib.rs".to_owned(), "./src/lib.rs".to_owned(), whole.display().to_string()] {
            let mut round = Round::default();
            round.run("build", || Err(format!("error: no such thing\n --> {path}:3:1\n")));
            round.run("cases", || Ok(String::new()));
            let screen = text(&round, folder.path(), false, Paint::PLAIN);
            assert!(
                screen.starts_with("FAILED  build  src/lib.rs:3:1: error: no such thing\n\nerror: no such"),
                "{screen}"
            );
            assert!(screen.contains("\ncases             -  not run\n"), "{screen}");
        }
        assert_eq!(source(folder.path(), "src/none.rs"), None);
        assert_eq!(source(folder.path(), "/etc/passwd"), None);
        assert_eq!(source(folder.path(), ""), None);
    }

    #[test]
    fn a_round_without_a_fault_has_the_time_of_each_step_and_what_a_policy_lacks() {
        let mut round = Round::default();
        round.run("build", || Ok("digest".to_owned()));
        round.run("cases", || Ok("ok      a\n1 case passed\n\nIt needs:\nspec:\n".to_owned()));
        round.run("live", || Ok("policy generation 2\n".to_owned()));
        let cut = text(&round, Path::new("/p"), true, Paint::PLAIN);
        assert!(cut.contains("\nof more than 2000 files"), "{cut}");
        let screen = text(&round, Path::new("/p"), false, Paint::PLAIN);
        let times_away = screen.replace(|c: char| c.is_ascii_digit(), "0");
        assert!(times_away.starts_with("ok  in 0.0 s\n"), "{screen}");
        assert!(times_away.contains("\nbuild         0.0 s  ok\ncases         0.0 s  ok  0 case passed\n"), "{screen}");
        assert!(times_away.contains("\nlive          0.0 s  ok  policy generation 0\n"), "{screen}");
        assert!(screen.ends_with("\nIt needs:\nspec:\n\n/p: waiting for a save\n"), "{screen}");
    }

    #[test]
    fn a_long_output_is_cut() {
        let output: String = (0..DEV_SHOWN_LINES + 2).map(|line| format!("line {line}\u{1b}\n")).collect();
        let shown = shown(&output);
        assert!(shown.ends_with("… and 2 more lines\n") && !shown.contains('\u{1b}'), "{shown}");
    }
}
