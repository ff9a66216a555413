import BenchmarkFigures
import Foundation

/// Stores of several sizes, each made at its first use.
final class Shelf {
    /// The bytes of one image. Small, because these figures do not depend on it.
    static let bytes = 260

    let directory: String
    private var made: [Int: PictureStore] = [:]

    init(_ directory: String) {
        self.directory = directory
    }

    /// Opens a store of `count` images, and makes it first if needed.
    func pictures(_ count: Int) throws -> PictureStore {
        if let pictures = made[count] { return pictures }
        print("  making a store of \(count) images ...")
        fflush(nil)
        let pictures = try PictureStore(directory: "\(directory)/pictures-\(count)", count: count, bytes: Self.bytes)
        made[count] = pictures
        return pictures
    }
}
