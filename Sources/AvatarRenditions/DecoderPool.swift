public import AvatarCore
public import AvatarProviders
import CAvatarSystem

/// Makes renditions in helper processes, which run the program `avatars-decoder` in a sandbox.
///
/// A hostile image may take over its decoder. On Linux the sandbox lets the helper read the image, respond and allocate
/// memory, and nothing else. The pool kills a helper that breaks the protocol, or that takes more than two seconds of processor
/// time or eight seconds in all for an image. The next image then gets a new helper. The pool checks all bytes from helpers.
///
/// The first image starts a helper. At most one helper runs per core; further images wait in their order. A helper ends
/// after 1,000 images, after 30 idle seconds, and with the pool.
public final class DecoderPool: RenditionMaker {
    private let workers: DecoderWorkers

    /// A pool, without starting helpers.
    ///
    /// - Parameters:
    ///   - helperPath: the path of `avatars-decoder`. Default: beside the running program, else in `../libexec/avatars` from
    ///     there.
    ///   - allowsUnsandboxed: whether helpers decode on systems without a sandbox, such as macOS, or in containers that forbid
    ///     it. Default: false; `make(_:from:)` then throws `RenditionError.unavailable` there.
    ///   - most: the limit on the number of helpers, at least 1. Default: the number of cores that the process may use.
    public convenience init(helperPath: String? = nil, allowsUnsandboxed: Bool = false, most: Int? = nil) {
        self.init(
            helperPath: helperPath,
            allowsUnsandboxed: allowsUnsandboxed,
            most: most,
            limits: DecoderWorkers.Limits()
        )
    }

    /// A pool with these limits of helpers, for tests.
    init(helperPath: String?, allowsUnsandboxed: Bool = false, most: Int? = nil, limits: DecoderWorkers.Limits) {
        workers = DecoderWorkers(most: most ?? Int(avatar_usable_cores()), limits: limits) {
            DecoderProgram(path: helperPath, allowsUnsandboxed: allowsUnsandboxed)
        }
    }

    deinit {
        workers.close()
    }

    /// The version of the decoders. The helper must have the same.
    public var version: Int { Int(DecoderProtocol.version) }

    /// Makes a rendition in a helper. The call waits until a helper is free, in the order of the calls.
    ///
    /// - Parameters:
    ///   - rendition: the rendition to make. Its format must not be `original`.
    ///   - descriptor: the open file of the original, at most 64 MiB. Its offset does not matter and does not change. The call
    ///     does not close it.
    /// - Throws: `RenditionError`; `CancellationError` at once if the task is cancelled.
    public func make(_ rendition: Rendition, from descriptor: Int32) async throws -> MadeRendition {
        guard let request = DecoderProtocol.request(rendition) else {
            throw RenditionError.cannotDecode(
                "The format \"original\" cannot be encoded. Use `jpeg`, `png` or `webp`."
            )
        }
        let job = DecoderJob(rendition, request: request, descriptor: descriptor)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                job.begin(waiter)
                workers.submit(job)
            }
        } onCancel: {
            job.finish(.failure(CancellationError()))
        }
    }
}
