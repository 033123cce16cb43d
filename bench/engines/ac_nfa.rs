//! aho-corasick, contiguous NFA.
// bench: crate aho-corasick = "=1.1.5"

#[path = "../driver/ac.rs"]
mod ac;

use aho_corasick::AhoCorasickKind;

struct Nfa;

impl ac::Automaton for Nfa {
    const KIND: Option<AhoCorasickKind> = Some(AhoCorasickKind::ContiguousNFA);
}

fn main() {
    ac::main::<Nfa>();
}
