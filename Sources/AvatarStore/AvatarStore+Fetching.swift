package import AvatarCore

/// The fetches under way, for front ends that share one fetch among several views.
extension AvatarStore {
    /// Keeps the running fetch of `key` from being cancelled while the returned value lives; `nil` without one.
    ///
    /// - Parameter isTransient: whether to hold the fetch that does not store its image.
    package func holdFetch(of key: AvatarKey, isTransient: Bool = false) -> FlightHold? {
        isTransient ? fetching.transientFlights.hold(key) : fetching.flights.hold(key)
    }

    /// The number of readers that wait for the fetch of `key`.
    ///
    /// - Parameter isTransient: whether to count the readers of the fetch that does not store its image.
    package func waiterCount(of key: AvatarKey, isTransient: Bool = false) -> Int {
        isTransient ? fetching.transientFlights.waiterCount(of: key) : fetching.flights.waiterCount(of: key)
    }
}
