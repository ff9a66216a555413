public import AvatarCore
internal import Foundation

/// A folder of vCards, as vdirsyncer, khard and the storages of Radicale and xandikos have it: all files below it whose names end in
/// `.vcf` or `.vcard`, in the order of their paths. Hidden files and folders, and links to folders, are left out.
///
/// The files are copied when the folder is opened, so that all readers see the same cards, whatever other programs write meanwhile.
public struct CardFolder: Sendable {
    /// A file of the folder.
    public struct File: Sendable {
        /// The path: that of the folder as it was given, and the path below it.
        public let path: String
        /// The cards, or the reason why there are none: the file is cut short, no vCard, or cannot be read.
        public let cards: Result<ContactList, AvatarStoreError>
    }

    /// The files in the order of their paths.
    public let files: [File]

    /// Opens the folder at `path`, and copies its cards to a temporary file, which is unlinked at once. A file that vanishes
    /// meanwhile is left out.
    ///
    /// - Throws: `unreadableList` if the folder or one below it cannot be read, or the copy cannot be written.
    public static func open(_ path: String) throws(AvatarStoreError) -> CardFolder {
        let names = try names(below: path)
        guard !names.isEmpty else { return CardFolder(files: []) }
        let copy = try ListCopy(name: path)
        var parts: [(path: String, part: Result<Range<Int>, AvatarStoreError>)] = []
        for name in names {
            let file = path.hasSuffix("/") ? path + name : path + "/" + name
            do throws(AvatarStoreError) {
                if let range = try copy.append(file: file) { parts.append((file, .success(range))) }
            } catch  where error.underlying != nil {
                parts.append((file, .failure(error)))
            }
        }
        let whole = try copy.finish()
        return CardFolder(
            files: parts.map { path, part in
                File(path: path, cards: part.flatMap { cards(ListSource(name: path, file: whole, part: $0)) })
            }
        )
    }

    /// The list in `source`, if it can be read to its end.
    private static func cards(_ source: ListSource) -> Result<ContactList, AvatarStoreError> {
        let list = ContactList(source: source, format: .vcard)
        do throws(AvatarStoreError) {
            _ = try list.validate()
            return .success(list)
        } catch {
            return .failure(error)
        }
    }

    /// Whether `path` is a folder, and not a link to one. A file that has vanished meanwhile is no folder; `ListCopy` leaves it out.
    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The paths of the cards below `folder`, in the order of their bytes.
    private static func names(below folder: String) throws(AvatarStoreError) -> [String] {
        var names: [String] = []
        var folders = [""]
        while let below = folders.popLast() {
            let place = folder + "/" + below
            do {
                for name in try FileManager.default.contentsOfDirectory(atPath: place) where !name.hasPrefix(".") {
                    let path = below + name
                    if isFolder(folder + "/" + path) {
                        folders.append(path + "/")
                    } else if ContactList.Format(path: name) == .vcard {
                        names.append(path)
                    }
                }
            } catch CocoaError.fileReadNoSuchFile {
                // Another program has removed it meanwhile.
                guard !below.isEmpty else { throw .unreadableList(folder, "there is no such folder") }
            } catch {
                throw .unreadableList(place, "cannot read the folder: \((error as? CocoaError)?.reason ?? "\(error)")")
            }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}

extension CocoaError {
    /// The words of the system.
    fileprivate var reason: String? {
        (underlying as? POSIXError).map { String(cString: strerror($0.code.rawValue)) }
    }
}
