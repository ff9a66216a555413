import AvatarFileSystem
import AvatarStoreTesting
import Dispatch
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The operating system's file calls, with a closure that runs before each link.
final class MeddlingFileSystem: ForwardingFileSystem {
    let real = LocalFileSystem()
    private let links = Atomic<Int>(0)
    private let meddle: @Sendable (_ link: Int) async throws -> Void

    /// - Parameter meddle: gets the number of links so far.
    init(_ meddle: @escaping @Sendable (_ link: Int) async throws -> Void) {
        self.meddle = meddle
    }

    /// Runs `meddle` before the first link only.
    static func once(_ meddle: @escaping @Sendable () async throws -> Void) -> MeddlingFileSystem {
        MeddlingFileSystem { if $0 == 0 { try await meddle() } }
    }

    func linkat(_ sourceDirectory: Int32, _ source: String, _ targetDirectory: Int32, _ target: String) -> Int32 {
        let number = links.add(1, ordering: .relaxed).oldValue
        let isDone = DispatchSemaphore(value: 0)
        Task.detached { [meddle] in
            do {
                try await meddle(number)
            } catch {
                Issue.record(error)
            }
            isDone.signal()
        }
        // This runs on the copier's own thread, so blocking it is fine.
        isDone.wait()
        return real.linkat(sourceDirectory, source, targetDirectory, target)
    }
}
