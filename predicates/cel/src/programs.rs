//! Compiled expressions of one instance. Start at [`Programs::get`].

use nodesift_cel::Program;

/// Compiled expressions that an instance keeps. The host asks about one after the other: for its paths once, then for its
/// outcomes in batches.
const KEPT: usize = 8;

/// The expressions that were asked for last, with their texts; the last one is at the end.
pub(crate) struct Programs(Vec<(String, Result<Program, String>)>);

impl Programs {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// The program of an expression, compiled where it is not kept.
    ///
    /// # Errors
    /// Why the text is no expression.
    pub(crate) fn get(&mut self, expression: &str) -> Result<&Program, String> {
        let kept = &mut self.0;
        let program = match kept.iter().position(|(text, _)| text == expression) {
            Some(at) => kept.remove(at),
            None => (expression.to_owned(), Program::compile(expression)),
        };
        if kept.len() >= KEPT {
            drop(kept.remove(0));
        }
        kept.push(program);
        match kept.last() {
            Some((_, program)) => program.as_ref().map_err(Clone::clone),
            None => Err(String::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expressions_that_were_asked_for_last_are_kept() {
        let mut programs = Programs::new();
        for number in 0..2 * KEPT {
            let expression = format!("device.driver == '{number}'");
            assert!(programs.get(&expression).is_ok() && programs.get("true").is_ok());
        }
        assert_eq!(programs.0.len(), KEPT);
        let texts: Vec<&str> = programs.0.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(texts.last(), Some(&"true"));
        assert!(texts.contains(&format!("device.driver == '{}'", 2 * KEPT - 1).as_str()));
        assert!(!texts.contains(&"device.driver == '0'"));
    }
}
