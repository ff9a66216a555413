/// Where an image's file is kept, and for how long.
public enum StorageClass: String, Hashable, Sendable, CaseIterable, Codable {
    /// Can be fetched again: lives under the byte budget, least recently used first out, and the system may purge it.
    case caches
    /// Kept until the caller removes it: outside the budget, never evicted, on stable storage before a call returns.
    case documents
}
