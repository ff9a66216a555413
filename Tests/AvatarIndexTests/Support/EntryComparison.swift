import AvatarCore

extension AvatarEntry: Equatable {
    /// Compares all fields, also those that a later version adds.
    static func == (left: AvatarEntry, right: AvatarEntry) -> Bool {
        left.fields == right.fields
    }

    private var fields: [String] { Mirror(reflecting: self).children.map { "\($0.label ?? ""): \($0.value)" } }
}
