//! aho-corasick as its users get it: it chooses the automaton and may prefilter.
// bench: crate aho-corasick = "=1.1.5"

#[path = "../driver/ac.rs"]
mod ac;

use aho_corasick::AhoCorasickKind;

struct Auto;

impl ac::Automaton for Auto {
    const KIND: Option<AhoCorasickKind> = None;
}

fn main() {
    ac::main::<Auto>();
}
