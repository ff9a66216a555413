public import AvatarCore
import CAvatarSystem

/// Makes renditions in helper processes, the program `avatars-decoder`, which can do nothing but decode.
///
/// A hostile picture may take over its decoder. On Linux the helper is therefore in a sandbox: it can read the picture, answer
/// and allocate memory, and nothing else. A picture has two seconds of processor time, and eight seconds in all. Then, or if it
/// breaks the protocol, the helper is killed, and the next picture gets another one. Bytes that a helper returns are checked
/// before they are used.
///
/// The first picture starts a helper. At most one helper runs per core; further pictures wait in their order. A helper ends
/// after 1,000 pictures, after 30 seconds without one, and with the pool.
public final class DecoderPool: RenditionMaker {
    private let workers: DecoderWorkers

    /// A pool without helpers yet.
    ///
    /// - Parameters:
    ///   - helperPath: the path of `avatars-decoder`. Default: beside the running program, else `../libexec/avatars` from there.
    ///   - allowsUnsandboxed: whether helpers decode on systems without a sandbox, such as macOS, or in containers that forbid
    ///     it. Default: no; such a helper is `RenditionError.unavailable`.
    ///   - most: the maximum number of helpers, at least 1. Default: the number of cores that the process may use.
    public convenience init(helperPath: String? = nil, allowsUnsandboxed: Bool = false, most: Int? = nil) {
        self.init(
            helperPath: helperPath,
            allowsUnsandboxed: allowsUnsandboxed,
            most: most,
            limits: DecoderWorkers.Limits()
        )
    }

    /// A pool with other limits.
    init(helperPath: String?, allowsUnsandboxed: Bool = false, most: Int? = nil, limits: DecoderWorkers.Limits) {
        workers = DecoderWorkers(most: most ?? Int(avatar_usable_cores()), limits: limits) {
            DecoderProgram(path: helperPath, allowsUnsandboxed: allowsUnsandboxed)
        }
    }

    deinit {
        workers.close()
    }

    /// The version of the decoders, which the helper must have too.
    public var version: Int { Int(DecoderProtocol.version) }

    /// Makes a rendition in a helper. The call waits until a helper is free.
    ///
    /// - Parameters:
    ///   - rendition: the rendition to make. Its format must not be `original`.
    ///   - descriptor: the open file of the original. Its offset does not matter and does not change. The call does not close it.
    /// - Throws: `RenditionError`, or `CancellationError` at once if the task is cancelled.
    public func make(_ rendition: Rendition, from descriptor: Int32) async throws -> MadeRendition {
        guard let request = DecoderProtocol.request(rendition) else {
            throw RenditionError.cannotDecode("The format of a rendition to make must be `jpeg`, `png` or `webp`.")
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
