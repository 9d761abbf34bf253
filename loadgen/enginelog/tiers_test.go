package enginelog

import (
	"os"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/spec"
)

func tiersOf(t *testing.T, tool, file string) spec.Tiers {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	reading, _ := readText(t, tool, text)
	return reading.Tiers()
}

func TestTheTiersOfKVBMAreReadFromTheLogOfVLLM(t *testing.T) {
	got := tiersOf(t, "vllm", "vllm-0.26.0-kvbm-1.4.2.log")
	if !got.KVBM || got.BlockBytes != 524288 || got.TokenBytes != 32768 || got.DiskBytes != 7999586304 || got.HostBytes != 0 || got.Files {
		t.Errorf("%+v", got)
	}
	if got.Filter == nil || *got.Filter {
		t.Errorf("the filter was disabled: %v", got.Filter)
	}
}

func TestTheTiersOfVLLMsOwnOffloadingAreReadFromItsLog(t *testing.T) {
	if got, want := tiersOf(t, "vllm", "vllm-0.26.0-tiering-fs.log"), (spec.Tiers{HostBytes: 2.15e9, Files: true}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := tiersOf(t, "vllm", "vllm-0.24.0.log"); !got.Empty() {
		t.Errorf("without tiers: %+v", got)
	}
}

// KVBM logs only that it has no filter. A later start of the engine has its own lines.
func TestTheDiskFilterIsOnIfTheTransferSettingsComeWithoutTheWarning(t *testing.T) {
	const start, warning, settings = "Initializing KvbmWorker with params: num_device_blocks=2048, page_size=16, dtype_width_bytes=2\n",
		"WARN dynamo_llm::block_manager::offload: Host to Disk offload filter is not provided. All blocks in host will be offloaded to disk.\n",
		"INFO dynamo_llm::block_manager::offload: Configured offload transfer settings max_concurrent_transfers=4\n"
	for text, want := range map[string]string{
		start: "unknown", start + settings: "on", start + warning + settings: "off", warning: "off",
		start + warning + settings + start: "unknown", start + warning + settings + start + settings: "on",
	} {
		reading, _ := readText(t, "vllm", []byte(text))
		got := "unknown"
		if filter := reading.Tiers().Filter; filter != nil {
			got = map[bool]string{true: "on", false: "off"}[*filter]
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// FuzzTiers: sizes are finite, not negative and bounded, whatever the lines; the filter is known only if a line of KVBM
// is there.
func FuzzTiers(f *testing.F) {
	addLogs(f, "testdata/vllm-0.26.0-*.log")
	f.Fuzz(func(t *testing.T, text string, cut uint) {
		for _, text := range []string{text, text[:cut%uint(len(text)+1)]} {
			reading, _ := readText(t, "vllm", []byte(text))
			got := reading.Tiers()
			for _, size := range []float64{got.HostBytes, got.DiskBytes, got.BlockBytes, got.TokenBytes} {
				if !(size >= 0 && size <= spec.Largest) {
					t.Errorf("%+v", got)
				}
			}
			if (got.Filter != nil || got.DiskBytes > 0 || got.TokenBytes > 0) && !got.KVBM {
				t.Errorf("%+v", got)
			}
			if got.Files && !strings.Contains(text, "fs") {
				t.Errorf("%+v", got)
			}
		}
	})
}
