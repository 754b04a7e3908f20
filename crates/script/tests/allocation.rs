//! Tests that numbers are evaluated and printed without allocating, as the hot loop needs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use steelyard_script::{builtin, evaluate, parse, Command, Random, Scope, Symbols, Value};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of GlobalAlloc::alloc.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of GlobalAlloc::dealloc.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn setting_and_printing_the_variables_of_tpcb_like_allocates_nothing() {
    let mut symbols = Symbols::new();
    let text = builtin("tpcb-like").expect("built in");
    let script = parse("tpcb-like", text, &mut symbols, &["scale"]).expect("script");
    let mut scope = Scope::new(symbols.len());
    scope.values[symbols.find("scale").expect("scale")] = Value::Int(50);
    let mut random = Random::new(1);
    let mut out = Vec::with_capacity(1 << 16);

    let before = ALLOCATIONS.with(Cell::get);
    for _ in 0..1_000 {
        out.clear();
        for command in &script.commands {
            if let Command::Set { slot, expr } = command {
                scope.values[*slot] = evaluate(expr, &scope, &mut random).expect("value");
                scope.values[*slot].write_text(&mut out);
            }
        }
    }
    assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0);
    assert!(!out.is_empty());
}
