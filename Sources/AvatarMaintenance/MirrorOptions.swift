import AvatarStore
public import AvatarCore

/// How `AvatarStore.mirrorImages(_:to:options:progress:)` writes a folder.
public struct MirrorOptions: Sendable {
    /// The names of the files. A name never passes from one image or contact to another.
    public enum Names: String, Sendable, CaseIterable {
        /// A file for each contact with an image, under the id of the contact. An id with characters that file names lack is
        /// followed by 12 digits of its digest.
        case ids
        /// A file for each contact with an image, under the name of the contact and 12 digits of its id's digest.
        case names
        /// A file for each image, under the end of its URL, or its own name, and 12 digits of its key's digest.
        case keys
    }

    /// The names. Default: `nil`, those that the mirror has, and `ids` for a new one.
    public var names: Names?
    /// The rendition to write of each image, made if necessary and not stored. If it cannot be made, the original is
    /// written. Default: `nil`, all originals.
    public var rendition: Rendition?
    /// Whether to write images without their metadata. An image with metadata that cannot be taken out is written as a
    /// rendition in place of it, or left out. Default: no.
    public var withoutMetadata = false
    /// The permission bits of the files; those of a new folder follow from them. Default: `nil`, those of the store's files.
    public var fileMode: UInt32?
    /// Whether to delete files that no mirroring wrote, or that were changed since, symbolic links among them. Folders stay.
    /// Only in a folder with a manifest, so not at the first mirroring into a folder with files. Default: no.
    public var deletesForeign: Bool
    /// Whether to change nothing, and only report what a mirroring would do. Default: no.
    public var isDryRun = false

    /// Options with these values. Each parameter is described at the property of its name.
    public init(
        names: Names? = nil,
        rendition: Rendition? = nil,
        fileMode: UInt32? = nil,
        deletesForeign: Bool = false
    ) {
        (self.names, self.rendition) = (names, rendition)
        (self.fileMode, self.deletesForeign) = (fileMode, deletesForeign)
    }
}

/// The result of mirroring a store into a folder.
public struct MirrorReport: Hashable, Sendable {
    /// How the files are named.
    public var names = MirrorOptions.Names.ids
    /// How they were named until now, if `MirrorOptions.names` asked for another naming; else `nil`. Also `nil` for a mirror of
    /// a version that did not record its naming.
    public var formerNames: MirrorOptions.Names?
    /// The rendition of its files until now, such as `webp 96 square`, if this mirroring wants originals or another rendition;
    /// else `nil`.
    public var formerRendition: String?
    /// The files that were written.
    public var written = 0
    /// The bytes of those files.
    public var bytes = 0
    /// The files that stayed as they were.
    public var unchanged = 0
    /// The files of vanished contacts and images that were deleted, and foreign files with `MirrorOptions.deletesForeign`.
    public var deleted = 0
    /// The images left out because their file in the store is missing or damaged. A file of an earlier mirroring stays, unless the
    /// image was removed or ignored meanwhile.
    public var missing = 0
    /// The images left out because a foreign file has their name.
    public var blocked = 0
    /// The names of those images' files, at most `maximumListedFiles`.
    public var blockedFiles: [String] = []
    /// The foreign files that stay, those with the name of an image among them.
    public var foreign = 0
    /// Their names, at most `maximumListedFiles`.
    public var foreignFiles: [String] = []
    /// The originals written because no rendition could be made of them; 0 without renditions.
    public var originals = 0

    /// With `MirrorOptions.withoutMetadata`, the images left out because their metadata cannot be taken out.
    public var withheld = 0

    /// With `MirrorOptions.isDryRun`, the names of all files that a mirroring would write; else empty.
    public var filesToWrite: [String] = []
    /// With `MirrorOptions.isDryRun`, the names of all files that a mirroring would delete; else empty.
    public var filesToDelete: [String] = []

    /// The most foreign and blocked files that a report names.
    public static let maximumListedFiles = 5

    /// Counts an image that is left out because a foreign file has its name.
    mutating func block(_ file: String) {
        blocked += 1
        if blockedFiles.count < Self.maximumListedFiles { blockedFiles.append(file) }
    }

    /// Counts a foreign file that stays.
    mutating func keepForeign(_ file: String) {
        foreign += 1
        if foreignFiles.count < Self.maximumListedFiles { foreignFiles.append(file) }
    }
}
