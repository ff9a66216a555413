import AvatarCore
import AvatarFiles
import Foundation

/// What a folder of exported pictures says of them: the file `manifest.jsonl`, an object a line.
enum PictureManifest {
    static let name = "manifest.jsonl"
    /// Its name until all is there.
    static let unfinishedName = name + ".unfinished"
    /// The most bytes it may have to be read, which is done at once: that of a few million pictures.
    static let maximumBytes = 1 << 30

    /// One picture. Of what an import reads, only `file` has to be there.
    struct Entry: Codable, Hashable, Sendable {
        var file: String
        var key: String?
        var sourceURL: String?
        var storageClass: String?
        var owners: [String]?
        var mediaType: String?
        var sizeBytes: Int?
        var sha256: String?

        /// As a line.
        var line: [UInt8] {
            get throws {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                return Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
            }
        }
    }

    /// A line with its number, from 1 on; `entry` is `nil` for one that says nothing.
    struct Line {
        var number: Int
        var entry: Entry?
    }

    /// The lines of the manifest `name`; `nil` if the folder has none.
    ///
    /// - Throws: `unreadableList` if it is no file, or too large.
    static func lines(of folder: PictureFolder, named name: String = name) throws -> [Line]? {
        switch try folder.read(name, limit: maximumBytes) {
        case .nothing:
            return nil
        case .file(let bytes):
            let parts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            return parts.enumerated().compactMap { number, part in
                let isBlank = part.allSatisfy { $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }
                // What cannot be decoded is reported by its number.
                return isBlank
                    ? nil : Line(number: number + 1, entry: try? decoder.decode(Entry.self, from: Data(part)))
            }
        case .tooLarge, .somethingElse:
            throw AvatarStoreError(.unreadableList, "\(folder.path)/\(name) is no file, or too large for a manifest.")
        }
    }

    private static let decoder = JSONDecoder()
}
