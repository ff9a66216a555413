import Foundation

/// What is in a folder and all folders below it: each file's name, size and time of its last change.
struct FolderSnapshot: Equatable {
    struct File: Equatable {
        let sizeBytes: Int
        let modified: Date
    }

    /// By path, relative to the folder.
    let files: [String: File]

    var bytes: Int { files.values.reduce(0) { $0 + $1.sizeBytes } }

    init(of folder: String) throws {
        var files: [String: File] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + path)
            guard attributes[.type] as? FileAttributeType == .typeRegular,
                let size = attributes[.size] as? NSNumber,
                let modified = attributes[.modificationDate] as? Date
            else { continue }
            files[path] = File(sizeBytes: size.intValue, modified: modified)
        }
        self.files = files
    }
}
