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

// lively has somebody work at the machine until ctx ends: a desktop that takes now more and now less, reads files and
// writes some. So no two runs find it quite the same, as on a machine that people use.
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

// chatPause is the time between two questions of the people who use the engine while nothing is measured.
const chatPause = 3 * time.Second

// chatting asks the engine something now and then until ctx ends. There are few conversations, which go on: what was
// said before is found in the engine's cache. It is nobody's measurement, and whether it is answered is not looked at.
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
			return // of our own constants
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, engineURL+"/v1/chat/completions", strings.NewReader(string(body)))
		if err != nil {
			return
		}
		request.Header.Set("Content-Type", "application/json")
		if response, err := client.Do(request); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
	}
}
