import AvatarStore

/// The text format of Prometheus, version 0.0.4: `# HELP`, `# TYPE`, then a line a sample. Names and units are as its
/// naming conventions have them: base units, and times in seconds since 1970.
extension StoreStatistics {
    var prometheus: String {
        var text = PrometheusText()
        text.gauge(
            "entries",
            "Entries by state.",
            label: "state",
            states.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        )
        text.gauge("files", "Published image files.", files)
        text.gauge(
            "file_bytes",
            "Bytes of the published files by storage class.",
            label: "class",
            [("caches", cachesBytes), ("documents", documentsBytes)]
        )
        text.gauge("budget_bytes", "The most bytes the class caches may have.", budgetBytes)
        text.gauge("low_watermark_bytes", "Where an eviction stops.", lowWatermarkBytes)
        text.gauge("pending_bytes", "Bytes of files that may exist without being published.", pendingBytes)
        text.gauge("staging_bytes", "Bytes in the staging folders of all processes.", stagingBytes)
        text.gauge("wal_bytes", "Size of the write-ahead log of the index.", walBytes)
        text.gauge("allocated_bytes", "What the store takes on disk, in whole blocks.", allocatedBytes)
        text.gauge("hosts", "Hosts that images were fetched from.", hosts)
        text.gauge("schema_version", "Version of the schema of the index.", schemaVersion)
        if let oldestAccess {
            text.time("oldest_access_timestamp_seconds", "The least recent use of a file.", oldestAccess)
        }
        if let newestAccess {
            text.time("newest_access_timestamp_seconds", "The most recent use of a file.", newestAccess)
        }
        if let lastSync {
            text.time("last_sync_timestamp_seconds", "When the last sync ended.", lastSync.time)
            text.gauge("last_sync_duration_seconds", "How long the last sync took.", lastSync.seconds)
            text.gauge("last_sync_exit_code", "Exit code of the last sync.", Int(lastSync.outcome.exitCode.rawValue))
            text.gauge(
                "last_sync_images",
                "Images of the last sync: wanted, and of these failed and skipped.",
                label: "count",
                [("wanted", lastSync.wanted), ("failed", lastSync.failed), ("skipped", lastSync.skipped)]
            )
        }
        text.gauge(
            "failures",
            "Entries whose last check failed, by kind.",
            label: "kind",
            failures.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        )
        text.gauge("never_had", "Entries that a contact uses and of which no image ever came.", neverHad)
        return text.text
    }
}

private struct PrometheusText {
    var text = ""

    mutating func gauge(_ name: String, _ help: String, _ value: some Numeric) {
        head(name, help)
        text += "avatars_\(name) \(value)\n"
    }

    /// A gauge with a sample for each value of one label; the values are words of ours, which need no escaping.
    mutating func gauge(_ name: String, _ help: String, label: String, _ samples: [(String, Int)]) {
        head(name, help)
        for (value, sample) in samples { text += "avatars_\(name){\(label)=\"\(value)\"} \(sample)\n" }
    }

    mutating func time(_ name: String, _ help: String, _ time: Timestamp) {
        head(name, help)
        text += "avatars_\(name) \(Double(time.milliseconds) / 1000)\n"
    }

    private mutating func head(_ name: String, _ help: String) {
        text += "# HELP avatars_\(name) \(help)\n# TYPE avatars_\(name) gauge\n"
    }
}
