/// How urgently an image is wanted. Fetches begin in this order, the most urgent first.
public enum FetchPriority: Int, Sendable, Comparable, CaseIterable {
    /// No user is waiting, as in a sync.
    case background
    /// A caller asked for the image. The default of a read.
    case normal
    /// A user is looking at the place where the image belongs.
    case high

    /// Whether `left` is less urgent than `right`.
    public static func < (left: FetchPriority, right: FetchPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}
