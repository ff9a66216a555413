import AvatarCore
import AvatarFileSystem
import AvatarFiles
import AvatarImages
import AvatarStoreTesting
import Foundation
import Testing

/// Runs `body` with the path of an empty directory, which is removed afterwards.
func withTemporaryDirectory<Value>(_ body: (String) throws -> Value) throws -> Value {
    let directory = FileManager.default.temporaryDirectory.appending(path: "avatars-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let result = Result { try body(directory.path) }
    try FileManager.default.removeItem(at: directory)
    return try result.get()
}

/// A root and a holder's staging folder, with the files of one storage class.
struct Places {
    let root: Directory
    let staging: Directory
    let holder: Holder
    let files: FileStore
    let system = FaultyFileSystem()

    init(
        in directory: String,
        _ storageClass: StorageClass = .caches,
        fileMode: UInt32 = 0o600
    ) throws {
        let mode = FileStore.directoryMode(for: fileMode)
        root = try Directory.makeRoot(directory + "/root", on: system, mode: mode)
        staging = try Directory.makeRoot(directory + "/staging", on: system, mode: mode)
        holder = try Holder(in: staging)
        files = try FileStore(
            storageClass,
            root: root,
            staging: staging,
            holder: holder,
            fileMode: fileMode
        )
    }

    /// Stages `bytes` as a complete image.
    func stage(_ bytes: [UInt8]) throws -> StagedImage {
        let file = try files.staging.stage()
        try file.write(bytes)
        return file.finish(as: .sample)
    }

    /// Publishes one image.
    func publish(_ image: StagedImage, as path: String, label: FileLabel? = nil, isDurable: Bool)
        throws(AvatarStoreError)
    {
        try files.publish([FileStore.NewFile(image, as: path, label: label, isDurable: isDurable)])
    }

    /// Stages and publishes `bytes`; returns the file's row for the index.
    func publish(_ bytes: [UInt8], as path: String = "ab/cdef01-00000000000000ff.png") throws -> FileRecord {
        try publish(stage(bytes), as: path, isDurable: false)
        return .sample(path, bytes.count)
    }

    /// The names of the staged files.
    var stagedNames: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: staging.path + "/" + holder.name) }
    }

    /// Every file and folder in the root.
    var publishedNames: [String] {
        get throws { try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted() }
    }
}

/// Runs `body` with a root, a staging folder and a holder of their own.
func withPlaces(
    _ storageClass: StorageClass = .caches,
    fileMode: UInt32 = 0o600,
    _ body: (Places) throws -> Void
) throws {
    try withTemporaryDirectory { try body(Places(in: $0, storageClass, fileMode: fileMode)) }
}

extension ImageDescription {
    static let sample = ImageDescription(format: .png, width: 40, height: 30)
}

extension FileRecord {
    /// The index's record of the file at `path`.
    static func sample(_ path: String, _ sizeBytes: Int) -> FileRecord {
        FileRecord(
            id: 1,
            storageClass: .caches,
            path: path,
            sizeBytes: sizeBytes,
            mediaType: "image/png",
            width: 40,
            height: 30
        )
    }
}

/// The permission bits of `path`.
func permissions(of path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
}

/// The store's error that `body` throws; `nil`, with an issue recorded, if it throws none or another.
func thrownError(
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) -> AvatarStoreError? {
    do {
        try body()
        Issue.record("Nothing was thrown.", sourceLocation: sourceLocation)
    } catch let error as AvatarStoreError {
        return error
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
    }
    return nil
}
