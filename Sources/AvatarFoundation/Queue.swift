/// A queue: elements are added at the end, rarely at the front, and taken from the front, each in constant time on average.
///
/// It is public, because the compiler specialises generic types of another module only if they are.
public struct Queue<Element>: RandomAccessCollection, MutableCollection, ExpressibleByArrayLiteral {
    /// The elements from `head` on. The places before it are free.
    @usableFromInline var places: [Element?]
    @usableFromInline var head = 0

    /// A queue of `elements`, in their order.
    @inlinable
    public init(arrayLiteral elements: Element...) { places = elements }

    /// The position of the first element: 0.
    @inlinable
    public var startIndex: Int { 0 }
    /// The number of elements.
    @inlinable
    public var endIndex: Int { places.count - head }

    /// The element at `position`, counted from the first one.
    @inlinable
    public subscript(position: Int) -> Element {
        get {
            // No place from `head` on is free.
            places[head + position]!
        }
        set { places[head + position] = newValue }
    }

    /// Adds `element` behind all others.
    @inlinable
    public mutating func append(_ element: Element) { places.append(element) }

    /// Adds `element` before all others.
    @inlinable
    public mutating func prepend(_ element: Element) {
        if head == 0 {
            let free = count + 4
            places.insert(contentsOf: repeatElement(nil, count: free), at: 0)
            head = free
        }
        head -= 1
        places[head] = element
    }

    /// Takes the first element; `nil` if the queue is empty.
    @inlinable
    public mutating func popFirst() -> Element? {
        guard head < places.count else { return nil }
        let element = places[head].take()
        head += 1
        // Closing up moves fewer elements than were taken since the last time.
        if head > 2 * count + 16 {
            places.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Removes the elements of which `shouldBeRemoved` says so.
    @inlinable
    public mutating func removeAll(where shouldBeRemoved: (Element) throws -> Bool) rethrows {
        places = try filter { try !shouldBeRemoved($0) }
        head = 0
    }
}

extension Queue: Sendable where Element: Sendable {}
