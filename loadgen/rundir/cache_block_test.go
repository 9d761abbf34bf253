package rundir

import (
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
)

func TestABlockOfAHybridModelIsTheSizeItWasFittedTo(t *testing.T) {
	for _, test := range []struct {
		settings map[string]string
		want     int
	}{
		{map[string]string{"block_size": "16"}, 16},
		{map[string]string{"block_size": "16", "effective_attention_block_size": "528"}, 528},
		{map[string]string{"block_size": "16", "mamba_block_size": "None", "effective_attention_block_size": "16"}, 16},
		{map[string]string{"page_size": "64"}, 64},
		{nil, 0},
	} {
		if got := (Server{Settings: test.settings}).CacheBlock(supported.Engines()); got != test.want {
			t.Errorf("%v: %d, want %d", test.settings, got, test.want)
		}
	}
}
