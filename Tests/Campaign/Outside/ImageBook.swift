import Foundation
import Workload

/// The images that may be in a store, identified by their bytes.
final class ImageBook {
    private var images: [String: Image] = [:]
    private var digests: [Image: String] = [:]
    private var checked: [String: String] = [:]

    func add(_ operation: StoreOperation) {
        for image in operation.images { _ = digest(of: image) }
    }

    func digest(of image: Image) -> String {
        if let digest = digests[image] { return digest }
        let digest = Image.digest(of: image.bytes)
        digests[image] = digest
        images[digest] = image
        return digest
    }

    func image(withDigest digest: String) -> Image? { images[digest] }

    /// The SHA-256 of the file at `path`; `nil` if it cannot be read.
    func digest(ofFile path: String) -> String? {
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        return Image.digest(of: Array(data))
    }
}
