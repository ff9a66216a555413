import AvatarStore
import Foundation

extension SyncOptions {
    /// Names the lists at `paths` by their absolute paths, or one list as `name`. Standard input has no name of its own.
    mutating func name(lists paths: [String], as name: String?) {
        let named = paths.filter { $0 != "-" }.map { ($0, URL(fileURLWithPath: $0).standardizedFileURL.path) }
        if paths.count > 1 {
            lists = Dictionary(named) { first, _ in first }
        } else {
            list = name ?? named.first?.1
        }
    }
}
