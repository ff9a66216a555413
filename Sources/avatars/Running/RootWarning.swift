import AvatarStore
import AvatarFoundation
import Synchronization

/// Warns of writing into the store of another user as root: the new files would belong to root, and lock that user out.
enum RootWarning {
    /// Whether the warning was printed. A sync that repeats opens the store each time.
    private static let isPrinted = Atomic(false)

    /// Prints the warning, once, if root is about to write into a store of another user.
    static func print(for layout: StoreLayout) {
        guard geteuid() == 0, let owner = StoreOwner(of: layout), owner.number != 0,
            !isPrinted.exchange(true, ordering: .relaxed)
        else { return }
        Message.warning(
            "The store belongs to \(owner.name), but this command runs as root, so \(owner.name) cannot change the files that "
                + "it writes. Run the command as \(owner.name): `sudo -u \(owner.sudoName) avatars …`. `avatars doctor` finds such files."
        )
    }
}
