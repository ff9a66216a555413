/// The queries and conditions that reads and transactions share, so that both see the same rows.
enum SharedSQL {
    /// The lowest digest that begins with `byte`.
    static func firstDigest(_ byte: UInt8) -> [UInt8] { [byte] + Array(repeating: 0, count: 31) }

    /// The highest digest that begins with `byte`.
    static func lastDigest(_ byte: UInt8) -> [UInt8] { [byte] + Array(repeating: 255, count: 31) }

    /// The files of renditions that no entry uses: they can be made again.
    static let renditionSQL = """
        SELECT last_access_us, file_id, size_bytes FROM (SELECT DISTINCT file_id FROM rendition) JOIN access USING (file_id)
        WHERE storage_class = 0 AND NOT EXISTS (SELECT 1 FROM avatar WHERE avatar.file_id = access.file_id)
        """

    /// The files of renditions in the order in which they are evicted.
    static let orderedRenditionSQL = renditionSQL + " ORDER BY last_access_us, access.file_id"

    /// The condition for an entry that loses an ignored image: any entry but an own image, whose bytes the caller chose.
    static let isIgnorable = "(avatar.host_id IS NOT NULL OR avatar.key GLOB 'contact:*')"

    /// The time before which all files of `caches` are in the queue; no row while it is empty.
    static let queueEndSQL = "SELECT queued_before_us FROM eviction_queue_end WHERE id = 1"

    /// The files in the queue behind a time and a row id, used before another time, in the order of eviction.
    static let queueSQL = """
        SELECT last_access_us, file_id, size_bytes FROM eviction_queue
        WHERE (last_access_us, file_id) > (?, ?) AND last_access_us < ? ORDER BY last_access_us, file_id
        """

    /// The numbers of the feed: `reach` is the lowest one from which this program may read on.
    static let feedSQL = """
        SELECT sequence, floor,
            coalesce((SELECT value FROM setting WHERE name = '\(reachName)' AND value BETWEEN 0 AND floor), floor) AS reach
        FROM change_feed WHERE id = 1
        """

    /// The name under which the index has `reach`, if that is not the floor. It is no setting.
    static let reachName = "feed-reach"
}
