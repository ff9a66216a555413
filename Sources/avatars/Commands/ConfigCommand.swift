import ArgumentParser
import AvatarStore

/// `avatars config`: prints and changes the settings kept in the store.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Prints or changes the store's settings.",
        usage: "avatars config [<name> [<value>]] [--dry-run] [<options>]",
        discussion: """
            Without NAME it prints all settings, with NAME that one; with VALUE it sets it. Write sizes as 500000, 64MB \
            or 64MiB and times in seconds. The VALUE default resets a setting.

            A lower budget evicts images before the command ends, and the command prints how many. A budget below 1 MiB \
            needs a unit.

            NAME is one of \(Setting.all.map(\.name).joined(separator: ", ")).

            Example: avatars config budget 500MB
            """
    )

    /// The setting to print or change; `nil` to print all.
    @Argument(help: "The name of the setting.", completion: .settingName)
    var name: String?

    /// The new value as text, which `Setting.parse(_:)` reads; `nil` to print the setting.
    @Argument(help: "Its new value.", completion: .settingValue)
    var value: String?

    /// Needs a new value: a setting that is only printed changes nothing anyway.
    @Flag(help: "Change nothing; print what would be evicted.")
    var dryRun = false

    /// The value that resets a setting.
    private static let back = "default"

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` for a setting or a value that is not valid, and for `--dry-run` without a value.
    func validate() throws {
        if dryRun && value == nil { throw ValidationError("--dry-run needs a setting and a new value.") }
        if let setting = try setting(), let value, value != Self.back { _ = try setting.parse(value) }
    }

    /// Prints all settings, prints one, or changes one and prints it with the eviction that it caused.
    func run() async throws {
        let setting = try setting()
        let newValue = try value == Self.back ? nil : setting.flatMap { setting in try value.map(setting.parse) }
        try await store.withStore(value == nil || dryRun ? .readOnly : .readWrite) { store in
            var evicted: EvictionReport?
            if let setting, value != nil { evicted = try await change(setting, to: newValue, in: store) }
            let settings = try text(of: setting.map { [$0] } ?? Setting.all, in: store, evicted)
            // An eviction is printed even with `--quiet`.
            let isData = value == nil || dryRun || (evicted?.files ?? 0) > 0
            let fields = try json(of: store, evicted)
            try output.print(fields, text: settings, quiet: self.store.quiet, isData: isData)
        }
    }

    /// Sets `setting` in `store`, or with `--dry-run` only predicts the eviction.
    ///
    /// - Parameter newValue: the value; `nil` to reset the setting.
    /// - Returns: the files that were evicted, or would be.
    private func change(
        _ setting: Setting,
        to newValue: Int64?,
        in store: AvatarStore
    ) async throws -> EvictionReport {
        if dryRun { return try store.evictionPreview(setting: setting, to: newValue) }
        guard let newValue else { return try await store.reset(setting) }
        return try await store.set(setting, to: newValue)
    }

    /// The setting that the argument names; `nil` without one.
    ///
    /// - Throws: `ValidationError` if there is no setting with that name.
    private func setting() throws -> Setting? {
        guard let name else { return nil }
        guard let setting = Setting(named: name) else {
            let names = Setting.all.map(\.name).joined(separator: ", ")
            throw ValidationError("There is no setting \"\(name)\". Use one of \(names).")
        }
        return setting
    }

    /// All settings by their names in camelCase, and the eviction of a change.
    private func json(of store: AvatarStore, _ evicted: EvictionReport?) throws -> JSON {
        var fields: [String: JSON] = [:]
        for setting in Setting.all { fields[setting.camelCaseName] = setting.json(try store.value(of: setting)) }
        if let evicted {
            fields["evicted"] = JSON(evicted.files)
            fields["bytesFreed"] = JSON(evicted.bytes)
        }
        return .object(fields)
    }

    /// The settings as a table, and the eviction of a change.
    private func text(
        of settings: [Setting],
        in store: AvatarStore,
        _ evicted: EvictionReport?
    ) throws -> String {
        var facts = Facts()
        for setting in settings { facts.add(setting.name, setting.text(try store.value(of: setting))) }
        if let evicted, evicted.files > 0 || dryRun {
            let gone = "\(Wording.count(evicted.files, "file")) (\(Wording.size(evicted.bytes)))"
            facts.add(dryRun ? "would evict" : "evicted", gone, colour: evicted.files > 0 ? .magenta : nil)
        }
        return facts.text
    }
}
