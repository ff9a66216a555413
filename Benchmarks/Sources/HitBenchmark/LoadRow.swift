import AvatarStore
import BenchmarkFigures

/// The slowest hits while the store writes and evicts.
struct LoadRow {
    let pictures: PictureStore

    func run() throws -> [Figure] { [] }
}
