//! daachorse, characterwise double array, for valid UTF-8.
// bench: crate daachorse = "=5.1.0"

#[path = "../driver/driver.rs"]
mod driver;

use std::cell::OnceCell;

use daachorse::{CharwiseDoubleArrayAhoCorasick, CharwiseDoubleArrayAhoCorasickBuilder, MatchKind};

struct Crate {
    leftmost: CharwiseDoubleArrayAhoCorasick<u32>,
    /// Overlapping search needs the standard match kind: an automaton of its own, built at first use.
    standard: OnceCell<CharwiseDoubleArrayAhoCorasick<u32>>,
    terms: Vec<&'static [u8]>,
}

/// The texts of the bench are UTF-8, so no call pays for a check.
fn utf8(text: &[u8]) -> &str {
    // SAFETY: rows and terms are cut from UTF-8 files at newlines.
    unsafe { std::str::from_utf8_unchecked(text) }
}

fn automaton(terms: &[&[u8]], kind: MatchKind) -> CharwiseDoubleArrayAhoCorasick<u32> {
    CharwiseDoubleArrayAhoCorasickBuilder::new().match_kind(kind).build(terms.iter().map(|term| utf8(term))).expect("the automaton cannot be built")
}

impl Crate {
    fn standard(&self) -> &CharwiseDoubleArrayAhoCorasick<u32> {
        self.standard.get_or_init(|| automaton(&self.terms, MatchKind::Standard))
    }
}

impl driver::Engine for Crate {
    fn build(terms: &[&'static [u8]]) -> Self {
        let leftmost = automaton(terms, MatchKind::LeftmostLongest);
        Crate { leftmost, standard: OnceCell::new(), terms: terms.to_vec() }
    }

    fn bytes(&self) -> usize {
        self.leftmost.heap_bytes()
    }

    fn contains(&self, text: &[u8]) -> Option<bool> {
        Some(self.standard().find_iter(utf8(text)).next().is_some())
    }

    fn count_leftmost(&self, text: &[u8]) -> Option<u64> {
        Some(self.leftmost.leftmost_find_iter(utf8(text)).count() as u64)
    }

    fn count_overlapping(&self, text: &[u8]) -> Option<u64> {
        Some(self.standard().find_overlapping_iter(utf8(text)).count() as u64)
    }

    fn replace(&self, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
        driver::splice(text, self.leftmost.leftmost_find_iter(utf8(text)).map(|m| (m.start(), m.end())), out);
        Some(())
    }
}

fn main() {
    driver::main::<Crate>();
}
