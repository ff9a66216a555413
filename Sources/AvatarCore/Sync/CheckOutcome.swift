/// What came of looking after one entry.
package enum CheckOutcome: Sendable {
    /// Nobody was asked: what is stored is good enough.
    case kept
    /// The origin confirmed what is stored; the metadata are the stored ones, brought up to date.
    case notModified(ResponseMetadata)
    /// A whole image came, other bytes or the same ones.
    case image(ResponseMetadata)
    /// No image came; `retryAfter`: until when the host wants no request.
    case failed(FailureKind, retryAfter: Timestamp?)
}
