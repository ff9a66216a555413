package import AvatarCore
import Crypto
import Foundation

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A folder of pictures that belongs to a person and not to a store: an export writes one, an import reads one.
///
/// Only files that lie in it itself are touched. No name leads out of it, and no symbolic link is followed.
package final class PictureFolder: Sendable {
    package let directory: Directory

    /// The folder's path.
    package var path: String { directory.path }

    private init(_ directory: Directory) {
        self.directory = directory
    }

    /// Opens the folder at `path` for reading; the path itself may lead through symbolic links.
    package convenience init(reading path: String) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            self.init(try Directory(opening: RealPath(path).text))
        } catch {
            throw error.storeError
        }
    }

    /// Opens the folder at `path` for writing, and makes it if it is not there.
    package convenience init(writing path: String, fileMode: UInt32) throws(AvatarStoreError) {
        let mode = FileStore.directoryMode(for: fileMode)
        self.init(try Directory.makeRoot(RealPath(path).text, mode: mode, allowsNetwork: true))
    }

    /// Keeps other exports out of the folder for as long as this value lives.
    ///
    /// - Throws: `busy` if somebody else has it.
    package func lock() throws(AvatarStoreError) {
        guard flock(directory.descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
        let error = SystemCallError("flock", path)
        guard error.number == EWOULDBLOCK else { return }
        throw AvatarStoreError(.busy, "Another export writes to \(path); nothing was changed there.")
    }

    /// The names in the folder, sorted by their bytes.
    package func names() throws(AvatarStoreError) -> [String] {
        try wrapped { () throws(SystemCallError) in try directory.names() }
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Whether there is anything called `name`, as this file system compares names.
    package func has(_ name: String) -> Bool {
        var information = stat()
        return fstatat(directory.descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0
    }

    // MARK: Reading

    /// What a name turned out to be.
    package enum Found {
        case file([UInt8])
        /// A file of more bytes than the limit; none were read.
        case tooLarge(bytes: Int)
        /// A folder, a symbolic link, a device or the like.
        case somethingElse
        case nothing
    }

    /// The bytes of the file `name`, which must lie in the folder itself.
    ///
    /// - Throws: an error of the disk, such as a file that may not be read.
    package func read(_ name: String, limit: Int) throws(AvatarStoreError) -> Found {
        guard Self.isPlain(name) else { return .somethingElse }
        // Opening a pipe without this waits for somebody to write to it.
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let descriptor = openat(directory.descriptor, name, flags)
        guard descriptor >= 0 else {
            let error = SystemCallError("open", path + "/" + name)
            if error.isMissing { return .nothing }
            if error.number == ELOOP || error.number == ENXIO { return .somethingElse }
            throw error.storeError
        }
        defer { close(descriptor) }
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            return .somethingElse
        }
        guard information.st_size <= limit else { return .tooLarge(bytes: Int(information.st_size)) }
        let source = FileSource(descriptor, byteCount: Int(information.st_size), path: path + "/" + name)
        return .file(try Self.bytes(of: source))
    }

    /// Whether `name` names something in the folder itself.
    package static func isPlain(_ name: String) -> Bool {
        FilePath.isPlain(name)
    }

    private static func bytes(of source: FileSource) throws(AvatarStoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            while bytes.count < source.byteCount {
                let piece = try source.bytes(at: bytes.count, count: source.byteCount - bytes.count)
                // It was cut short meanwhile; what came is judged like any other file.
                if piece.isEmpty { break }
                bytes += piece
            }
        } catch let error as AvatarStoreError {
            throw error
        } catch {
            throw AvatarStoreError(.storage, "A picture cannot be read: \(error).", underlying: error)
        }
        return bytes
    }

    // MARK: Writing

    /// Writes a file that was not there.
    package func write(_ bytes: [UInt8], to name: String, mode: UInt32) throws(AvatarStoreError) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        try put(bytes, into: name, at: 0, flags: flags, mode: mode)
    }

    /// Writes `bytes` at `offset` of the file `name`, which is made if it is not there.
    package func append(_ bytes: [UInt8], to name: String, at offset: Int, mode: UInt32) throws(AvatarStoreError) {
        try put(bytes, into: name, at: offset, flags: O_WRONLY | O_CREAT | O_NOFOLLOW, mode: mode)
    }

    private func put(
        _ bytes: [UInt8],
        into name: String,
        at offset: Int,
        flags: Int32,
        mode: UInt32
    ) throws(AvatarStoreError) {
        let system = LocalFileSystem()
        try wrapped { () throws(SystemCallError) in
            let descriptor = try system.open(name, in: directory.descriptor, flags: flags, mode: mode)
            defer { close(descriptor) }
            try bytes.withUnsafeBufferPointer { (buffer) throws(SystemCallError) in
                try system.write(UnsafeRawBufferPointer(buffer), to: descriptor, at: offset, named: path + "/" + name)
            }
        }
    }

    /// Gives the file `name` another name.
    package func rename(_ name: String, to other: String) throws(AvatarStoreError) {
        try wrapped { () throws(SystemCallError) in
            try LocalFileSystem().rename(name, in: directory.descriptor, to: other, in: directory.descriptor)
        }
    }

    /// Removes the file `name`; what is gone already, or lies elsewhere, stays so.
    package func remove(_ name: String) {
        guard Self.isPlain(name) else { return }
        // What stays is found by whoever wants the folder empty.
        unlinkat(directory.descriptor, name, 0)
    }

    private func wrapped<Result>(
        _ body: () throws(SystemCallError) -> Result
    ) throws(AvatarStoreError) -> Result {
        do throws(SystemCallError) {
            return try body()
        } catch {
            throw error.storeError
        }
    }
}

