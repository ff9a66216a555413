import AvatarProviders
import AvatarStore
import AvatarStoreTesting
import Observation

/// Sample images of the examples of front ends.
enum Images {
    /// A small image, different for each number.
    static func face(_ number: Int) -> [UInt8] {
        SampleImage.png(seed: UInt64(number), byteCount: 400)
    }
}

/// Waits until `condition` is true. It reads observable properties, and is evaluated after each change of one of them.
@MainActor func become(_ condition: () -> Bool) async {
    while !Task.isCancelled {
        let (change, continuation) = AsyncStream.makeStream(of: Void.self)
        if withObservationTracking(condition, onChange: { continuation.finish() }) { return }
        for await _ in change {}
    }
}

/// Makes renditions without decoding the original.
struct SampleMaker: RenditionMaker {
    let version = 1

    func make(_ rendition: Rendition, from descriptor: Int32) async throws -> MadeRendition {
        MadeRendition(
            bytes: SampleImage.png(seed: UInt64(rendition.size), byteCount: 1000),
            mediaType: "image/png",
            width: rendition.size,
            height: rendition.size,
            thumbHash: [220, 247, 5, 45, 142]
        )
    }
}
