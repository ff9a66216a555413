import AvatarStoreTesting
import Foundation

/// Images of real encoders: interlaced and progressive ones, and a baseline JPEG.
enum Images {
    static func named(_ name: String) throws -> [UInt8] {
        try Array(Data(contentsOf: Bundle.module.bundleURL.appending(path: "Images/" + name)))
    }

    /// A small image, different for each number.
    static func face(_ number: Int) -> [UInt8] {
        SampleImage.png(seed: UInt64(number), byteCount: 400)
    }
}
