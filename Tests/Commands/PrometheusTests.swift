import AvatarStoreTesting
import Foundation
import Testing

/// `avatars stats --format`.
@Suite(.timeLimit(.minutes(5))) struct PrometheusTests {
    private func withStore(_ body: (Workplace) async throws -> Void) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            origin.setResponse(.status(404), for: "/gone.png")
            try workplace.write("list.txt", origin.list(3) + origin.url("/gone.png"))
            try workplace.write("me.png", SampleImage.identicon(for: "me"))
            _ = try await workplace.run("sync", "list.txt", "--allow-private-network", "--quiet")
            try await workplace.run("save", "me.png", "--name", "me").requireSuccess()
            try await body(workplace)
        }
    }

    @Test func samplesAreThoseOfTheStatistics() async throws {
        try await withStore { workplace in
            let run = try await workplace.run("stats", "--format", "prometheus")
            let json = try await workplace.run("stats", "--json").object

            #expect(run.status == 0)
            let samples = try samples(run.text)
            #expect(samples["avatars_entries{state=\"fresh\"}"] == 3)
            #expect(samples["avatars_entries{state=\"gone\"}"] == 1)
            #expect(samples["avatars_entries{state=\"own\"}"] == 1)
            let pairs = [
                "avatars_files": "files", "avatars_budget_bytes": "budgetBytes", "avatars_hosts": "hosts",
                "avatars_paused_hosts": "pausedHosts",
                "avatars_file_bytes{class=\"caches\"}": "cachesBytes",
                "avatars_file_bytes{class=\"documents\"}": "documentsBytes",
                "avatars_low_watermark_bytes": "lowWatermarkBytes", "avatars_schema_version": "schemaVersion",
                "avatars_pending_bytes": "pendingBytes", "avatars_staging_bytes": "stagingBytes",
            ]
            for (sample, field) in pairs {
                #expect(samples[sample] == json.number(field).map(Double.init), "\(sample)")
            }
            #expect(samples["avatars_failures{kind=\"gone\"}"] == 1)
            #expect(samples["avatars_last_sync_exit_code"] == 1)
            #expect(samples["avatars_last_sync_images{count=\"wanted\"}"] == 4)
            #expect(samples["avatars_never_had"] == 1)
            let newest = try #require(samples["avatars_newest_access_timestamp_seconds"])
            #expect(abs(newest - Date().timeIntervalSince1970) < 3600)
        }
    }

    @Test func formatsAgreeAndContradictionsAreUsageErrors() async throws {
        try await withStore { workplace in
            let fields = try await workplace.run("stats", "--format", "json").object.names

            #expect(try await workplace.run("stats", "--json").object.names == fields)
            #expect(try await workplace.run("stats", "--format", "text").lines[0].hasPrefix("entries "))
            #expect(try await workplace.run("stats", "--json", "--format", "prometheus").status == 64)
            #expect(try await workplace.run("stats", "--format", "xml").status == 64)
        }
    }

    /// Parses the format by its grammar (https://prometheus.io/docs/instrumenting/exposition_formats/): each
    /// name has its help and its type before its first sample, once.
    private func samples(_ text: String) throws -> [String: Double] {
        #expect(text.hasSuffix("\n"))
        var samples: [String: Double] = [:]
        var declared: [String] = []
        var helped: [String] = []
        for line in text.split(separator: "\n") {
            if let help = line.wholeMatch(of: /# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) .+/) {
                helped.append(String(help.1))
            } else if let type = line.wholeMatch(of: /# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) gauge/) {
                declared.append(String(type.1))
                #expect(helped == declared)
            } else {
                let sample = try #require(
                    line.wholeMatch(of: /(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-z]+="[a-zA-Z]+"\})?) ([0-9.e+-]+)/),
                    "\(line)"
                )
                #expect(declared.last == String(sample.2))
                #expect(samples.updateValue(try #require(Double(sample.4)), forKey: String(sample.1)) == nil)
            }
        }
        #expect(Set(declared).count == declared.count)
        return samples
    }
}
