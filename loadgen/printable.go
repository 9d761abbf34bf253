package loadgen

import "github.com/umascope/umascope/loadgen/openai"

// printable is chat's rule for foreign text, at the length of this package's messages.
func printable(text string) string { return openai.Printable(text, openai.LongestForeign) }
