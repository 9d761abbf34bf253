package cmd_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/fit"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/server"
)

// madeUp is an engine that does not exist, described as the others are.
func madeUp() spec.Engine {
	return spec.Engine{
		Name: "madeup", Title: "Made-Up",
		Metrics: spec.Metrics{
			Path: "/stats",
			Forms: []spec.Form{{Prefix: "madeup_", Labels: spec.Labels{Others: []string{spec.LabelModel}}, Read: func(all spec.View) []spec.Model {
				return spec.PerModel(all, spec.LabelModel, []string{"madeup_room_tokens"}, func(v spec.View) spec.Model {
					return spec.Model{Pool: spec.Pool{CapacityTokens: v.Gauge("madeup_room_tokens")}}
				})
			}}},
		},
		Identity:    spec.Identity{Owners: []string{"made-up-inc"}, About: spec.AboutVersion()},
		Programs:    []spec.Program{{Command: "madeup-serve", Flag: "--port", Port: 4711}},
		CommandLine: spec.CommandLine{Commands: []string{"madeup-serve"}, Options: []spec.Option{spec.Number("--room")}},
		Answer:      []spec.AnswerCount{{Of: spec.AnsweredCached, Path: []string{"made", "found"}}},
		Request:     &spec.Request{Both: []string{spec.IgnoreEOS}},
		Log:         &spec.Log{Help: "what it prints", First: spec.PhaseLoad, Marks: []spec.Mark{{Text: "made up my mind", To: spec.PhaseReady}}, Figures: []spec.Figure{{Of: spec.KVTokens, After: []string{"room for"}, Unit: "tokens", Factor: spec.One}}},
		Sizing: &spec.Sizing{Version: "1", Grant: func(m spec.GPUMemory, _ spec.Interval, release string, _ *int64) spec.Grant {
			g := spec.Grant{Flag: "--share", Meaning: "share of the total (" + release + ")"}
			g.Set(m.Budget(), 0, m.Available, m.Total)
			return g
		}},
	}
}

