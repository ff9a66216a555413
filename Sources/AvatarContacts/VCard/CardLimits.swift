/// How much of a card is read before it is given up.
struct CardLimits {
    /// The most bytes of one card. A photo of 21 MB in base64 fits.
    var bytes = 33_554_432
    /// The most properties of one card, those of cards inside it counted.
    var properties = 100_000
    /// The most photos of one card.
    var photos = 100
}
