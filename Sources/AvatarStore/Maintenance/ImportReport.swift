public import AvatarCore

/// What an import did, or would do.
public struct ImportReport: Hashable, Sendable {
    /// One file that was not taken, or one line of the manifest that says nothing.
    public struct Failure: Hashable, Sendable {
        /// The name in the folder; `nil` for a line of the manifest.
        public var file: String?
        /// Why.
        public var kind: FailureKind
        /// A sentence for a person.
        public var message: String
    }

    /// The most failures that are kept in full; all are counted.
    public static let largestFailureCount = 1000

    /// Files and lines that were looked at: `found = stored + replaced + unchanged + failed`.
    public var found = 0
    /// Images that are new.
    public var stored = 0
    /// Images that took the place of others under the same key.
    public var replaced = 0
    /// Images that were there already.
    public var unchanged = 0
    /// Files that were not taken.
    public var failed = 0
    /// The bytes of the images that are new or replaced others.
    public var bytes = 0
    /// Why files were not taken, the first 1,000 of them.
    public private(set) var failures: [Failure] = []

    mutating func add(_ failure: Failure) {
        failed += 1
        if failures.count < Self.largestFailureCount { failures.append(failure) }
    }
}
