import AvatarStore
import AvatarCore
import AvatarFiles
import AvatarFoundation

/// The file `manifest.jsonl` in a folder of exported images: one JSON object per line.
package enum ImageManifest {
    /// The name of the finished manifest.
    static let name = "manifest.jsonl"
    /// The name while the export runs.
    static let unfinishedName = name + ".unfinished"
    /// The first page for people in the folder.
    static let firstPageName = "index.html"
    /// The name of the file with the vCards of the contacts.
    static let cardsName = "contacts.vcf"
    /// The folder of the other pages, and of the initials that stand in for images.
    static let pageFolderName = "pages"
    /// How the names of the files in that folder end.
    static let pageSuffixes = [".html", ".svg"]
    /// The largest manifest that is read, in bytes: 1 GiB, enough for a few million images. It is read at once.
    static let maximumBytes = 1 << 30

    /// One image. An import requires only `file`.
    package struct Entry: Codable, Hashable, Sendable {
        /// The name of the file; empty in the only line of a mirror without files.
        package internal(set) var file: String
        var key: String?
        var sourceURL: String?
        var storageClass: String?
        var owners: [String]?
        package internal(set) var mediaType: String?
        package internal(set) var sizeBytes: Int?
        package internal(set) var sha256: String?
        /// In a mirror: the time of the last change, in seconds since 1970.
        var modified: Int64?
        /// In a mirror, and in an export with pages: the digest of the original, if the file is a rendition or has lost its
        /// metadata.
        package internal(set) var original: String?
        /// In a mirror: the rendition that was asked for.
        var rendition: String?
        /// In a mirror: whether its files are written without metadata.
        var withoutMetadata: Bool?
        /// In a mirror: how its files are named, as in `MirrorOptions.Names`.
        var names: String?

        /// The entry as a line, with its line feed.
        var line: [UInt8] {
            get throws {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                return Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
            }
        }
    }

    /// A line and its number, from 1 on; `entry` is `nil` for a line that cannot be decoded.
    struct Line {
        var number: Int
        var entry: Entry?
    }

    /// The lines of the manifest `name`; `nil` if the folder has none.
    ///
    /// - Throws: `unreadableList` if it is not a file, or too large.
    static func lines(of folder: ImageFolder, named name: String = name) throws -> [Line]? {
        switch try folder.read(name, limit: maximumBytes) {
        case .nothing:
            return nil
        case .file(let bytes):
            let parts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            return parts.enumerated().compactMap { number, part in
                let isBlank = part.allSatisfy { $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }
                // A line that cannot be decoded is reported by its number.
                return isBlank
                    ? nil : Line(number: number + 1, entry: try? decoder.decode(Entry.self, from: Data(part)))
            }
        case .tooLarge, .somethingElse:
            throw AvatarStoreError(
                .unreadableList,
                "The manifest \"\(folder.path)/\(name)\" cannot be read: it must be a file of at most \(maximumBytes) bytes."
            )
        }
    }

    private static let decoder = JSONDecoder()
}