// madeUpServer refuses every field that the engine does not declare.
func madeUpServer(t *testing.T) string {
	t.Helper()
	answers := map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"made-up-inc","max_model_len":4096}]}`, "/version": `{"version":"0.1"}`}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch answer := answers[r.URL.Path]; {
		case r.URL.Path == "/stats":
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			fmt.Fprintln(w, `madeup_room_tokens{model="m"} 4096`)
		case answer != "":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintln(w, answer)
		case strings.HasPrefix(r.URL.Path, "/v1/"):
			var asked map[string]any
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				t.Error(err)
			}
			for _, field := range []string{"min_tokens", "cache_salt", "return_token_ids"} {
				if asked[field] != nil {
					http.Error(w, `{"error":{"message":"unknown field `+field+`"}}`, http.StatusBadRequest)
					return
				}
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintln(w, `{"id":"1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1},"made":{"found":7}}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAMadeUpEngineIsOneValueInTheList(t *testing.T) {
	engines, url := append(supported.Engines(), madeUp()), madeUpServer(t)

	t.Run("the exporter reads its page", func(t *testing.T) {
		at, err := engine.ParseEndpoint(url + "/stats")
		if err != nil {
			t.Fatal(err)
		}
		empty := hostfs.Dir{Path: t.TempDir()}
		e, err := exporter.New(collector.Host{Proc: empty, Sys: empty, Cgroup: empty, HTTP: http.DefaultTransport}, exporter.Settings{
			Collectors: []string{"engine"}, HideOwnMetrics: true,
			Options: collector.Options{Sources: collector.SourceOptions{Known: engines, Targets: collector.Targets{Engines: []*engine.Endpoint{at}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var page strings.Builder
		if err := e.WritePage(t.Context(), &page); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`uma_engine_kv_capacity_tokens{model="m",source="` + at.Source + `"} 4096`, `engine="madeup",model="m",source="` + at.Source + `",version="0.1"`} {
			if !strings.Contains(page.String(), want) {
				t.Errorf("no %s in\n%s", want, page.String())
			}
		}
	})
	t.Run("discovery finds it", func(t *testing.T) {
		if ports := engine.ServedPorts(engines, []string{"/opt/madeup-serve", "--port=8001"}, nil); !slices.Equal(ports, []uint16{8001}) {
			t.Errorf("ports %v", ports)
		}
		at, err := engine.ParseEndpoint(url)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := (engine.Client{Engines: engines, HTTP: http.DefaultTransport}).Identify(t.Context(), at); err != nil || got != (engine.Identity{Engine: "madeup", PagePath: "/stats"}) {
			t.Errorf("%+v, %v", got, err)
		}
	})
	target := server.Target{URL: url, Known: engines, Engine: server.EngineAuto, Endpoint: openai.Chat, ReadyConsecutive: 1}
	t.Run("check finds it and its fields", func(t *testing.T) {
		found, err := server.Check(t.Context(), target)
		if found == nil || found.Engine != "madeup" || found.Version != "0.1" || found.Accepted == nil {
			t.Fatalf("%+v, %v", found, err)
		}
	})
	t.Run("a run sends its fields and no others", func(t *testing.T) {
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		served, err := server.Inquire(t.Context(), target, log)
		if err != nil {
			t.Fatal(err)
		}
		_, err = server.Recognize(t.Context(), target, &served, server.Wanted{IgnoreEOS: true, CacheSalt: true, TopP: 1}, log)
		if err == nil || !strings.Contains(err.Error(), "min_tokens") {
			t.Errorf("--ignore-eos without min_tokens: %v", err)
		}
		identity, err := server.Recognize(t.Context(), target, &served, server.Wanted{CacheSalt: true, TopP: 1}, log)
		if err != nil {
			t.Fatal(err)
		}
		identity.Close()
		body, err := openai.Body(openai.Params{Endpoint: openai.Chat, Model: "m", Prompt: "p", MaxTokens: 4, MinTokens: 4, IgnoreEOS: true, Vendor: server.VendorOf(engines, served.Engine)})
		if err != nil || !strings.Contains(string(body), `"ignore_eos":true`) || strings.Contains(string(body), "min_tokens") {
			t.Errorf("%s, %v", body, err)
		}
		client, err := openai.New(openai.Options{BaseURL: url, Counts: server.CountsOf(engines)})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if got := client.Do(t.Context(), openai.Request{Endpoint: openai.Chat, Body: body}, func() int64 { return 0 }, nil); got.Record.TokensCached == nil || *got.Record.TokensCached != 7 {
			t.Errorf("%+v", got.Record)
		}
		if page := (server.Target{URL: url, Known: engines, Engine: "madeup"}).PlannedPage(); page != url+"/stats" {
			t.Error(page)
		}
	})
	t.Run("its log is read", func(t *testing.T) {
		tool, err := enginelog.Find(engines, "madeup")
		if err != nil {
			t.Fatal(err)
		}
		reading := tool.Read()
		phase, _ := reading.Line("stdout", enginelog.Line{Number: 1, Text: "made up my mind, room for 4096 tokens"})
		if tokens := reading.Value(spec.KVTokens); phase != spec.PhaseReady || tokens == nil || *tokens != 4096 {
			t.Errorf("%q, %v", phase, tokens)
		}
	})
	t.Run("fit of an exporter has its share", func(t *testing.T) {
		machine, err := sim.New(sim.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer machine.Close()
		host := machine.Collect()
		defer host.GPU.Close()
		e, err := exporter.New(host, exporter.Settings{Options: collector.Options{Sources: collector.SourceOptions{Known: engines}}, HideOwnMetrics: true})
		if err != nil {
			t.Fatal(err)
		}
		var page strings.Builder
		if err := e.Fit(t.Context(), &page, ""); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.String(), "Made-Up") || !strings.Contains(page.String(), "--share 0.") {
			t.Errorf("no share of it in\n%s", page.String())
		}
	})
	t.Run("its grant is computed", func(t *testing.T) {
		grants := fit.Engines(engines, spec.GPUMemory{Total: 100 << 30, Free: 80 << 30, Available: 80 << 30, Reserve: 10 << 30}, nil)
		if last := grants[len(grants)-1]; last.Name != "Made-Up" || last.Flag != "--share" || last.Hundredths != 70 || !strings.Contains(last.Meaning, "Made-Up 1") {
			t.Errorf("%+v", last)
		}
	})
}
