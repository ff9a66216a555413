import ArgumentParser

/// The states of an entry, as in `avatar_overview`.
enum EntryState: String, CaseIterable, ExpressibleByArgument {
    case fresh, stale, failing, gone, evicted, missing, own

    /// The colour a state is shown in.
    var colour: Colour? {
        switch self {
        case .fresh, .own: .green
        case .stale, .evicted, .missing: .magenta
        case .failing, .gone: .red
        }
    }
}
