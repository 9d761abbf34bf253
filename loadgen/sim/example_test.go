package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/umascope/umascope/loadgen/sim"
)

// The second of two equal prompts is found in the prefix cache, block by block of 16 tokens; a request
// that is to go wrong does.
func Example() {
	config := sim.Default()
	config.KV.HostBytes, config.KV.DiskBytes = 8<<30, 32<<30
	config.Faults.Requests = []sim.Fault{{Kind: sim.FaultRefuse, Numbers: []uint64{3}}}
	engine, err := sim.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = engine.Run(ctx) })
	defer running.Wait()
	defer stop()
	prompt := strings.Repeat("word ", 100) + "end"
	for range 3 {
		status, cached := ask(engine, prompt)
		fmt.Println("status", status, "cached", cached)
	}
	// Output:
	// status 200 cached 0
	// status 200 cached 96
	// status 500 cached 0
}

// ask sends one prompt, when the engine is ready.
func ask(engine *sim.Engine, prompt string) (status, cached int) {
	for {
		ready := httptest.NewRecorder()
		engine.Handler().ServeHTTP(ready, httptest.NewRequest("GET", "/health", nil))
		if ready.Code == 200 {
			break
		}
	}
	body := fmt.Sprintf(`{"model":"simulated-8b","prompt":%q,"max_tokens":2}`, prompt)
	answer := httptest.NewRecorder()
	engine.Handler().ServeHTTP(answer, httptest.NewRequest("POST", "/v1/completions", strings.NewReader(body)))
	var read struct {
		Usage struct {
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	_ = json.Unmarshal(answer.Body.Bytes(), &read) // an error has no usage
	return answer.Code, read.Usage.Details.Cached
}
