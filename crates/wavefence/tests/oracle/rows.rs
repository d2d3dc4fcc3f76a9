//! The rows of `oracle.txt`.

use std::fmt;
use wavefence_base::Generation;

/// One thing that stands between producer and consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    Cs,
    Vs,
    Ps,
    Dma,
    Eop,
    L2wb,
    L2i,
    L1i,
    Ki,
    Ii,
    Gl1i,
    Cbf,
    Dbf,
    Glmi,
    Pfp,
    Confirm,
    Twice,
    Xq,
    Gl0,
    So,
}

impl Element {
    /// Every element with its word in the file.
    pub const ALL: [(Self, &'static str); 20] = [
        (Self::Cs, "CS"),
        (Self::Vs, "VS"),
        (Self::Ps, "PS"),
        (Self::Dma, "DMA"),
        (Self::Eop, "EOP"),
        (Self::L2wb, "L2wb"),
        (Self::L2i, "L2i"),
        (Self::L1i, "L1i"),
        (Self::Ki, "Ki"),
        (Self::Ii, "Ii"),
        (Self::Gl1i, "GL1i"),
        (Self::Cbf, "CBf"),
        (Self::Dbf, "DBf"),
        (Self::Glmi, "GLMi"),
        (Self::Pfp, "PFP"),
        (Self::Confirm, "CONFIRM"),
        (Self::Twice, "TWICE"),
        (Self::Xq, "XQ"),
        (Self::Gl0, "GL0"),
        (Self::So, "SO"),
    ];
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::ALL.iter().find(|(e, _)| e == self).map_or("?", |(_, word)| word);
        f.write_str(word)
    }
}

/// A queue or the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    Graphics,
    Compute,
    Dma,
    Host,
}

/// One row.
#[derive(Clone, Debug)]
pub struct Row {
    pub number: u32,
    pub producer: String,
    pub consumer: String,
    pub from: Where,
    pub to: Where,
    /// By generation, oldest first; `None` where the row does not exist.
    cells: [Option<Vec<Element>>; 3],
}

impl Row {
    /// The minimal set on a generation.
    pub fn minimal(&self, generation: Generation) -> Option<&[Element]> {
        let at = Generation::ALL.iter().position(|&g| g == generation)?;
        self.cells[at].as_deref()
    }

    /// True if a side of it is a draw.
    pub fn waits_for_draws(&self) -> bool {
        self.producer.starts_with("draw:") || self.consumer.starts_with("draw:")
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |w| match w {
            Where::Graphics => 'g',
            Where::Compute => 'c',
            Where::Dma => 'd',
            Where::Host => 'h',
        };
        let Self { number, producer, consumer, .. } = self;
        write!(f, "row {number} {producer} -> {consumer} {}", letter(self.from))?;
        if self.from == self.to { Ok(()) } else { write!(f, ">{}", letter(self.to)) }
    }
}

/// Reads the file.
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        rows.push(row(line).map_err(|e| format!("line {}: {e}", index + 1))?);
    }
    Ok(rows)
}

fn row(line: &str) -> Result<Row, String> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [number, producer, consumer, queues, gfx7, gfx8, gfx10] = cells[..] else {
        return Err(format!("{} columns, not 7", cells.len()));
    };
    let (from, to) = queues.split_once('>').unwrap_or((queues, queues));
    let first = set(gfx7)?;
    let second = if gfx8 == "=" { first.clone() } else { set(gfx8)? };
    Ok(Row {
        number: number.parse().map_err(|_| format!("`{number}` is no row number"))?,
        producer: producer.into(),
        consumer: consumer.into(),
        from: place(from)?,
        to: place(to)?,
        cells: [first, second, set(gfx10)?],
    })
}

fn place(word: &str) -> Result<Where, String> {
    match word {
        "g" => Ok(Where::Graphics),
        "c" => Ok(Where::Compute),
        "d" => Ok(Where::Dma),
        "h" => Ok(Where::Host),
        _ => Err(format!("`{word}` is no queue")),
    }
}

fn set(cell: &str) -> Result<Option<Vec<Element>>, String> {
    if cell == "-" {
        return Ok(None);
    }
    let find = |word: &str| {
        let found = Element::ALL.iter().find(|(_, name)| *name == word);
        found.map(|(e, _)| *e).ok_or_else(|| format!("`{word}` is no element"))
    };
    cell.split_whitespace().map(find).collect::<Result<_, _>>().map(Some)
}
