internal import AvatarCore

/// Cuts a list into its records.
protocol RecordSplitter {
    /// The next record; `nil` after the last one, if the list ends as it should.
    mutating func next() throws(AvatarStoreError) -> RawRecord?
}
