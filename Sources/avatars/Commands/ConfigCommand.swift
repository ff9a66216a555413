import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars config`: prints and changes the settings kept in the store.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Prints or changes the store's settings.",
        usage: "avatars config [<name> [<value>]] [--dry-run] [<options>]",
        discussion: """
            Without NAME, the command prints all settings; with NAME it prints that one, and with VALUE it changes it. The \
            value default resets the setting, and so does none where none is the default. Write sizes as 64MB, 64MiB or in bytes, and times as 90s, 15m, 6h, 7d or in \
            seconds.

            A lower budget evicts images before the command ends, and the command prints how many. A budget below 1 MiB \
            needs a unit.

            The network options connections, per-host, allow-private-network, user-agent and ca-file apply to later commands. \
            An option of a command overrides its environment variable, and the variable overrides the setting.

            volatile-query "HOST NAME[,NAME…]" leaves query parameters out of the keys of a host's URLs, so that a signed URL stays \
            the same image in each list. It is kept for each HOST; "HOST none" takes it away. A * ends a name, or stands for all \
            parameters of the host.

            NAME is one of \(KeptSetting.all.map(\.name).joined(separator: ", ")).

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
    @Flag(name: [.customShort("n"), .long], help: "Change nothing; print what would be evicted.")
    var dryRun = false

    /// Whether the value resets `setting`: it is `default`, or the `none` that the command prints for a setting without a value.
    private func resets(_ setting: KeptSetting) -> Bool {
        value == "default" || value == "none" && setting.defaultText == "none"
    }

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` for a setting or a value that is not valid, and for `--dry-run` without a value.
    func validate() throws {
        if dryRun && value == nil { throw ValidationError("--dry-run needs a setting and a new value.") }
        if let setting = try setting(), let value, !resets(setting) { _ = try setting.parse(value) }
    }

    /// Prints all settings, prints one, or changes one and prints it with the eviction that it caused.
    func run() async throws {
        let setting = try setting()
        let newValue = try setting.flatMap { setting in try resets(setting) ? nil : value.map(setting.parse) }
        if case .text(.trustRootsFile, let path)? = newValue { _ = try CertificateFile.checked(path) }
        try await store.withStore(value == nil || dryRun ? .readOnly : .readWrite, makesRoom: true) { store in
            if case .number(.lowWatermark, let bytes)? = newValue { try warn(aboveBudget: Int(bytes), in: store) }
            var evicted: EvictionReport?
            if let setting, value != nil { evicted = try await change(setting, to: newValue, in: store) }
            if case .number(.keepUnlinked, 0)? = newValue { try noteRemoval(by: store) }
            // An eviction is printed even with `--quiet`.
            let isData = value == nil || dryRun || (evicted?.files ?? 0) > 0
            let text = try setting.map { try facts(of: $0, in: store, evicted) } ?? table(of: store)
            try output.print(try json(of: store, evicted), text: text, quiet: self.store.quiet, isData: isData)
        }
        noteOverrides(of: setting.map { [$0] } ?? KeptSetting.all)
    }

    /// Names the environment variables that commands use in place of `settings`.
    private func noteOverrides(of settings: [KeptSetting]) {
        let overrides = settings.compactMap { EnvironmentDefaults.override(ofSetting: $0.name) }
        guard !overrides.isEmpty else { return }
        let names = overrides.joined(separator: ", ")
        store.note(
            settings.count == 1
                ? "The environment variable \(names) overrides the setting."
                : "Environment variables override settings: \(names)."
        )
    }

    /// Changes `setting` in `store`, or with `--dry-run` only predicts the eviction.
    ///
    /// - Parameter newValue: the value; `nil` to reset the setting.
    /// - Returns: the files that were evicted, or would be.
    private func change(
        _ setting: KeptSetting,
        to newValue: KeptSetting.Value?,
        in store: AvatarStore
    ) async throws -> EvictionReport {
        switch (setting, newValue) {
        case (.number(let setting), .number(_, let number)?):
            return try await store.set(setting, to: number, dryRun: dryRun)
        case (.number(let setting), _):
            return try await store.set(setting, to: nil, dryRun: dryRun)
        case (.text(.volatileQuery), .text(_, let text)?):
            guard !dryRun else { break }
            if let host = KeptSetting.hostWithoutQuery(text) {
                try await store.removeVolatileQuery(ofHost: host)
            } else {
                try await store.setVolatileQuery(VolatileQuery(parsing: text))
            }
        case (.text(let setting), .text(_, let text)?):
            if !dryRun { try await store.set(setting, to: text) }
        case (.text(let setting), _):
            if !dryRun { try await store.set(setting, to: nil) }
        }
        return EvictionReport()
    }

    /// Says how many images without a contact the next sync removes.
    private func noteRemoval(by store: AvatarStore) throws {
        let count = try store.unusedImageCount()
        guard count > 0 else { return }
        self.store.note(
            "the next sync removes \(Wording.count(count, "image")) that no contact uses any more; "
                + "`avatars list --without-contact` lists them"
        )
    }

    /// Warns that a low watermark of `bytes` has no effect, if it is above the budget. It is kept, because a higher budget
    /// may follow.
    private func warn(aboveBudget bytes: Int, in store: AvatarStore) throws {
        let budget = try Int(store.value(of: .budget) ?? 0)
        guard bytes > budget else { return }
        Message.warning(
            "The low watermark of \(Wording.limit(bytes)) is above the budget of \(Wording.limit(budget)), so evictions stop "
                + "at the budget. Choose a lower one, or raise the budget with `avatars config budget`."
        )
    }

    /// The setting that the argument names; `nil` without one.
    ///
    /// - Throws: `ValidationError` if there is no setting with that name.
    private func setting() throws -> KeptSetting? {
        guard let name else { return nil }
        guard let setting = KeptSetting(named: name) else {
            let names = KeptSetting.all.map(\.name).joined(separator: ", ")
            throw ValidationError("There is no setting \"\(name)\". Use one of \(names).")
        }
        return setting
    }

    /// All settings by their names in camelCase, and the eviction of a change.
    private func json(of store: AvatarStore, _ evicted: EvictionReport?) throws -> JSON {
        var fields: [String: JSON] = [:]
        for setting in KeptSetting.all { fields[setting.camelCaseName] = try setting.json(in: store) }
        if let evicted {
            fields["evicted"] = JSON(evicted.files)
            fields["bytesFreed"] = JSON(evicted.bytes)
        }
        return .object(fields)
    }

    /// All settings with their values, defaults and meanings.
    private func table(of store: AvatarStore) throws -> TerminalText {
        let table = Table(.left("SETTING"), .left("VALUE"), .left("DEFAULT"), .left("MEANING"))
        let rows = try KeptSetting.all.map { setting in
            [setting.name, try setting.text(in: store), setting.defaultText, setting.meaning].map { Table.Cell($0) }
        }
        return table.text(rows)
    }

    /// One setting, and the eviction of a change.
    private func facts(of setting: KeptSetting, in store: AvatarStore, _ evicted: EvictionReport?) throws
        -> TerminalText
    {
        var facts = Facts()
        facts.add(setting.name, try setting.text(in: store))
        if let evicted, evicted.files > 0 || dryRun {
            let gone = "\(Wording.count(evicted.files, "file")) (\(Wording.size(evicted.bytes)))"
            facts.add(dryRun ? "would evict" : "evicted", gone, colour: evicted.files > 0 ? .magenta : nil)
        }
        return facts.text
    }
}
