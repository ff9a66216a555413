import AvatarCore
import AvatarIndex

extension StoreWriter {
    /// Removes the entries for `keys` and the files that nothing else uses.
    func remove(_ keys: [AvatarKey]) throws -> RemovalReceipt {
        var receipt = RemovalReceipt()
        for start in stride(from: 0, to: keys.count, by: 512) {
            let batch = keys[start..<min(start + 512, keys.count)]
            try remove(batch, &receipt)
        }
        try settle()
        return receipt
    }

    private func remove(_ keys: ArraySlice<AvatarKey>, _ receipt: inout RemovalReceipt) throws {
        var counted = receipt
        var retired: [PendingFile] = []
        var partials: [PartialRecord] = []
        try write(.power) { transaction in
            for key in keys {
                if let rest = try forgetPartial(of: key, transaction) { partials.append(rest) }
                guard let state = try transaction.state(of: key) else {
                    counted.unknown.append(key)
                    continue
                }
                counted.rows += 1
                try transaction.removeEntry(id: state.id)
                if let file = try state.fileID.flatMap({ try release($0, transaction) }) { retired.append(file) }
            }
        }
        try unlink(retired)
        for rest in partials { try removeFile(of: rest) }
        counted.files += retired.count
        counted.bytes += retired.reduce(0) { $0 + $1.sizeBytes }
        receipt = counted
    }

    /// Unlinks `contact` and removes what nobody else uses.
    func remove(contact: String) throws -> RemovalReceipt {
        var receipt = RemovalReceipt()
        var retired: [PendingFile] = []
        try write(.power) { transaction in
            for (id, fileID) in try transaction.images(of: contact) {
                _ = try transaction.unlink(contact, from: id)
                guard try !transaction.hasOwner(id) else { continue }
                receipt.rows += 1
                try transaction.removeEntry(id: id)
                if let file = try fileID.flatMap({ try release($0, transaction) }) { retired.append(file) }
            }
        }
        try unlink(retired)
        try settle()
        receipt.files = retired.count
        receipt.bytes = retired.reduce(0) { $0 + $1.sizeBytes }
        return receipt
    }
}
