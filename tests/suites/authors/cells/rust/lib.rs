//! A predicate that does what the sandbox lacks, and what goes wrong: one of them, which its argument names.

use nodesift_sdk::{Predicate, Verdict, log};
use serde::Deserialize;

/// Names what is done.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Args {
    does: String,
}

/// Does what its argument names.
#[derive(Debug)]
pub struct Cells(Args);

#[inline(never)]
#[allow(unconditional_recursion)]
fn deep(n: &mut u64) -> u64 {
    let mut next = *n + 1;
    std::hint::black_box(deep(std::hint::black_box(&mut next))) + next // No loop for the optimiser.
}

impl Predicate for Cells {
    const NAME: &'static str = "Cells";
    const SUMMARY: &'static str = "does what the sandbox lacks";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        Ok(Self(args))
    }

    fn filter(&self, rows: usize) -> Verdict {
        match self.0.does.as_str() {
            "log" => log::info("logged"),
            "clock" => drop(std::time::Instant::now()),
            "file" => drop(std::fs::read("/etc/hostname").unwrap()),
            "network" => drop(std::net::TcpStream::connect("localhost:1").unwrap()),
            "environment" => drop(std::env::var("HOME").unwrap()),
            "exit" => std::process::exit(3),
            "exception" => panic!("mine"),
            "index" => assert!([0; 3][rows + 3] == 0),
            "loop" => loop {
                std::hint::spin_loop();
            },
            "memory" => {
                let mut kept = Vec::new();
                loop {
                    kept.push(vec![1_u8; 1 << 20]);
                }
            }
            "stack" => assert!(deep(&mut 0) > 0),
            "deadlock" => {
                let mutex = std::sync::Mutex::new(());
                let _first = mutex.lock();
                let _second = mutex.lock();
            }
            _ => {}
        }
        Verdict::FitsAll
    }
}

nodesift_sdk::export!(Cells);
