import ArgumentParser
import AvatarStore

/// `avatars config`: the settings that are kept in the store.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Prints or changes the settings that are kept in the store.",
        usage: "avatars config [<name> [<value>]] [<options>]",
        discussion: """
            Without a NAME all settings, with a NAME that one, with a VALUE it is set. Sizes are written 500000, 64MB \
            or 64MiB, times in seconds; the VALUE default puts a setting back. A lower budget is in force, and the caches \
            trimmed, when the command ends.

            NAME is one of \(Setting.all.map(\.name).joined(separator: ", ")).

            Example: avatars config budget 500MB
            """
    )

    @Argument(help: "The setting.")
    var name: String?

    @Argument(help: "Its new value.")
    var value: String?

    private static let back = "default"

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if let setting = try setting(), let value, value != Self.back { _ = try setting.parse(value) }
    }

    func run() async throws {
        let setting = try setting()
        let newValue = try value == Self.back ? nil : setting.flatMap { setting in try value.map(setting.parse) }
        try await store.withStore(value == nil ? .readOnly : .readWrite) { store in
            if let setting, let newValue { try await store.set(setting, to: newValue) }
            if let setting, value == Self.back { try await store.reset(setting) }
            try output.json ? printJSON(store) : printText(setting.map { [$0] } ?? Setting.all, store)
        }
    }

    private func setting() throws -> Setting? {
        guard let name else { return nil }
        guard let setting = Setting(named: name) else {
            let names = Setting.all.map(\.name).joined(separator: ", ")
            throw ValidationError("There is no setting \"\(name)\"; there are \(names).")
        }
        return setting
    }

    private func printJSON(_ store: AvatarStore) throws {
        var fields: [String: JSON] = [:]
        for setting in Setting.all { fields[setting.camelCaseName] = setting.json(try store.value(of: setting)) }
        try JSON.object(fields).print()
    }

    private func printText(_ settings: [Setting], _ store: AvatarStore) throws {
        var facts = Facts()
        for setting in settings { facts.add(setting.name, setting.text(try store.value(of: setting))) }
        try facts.print()
    }
}
