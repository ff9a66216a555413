import AvatarFoundation
import Workload

/// The digests of images, each computed once.
final class Digests: Sendable {
    static let shared = Digests()
    private let known = Locked<[Image: String]>([:])

    func digest(of image: Image) -> String {
        if let digest = known.withLock({ $0[image] }) { return digest }
        let digest = Image.digest(of: image.bytes)
        known.withLock { $0[image] = digest }
        return digest
    }
}
