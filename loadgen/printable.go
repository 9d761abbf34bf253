package loadgen

import "github.com/umascope/umascope/loadgen/chat"

// longestForeign bounds what is repeated of a text that others wrote, in bytes.
const longestForeign = 2000

// printable is chat's rule for foreign text, at the length of this package's messages.
func printable(text string) string { return chat.Printable(text, longestForeign) }
