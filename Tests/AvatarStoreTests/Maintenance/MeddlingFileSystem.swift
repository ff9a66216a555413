import AvatarFiles
import Dispatch
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The operating system's file calls, with a closure that runs before each link.
final class MeddlingFileSystem: FileSystem {
    private let real = LocalFileSystem()
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

    func link(
        _ source: String,
        in sourceDirectory: Int32,
        to target: String,
        in targetDirectory: Int32
    ) throws(SystemCallError) {
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
        try real.link(source, in: sourceDirectory, to: target, in: targetDirectory)
    }

    func open(_ path: String, in directory: Int32, flags: Int32, mode: UInt32) throws(SystemCallError) -> Int32 {
        try real.open(path, in: directory, flags: flags, mode: mode)
    }

    func write(
        _ bytes: UnsafeRawBufferPointer,
        to file: Int32,
        at offset: Int,
        named path: String
    ) throws(SystemCallError) {
        try real.write(bytes, to: file, at: offset, named: path)
    }

    func synchronize(_ file: Int32, named path: String) throws(SystemCallError) {
        try real.synchronize(file, named: path)
    }

    func rename(
        _ source: String,
        in sourceDirectory: Int32,
        to target: String,
        in targetDirectory: Int32
    ) throws(SystemCallError) {
        try real.rename(source, in: sourceDirectory, to: target, in: targetDirectory)
    }

    func unlink(_ path: String, in directory: Int32) throws(SystemCallError) {
        try real.unlink(path, in: directory)
    }

    func makeDirectory(_ path: String, in directory: Int32, mode: UInt32) throws(SystemCallError) -> Bool {
        try real.makeDirectory(path, in: directory, mode: mode)
    }
}
