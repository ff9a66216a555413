/// The demonstration ran to its end, but the store did not do everything that was claimed.
public struct AvatarDemoError: Error, Sendable, CustomStringConvertible {
    /// The claims that did not hold, each with what happened instead.
    public let failedClaims: [String]

    /// A full sentence with all of them.
    public var description: String {
        "The demo claimed what did not hold: \(failedClaims.joined(separator: "; "))."
    }
}
