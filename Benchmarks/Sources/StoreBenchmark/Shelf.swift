import BenchmarkFigures
import Foundation

/// Stores of several sizes, each made at its first use.
final class Shelf {
    /// The bytes of one image. Small, because these figures do not depend on it.
    static let bytes = 260

    let directory: String
    private var made: [Int: ImageStore] = [:]

    init(_ directory: String) {
        self.directory = directory
    }

    /// Opens a store of `count` images, and makes it first if needed.
    func images(_ count: Int) throws -> ImageStore {
        if let images = made[count] { return images }
        print("  making a store of \(count) images ...")
        fflush(nil)
        let images = try ImageStore(directory: "\(directory)/images-\(count)", count: count, bytes: Self.bytes)
        made[count] = images
        return images
    }
}
