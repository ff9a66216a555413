import AvatarCore
import AvatarIndex
public import AvatarReports
public import AvatarStore
import AvatarWriter

extension AvatarStore {
    /// The volatile parameters of URLs, in the order of the hosts.
    ///
    /// - Throws: an error of the index.
    public func volatileQueries() throws -> [VolatileQuery] { try index.volatileQueries().all }

    /// Leaves the parameters of `query` out of the keys of the URLs of its host, for all processes that use the store. It replaces
    /// the parameters that the host had.
    ///
    /// From the next sync on, a contact whose URL differs in these parameters alone keeps its image, under the key without them, and
    /// the latest URL is the one that is fetched. A read by URL finds the image too. No contact gets the image of another one by
    /// that: where the list, or the index, has several contacts for one key and different URLs, the whole URLs stay the keys
    /// (`SyncDetails.queryClashes`). With `*` as the name, which may cover a parameter that tells persons apart, only contacts of
    /// lists keep their images; a read needs the latest URL.
    ///
    /// - Throws: `invalidConfiguration` beyond 256 hosts; `readOnly` in a store that is open for reading only; an error of the
    ///   index or the disk.
    public func setVolatileQuery(_ query: VolatileQuery) async throws {
        try await requireWritable().writer.changeVolatileQueries(ofHost: query.host) {
            queries throws(AvatarStoreError) in
            try queries.setting(query)
        }
    }

    /// Makes all parameters of the URLs of `host` part of their keys again. The next sync of a list fetches the images at the whole
    /// URLs.
    ///
    /// - Throws: `readOnly` in a store that is open for reading only; an error of the index or the disk.
    public func removeVolatileQuery(ofHost host: String) async throws {
        try await requireWritable().writer.changeVolatileQueries(ofHost: host) { $0.removing(host) }
    }
}
