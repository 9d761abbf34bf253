package enginelog

import (
	"bytes"
	"os"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
)

// BenchmarkReading is what a talkative program costs: its output goes through here before the next of
// it is taken.
func BenchmarkReading(b *testing.B) {
	text, err := os.ReadFile("testdata/trtllm-bench-constructed.log")
	if err != nil {
		b.Fatal(err)
	}
	text = bytes.Repeat(text, 16)
	for _, tool := range Tools(supported.Engines()) {
		b.Run(tool.Name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r := tool.Read()
				lines := NewLines(func(l Line) { r.Line("stdout", l) })
				_, _ = lines.Write(text)
			}
		})
	}
}
