#if canImport(Darwin)
import Dispatch

/// Calls back while the system is short of memory.
final class MemoryPressure {
    private let source: any DispatchSourceMemoryPressure

    init(_ relieve: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeMemoryPressureSource(eventMask: [.warning, .critical], queue: .global())
        source.setEventHandler(handler: relieve)
        source.activate()
    }

    deinit {
        source.cancel()
    }
}
#else
/// This platform does not tell: whoever knows calls `MemoryCache.removeAll()`.
struct MemoryPressure {
    init(_ relieve: @escaping @Sendable () -> Void) {}
}
#endif
