import BenchmarkFigures
import Foundation

/// Stores of several sizes, each made when it is first asked for.
final class Shelf {
    /// Of an image: what is measured here does not depend on it.
    static let bytes = 260

    let directory: String
    private var made: [Int: PictureStore] = [:]

    init(_ directory: String) {
        self.directory = directory
    }

    /// A store of `count` images.
    func pictures(_ count: Int) throws -> PictureStore {
        if let pictures = made[count] { return pictures }
        print("  making a store of \(count) images ...")
        fflush(nil)
        let pictures = try PictureStore(directory: "\(directory)/pictures-\(count)", count: count, bytes: Self.bytes)
        made[count] = pictures
        return pictures
    }
}
