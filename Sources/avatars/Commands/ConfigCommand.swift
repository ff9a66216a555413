import ArgumentParser
import AvatarStore

/// `avatars config`: the settings that are kept in the store.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Prints or changes the settings that are kept in the store.",
        usage: "avatars config [<name> [<value>]] [--dry-run] [<options>]",
        discussion: """
            Without a NAME all settings, with a NAME that one, with a VALUE it is set. Sizes are written 500000, 64MB \
            or 64MiB, times in seconds; the VALUE default puts a setting back. A lower budget is in force, and the caches \
            trimmed, when the command ends, which says how many files it evicted. A budget below 1 MiB needs a unit.

            NAME is one of \(Setting.all.map(\.name).joined(separator: ", ")).

            Example: avatars config budget 500MB
            """
    )

    @Argument(help: "The setting.", completion: .settingName)
    var name: String?

    @Argument(help: "Its new value.", completion: .settingValue)
    var value: String?

    @Flag(help: "Change nothing; say what would be evicted.")
    var dryRun = false

    private static let back = "default"

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if dryRun && value == nil { throw ValidationError("--dry-run needs a VALUE to try.") }
        if let setting = try setting(), let value, value != Self.back { _ = try setting.parse(value) }
    }

    func run() async throws {
        let setting = try setting()
        let newValue = try value == Self.back ? nil : setting.flatMap { setting in try value.map(setting.parse) }
        try await store.withStore(value == nil || dryRun ? .readOnly : .readWrite) { store in
            var evicted: (files: Int, bytes: Int)?
            if let setting, value != nil { evicted = try await change(setting, to: newValue, in: store) }
            let settings = try text(of: setting.map { [$0] } ?? Setting.all, in: store, evicted)
            // An eviction is said even to those who want no summary.
            let isData = value == nil || dryRun || (evicted?.files ?? 0) > 0
            try output.print(json(of: store, evicted), settings, self.store, isData: isData)
        }
    }

    /// - Parameter newValue: `nil` for the default.
    /// - Returns: what was evicted, or would be.
    private func change(
        _ setting: Setting,
        to newValue: Int64?,
        in store: AvatarStore
    ) async throws -> (files: Int, bytes: Int) {
        if dryRun { return try store.evictionPreview(setting: setting, to: newValue) }
        guard let newValue else { return try await store.reset(setting) }
        return try await store.set(setting, to: newValue)
    }

    private func setting() throws -> Setting? {
        guard let name else { return nil }
        guard let setting = Setting(named: name) else {
            let names = Setting.all.map(\.name).joined(separator: ", ")
            throw ValidationError("There is no setting \"\(name)\"; there are \(names).")
        }
        return setting
    }

    private func json(of store: AvatarStore, _ evicted: (files: Int, bytes: Int)?) throws -> JSON {
        var fields: [String: JSON] = [:]
        for setting in Setting.all { fields[setting.camelCaseName] = setting.json(try store.value(of: setting)) }
        if let evicted {
            fields["evicted"] = JSON(evicted.files)
            fields["bytesFreed"] = JSON(evicted.bytes)
        }
        return .object(fields)
    }

    private func text(
        of settings: [Setting],
        in store: AvatarStore,
        _ evicted: (files: Int, bytes: Int)?
    ) throws -> String {
        var facts = Facts()
        for setting in settings { facts.add(setting.name, setting.text(try store.value(of: setting))) }
        if let evicted, evicted.files > 0 || dryRun {
            let gone = "\(Wording.count(evicted.files, "file")) (\(Wording.size(evicted.bytes)))"
            facts.add(dryRun ? "would evict" : "evicted", gone, evicted.files > 0 ? .magenta : nil)
        }
        return facts.text
    }
}
