//! The little shell language of `RUN` lines: words, quotes, pipes, `&&`, `;` and
//! redirections.

/// One program with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Name and arguments.
    pub words: Vec<String>,
    /// `2>&1`: messages go where the output goes.
    pub merge: bool,
    /// `> file`; true for `>>`.
    pub output: Option<(String, bool)>,
    /// `2> file`.
    pub errors: Option<String>,
    /// `< file`.
    pub input: Option<String>,
}

/// Commands that run one after the other, each fed by the one before.
pub type Pipe = Vec<Command>;

/// Splits a `RUN` line into pipes; each runs if those before it succeeded.
///
/// # Errors
/// What is not understood.
pub fn parse(line: &str) -> Result<Vec<Pipe>, String> {
    let mut pipes: Vec<Pipe> = vec![vec![Command::default()]];
    let mut tokens = tokens(line)?.into_iter();
    while let Some(token) = tokens.next() {
        let Some(pipe) = pipes.last_mut() else { continue };
        let Some(command) = pipe.last_mut() else { continue };
        let mut target = |what: &str| match tokens.next() {
            Some(Token::Word(word)) => Ok(word),
            Some(Token::Operator(_)) | None => Err(format!("`{what}` has no file")),
        };
        match token {
            Token::Word(word) => command.words.push(word),
            Token::Operator("|") => pipe.push(Command::default()),
            Token::Operator("&&" | ";") => pipes.push(vec![Command::default()]),
            Token::Operator("2>&1") => command.merge = true,
            Token::Operator(op @ (">" | ">>")) => {
                command.output = Some((target(op)?, op == ">>"));
            }
            Token::Operator("2>") => command.errors = Some(target("2>")?),
            Token::Operator("<") => command.input = Some(target("<")?),
            Token::Operator(other) => return Err(format!("`{other}` is not known here")),
        }
    }
    if pipes.last().is_some_and(|p| p.len() == 1 && p[0] == Command::default()) && pipes.len() > 1 {
        pipes.pop();
    }
    if pipes.iter().flatten().any(|c| c.words.is_empty()) {
        return Err("a command is missing".into());
    }
    Ok(pipes)
}

enum Token {
    Word(String),
    Operator(&'static str),
}

fn tokens(line: &str) -> Result<Vec<Token>, String> {
    const OPERATORS: [&str; 10] = ["2>&1", "2>", "&&", "||", ">>", ">", "<", "|", ";", "&"];
    let mut all = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        if let Some(op) = OPERATORS.iter().find(|op| rest.starts_with(**op)) {
            all.push(Token::Operator(op));
            rest = rest[op.len()..].trim_start();
            continue;
        }
        let mut word = String::new();
        let mut chars = rest.char_indices();
        let mut end = rest.len();
        while let Some((i, c)) = chars.next() {
            match c {
                _ if c.is_whitespace() || "|&;<>".contains(c) => {
                    end = i;
                    break;
                }
                '\'' | '"' => loop {
                    match chars.next() {
                        Some((_, q)) if q == c => break,
                        Some((_, '\\')) if c == '"' => word.extend(chars.next().map(|n| n.1)),
                        Some((_, inner)) => word.push(inner),
                        None => return Err(format!("`{c}` has no end")),
                    }
                },
                '\\' => word.extend(chars.next().map(|n| n.1)),
                '`' | '$' => return Err(format!("`{c}` is not known here")),
                _ => word.push(c),
            }
        }
        all.push(Token::Word(word));
        rest = rest[end..].trim_start();
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_commands() {
        let pipes =
            parse("split-file a b && not run 'x y' \"z\\\"\" 2>&1 | check <in >out; e").unwrap();
        assert_eq!(pipes.len(), 3);
        assert_eq!(pipes[1][0].words, ["not", "run", "x y", "z\""]);
        assert!(pipes[1][0].merge);
        assert_eq!(pipes[1][1].output, Some(("out".into(), false)));
        assert_eq!(pipes[1][1].input.as_deref(), Some("in"));
        assert_eq!(parse("a;").unwrap().len(), 1);
        for bad in ["", "a |", "| a", "a || b", "a &", "a >", "'a", "echo $HOME", "a && ; b"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
