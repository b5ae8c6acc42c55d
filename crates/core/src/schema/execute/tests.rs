use super::super::program::Counter;
use super::*;
use crate::column::{BufferKind, Kind, Number, Prim};
use crate::error::ErrorKind;

impl<'a> Machine<'a> {
    /// A machine for objects that are nowhere in particular.
    pub(in crate::schema) fn of_tests(registry: &'a Registry, limits: &'a Limits, objects: &'a mut Objects) -> Self {
        Self { registry, objects, limits, displacement: 0, outside: &[], depth: 0 }
    }
}

#[test]
fn a_failed_object_does_not_leave_its_depth() {
    let kind = Kind::Number { buffer: 0, number: Number::I32 };
    let steps =
        vec![Step::numbers(Prim::Plain(Number::I32), 1, 0).unwrap(), Step::Each { body: Span { start: 0, end: 1 } }];
    let program =
        Program { root: Span { start: 1, end: 2 }, ..Program::of(steps, kind, vec![BufferKind::Numbers(Number::I32)]) };
    let (registry, limits, mut objects) = (Registry::default(), Limits::default(), Objects::default());
    let mut machine = Machine::of_tests(&registry, &limits, &mut objects);
    let mut part = Part::new(&program.buffers);
    for _ in 0..2 * limits.depth {
        let failed = machine.decode(&program, &mut Reader::new(&[0, 1]), 1, Order::Rows, &mut part);
        assert_eq!((failed.unwrap_err().kind(), machine.depth), (ErrorKind::Malformed, 0));
    }
}

#[test]
fn a_counter_that_is_not_there_is_no_count_of_zero() {
    let counter = Counter::Member(0, Number::I32);
    let step =
        Step::Counted { prim: Prim::Plain(Number::U8), flagged: true, lists: 1, len: 1, counter, ends: 1, values: 2 };
    let buffers = [BufferKind::Numbers(Number::I32), BufferKind::Ends, BufferKind::Numbers(Number::U8)];
    let kind = Kind::Number { buffer: 0, number: Number::I32 };
    let program = Program::of(vec![step], kind, buffers.to_vec());
    let (registry, limits, mut objects) = (Registry::default(), Limits::default(), Objects::default());
    let mut machine = Machine::of_tests(&registry, &limits, &mut objects);
    let failed = machine.decode(&program, &mut Reader::new(&[1]), 1, Order::Rows, &mut Part::new(&buffers));
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn objects_without_members_are_counted_though_they_have_no_bytes() {
    let empty = crate::schema::layout_dsl::describe("E", 1, "");
    let registry = Registry::new(vec![empty], 63200);
    let program = registry.program(&crate::schema::Target::Value { name: "vector<E>".into() }).unwrap();
    let decode = |count: [u8; 4]| {
        // Byte count, version 9 member by member, version of the items, how many.
        let bytes = [&[0x40, 0, 0, 8, 0x40, 9, 0, 1][..], &count].concat();
        let (limits, mut objects) = (Limits::default(), Objects::default());
        let mut machine = Machine::of_tests(&registry, &limits, &mut objects);
        let mut part = Part::new(&program.buffers);
        machine.decode(&program, &mut Reader::new(&bytes), 1, Order::Rows, &mut part).map(|()| part)
    };
    let Kind::List { offsets, .. } = program.kind else { panic!("no list") };
    assert_eq!(decode([0, 0, 0, 3]).unwrap().words(offsets), [3]);
    assert_eq!(decode([0x7f, 0, 0, 0]).unwrap_err().kind(), ErrorKind::Limit);
}
