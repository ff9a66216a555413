public import AvatarStore

extension SimulatedDisk {
    /// Opens a store on this disk, as a process of its own would: several stores of one disk are several processes.
    ///
    /// Everything that the store writes is on the disk, its index too. Decoders of renditions, shared tiers and origins
    /// are outside it.
    ///
    /// - Parameters:
    ///   - directory: the store's directory on the disk, an absolute path. Default: `/store`.
    ///   - configure: changes the configuration before the store opens. Its paths must stay as they are. Default: no
    ///     change.
    /// - Throws: as `AvatarStore.open(_:)`.
    public func openStore(
        at directory: String = "/store",
        _ configure: (inout StoreConfiguration) -> Void = { _ in }
    ) async throws -> AvatarStore {
        let process = SimulatedProcess(on: self)
        var configuration = StoreConfiguration(directory: process.root + directory)
        configure(&configuration)
        return try await AvatarStore.open(configuration, fileSystem: process, bootID: bootID)
    }

    /// Cuts the power: each call on this disk fails from now on.
    ///
    /// - Parameters:
    ///   - model: what may be lost of that which was not synchronized.
    ///   - seed: chooses among the states that the model allows. Equal seeds choose equally.
    /// - Returns: the disk as the machine finds it when it starts again.
    public func losePower(_ model: PowerLossModel, seed: UInt64) -> SimulatedDisk {
        turnOff()
        return SimulatedDisk(image.afterLossOfPower(model, seed: seed))
    }
}
