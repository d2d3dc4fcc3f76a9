//! Instructions by grammar.

use super::Problem;
use super::enums::{Named, named};
use super::lex::{Kind, Token, is_opcode};
use super::number::{self, NumberType};
use rspirv::binary::Assemble;
use rspirv::grammar::{
    GLSL_STD_450_INSTRUCTION_TABLE, INSTRUCTION_TABLE, Instruction, LogicalOperand, OperandKind,
    OperandQuantifier,
};
use rspirv::spirv::{MAGIC_NUMBER, Op, Word};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Numeric ids above this are refused; the specification's own limit.
const MAX_ID: u32 = 0x3f_ffff;

const MAX_INSTRUCTION_WORDS: usize = 0xffff;

/// The largest number of operands that an enumerant may bring, nested: a bound
/// on recursion, far above what the grammar holds.
const MAX_DEPTH: usize = 8;

pub(super) struct Assembler<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
    words: Vec<u32>,
    ids: BTreeMap<&'a str, Word>,
    /// Where each id was first used, and whether it has been defined.
    uses: BTreeMap<Word, (usize, bool)>,
    /// Number types by their id.
    numbers: BTreeMap<Word, NumberType>,
    /// The type id of each value.
    types: BTreeMap<Word, Word>,
    /// Extended instruction sets by their id: true for `GLSL.std.450`.
    sets: BTreeMap<Word, bool>,
}

/// What the operands so far say about the ones to come.
struct Context {
    /// The opcode without `Op`, for messages.
    opcode: &'static str,
    op: Op,
    result_type: Option<Word>,
    /// The first id operand: selector of a switch, set of an extended instruction.
    first_id: Option<Word>,
}

