import AvatarStore
package import AvatarCore
import AvatarFiles
import AvatarFoundation

/// The places of the exported images in the manifest. An image costs about 50 bytes of memory, whatever its key and its name are.
struct ExportedImages {
    private struct Place {
        let offset: Int
        let count: Int
    }

    private var places: [UInt64: Place] = [:]

    /// Remembers where the line of `key` is in the manifest.
    mutating func note(_ key: AvatarKey, at offset: Int, count: Int) {
        places[Self.hash(key)] = Place(offset: offset, count: count)
    }

    /// The line of `key` in the unfinished manifest; `nil` if the image is not exported.
    func line(of key: AvatarKey, in folder: ImageFolder) throws -> ImageManifest.Entry? {
        guard let place = places[Self.hash(key)] else { return nil }
        let bytes = try folder.read(ImageManifest.unfinishedName, at: place.offset, count: place.count)
        let entry = try JSONDecoder().decode(ImageManifest.Entry.self, from: Data(bytes))
        // Another key may have the same hash; an image must never stand for another one.
        return entry.key == key.rawValue ? entry : nil
    }

    private static func hash(_ key: AvatarKey) -> UInt64 {
        ContentDigest.sha256(Array(key.rawValue.utf8)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension ImageFolder {
    /// Opens the folder of an export at `path`; creates it unless `fileMode` is `nil`.
    ///
    /// - Returns: `nil` for a missing folder, if `fileMode` is `nil`.
    /// - Throws: `unusableRoot` for a symbolic link, a file, or a folder that another user can change; `readOnly`, `diskFull`
    ///   or `storage`.
    static func ofExport(_ path: String, fileMode: UInt32?) throws(AvatarStoreError) -> ImageFolder? {
        let folder = try ImageFolder(writing: path, fileMode: fileMode)
        if let folder { try TargetAccess(folder.directory)?.requireOwn(path) }
        return folder
    }
}

/// The folder of an export, for the pages beside the images.
package struct ExportFolder {
    private let folder: ImageFolder
    private let images: ExportedImages
    private let fileMode: UInt32
    private let pages: ImageFolder

    /// Makes the folder of the pages.
    init(_ folder: ImageFolder, images: ExportedImages, fileMode: UInt32) throws {
        (self.folder, self.images, self.fileMode) = (folder, images, fileMode)
        pages = try folder.makeFolder(ImageManifest.pageFolderName, fileMode: fileMode)
    }

    /// The name of the folder of the pages.
    package static let pageFolderName = ImageManifest.pageFolderName
    /// The name of the first page.
    package static let firstPageName = ImageManifest.firstPageName

    /// The exported image of `key`; `nil` if it is not in the folder.
    package func image(of key: AvatarKey) throws -> ImageManifest.Entry? {
        try images.line(of: key, in: folder)
    }

    /// Writes the first page.
    package func writeFirstPage(_ bytes: [UInt8]) throws {
        try folder.write(bytes, to: ImageManifest.firstPageName, mode: fileMode)
    }

    /// Writes a file into the folder of the pages.
    ///
    /// - Parameter name: must end in `.html` or `.svg`, so that the next export removes the remains of a killed one.
    package func writePage(_ bytes: [UInt8], to name: String) throws {
        precondition(ImageManifest.pageSuffixes.contains(where: name.hasSuffix))
        try pages.write(bytes, to: name, mode: fileMode)
    }

    /// Whether the folder of the pages has a file of this name.
    package func hasPage(_ name: String) -> Bool { pages.has(name) }
}
