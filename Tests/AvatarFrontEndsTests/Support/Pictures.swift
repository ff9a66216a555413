import AvatarStoreTesting
import Foundation

/// Pictures of real encoders that come coarse first, and one that does not.
enum Pictures {
    static func named(_ name: String) throws -> [UInt8] {
        try Array(Data(contentsOf: Bundle.module.bundleURL.appending(path: "Pictures/" + name)))
    }

    /// A small picture, another one for each number.
    static func face(_ number: Int) -> [UInt8] {
        SampleImage.png(seed: UInt64(number), byteCount: 400)
    }
}
