//! The fence: the only crate of the engine that may hold an `unsafe` line.
//!
//! Filling fresh memory costs more than decoding it, because every 4 KiB page faults once. Huge pages take that cost
//! away, and asking for them is a system call on an address.

#![warn(missing_docs)]

/// Asks the kernel to back `memory` with huge pages. Advice only: a kernel that cannot, does nothing, and the bytes
/// themselves are never touched.
///
/// # Example
///
/// ```
/// let mut answer = vec![0_u8; 1 << 22];
/// sapwood_fence::advise_huge_pages(&mut answer);
/// ```
pub fn advise_huge_pages(memory: &mut [u8]) {
    const PAGE: usize = 4096;
    let start = memory.as_mut_ptr() as usize;
    let first = start.next_multiple_of(PAGE);
    let last = (start + memory.len()) & !(PAGE - 1);
    if first >= last {
        return;
    }
    #[cfg(target_os = "linux")]
    // SAFETY: the range lies inside `memory`, which is borrowed mutably for the length of the call, and
    // MADV_HUGEPAGE changes neither content nor protection of a mapping.
    let _ = unsafe {
        rustix::mm::madvise(first as *mut core::ffi::c_void, last - first, rustix::mm::Advice::LinuxHugepage)
    };
}
