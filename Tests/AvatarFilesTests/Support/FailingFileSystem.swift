import AvatarFiles
import Foundation
import Synchronization

/// The calls of the operating system, of which one fails.
final class FailingFileSystem: FileSystem {
    enum Call: String, Sendable {
        case open, write, synchronize, rename, unlink, makeDirectory
    }

    /// The call that fails, the how manieth of its kind it is from 1 on, and why.
    private struct Fault {
        let call: Call
        var callsLeft: Int
        let number: Int32
    }

    private let system = LocalFileSystem()
    private let fault = Mutex<Fault?>(nil)

    /// Lets the `count`th `call` from now on fail with `number`; those before and after it succeed.
    func fail(_ call: Call, _ count: Int = 1, with number: Int32) {
        fault.withLock { $0 = Fault(call: call, callsLeft: count, number: number) }
    }

    func open(_ path: String, in directory: Int32, flags: Int32, mode: mode_t) throws(SystemCallError) -> Int32 {
        try pass(.open, path)
        return try system.open(path, in: directory, flags: flags, mode: mode)
    }

    func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, named path: String) throws(SystemCallError) {
        try pass(.write, path)
        try system.write(bytes, to: file, named: path)
    }

    func synchronize(_ file: Int32, named path: String) throws(SystemCallError) {
        try pass(.synchronize, path)
        try system.synchronize(file, named: path)
    }

    func rename(
        _ source: String,
        in sourceDirectory: Int32,
        to target: String,
        in targetDirectory: Int32
    ) throws(SystemCallError) {
        try pass(.rename, target)
        try system.rename(source, in: sourceDirectory, to: target, in: targetDirectory)
    }

    func unlink(_ path: String, in directory: Int32) throws(SystemCallError) {
        try pass(.unlink, path)
        try system.unlink(path, in: directory)
    }

    func makeDirectory(_ path: String, in directory: Int32, mode: mode_t) throws(SystemCallError) -> Bool {
        try pass(.makeDirectory, path)
        return try system.makeDirectory(path, in: directory, mode: mode)
    }

    private func pass(_ call: Call, _ path: String) throws(SystemCallError) {
        let number = fault.withLock { fault -> Int32? in
            guard var waiting = fault, waiting.call == call else { return nil }
            waiting.callsLeft -= 1
            fault = waiting.callsLeft > 0 ? waiting : nil
            return fault == nil ? waiting.number : nil
        }
        if let number { throw SystemCallError(call.rawValue, path, number: number) }
    }
}
