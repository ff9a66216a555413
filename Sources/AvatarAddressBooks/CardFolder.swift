import AvatarContacts
import AvatarCore
import AvatarIndex
public import AvatarStore
import AvatarFoundation

extension ContactSource {
    /// A folder of vCards, as vdirsyncer, khard and the storages of Radicale and xandikos have it: all files below it whose names end
    /// in `.vcf` or `.vcard`. Hidden files and folders, and links to folders, are left out.
    ///
    /// A sync reads the files whose length, time of change or inode differ from the last time. A file that is cut short, because another
    /// program is writing it, keeps the contacts that it had, and is read again by the next sync. A file may have at most 64 MiB.
    ///
    /// - Parameter path: the path, which is made absolute: it is the name of the source.
    public static func cardFolder(_ path: String) -> ContactSource {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        return ContactSource(name: path, kind: .folder) { update in try await CardFolderReader(path, update).run() }
    }
}

/// One update from a folder.
private struct CardFolderReader {
    private let folder: String
    private let update: SourceUpdate

    private static let mostFileBytes = 64 << 20

    init(_ folder: String, _ update: SourceUpdate) { (self.folder, self.update) = (folder, update) }

    /// - Throws: `unreadableList` if the folder or one below it cannot be read; an error of the disk or the index;
    ///   `CancellationError`.
    func run() async throws {
        // Encoded, because Swift takes two spellings of an accent for one name. A percent sign in a name begins no escape.
        let files = try names().map { (name: $0, path: DAVPath.canonical($0.replacing("%", with: "%25"))) }
        let book = try await update.book(at: "/")
        var present: Set<String> = []
        for start in stride(from: 0, to: files.count, by: 512) {
            try Task.checkCancellation()
            guard update.millisecondsLeft > 0 else {
                let message = "The folder \(folder) was not read to its end within the time limit."
                throw AvatarStoreError(.fetchFailed, message, failure: .timeout)
            }
            let page = files[start..<min(start + 512, files.count)].compactMap { file in
                Self.validator(place(file.name)).map { File(name: file.name, path: file.path, validator: $0) }
            }
            for file in page { present.insert(file.path) }
            for file in try await update.changed(among: page, in: book, path: \.path, validator: \.validator) {
                try await read(file, in: book)
            }
            try await update.flush()
        }
        var last = ""
        while true {
            let page = try update.paths(in: book, after: last)
            guard let end = page.last else { return }
            last = end
            try await update.remove(page.filter { !present.contains($0) }, in: book)
        }
    }

    /// A file of the folder.
    private struct File {
        /// Below the folder.
        let name: String
        /// Its name in the index.
        let path: String
        let validator: String
    }

    private func place(_ name: String) -> String { folder + "/" + name }

    private func read(_ file: File, in book: SourceBook) async throws {
        var status = stat()
        if stat(place(file.name), &status) == 0, status.st_size > Self.mostFileBytes {
            let fault = "the file is larger than 64 MiB; sync it as a list"
            return try await update.put(fault: fault, at: file.path, validator: file.validator, in: book)
        }
        do {
            var records: [ContactRecord] = []
            let list = try ContactList.open(file: place(file.name), format: .vcard)
            for try await record in list { records.append(record) }
            // A program was writing it meanwhile. The next sync reads the whole.
            guard Self.validator(place(file.name)) == file.validator else { return }
            try await update.put(records, at: file.path, validator: file.validator, in: book)
        } catch let error as AvatarStoreError where error.code == .unreadableList {
            guard Self.validator(place(file.name)) != nil else { return try await update.remove([file.path], in: book) }
            try await update.put(
                fault: error.reason(without: place(file.name)),
                at: file.path,
                validator: nil,
                in: book
            )
        }
    }

    /// Length, time of change and inode of the file at `path`; `nil` without a file.
    private static func validator(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        return "\(status.st_size) \(time.tv_sec).\(time.tv_nsec) \(status.st_ino)"
    }

    /// The paths of the cards below the folder, in the order of their bytes.
    private func names() throws -> [String] {
        var names: [String] = []
        var folders = [""]
        while let below = folders.popLast() {
            do {
                for name in try FileManager.default.contentsOfDirectory(atPath: place(below)) where !name.hasPrefix(".")
                {
                    let path = below + name
                    if Self.isFolder(place(path)) {
                        folders.append(path + "/")
                    } else if ContactList.Format(path: name) == .vcard {
                        names.append(path)
                    }
                }
            } catch let error as CocoaError where error.code == .fileReadNoSuchFile && !below.isEmpty {
                // Another program has removed it meanwhile.
                continue
            } catch {
                let reason = (error as? CocoaError)?.code == .fileReadNoSuchFile ? "does not exist" : "cannot be read"
                throw AvatarStoreError(.unreadableList, "The folder \(place(below)) \(reason).")
            }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Whether `path` is a folder, and not a link to one.
    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

extension AvatarStoreError {
    /// The message without the name of the list at its beginning and the full stop.
    func reason(without name: String) -> String {
        var text = message[...]
        if text.hasPrefix(name) { text = text.dropFirst(name.count).drop { $0 == ":" || $0 == "," || $0 == " " } }
        return String(text.hasSuffix(".") ? text.dropLast() : text)
    }
}
