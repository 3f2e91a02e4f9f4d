//! Compiled expressions of one instance. Start at [`Programs::get`].

use nodesift_cel::Program;

use crate::Dialect;

/// Compiled expressions that an instance keeps. The host asks about one after the other: for its paths once, then for its
/// outcomes in batches.
const KEPT: usize = 8;

/// The expressions that were asked for last, with their texts and dialects; the last one is at the end.
pub(crate) struct Programs(Vec<(String, nodesift_cel::Dialect, Result<Program, String>)>);

impl Programs {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// The program of an expression, compiled where it is not kept.
    ///
    /// # Errors
    /// Why the text is no expression.
    pub(crate) fn get(&mut self, expression: &str, dialect: Dialect) -> Result<&Program, String> {
        let Dialect { lists, includes } = dialect;
        // Attributes are lists from the version on that has cel-go 0.29.
        let dialect = nodesift_cel::Dialect { lists, includes, cel_go29: lists };
        let kept = &mut self.0;
        let program = match kept.iter().position(|(text, of, _)| text == expression && *of == dialect) {
            Some(at) => kept.remove(at),
            None => (expression.to_owned(), dialect, Program::compile_in(dialect, expression)),
        };
        if kept.len() >= KEPT {
            drop(kept.remove(0));
        }
        kept.push(program);
        match kept.last() {
            Some((_, _, program)) => program.as_ref().map_err(Clone::clone),
            None => Err(String::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expressions_that_were_asked_for_last_are_kept() {
        const DIALECT: Dialect = Dialect { lists: false, includes: true };
        let mut programs = Programs::new();
        for number in 0..2 * KEPT {
            let expression = format!("device.driver == '{number}'");
            assert!(programs.get(&expression, DIALECT).is_ok() && programs.get("true", DIALECT).is_ok());
        }
        assert_eq!(programs.0.len(), KEPT);
        let texts: Vec<&str> = programs.0.iter().map(|(text, _, _)| text.as_str()).collect();
        assert_eq!(texts.last(), Some(&"true"));
        assert!(texts.contains(&format!("device.driver == '{}'", 2 * KEPT - 1).as_str()));
        assert!(!texts.contains(&"device.driver == '0'"));
    }

    #[test]
    fn each_dialect_has_a_program_of_its_own() {
        let mut programs = Programs::new();
        let text = "device.attributes['d'].a.includes(1)";
        for includes in [true, false, true] {
            assert_eq!(programs.get(text, Dialect { lists: false, includes }).is_ok(), includes);
        }
        assert_eq!(programs.0.len(), 2);
    }
}
