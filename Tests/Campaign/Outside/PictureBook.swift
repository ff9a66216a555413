import Foundation
import Workload

/// The pictures that may be in a store, identified by their bytes.
final class PictureBook {
    private var pictures: [String: Picture] = [:]
    private var digests: [Picture: String] = [:]
    private var checked: [String: String] = [:]

    func add(_ operation: StoreOperation) {
        for picture in operation.pictures { _ = digest(of: picture) }
    }

    func digest(of picture: Picture) -> String {
        if let digest = digests[picture] { return digest }
        let digest = Picture.digest(of: picture.bytes)
        digests[picture] = digest
        pictures[digest] = picture
        return digest
    }

    func image(withDigest digest: String) -> Picture? { pictures[digest] }

    /// The SHA-256 of the file at `path`; `nil` if it cannot be read.
    func digest(ofFile path: String) -> String? {
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        return Picture.digest(of: Array(data))
    }
}
