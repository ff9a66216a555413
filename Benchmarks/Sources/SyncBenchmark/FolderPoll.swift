import Foundation

/// Watches the bytes of the files under a folder from outside.
///
/// A walk is not a snapshot: files come and go meanwhile. A sum counts only if two successive walks list the same names.
/// Names are never used twice, so every file of the first walk then existed until the second began.
struct FolderPoll {
    let folder: String
    private(set) var largestSum = 0
    private(set) var countedWalks = 0
    private(set) var walks = 0
    private var last: [String: Int] = [:]

    init(_ folder: String) {
        self.folder = folder
    }

    mutating func look() {
        var files: [String: Int] = [:]
        for sub in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: folder + "/" + sub)) ?? [] {
                var information = stat()
                let path = folder + "/" + sub + "/" + name
                if stat(path, &information) == 0 { files[path] = Int(information.st_size) }
            }
        }
        walks += 1
        if Set(files.keys) == Set(last.keys) {
            countedWalks += 1
            largestSum = max(largestSum, last.values.reduce(0, +))
        }
        last = files
    }
}
