//! daachorse, bytewise double array.
// bench: crate daachorse = "=5.1.0"

#[path = "../driver/driver.rs"]
mod driver;

use std::cell::OnceCell;

use daachorse::{DoubleArrayAhoCorasick, DoubleArrayAhoCorasickBuilder, MatchKind};

struct Crate {
    leftmost: DoubleArrayAhoCorasick<u32>,
    /// Overlapping search needs the standard match kind: an automaton of its own, built at first use.
    standard: OnceCell<DoubleArrayAhoCorasick<u32>>,
    terms: Vec<&'static [u8]>,
}

fn automaton(terms: &[&[u8]], kind: MatchKind) -> DoubleArrayAhoCorasick<u32> {
    DoubleArrayAhoCorasickBuilder::new().match_kind(kind).build(terms).expect("the automaton cannot be built")
}

impl Crate {
    fn standard(&self) -> &DoubleArrayAhoCorasick<u32> {
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
        Some(self.standard().find_iter(text).next().is_some())
    }

    fn count_leftmost(&self, text: &[u8]) -> Option<u64> {
        Some(self.leftmost.leftmost_find_iter(text).count() as u64)
    }

    fn count_overlapping(&self, text: &[u8]) -> Option<u64> {
        Some(self.standard().find_overlapping_iter(text).count() as u64)
    }

    fn replace(&self, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
        driver::splice(text, self.leftmost.leftmost_find_iter(text).map(|m| (m.start(), m.end())), out);
        Some(())
    }
}

fn main() {
    driver::main::<Crate>();
}
