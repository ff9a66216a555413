/// The form for the token of the server.
struct LoginPage {
    let frame: PageFrame
    /// The path of the page after the login.
    let next: String
    /// A sentence about the last attempt; `nil` without one.
    let message: String?

    /// The whole page.
    func html() -> String {
        frame.page(title: "Log in") { text in
            text += "<main><div class=\"note\"><h1>Log in</h1>"
            text += "<p>The images and names of this server are only for people with its token.</p>"
            text += "<form method=\"post\" action=\"/login\"><label for=\"token\">Token</label>"
            text += "<input id=\"token\" type=\"password\" name=\"token\" placeholder=\"Token\" required"
            text += " autocomplete=\"current-password\">"
            text +=
                "<input type=\"hidden\" name=\"next\" value=\"\(HTML.escaped(next))\"><button>Log in</button></form>"
            if let message { text += "<p class=\"wrong\" role=\"alert\">\(HTML.escaped(message))</p>" }
            text += "</div></main>"
        }
    }
}
