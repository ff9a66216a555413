import AvatarIndex

extension AvatarStore {
    /// The value in force for `setting`; `nil` if it has none.
    public func value(of setting: Setting) throws -> Int64? {
        guard setting == .lowWatermark else { return try index.value(of: setting) }
        return Int64(try defaultTrimTarget())
    }

    /// Keeps `value` for `setting`, for all processes. A lower budget is in force when this returns: files that
    /// exceed it are trimmed to its low watermark.
    ///
    /// - Returns: how many files were evicted for that, and their bytes.
    @discardableResult
    public func set(_ setting: Setting, to value: Int64) async throws -> (files: Int, bytes: Int) {
        try await requireWritable().writer.set(setting, to: value)
    }

    /// What `set(_:to:)` would evict; with `nil` what `reset(_:)` would. Possible in a store that is open for reading
    /// only.
    ///
    /// - Throws: `invalidConfiguration` for a value outside the setting's limits; an error of the index.
    public func evictionPreview(setting: Setting, to value: Int64?) throws -> (files: Int, bytes: Int) {
        if let value { try setting.validate(value) }
        guard setting == .budget, let budget = (value ?? setting.defaultValue).map(Int.init),
            try index.total(of: .caches).accountedBytes > budget
        else { return (0, 0) }
        return try trimPreview(to: index.lowWatermark(budget: budget))
    }

    /// Puts `setting` back to its default, for all processes, as if nobody had ever set it.
    ///
    /// - Returns: as `set(_:to:)`.
    /// - Throws: as `set(_:to:)`.
    @discardableResult
    public func reset(_ setting: Setting) async throws -> (files: Int, bytes: Int) {
        try await requireWritable().writer.reset(setting)
    }

    /// Where trimming stops if nobody says.
    func defaultTrimTarget() throws -> Int {
        try index.lowWatermark(budget: Int(try index.value(of: .budget) ?? 0))
    }
}