impl<'t, 'a> Assembler<'t, 'a> {
    pub fn new(tokens: &'t [Token<'a>], version: u32) -> Result<Self, Problem> {
        let mut ids: BTreeMap<&'a str, Word> = BTreeMap::new();
        let mut next = 1;
        for token in tokens {
            let Kind::Id(name) = token.kind else { continue };
            if !name.bytes().all(|b| b.is_ascii_digit()) {
                if !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
                    let what = format!("`%{name}` is no id: letters, digits and `_` only");
                    return Err(Problem::at(token, what));
                }
                continue;
            }
            let number = name.parse().ok().filter(|n| (1..=MAX_ID).contains(n));
            let Some(number) = number else {
                let what = format!("`%{name}`: ids go from 1 to {MAX_ID}");
                return Err(Problem::at(token, what));
            };
            ids.insert(name, number);
            next = next.max(number + 1);
        }
        for token in tokens {
            let Kind::Id(name) = token.kind else { continue };
            if let std::collections::btree_map::Entry::Vacant(slot) = ids.entry(name) {
                slot.insert(next);
                next += 1;
            }
        }
        Ok(Self {
            tokens,
            at: 0,
            words: vec![MAGIC_NUMBER, version, 0, next, 0],
            ids,
            uses: BTreeMap::new(),
            numbers: BTreeMap::new(),
            types: BTreeMap::new(),
            sets: BTreeMap::new(),
        })
    }

    pub fn run(mut self) -> Result<Vec<u32>, Problem> {
        while self.at < self.tokens.len() {
            self.instruction()?;
        }
        let undefined = self.uses.values().filter(|(_, defined)| !defined).map(|(at, _)| *at).min();
        match undefined.map(|at| &self.tokens[at]) {
            Some(token @ Token { kind: Kind::Id(name), .. }) => {
                Err(Problem::at(token, format!("`%{name}` is never defined")))
            }
            Some(token) => Err(Problem::at(token, "an id is never defined")),
            None => Ok(self.words),
        }
    }

    /// The token `ahead` places on.
    fn peek(&self, ahead: usize) -> Option<&'t Token<'a>> {
        self.tokens.get(self.at + ahead)
    }

    /// True if the instruction has no more operands.
    fn at_end(&self) -> bool {
        match self.peek(0).map(|t| &t.kind) {
            None => true,
            Some(Kind::Word(word)) => is_opcode(word),
            Some(Kind::Id(_)) => {
                matches!(self.peek(1), Some(Token { kind: Kind::Equals, .. }))
            }
            Some(Kind::Equals | Kind::Text(_)) => false,
        }
    }

    fn next(&mut self, wanted: &str, context: &Context) -> Result<&'t Token<'a>, Problem> {
        if self.at_end() {
            let before = &self.tokens[self.at - 1];
            let what = format!("Op{} ends too early: {wanted} is missing", context.opcode);
            return Err(Problem::at(before, what));
        }
        self.at += 1;
        Ok(&self.tokens[self.at - 1])
    }

    fn id_of(&self, name: &str) -> Word {
        self.ids.get(name).copied().unwrap_or_default()
    }

    fn instruction(&mut self) -> Result<(), Problem> {
        let start = &self.tokens[self.at];
        let result = match (&start.kind, self.peek(1).map(|t| &t.kind)) {
            (Kind::Id(name), Some(Kind::Equals)) => {
                self.at += 2;
                Some((*name, start))
            }
            _ => None,
        };
        let Some(token) = self.peek(0) else {
            return Err(Problem::at(start, "an instruction is missing after `=`"));
        };
        let Kind::Word(name) = token.kind else {
            return Err(Problem::at(token, "an instruction (`Op…`) is expected here"));
        };
        let grammar = by_name(name).ok_or_else(|| Problem::at(token, unknown_opcode(name)))?;
        self.at += 1;
        let mut context = Context {
            opcode: grammar.opname,
            op: grammar.opcode,
            result_type: None,
            first_id: None,
        };
        let has_result = grammar.operands.iter().any(|o| o.kind == OperandKind::IdResult);
        match result {
            Some((_, at)) if !has_result => {
                return Err(Problem::at(at, format!("{name} gives no result")));
            }
            None if has_result => {
                let what = format!("{name} gives a result: write `%name = {name} …`");
                return Err(Problem::at(token, what));
            }
            Some(_) | None => {}
        }
        let first = self.words.len();
        self.words.push(0);
        let mut loose = false;
        for operand in grammar.operands {
            if loose {
                break;
            }
            loose = self.quantified(operand, &mut context, result, 0)?;
        }
        if loose {
            self.loose(&context)?;
        }
        if !self.at_end() {
            let what = format!("{name} takes no more operands");
            return Err(Problem::at(&self.tokens[self.at], what));
        }
        let count = self.words.len() - first;
        if count > MAX_INSTRUCTION_WORDS {
            let what = format!("{name} has {count} words; {MAX_INSTRUCTION_WORDS} are allowed");
            return Err(Problem::at(token, what));
        }
        self.words[first] = (count as u32) << 16 | grammar.opcode as u32;
        self.note(first, &context, result.map(|(name, _)| name));
        Ok(())
    }

    /// Keeps what later instructions need to know.
    fn note(&mut self, first: usize, context: &Context, result: Option<&str>) {
        let Some(id) = result.map(|name| self.id_of(name)) else { return };
        let operand = |i: usize| self.words.get(first + i).copied();
        match context.op {
            Op::TypeInt => {
                if let (Some(bits), Some(sign)) = (operand(2), operand(3)) {
                    self.numbers.insert(id, NumberType::Int(bits, sign != 0));
                }
            }
            Op::TypeFloat => {
                // A third operand names an encoding that is not IEEE's.
                if let (Some(bits), None) = (operand(2), operand(3)) {
                    self.numbers.insert(id, NumberType::Float(bits));
                }
            }
            _ => {}
        }
        if let Some(ty) = context.result_type {
            self.types.insert(id, ty);
        }
    }

    /// One operand of the grammar as often as it may stand. True if an immediate
    /// turned the grammar off.
    fn quantified(
        &mut self,
        operand: &LogicalOperand,
        context: &mut Context,
        result: Option<(&'a str, &'t Token<'a>)>,
        depth: usize,
    ) -> Result<bool, Problem> {
        let times = match operand.quantifier {
            OperandQuantifier::One => 1,
            OperandQuantifier::ZeroOrOne => usize::from(!self.at_end()),
            OperandQuantifier::ZeroOrMore => usize::MAX,
        };
        let mut done = 0;
        while done < times {
            if operand.quantifier == OperandQuantifier::ZeroOrMore && self.at_end() {
                break;
            }
            let immediate = matches!(
                self.peek(0).map(|t| &t.kind),
                Some(Kind::Word(word)) if word.starts_with('!')
            );
            if immediate && operand.kind != OperandKind::IdResult {
                return Ok(true);
            }
            if self.one(operand.kind, context, result, depth)? {
                return Ok(true);
            }
            done += 1;
        }
        Ok(false)
    }

    fn one(
        &mut self,
        kind: OperandKind,
        context: &mut Context,
        result: Option<(&'a str, &'t Token<'a>)>,
        depth: usize,
    ) -> Result<bool, Problem> {
        match kind {
            OperandKind::IdResult => {
                if let Some((name, token)) = result {
                    self.define(name, token)?;
                }
            }
            OperandKind::IdResultType => context.result_type = Some(self.id("a type", context)?),
            OperandKind::IdRef | OperandKind::IdScope | OperandKind::IdMemorySemantics => {
                let id = self.id("an id", context)?;
                context.first_id.get_or_insert(id);
            }
            OperandKind::LiteralInteger => self.plain(context)?,
            OperandKind::LiteralFloat => {
                let (text, token) = self.word("a float", context)?;
                self.number(text, NumberType::Float(32), token)?;
            }
            OperandKind::LiteralString => self.string(context)?,
            OperandKind::LiteralContextDependentNumber => {
                let ty = context.result_type.and_then(|ty| self.numbers.get(&ty).copied());
                self.typed(ty, context)?;
            }
            OperandKind::LiteralExtInstInteger => self.extended(context)?,
            OperandKind::LiteralSpecConstantOpInteger => {
                return self.spec_constant_op(context, depth);
            }
            OperandKind::PairLiteralIntegerIdRef => {
                let ty = context.first_id.and_then(|id| self.types.get(&id));
                let ty = ty.and_then(|ty| self.numbers.get(ty).copied());
                self.typed(ty, context)?;
                self.id("a label", context)?;
            }
            OperandKind::PairIdRefLiteralInteger => {
                self.id("an id", context)?;
                self.plain(context)?;
            }
            OperandKind::PairIdRefIdRef => {
                self.id("an id", context)?;
                self.id("a second id", context)?;
            }
            _ => return self.named(kind, context, depth),
        }
        Ok(false)
    }

    /// An enumerant or mask and the operands that it brings.
    fn named(
        &mut self,
        kind: OperandKind,
        context: &mut Context,
        depth: usize,
    ) -> Result<bool, Problem> {
        let (text, token) = self.word(&format!("{kind:?}"), context)?;
        match named(kind, text) {
            Named::Value(value, parts) => {
                value.assemble_into(&mut self.words);
                if depth >= MAX_DEPTH {
                    return Err(Problem::at(token, "operands nest too deeply"));
                }
                for operand in parts.iter().flat_map(|part| part.additional_operands()) {
                    if self.quantified(&operand, context, None, depth + 1)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Named::Unknown => Err(Problem::at(token, format!("`{text}` is no {kind:?}"))),
            Named::NoEnum => {
                Err(Problem::at(token, format!("operands of kind {kind:?} are not supported")))
            }
        }
    }

    fn spec_constant_op(&mut self, context: &mut Context, depth: usize) -> Result<bool, Problem> {
        let (text, token) = self.word("an opcode without `Op`", context)?;
        let grammar = by_name(&format!("Op{text}"))
            .filter(|g| g.opcode != Op::SpecConstantOp)
            .ok_or_else(|| Problem::at(token, format!("`{text}` is no opcode without `Op`")))?;
        self.words.push(grammar.opcode as u32);
        let operands = grammar
            .operands
            .iter()
            .filter(|o| !matches!(o.kind, OperandKind::IdResult | OperandKind::IdResultType));
        for operand in operands {
            if self.quantified(operand, context, None, depth + 1)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The instruction of an extended set, by name or number.
    fn extended(&mut self, context: &Context) -> Result<(), Problem> {
        let (text, token) = self.word("an extended instruction", context)?;
        let glsl = context.first_id.and_then(|set| self.sets.get(&set).copied());
        if glsl == Some(true)
            && let Some(found) = GLSL_STD_450_INSTRUCTION_TABLE.iter().find(|i| i.opname == text)
        {
            self.words.push(found.opcode.into());
            return Ok(());
        }
        match (number::plain(text), glsl) {
            (Ok(number), _) => {
                self.words.push(number);
                Ok(())
            }
            (Err(_), Some(true)) => {
                let names = GLSL_STD_450_INSTRUCTION_TABLE.iter().map(|i| i.opname);
                let near = nearest(text, names);
                let near = near.map_or_else(String::new, |n| format!("; did you mean `{n}`?"));
                Err(Problem::at(token, format!("`{text}` is not in GLSL.std.450{near}")))
            }
            (Err(_), _) => {
                let what = format!("`{text}`: instructions of this set are known by number only");
                Err(Problem::at(token, what))
            }
        }
    }

    fn define(&mut self, name: &'a str, token: &'t Token<'a>) -> Result<(), Problem> {
        let id = self.id_of(name);
        let entry = self.uses.entry(id).or_insert((self.at - 1, false));
        if entry.1 {
            return Err(Problem::at(token, format!("`%{name}` is defined twice")));
        }
        entry.1 = true;
        self.words.push(id);
        Ok(())
    }

    fn id(&mut self, wanted: &str, context: &Context) -> Result<Word, Problem> {
        let token = self.next(wanted, context)?;
        let Kind::Id(name) = token.kind else {
            let what = format!("{wanted} (`%…`) is expected here by Op{}", context.opcode);
            return Err(Problem::at(token, what));
        };
        let id = self.id_of(name);
        self.uses.entry(id).or_insert((self.at - 1, false));
        self.words.push(id);
        Ok(id)
    }

    fn word(
        &mut self,
        wanted: &str,
        context: &Context,
    ) -> Result<(&'a str, &'t Token<'a>), Problem> {
        let token = self.next(wanted, context)?;
        match token.kind {
            Kind::Word(word) => Ok((word, token)),
            Kind::Id(_) | Kind::Equals | Kind::Text(_) => Err(Problem::at(
                token,
                format!("{wanted} is expected here by Op{}", context.opcode),
            )),
        }
    }

    fn plain(&mut self, context: &Context) -> Result<(), Problem> {
        let (text, token) = self.word("an integer", context)?;
        let value = number::plain(text).map_err(|what| Problem::at(token, what))?;
        self.words.push(value);
        Ok(())
    }

    fn number(&mut self, text: &str, ty: NumberType, token: &Token<'_>) -> Result<(), Problem> {
        let words = number::words(text, ty).map_err(|what| Problem::at(token, what))?;
        self.words.extend(words);
        Ok(())
    }

    fn typed(&mut self, ty: Option<NumberType>, context: &Context) -> Result<(), Problem> {
        let (text, token) = self.word("a number", context)?;
        let Some(ty) = ty else {
            let what = format!("the type of `{text}` is no integer or float type known so far");
            return Err(Problem::at(token, what));
        };
        self.number(text, ty, token)
    }

    fn string(&mut self, context: &Context) -> Result<(), Problem> {
        let token = self.next("a string", context)?;
        let Kind::Text(text) = &token.kind else {
            let what = format!("a string is expected here by Op{}", context.opcode);
            return Err(Problem::at(token, what));
        };
        if text.contains('\0') {
            return Err(Problem::at(token, "a string cannot contain a NUL"));
        }
        if context.op == Op::ExtInstImport
            && let Some(id) = self.words.last()
        {
            self.sets.insert(*id, text == "GLSL.std.450");
        }
        let bytes = text.as_bytes();
        for chunk in bytes.chunks(4) {
            let mut four = [0; 4];
            four[..chunk.len()].copy_from_slice(chunk);
            self.words.push(u32::from_le_bytes(four));
        }
        if bytes.len().is_multiple_of(4) {
            self.words.push(0);
        }
        Ok(())
    }

    /// The rest of an instruction after an immediate.
    fn loose(&mut self, context: &Context) -> Result<(), Problem> {
        while !self.at_end() {
            let token = &self.tokens[self.at];
            match &token.kind {
                Kind::Id(_) => {
                    self.id("an id", context)?;
                }
                Kind::Text(_) => self.string(context)?,
                Kind::Word(word) => {
                    let digits = word.strip_prefix('!').unwrap_or(word);
                    let value = number::plain(digits).map_err(|what| Problem::at(token, what))?;
                    self.words.push(value);
                    self.at += 1;
                }
                Kind::Equals => return Err(Problem::at(token, "`=` makes no sense here")),
            }
        }
        Ok(())
    }
}

/// The grammar by opcode name without `Op`.
static BY_NAME: LazyLock<BTreeMap<&'static str, &'static Instruction<'static>>> =
    LazyLock::new(|| INSTRUCTION_TABLE.iter().map(|i| (i.opname, i)).collect());

/// The grammar of opcode `name`, also under the name of a renamed twin.
fn by_name(name: &str) -> Option<&'static Instruction<'static>> {
    let name = name.strip_prefix("Op")?;
    let find = |name: &str| BY_NAME.get(name).copied();
    find(name).or_else(|| {
        let suffixes = ["KHR", "EXT", "NV", "INTEL", "GOOGLE", "AMD"];
        let base = suffixes.iter().find_map(|s| name.strip_suffix(s)).unwrap_or(name);
        find(base).or_else(|| suffixes.iter().find_map(|s| find(&format!("{base}{s}"))))
    })
}

fn unknown_opcode(name: &str) -> String {
    if !is_opcode(name) {
        return format!("an instruction (`Op…`) is expected here, not `{name}`");
    }
    let near = nearest(&name[2..], BY_NAME.keys().copied());
    let near = near.map_or_else(String::new, |known| format!("; did you mean `Op{known}`?"));
    format!("unknown opcode `{name}`{near}")
}

/// The one of `names` that is closest to `name`, if it is close.
fn nearest(name: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let name = name.as_bytes();
    let limit = 1 + name.len() / 4;
    if name.len() > LONGEST_NAME {
        return None;
    }
    names
        .filter(|known| known.len().abs_diff(name.len()) <= limit && known.len() <= LONGEST_NAME)
        .map(|known| (distance(name, known.as_bytes()), known))
        .min()
        .filter(|(d, _)| *d <= limit)
        .map(|(_, known)| known)
}

const LONGEST_NAME: usize = 64;

/// Edits between two words of at most [`LONGEST_NAME`] bytes: insert, delete,
/// change, or swap two neighbours.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut rows = [[0usize; LONGEST_NAME + 1]; 3];
    rows[0] = std::array::from_fn(|j| j);
    for i in 0..a.len() {
        let [last, before, row] = &mut rows;
        row[0] = i + 1;
        for j in 0..b.len() {
            let change = last[j] + usize::from(a[i] != b[j]);
            let mut best = change.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            row[j + 1] = best;
        }
        rows.rotate_right(1);
    }
    rows[0][b.len()]
}
