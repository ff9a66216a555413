import AvatarDigest
import AvatarStoreTesting

/// The content of an image. It follows from key and version, so that every process can compute it.
package struct Image: Hashable, Sendable {
    private let seed: UInt64
    package let byteCount: Int

    /// The bytes of `key` in version `version`.
    ///
    /// Every fifth version is one of three logos, which all keys share: equal bytes under different keys and versions.
    package init(of key: ImageKey, version: Int) {
        let isLogo = version % 5 == 0
        let number: Int
        switch key {
        case _ where isLogo: number = version / 5 % 3
        case .own(let name): number = 1000 + 2000 * name + version
        case .remote(let slot): number = 1_000_000 + 2000 * slot + version
        case .photo(let contact): number = 2_000_000 + 2000 * contact + version
        }
        seed = UInt64(number)
        byteCount = key == .own(Self.hugeName) && !isLogo ? 30_000 : 300 + number &* 7919 % 5700
    }

    /// The saved image with this number is larger than most budgets.
    package static let hugeName = 0

    package var bytes: [UInt8] { SampleImage.png(seed: seed, byteCount: byteCount) }

    /// The SHA-256 of `bytes` as hexadecimal digits.
    package static func digest(of bytes: [UInt8]) -> String {
        SHA256.hash(bytes).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
