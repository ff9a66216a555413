import AvatarIndex

extension AvatarStore {
    /// The value in force for `setting`; `nil` if it has none.
    public func value(of setting: Setting) throws -> Int64? {
        guard setting == .lowWatermark else { return try index.value(of: setting) }
        return Int64(try defaultTrimTarget())
    }

    /// Keeps `value` for `setting`, for all processes. A lower budget is in force when this returns: files that
    /// exceed it are trimmed to its low watermark.
    public func set(_ setting: Setting, to value: Int64) async throws {
        try await requireWritable().writer.set(setting, to: value)
    }

    /// Puts `setting` back to its default, for all processes, as if nobody had ever set it.
    ///
    /// - Throws: as `set(_:to:)`.
    public func reset(_ setting: Setting) async throws {
        try await requireWritable().writer.reset(setting)
    }

    /// Where trimming stops if nobody says.
    func defaultTrimTarget() throws -> Int {
        try index.lowWatermark(budget: Int(try index.value(of: .budget) ?? 0))
    }
}
