//! aho-corasick, DFA: fast and large.
// bench: crate aho-corasick = "=1.1.5"
// bench: max-terms 100000

#[path = "../driver/ac.rs"]
mod ac;

use aho_corasick::AhoCorasickKind;

struct Dfa;

impl ac::Automaton for Dfa {
    const KIND: Option<AhoCorasickKind> = Some(AhoCorasickKind::DFA);
}

fn main() {
    ac::main::<Dfa>();
}
