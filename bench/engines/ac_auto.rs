//! aho-corasick as its users get it: it chooses the automaton and may prefilter.
// bench: crate aho-corasick = "=1.1.5"

#[path = "../driver/driver.rs"]
mod driver;

use std::cell::OnceCell;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

const KIND: Option<AhoCorasickKind> = None;

struct Crate {
    leftmost: AhoCorasick,
    /// Overlapping search needs the standard match kind: an automaton of its own, built at first use.
    standard: OnceCell<AhoCorasick>,
    terms: Vec<&'static [u8]>,
}

fn automaton(terms: &[&[u8]], kind: MatchKind) -> AhoCorasick {
    AhoCorasick::builder().kind(KIND).match_kind(kind).build(terms).expect("the automaton cannot be built")
}

impl Crate {
    fn standard(&self) -> &AhoCorasick {
        self.standard.get_or_init(|| automaton(&self.terms, MatchKind::Standard))
    }
}

impl driver::Engine for Crate {
    fn build(terms: &[&'static [u8]]) -> Self {
        let leftmost = automaton(terms, MatchKind::LeftmostLongest);
        Crate { leftmost, standard: OnceCell::new(), terms: terms.to_vec() }
    }

    fn bytes(&self) -> usize {
        self.leftmost.memory_usage()
    }

    fn contains(&self, text: &[u8]) -> Option<bool> {
        Some(self.leftmost.is_match(text))
    }

    fn count_leftmost(&self, text: &[u8]) -> Option<u64> {
        Some(self.leftmost.find_iter(text).count() as u64)
    }

    fn count_overlapping(&self, text: &[u8]) -> Option<u64> {
        Some(self.standard().find_overlapping_iter(text).count() as u64)
    }

    fn replace(&self, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
        driver::splice(text, self.leftmost.find_iter(text).map(|m| (m.start(), m.end())), out);
        Some(())
    }
}

fn main() {
    driver::main::<Crate>();
}
