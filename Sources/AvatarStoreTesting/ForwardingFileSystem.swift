package import AvatarFileSystem
package import AvatarFoundation

/// Another file system, for tests that put something before a few of its calls.
///
/// All requirements of `FileSystem` have an implementation here; a conforming type writes those that it changes.
package protocol ForwardingFileSystem: FileSystem {
    /// The other file system.
    associatedtype Real: FileSystem
    /// Makes the calls.
    var real: Real { get }
}

extension ForwardingFileSystem {
    package var databaseVFS: String? { real.databaseVFS }

    package func openat(_ directory: Int32, _ path: String, _ flags: Int32, _ mode: UInt32) -> Int32 {
        real.openat(directory, path, flags, mode)
    }

    package func openBeneath(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        real.openBeneath(directory, path, flags)
    }

    @discardableResult
    package func close(_ file: Int32) -> Int32 { real.close(file) }

    package func pread(_ file: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int, _ offset: Int) -> Int {
        real.pread(file, buffer, count, offset)
    }

    package func pwrite(_ file: Int32, _ buffer: UnsafeRawPointer?, _ count: Int, _ offset: Int) -> Int {
        real.pwrite(file, buffer, count, offset)
    }

    @discardableResult
    package func ftruncate(_ file: Int32, _ length: Int) -> Int32 { real.ftruncate(file, length) }

    @discardableResult
    package func fsync(_ file: Int32) -> Int32 { real.fsync(file) }

    package func syncfs(_ file: Int32) -> Int32 { real.syncfs(file) }

    package func startWriting(_ file: Int32) { real.startWriting(file) }

    package func renameat(
        _ sourceDirectory: Int32,
        _ source: String,
        _ targetDirectory: Int32,
        _ target: String
    ) -> Int32 {
        real.renameat(sourceDirectory, source, targetDirectory, target)
    }

    @discardableResult
    package func linkat(
        _ sourceDirectory: Int32,
        _ source: String,
        _ targetDirectory: Int32,
        _ target: String
    ) -> Int32 {
        real.linkat(sourceDirectory, source, targetDirectory, target)
    }

    @discardableResult
    package func unlinkat(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        real.unlinkat(directory, path, flags)
    }

    package func mkdirat(_ directory: Int32, _ path: String, _ mode: UInt32) -> Int32 {
        real.mkdirat(directory, path, mode)
    }

    package func fstat(_ file: Int32, _ information: inout stat) -> Int32 { real.fstat(file, &information) }

    package func fstatat(_ directory: Int32, _ path: String, _ information: inout stat, _ flags: Int32) -> Int32 {
        real.fstatat(directory, path, &information, flags)
    }

    package func fstatvfs(_ file: Int32, _ information: inout statvfs) -> Int32 { real.fstatvfs(file, &information) }

    package func faccessat(_ directory: Int32, _ path: String, _ mode: Int32) -> Int32 {
        real.faccessat(directory, path, mode)
    }

    package func names(in directory: Int32) -> [String]? { real.names(in: directory) }

    package func readlinkat(_ directory: Int32, _ path: String) -> [UInt8]? { real.readlinkat(directory, path) }

    package func realpath(_ path: String) -> String? { real.realpath(path) }

    package func lock(_ file: Int32, _ operation: Int32) -> Int32 { real.lock(file, operation) }

    package func lockByte(_ file: Int32, at offset: Int) -> Int32 { real.lockByte(file, at: offset) }

    @discardableResult
    package func unlockByte(_ file: Int32, at offset: Int) -> Int32 { real.unlockByte(file, at: offset) }

    package func setAttribute(_ file: Int32, _ name: String, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int32 {
        real.setAttribute(file, name, bytes, count)
    }

    package func attribute(_ file: Int32, _ name: String, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        real.attribute(file, name, buffer, count)
    }

    package func futimens(_ file: Int32, _ access: timespec, _ change: timespec) -> Int32 {
        real.futimens(file, access, change)
    }

    package func fchmod(_ file: Int32, _ mode: UInt32) -> Int32 { real.fchmod(file, mode) }

    package func isOnNetwork(_ file: Int32) -> Int32 { real.isOnNetwork(file) }
}
