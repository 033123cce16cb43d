//! The crate aho-corasick behind the driver; an engine is one of its automata.

use std::cell::OnceCell;
use std::marker::PhantomData;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

#[path = "driver.rs"]
mod driver;

/// Which automaton; None: the crate chooses.
pub trait Automaton {
    const KIND: Option<AhoCorasickKind>;
}

struct Crate<A> {
    leftmost: AhoCorasick,
    /// Overlapping search needs the standard match kind: an automaton of its own, built at first use.
    standard: OnceCell<AhoCorasick>,
    terms: Vec<&'static [u8]>,
    automaton: PhantomData<A>,
}

impl<A: Automaton> Crate<A> {
    fn automaton(terms: &[&[u8]], kind: MatchKind) -> AhoCorasick {
        AhoCorasick::builder().kind(A::KIND).match_kind(kind).build(terms).expect("the automaton cannot be built")
    }

    fn standard(&self) -> &AhoCorasick {
        self.standard.get_or_init(|| Self::automaton(&self.terms, MatchKind::Standard))
    }
}

impl<A: Automaton> driver::Engine for Crate<A> {
    fn build(terms: &[&'static [u8]]) -> Self {
        let leftmost = Self::automaton(terms, MatchKind::LeftmostLongest);
        Crate { leftmost, standard: OnceCell::new(), terms: terms.to_vec(), automaton: PhantomData }
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

pub fn main<A: Automaton>() {
    driver::main::<Crate<A>>();
}
