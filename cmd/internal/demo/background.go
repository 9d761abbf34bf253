package demo

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	hostsim "github.com/umascope/umascope/exporter/sim"
)

// lively simulates a user of the machine until ctx ends: a desktop that takes more memory or less over time, reads
// files and writes some. So no two runs find the machine quite the same, as on a machine that people use.
func (s *stage) lively(ctx context.Context, seed uint64) error {
	desktop, err := s.host.Start(hostsim.Program{Comm: "code", Cgroup: "/user.slice/user-1000.slice/session-2.scope", Threads: 30})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, seed))
	s.running.Go(func() {
		defer desktop.Stop()
		for ctx.Err() == nil {
			demand := hostsim.Demand{
				AnonBytes: gib + int64(random.Float64()*2*gib), ShmemBytes: 200 << 20, CPUs: 0.2 + random.Float64(),
				Write: hostsim.FileTransfer{File: homeFile, BytesPerSecond: int64(random.Float64() * (8 << 20))},
			}
			if random.IntN(4) == 0 {
				demand.Read = hostsim.FileTransfer{File: homeFile, BytesPerSecond: 100 << 20}
			}
			desktop.Demand(demand)
			_ = s.wait(ctx, 5*time.Second) // the loop ends with ctx
		}
	})
	return nil
}

// chatPause is the time between two requests of the users of the engine while no run is measured.
const chatPause = 3 * time.Second

// chatting sends the engine a request at intervals until ctx ends. It continues a small number of conversations, so
// earlier turns are in the engine's prefix cache. These requests belong to no measurement, and their answers are
// ignored.
func chatting(ctx context.Context, engineURL string) {
	client := &http.Client{Transport: &http.Transport{Proxy: nil}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	topics := []string{"unified memory", "page cache", "a KV cache on a drive", "heat"}
	for i := 0; pause(ctx, chatPause) == nil; i++ {
		body, err := json.Marshal(map[string]any{
			"model": modelName, "max_tokens": 48,
			"messages": []map[string]string{{"role": "user", "content": strings.Repeat("Tell me about "+topics[i%len(topics)]+". ", 40)}},
		})
		if err != nil {
			return // made from our own constants
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, engineURL+"/v1/chat/completions", strings.NewReader(string(body)))
		if err != nil {
			return
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("User-Agent", chatAgent)
		if response, err := client.Do(request); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
	}
}
