//! Objects of Python that are dropped in a thread without the lock of the interpreter.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::thread;

/// A value with references to objects of Python, which a new thread drops.
///
/// Other packages release a stream or an array of Arrow without the lock of the interpreter, and also while the
/// interpreter collects garbage under a call of the engine. PyO3 then takes the lock for held, and would change the
/// counts of references, and even run the code of the last holder, without it. In a thread without such a call it knows
/// better, and keeps the reference until the lock is taken next.
pub(crate) struct DropInThread<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> DropInThread<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Some(value))
    }
}

impl<T: Send + 'static> Deref for DropInThread<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("the value is taken when this is dropped, and not before")
    }
}

impl<T: AsRef<[u8]> + Send + 'static> AsRef<[u8]> for DropInThread<T> {
    fn as_ref(&self) -> &[u8] {
        (**self).as_ref()
    }
}

impl<T: Send + 'static> Drop for DropInThread<T> {
    fn drop(&mut self) {
        // If no thread can begin, the value is lost: the closure that holds it must not drop it here.
        let value = self.0.take().map(ManuallyDrop::new);
        let _ = thread::Builder::new().spawn(move || drop(value.map(ManuallyDrop::into_inner)));
    }
}
