public import Synchronization

/// A value behind a lock.
///
/// `Mutex` with one difference: `withLock` is never inlined. On Linux, `Mutex` keeps the number of its thread in a thread-local
/// variable. The compiler (6.3, in release mode) may take the address of that variable before an `await` of the function into which
/// the call is inlined, and use it afterwards on another thread. The unlocking then ends the program. `scripts/check-locks` looks for
/// such functions.
///
/// It is public, because the compiler specialises generic functions of another module only if they are.
public struct Locked<Value: ~Copyable>: ~Copyable, Sendable {
    @usableFromInline let mutex: Mutex<Value>

    /// A lock around `value`.
    @inlinable
    public init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Calls `body` with the value, which no other thread has meanwhile.
    @inlinable @inline(never)
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock(body)
    }

    /// Calls `body` with the value; `nil` if another thread has it at this moment.
    @inlinable @inline(never)
    public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try mutex.withLockIfAvailable(body)
    }
}
