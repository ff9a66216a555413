package import AvatarCore

#if HTTPOrigin
import AvatarOrigin
#endif

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

extension AvatarStore {
    /// Loads the library of the store's own client, in a process that is going to send requests. Blocks the thread.
    ///
    /// Loading takes about as long as opening a store, so call this beside the opening. Otherwise the first request loads it.
    package static func prepareForRequests() {
        #if HTTPOrigin
        HTTPOrigin.prepare()
        #endif
    }
}
