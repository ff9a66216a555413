/// One step of the schema: a numbered SQL file of this folder, embedded in the program.
///
/// A landed file is never edited; a change of the schema is a new file, added at the end of `all` and to the
/// target's resources in `Package.swift`.
package struct Migration: Sendable {
    /// The schema version that this step leads to; the first is 1, and none is left out.
    package let version: Int
    /// The file's name without its ending.
    package let name: String
    /// The file's text.
    package let sql: String

    /// Every step, in order.
    package static let all: [Migration] = [
        Migration(version: 1, name: "0001_index", bytes: PackageResources._001_index_sql),
        Migration(version: 2, name: "0002_boot", bytes: PackageResources._002_boot_sql),
        Migration(version: 3, name: "0003_sync", bytes: PackageResources._003_sync_sql),
        Migration(version: 4, name: "0004_changes", bytes: PackageResources._004_changes_sql),
        Migration(version: 5, name: "0005_replacing", bytes: PackageResources._005_replacing_sql),
        Migration(version: 6, name: "0006_durable_files", bytes: PackageResources._006_durable_files_sql),
        Migration(version: 7, name: "0007_last_sync", bytes: PackageResources._007_last_sync_sql),
        Migration(version: 8, name: "0008_pending_batch", bytes: PackageResources._008_pending_batch_sql),
        Migration(version: 9, name: "0009_access", bytes: PackageResources._009_access_sql),
        Migration(version: 10, name: "0010_eviction_queue", bytes: PackageResources._010_eviction_queue_sql),
        Migration(version: 11, name: "0011_contact", bytes: PackageResources._011_contact_sql),
        Migration(version: 12, name: "0012_contact_address", bytes: PackageResources._012_contact_address_sql),
        Migration(version: 13, name: "0013_rendition", bytes: PackageResources._013_rendition_sql),
        Migration(version: 14, name: "0014_ignored_picture", bytes: PackageResources._014_ignored_picture_sql),
        Migration(version: 15, name: "0015_text_setting", bytes: PackageResources._015_text_setting_sql),
        Migration(version: 16, name: "0016_shared_tier", bytes: PackageResources._016_shared_tier_sql),
        Migration(version: 17, name: "0017_over_budget", bytes: PackageResources._017_over_budget_sql),
        Migration(version: 18, name: "0018_failure_message", bytes: PackageResources._018_failure_message_sql),
        Migration(version: 19, name: "0019_host_window", bytes: PackageResources._019_host_window_sql),
        Migration(version: 20, name: "0020_source", bytes: PackageResources._020_source_sql),
        Migration(version: 21, name: "0021_address_book", bytes: PackageResources._021_address_book_sql),
        Migration(version: 22, name: "0022_metadata", bytes: PackageResources._022_metadata_sql),
        Migration(version: 23, name: "0023_contact_word", bytes: PackageResources._023_contact_word_sql),
    ]

    /// The schema version of this program.
    package static let latestVersion = all.count

    /// A step with the text `sql`.
    package init(version: Int, name: String, sql: String) {
        self.version = version
        self.name = name
        self.sql = sql
    }

    private init(version: Int, name: String, bytes: [UInt8]) {
        self.init(version: version, name: name, sql: String(decoding: bytes, as: UTF8.self))
    }
}
