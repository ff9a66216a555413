import AvatarStore
import AvatarCore

extension StoreStatistics {
    /// The statistics in Prometheus's text format, version 0.0.4: `# HELP`, `# TYPE`, then one sample a line.
    ///
    /// Names and units follow Prometheus's conventions: base units, and times in seconds since 1970.
    public var prometheus: String {
        var text = PrometheusText()
        text.gauge(
            "entries",
            help: "Entries by state.",
            label: "state",
            samples: states.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 }
        )
        text.gauge("files", help: "Published image files.", files)
        text.gauge(
            "file_bytes",
            help: "Bytes of the published files by storage class.",
            label: "class",
            samples: [("caches", cachesBytes), ("documents", documentsBytes)]
        )
        text.gauge("budget_bytes", help: "Byte budget of the storage class caches.", budgetBytes)
        text.gauge(
            "low_watermark_bytes",
            help: "Bytes in the storage class caches at which an eviction stops.",
            lowWatermarkBytes
        )
        text.gauge("pending_bytes", help: "Bytes of files that may exist without being published.", pendingBytes)
        text.gauge("staging_bytes", help: "Bytes in the staging folders of all processes.", stagingBytes)
        text.gauge("wal_bytes", help: "Size of the write-ahead log of the index.", walBytes)
        text.gauge("allocated_bytes", help: "Disk space that the store takes, in whole blocks.", allocatedBytes)
        text.gauge("hosts", help: "Hosts that entries come from.", hosts)
        text.gauge(
            "paused_hosts",
            help: "Hosts that are paused now, after failures or because they asked for it.",
            pausedHosts
        )
        text.gauge("schema_version", help: "Schema version of the index.", schemaVersion)
        if let oldestAccess {
            text.time("oldest_access_timestamp_seconds", help: "Least recent access to a file.", oldestAccess)
        }
        if let newestAccess {
            text.time("newest_access_timestamp_seconds", help: "Most recent access to a file.", newestAccess)
        }
        if let lastSync {
            text.time("last_sync_timestamp_seconds", help: "End of the last sync.", lastSync.time)
            text.gauge(
                "last_sync_duration_seconds",
                help: "Duration of the last sync.",
                (lastSync.duration / .milliseconds(1)).rounded() / 1000
            )
            text.gauge(
                "last_sync_exit_code",
                help: "Exit code of the last sync.",
                lastSync.outcome.exitStatus
            )
            text.gauge(
                "last_sync_images",
                help: "Images of the last sync: wanted, and among these failed, skipped and over budget.",
                label: "count",
                samples: [
                    ("wanted", lastSync.wanted), ("failed", lastSync.failed), ("skipped", lastSync.skipped),
                    ("overBudget", lastSync.overBudget),
                ]
            )
        }
        if !sources.isEmpty {
            text.gauge(
                "source_last_sync_timestamp_seconds",
                help: "End of the last sync of each address book.",
                label: "source",
                samples: sources.map { ($0.name, Double($0.lastSync.milliseconds) / 1000) }
            )
            text.gauge(
                "source_up",
                help: "1 if the last sync of the address book could read it, else 0.",
                label: "source",
                samples: sources.map { ($0.name, $0.failure == nil ? 1 : 0) }
            )
        }
        text.gauge(
            "failures",
            help: "Entries whose last check failed, by kind.",
            label: "kind",
            samples: failures.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 }
        )
        text.gauge("renditions", help: "Renditions: smaller images made of stored images.", renditions)
        text.gauge("rendition_bytes", help: "Bytes of the renditions, which are files in caches.", renditionBytes)
        text.gauge("never_had", help: "Entries that a contact uses and whose image was never fetched.", neverHad)
        if let sharedTier { text.add(sharedTier) }
        return text.text
    }
}

/// Metrics in Prometheus's text format. Names are given without the prefix `avatars_`.
private struct PrometheusText {
    /// The metrics added so far.
    var text = ""

    /// Adds the metrics of the shared tier.
    mutating func add(_ tier: SharedTierStatistics) {
        counter(
            "shared_tier_images_total",
            help: "Images that the shared tier gave or confirmed, and answers of origins put there or dropped.",
            label: "use",
            samples: [
                ("taken", tier.taken), ("confirmed", tier.confirmed), ("put", tier.put), ("dropped", tier.dropped),
            ]
        )
        gauge("shared_tier_waiting", help: "Answers that wait to be put into the shared tier.", tier.waiting)
        gauge(
            "shared_tier_waiting_erasures",
            help: "Erased images whose objects wait to be deleted from the shared tier.",
            tier.waitingErasures
        )
        gauge(
            "shared_tier_up",
            help: "1 if the last request to the shared tier succeeded, else 0.",
            tier.failure == nil ? 1 : 0
        )
    }

    /// Adds a counter with a sample for each value of `label`, as `gauge` does.
    private mutating func counter(_ name: String, help: String, label: String, samples: [(String, Int)]) {
        head(name, help, type: "counter")
        for (value, sample) in samples { text += "avatars_\(name){\(label)=\"\(value)\"} \(sample)\n" }
    }

    /// Adds a gauge with one sample.
    mutating func gauge(_ name: String, help: String, _ value: some Numeric) {
        head(name, help)
        text += "avatars_\(name) \(value)\n"
    }

    /// Adds a gauge with a sample for each value of `label`.
    mutating func gauge(_ name: String, help: String, label: String, samples: [(String, some Numeric)]) {
        head(name, help)
        for (value, sample) in samples { text += "avatars_\(name){\(label)=\"\(Self.escaped(value))\"} \(sample)\n" }
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    /// Adds a gauge with a time in seconds since 1970.
    mutating func time(_ name: String, help: String, _ time: Timestamp) {
        head(name, help)
        text += "avatars_\(name) \(Double(time.milliseconds) / 1000)\n"
    }

    /// Adds the lines `# HELP` and `# TYPE`.
    private mutating func head(_ name: String, _ help: String, type: String = "gauge") {
        text += "# HELP avatars_\(name) \(help)\n# TYPE avatars_\(name) \(type)\n"
    }
}
