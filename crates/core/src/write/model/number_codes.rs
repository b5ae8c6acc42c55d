//! Numbers: their names in C++, and their codes of `TVirtualStreamerInfo::EReadWrite`.

use crate::column::Number;

/// C++ name of a number, as ROOT spells it.
pub(crate) fn cpp_name(number: Number) -> &'static str {
    match number {
        Number::Bool => "bool",
        Number::I8 => "char",
        Number::U8 => "unsigned char",
        Number::I16 => "short",
        Number::U16 => "unsigned short",
        Number::I32 => "int",
        Number::U32 => "unsigned int",
        Number::I64 => "Long64_t",
        Number::U64 => "ULong64_t",
        Number::F32 => "float",
        Number::F64 => "double",
    }
}

/// Its code of `TVirtualStreamerInfo::EReadWrite`.
pub(super) fn code(number: Number) -> i32 {
    match number {
        Number::I8 => 1,
        Number::I16 => 2,
        Number::I32 => 3,
        Number::F32 => 5,
        Number::F64 => 8,
        Number::U8 => 11,
        Number::U16 => 12,
        Number::U32 => 13,
        Number::I64 => 16,
        Number::U64 => 17,
        Number::Bool => 18,
    }
}

/// Added to the code of a number: an array of a fixed length.
pub(crate) const ARRAY: i32 = 20;
/// That of an `int` which is the length of arrays.
pub(crate) const COUNTER: i32 = 6;
/// Added to the code of a number: an array with a length that another member tells.
pub(crate) const COUNTED: i32 = 40;

/// The number of a code, alone or in an array.
pub(crate) fn number(code_of: i32) -> Option<Number> {
    let all = [
        Number::Bool,
        Number::I8,
        Number::U8,
        Number::I16,
        Number::U16,
        Number::I32,
        Number::U32,
        Number::I64,
        Number::U64,
        Number::F32,
        Number::F64,
    ];
    all.into_iter().find(|&number| code(number) == code_of || code(number) + ARRAY == code_of)
}
