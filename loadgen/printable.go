package loadgen

import "github.com/umascope/umascope/loadgen/openai"

// printable makes foreign text printable as openai.Printable does, up to the length that messages of this package
// allow.
func printable(text string) string { return openai.Printable(text, openai.LongestForeign) }
