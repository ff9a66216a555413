import AvatarFoundation
import Workload

/// The digests of pictures, each computed once.
final class Digests: Sendable {
    static let shared = Digests()
    private let known = Locked<[Picture: String]>([:])

    func digest(of picture: Picture) -> String {
        if let digest = known.withLock({ $0[picture] }) { return digest }
        let digest = Picture.digest(of: picture.bytes)
        known.withLock { $0[picture] = digest }
        return digest
    }
}
