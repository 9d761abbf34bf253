package engine

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestThePageOfLMCachesServerWorkedOutByHand takes the counts of the client that sent the requests: 240 lookups of 512 tokens. 100
// missed, 100 found both chunks in memory, 40 found both in files. A chunk has 256 tokens and 512 KiB. 200 chunks were stored in
// files, which have 104857600 bytes, and 80 were in memory at the end.
func TestThePageOfLMCachesServerWorkedOutByHand(t *testing.T) {
	reading := translate(t, sample(t, "lmcache-0.5.6-server.prom"))
	if reading.Engine != "lmcache" || len(reading.Models) != 2 || len(reading.UnknownLabels) > 0 || len(reading.Absent) > 0 {
		t.Fatalf("%+v", reading)
	}
	wantModel(t, "tiers", reading.Models[0], "", map[string]float64{"host bytes": 80 << 19, "host tier bytes": 64424509, "disk bytes": 200 << 19})
	wantModel(t, "lookups", reading.Models[1], "test-model", map[string]float64{
		"tokens looked up": 240 * 512, "tokens missed": 100 * 512, "tokens hit host": 100 * 512, "tokens hit disk": 40 * 512,
	})
	before := translate(t, sample(t, "lmcache-0.5.6-server-before-requests.prom"))
	if len(before.Models) != 1 {
		t.Fatalf("%+v", before)
	}
	wantModel(t, "before requests", before.Models[0], "", map[string]float64{"host bytes": 0})
}

func TestTiersOfLMCachesServerByTheirAdapters(t *testing.T) {
	for page, want := range map[string]map[string]float64{
		`lmcache_mp_l1_memory_usage_bytes{backend="dram",l1_tag="a"} 100
lmcache_mp_l1_memory_usage_bytes{backend="dram",l1_tag="b"} 50
lmcache_mp_l1_usage_ratio{backend="dram",l1_tag="a"} 0.5
lmcache_mp_l1_usage_ratio{backend="dram",l1_tag="b"} 0.25
`: {"host bytes": 150, "host tier bytes": 400},
		`lmcache_mp_l1_memory_usage_bytes{backend="gds",l1_tag="a"} 100
lmcache_mp_l1_usage_ratio{backend="gds",l1_tag="a"} 0.5
lmcache_mp_l2_usage_bytes{l2_name="fs"} 7
`: {"disk bytes": 107},
		`lmcache_mp_l1_memory_usage_bytes{backend="devdax+dram",l1_tag="a"} 100
lmcache_mp_l2_usage_bytes{l2_name="s3"} 1
lmcache_mp_l2_usage_bytes{l2_name="valkey"} 2
lmcache_mp_l2_usage_bytes{l2_name="plugin"} 4
`: {"other bytes": 104, "object bytes": 1, "external bytes": 2},
	} {
		wantModel(t, page, translate(t, page).Models[0], "", want)
	}
	// Hits are of all adapters together.
	two := strings.Replace(sample(t, "lmcache-0.5.6-server.prom"), `lmcache_mp_l2_usage_bytes{l2_name="fs"}`, "lmcache_mp_l2_usage_bytes{l2_name=\"s3\"} 1\nlmcache_mp_l2_usage_bytes{l2_name=\"fs\"}", 1)
	if hits := translate(t, two).Models[1].PrefixTokens.Hits; len(hits) != 2 || hits[0].Tier != "host" || hits[1].Tier != "other" || hits[1].Value != 20480 {
		t.Errorf("%+v", hits)
	}
}

func TestTheVersionOfLMCachesServerIsAWord(t *testing.T) {
	client, at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/version":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, sample(t, "lmcache-0.5.6-server-version.json"))
		case "/metrics":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			io.WriteString(w, sample(t, "lmcache-0.5.6-server.prom"))
		default:
			http.NotFound(w, r)
		}
	})
	if reading, err := client.Read(t.Context(), at, Reading{}); err != nil || reading.Version != "0.5.6-g3e11e108" {
		t.Errorf("%q, %v", reading.Version, err)
	}
}
