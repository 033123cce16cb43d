//! Runs one match engine written in Rust: the protocol of driver.c.
//!
//! An engine is one file in bench/engines that implements `Engine` and calls
//! `driver::main`. A method left at its default is an operation that the
//! engine does not have.

use std::io::{BufRead, Write};

pub const REPLACEMENT: &[u8] = b"[REDACTED]";

pub trait Engine: Sized {
    fn build(terms: &[&'static [u8]]) -> Self;
    /// Bytes of what a scan reads.
    fn bytes(&self) -> usize;
    fn contains(&self, _text: &[u8]) -> Option<bool> {
        None
    }
    /// Number of leftmost-longest matches.
    fn count_leftmost(&self, _text: &[u8]) -> Option<u64> {
        None
    }
    fn count_overlapping(&self, _text: &[u8]) -> Option<u64> {
        None
    }
    /// Append the text with its leftmost-longest matches replaced.
    fn replace(&self, _text: &[u8], _out: &mut Vec<u8>) -> Option<()> {
        None
    }
}

/// Append the text with the matches (start, end), in order, replaced.
#[allow(dead_code)]
pub fn splice(text: &[u8], matches: impl Iterator<Item = (usize, usize)>, out: &mut Vec<u8>) {
    let mut done = 0;
    for (start, end) in matches {
        out.extend_from_slice(&text[done..start]);
        out.extend_from_slice(REPLACEMENT);
        done = end;
    }
    out.extend_from_slice(&text[done..]);
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

fn thread_ns() -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

fn status_kib(field: &str) -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// The lines of a file, kept for ever.
fn read_lines(path: &str) -> (&'static [u8], Vec<&'static [u8]>) {
    let bytes: &'static [u8] = std::fs::read(path).expect("cannot read a file").leak();
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    if lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    (bytes, lines)
}

struct Session<E> {
    terms: Vec<&'static [u8]>,
    text: &'static [u8],
    rows: Vec<&'static [u8]>,
    out: Vec<u8>,
    engine: E,
}

impl<E: Engine> Session<E> {
    /// The answer of one run of an operation; None if there is no such operation.
    fn run(&mut self, operation: &str) -> Option<u64> {
        self.out.clear();
        match operation {
            "contains" => self.engine.contains(self.text).map(u64::from),
            "find" => self.engine.count_leftmost(self.text),
            "overlapping" => self.engine.count_overlapping(self.text),
            "replace" => {
                self.engine.replace(self.text, &mut self.out)?;
                Some(self.out.len() as u64)
            }
            "rows-contains" => {
                let mut count = 0;
                for row in &self.rows {
                    count += u64::from(self.engine.contains(row)?);
                }
                Some(count)
            }
            "rows-find" => {
                let mut count = 0;
                for row in &self.rows {
                    count += self.engine.count_leftmost(row)?;
                }
                Some(count)
            }
            "rows-replace" => {
                for row in &self.rows {
                    self.engine.replace(row, &mut self.out)?;
                    self.out.push(b'\n');
                }
                Some(self.out.len() as u64)
            }
            "build" => {
                std::hint::black_box(E::build(&self.terms).bytes());
                Some(self.terms.len() as u64)
            }
            _ => None,
        }
    }

    fn time(&mut self, operation: &str, seconds: f64, limit: u64) -> Option<String> {
        let budget = (seconds * 1e9) as u64;
        let start = thread_ns();
        let mut iterations = 0;
        loop {
            let answer = self.run(operation)?;
            iterations += 1;
            let spent = thread_ns() - start;
            if spent >= budget || (limit != 0 && iterations >= limit) {
                return Some(format!("ok {answer} {iterations} {:.1}", spent as f64 / iterations as f64));
            }
        }
    }

    fn verify(&mut self, operation: &str, path: Option<&str>) -> Option<String> {
        let answer = self.run(operation)?;
        let mut hash: u64 = 0xcbf29ce484222325;
        for &byte in &self.out {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100000001b3);
        }
        if let Some(path) = path {
            std::fs::write(path, &self.out).expect("cannot write the output");
        }
        Some(format!("ok {answer} {hash:016x}"))
    }
}

/// Copy a file with the matches of each line replaced: driver.c's --file.
fn replace_file<E: Engine>(terms: &str, from: &str, to: &str) {
    const BUFFER: usize = 256 * 1024;
    let (_, terms) = read_lines(terms);
    let engine = E::build(&terms);
    let mut input = std::io::BufReader::with_capacity(BUFFER, std::fs::File::open(from).expect("cannot read"));
    let mut output = std::fs::File::create(to).expect("cannot write");
    let mut carried: Vec<u8> = Vec::new();
    let mut replaced: Vec<u8> = Vec::with_capacity(2 * BUFFER);
    loop {
        let bytes = input.fill_buf().expect("cannot read");
        let read = bytes.len();
        let mut rest = bytes;
        while let Some(at) = rest.iter().rposition(|&byte| byte == b'\n') {
            // Whole lines; the first may have begun before.
            for line in rest[..at].split(|&byte| byte == b'\n') {
                if carried.is_empty() {
                    engine.replace(line, &mut replaced).expect("unsupported");
                } else {
                    carried.extend_from_slice(line);
                    engine.replace(&carried, &mut replaced).expect("unsupported");
                    carried.clear();
                }
                replaced.push(b'\n');
            }
            rest = &rest[at + 1..];
        }
        carried.extend_from_slice(rest);
        if read == 0 && !carried.is_empty() {
            engine.replace(&carried, &mut replaced).expect("unsupported");
        }
        output.write_all(&replaced).expect("cannot write");
        replaced.clear();
        if read == 0 {
            return;
        }
        input.consume(read);
    }
}

pub fn main<E: Engine>() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() == 5 && arguments[1] == "--file" {
        return replace_file::<E>(&arguments[2], &arguments[3], &arguments[4]);
    }
    assert!(arguments.len() == 3, "usage: driver TERMS TEXT");
    let (_, terms) = read_lines(&arguments[1]);
    let before = status_kib("VmRSS:");
    let start = thread_ns();
    let engine = E::build(&terms);
    let build_ns = thread_ns() - start;
    let peak_kib = status_kib("VmHWM:") - before;
    let (text, rows) = read_lines(&arguments[2]);
    let mut session = Session { terms, text, rows, out: Vec::new(), engine };
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("cannot read a command");
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |index: usize| words.get(index).and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0);
        let reply = match words.first() {
            Some(&"quit") => return,
            Some(&"info") => Some(format!("ok {} {build_ns} {peak_kib} {} {}",
                session.engine.bytes(), session.text.len(), session.rows.len())),
            Some(&"text") => {
                (session.text, session.rows) = read_lines(&line["text ".len()..]);
                session.out = Vec::new();
                Some("ok".to_string())
            }
            Some(&"time") if words.len() > 1 => session.time(words[1], number(2), number(3) as u64),
            Some(&"verify") if words.len() > 1 => session.verify(words[1], words.get(2).copied()),
            _ => None,
        };
        println!("{}", reply.unwrap_or_else(|| "unsupported".to_string()));
        std::io::stdout().flush().expect("cannot answer");
    }
}