/// File names for pictures in people's folders: after what the image is called, and safe wherever the folder is taken.
package enum PictureName {
    /// The most bytes of what comes before the ending.
    static let maximumBytes = 100
    /// What Windows takes for a device, whatever the ending.
    private static let devices: Set<String> = Set(
        ["con", "prn", "aux", "nul"] + (0...9).flatMap { ["com\($0)", "lpt\($0)"] }
    )

    /// A name for the image of `key`, such as `Ada.png`. Two keys may have the same one.
    package static func make(for key: AvatarKey, format: ImageFormat) -> String {
        stem(for: key, format: format) + "." + format.fileExtension
    }

    /// A name that no other key has: `Ada-0123456789ab.png`.
    package static func makeDistinct(for key: AvatarKey, format: ImageFormat) -> String {
        let digest = Hexadecimal.text(SHA256.hash(data: Data(key.rawValue.utf8)).prefix(6))
        return stem(for: key, format: format) + "-" + digest + "." + format.fileExtension
    }

    /// What an own picture in the file `name` is called: the name without its ending.
    package static func imageName(ofFile name: String) -> String {
        let stem = name.utf8.lastIndex(of: UInt8(ascii: ".")).map { String(name[..<$0]) } ?? name
        return (stem.isEmpty ? name : stem).precomposedStringWithCanonicalMapping
    }

    private static func stem(for key: AvatarKey, format: ImageFormat) -> String {
        var stem = safe(title(of: key))
        if stem.lowercased().hasSuffix("." + format.fileExtension) { stem.removeLast(format.fileExtension.count + 1) }
        while stem.utf8.count > maximumBytes { stem.removeLast() }
        // A dot at the front hides a file, a dash makes it an option, and Windows drops what is at the end.
        stem = stem.trimmingCharacters(in: CharacterSet(charactersIn: ".- "))
        if stem.isEmpty { stem = "image" }
        let device = stem.prefix { $0 != "." }.lowercased()
        return devices.contains(device) ? "_" + stem : stem
    }

    /// What a person would call the image.
    private static func title(of key: AvatarKey) -> String {
        let text = key.rawValue
        if key.isOwnImage { return String(Substring(text.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst())) }
        guard key.isURL else { return text }
        let path = text.prefix { $0 != "?" }.split(separator: "/").dropFirst(2)
        return path.last.map { $0.removingPercentEncoding ?? String($0) } ?? key.host?.name ?? "image"
    }

    /// `text` with an underscore for whatever is no letter, digit, mark, space or one of `-_.`.
    private static func safe(_ text: String) -> String {
        var safe = String.UnicodeScalarView()
        for scalar in text.precomposedStringWithCanonicalMapping.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
                .nonspacingMark, .spacingMark, .decimalNumber, .letterNumber, .otherNumber:
                safe.append(scalar)
            default:
                safe.append("-_. ".unicodeScalars.contains(scalar) ? scalar : "_")
            }
        }
        return String(safe)
    }
}
