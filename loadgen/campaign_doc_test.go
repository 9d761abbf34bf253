package loadgen

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/sim"
)

const campaignPage = "campaign/README.md"

// engineAt makes this program a simulated engine that listens there: a process that a plan can start.
const engineAt = "UMASCOPE_TEST_ENGINE"

// serveEngine is that engine. It ends by a signal, as engines do.
func serveEngine(address string) error {
	e, err := sim.New(sim.Immediate(0))
	if err != nil {
		return err
	}
	go func() { _ = e.Run(context.Background()) }()
	time.AfterFunc(5*time.Minute, func() { os.Exit(1) }) // of a test that failed
	return http.ListenAndServe(address, e.Handler())
}

// freePort is one that nobody listened at a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	// Below the ports that the kernel hands out by itself: one of those may be another's a moment later.
	for range 100 {
		port := strconv.Itoa(10000 + rand.IntN(20000))
		listener, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err == nil {
			listener.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// TestTheCommandsOfThePageOnCampaignsDoWhatItSays does what a reader of the page does: writes its plan, and
// types its commands. The engine is a process as the plan has it, but a simulated one; of the hours it
// takes two rounds and no cooldown.
func TestTheCommandsOfThePageOnCampaignsDoWhatItSays(t *testing.T) {
	page, err := filepath.Abs(campaignPage)
	if err != nil {
		t.Fatal(err)
	}
	example := blocks(t, page, "yaml")[0]
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "models", "Llama-3.1-8B-Instruct"), 0o755); err != nil {
		t.Fatal(err)
	}
	quick := strings.NewReplacer(
		"port: 8000", "port: "+freePort(t), "/srv/models", filepath.Join(folder, "models"), "cooldown: 2m ", "cooldown: 0s ", "iterations: 12", "iterations: 2",
		"off: [gpu_celsius]", "off: [gpu_celsius, cpu_ratio, mem_free_within]", "output-tokens: 128", "output-tokens: 4", "timeout: 15m", "timeout: 15m, every: 20ms",
		"flags: {url", "flags: {validity: ["+strings.ReplaceAll(strings.Join(uncontended, ", "), "--validity=", "")+"], url").Replace(example)
	if strings.Count(quick, "\n") != strings.Count(example, "\n") || len(quick) == len(example) {
		t.Fatal("the plan of the page has changed: say anew what makes it quick")
	}
	for name, text := range map[string]string{"plan.yaml": quick, "vllm": "#!/bin/sh\n" + engineAt + "=127.0.0.1:$4 exec '" + os.Args[0] + "'\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	var typed []string
	for _, block := range blocks(t, page, "sh") {
		for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
			line, file, redirected := strings.Cut(line, " > ")
			args := strings.Fields(line)
			if args[0] != "uma-load" {
				t.Errorf("%s is no command of ours", line)
				continue
			}
			typed = append(typed, strings.Join(args[1:3], " "))
			stdout, _ := succeeded(t, args[1:]...)
			if redirected {
				if _, err := plan.Parse(file, []byte(stdout)); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		}
	}
	if want := "campaign plans,campaign plans,campaign power,campaign run,campaign run,campaign run,campaign status,compare runs/prefix-cache,campaign power,arm up,arm status,arm logs,arm down"; strings.Join(typed, ",") != want {
		t.Errorf("typed were %v", typed)
	}
}

// TestThePlanOfThePageOnCampaignsIsOne reads it as it stands there, by the reader and by the schema.
func TestThePlanOfThePageOnCampaignsIsOne(t *testing.T) {
	for i, text := range blocks(t, campaignPage, "yaml") {
		if i == 0 {
			p, err := plan.Parse("prefix-cache.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := checkNames(p); err != nil {
				t.Error(err)
			}
			if err := schemaOfPlans(t, []byte(text)); err != nil {
				t.Error(err)
			}
			continue
		}
		// What follows are parts, to be put beside what a plan needs.
		whole := "schema: umascope.plan/1\nmodels: [{name: m}]\narms: [{name: a}]\nscenarios: [{name: s, run: {}}]\n" + text
		if _, err := plan.Parse("part.yaml", []byte(whole)); err != nil {
			t.Error(err)
		}
	}
}

// TestTheKeysOfThePageOnCampaignsAreThere looks for each of its table in the schema.
func TestTheKeysOfThePageOnCampaignsAreThere(t *testing.T) {
	page := text(t, campaignPage)
	schema := text(t, schemaPath(planSchemaName))
	seen := 0
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*) \\|.*\\|$").FindAllStringSubmatch(page, -1) {
		for _, key := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			name := key[1][strings.LastIndex(key[1], ".")+1:]
			name = strings.TrimSuffix(name, "[]")
			seen++
			if !strings.Contains(schema, `"`+name+`": {`) {
				t.Errorf("%s is no key of a plan", key[1])
			}
		}
	}
	if seen < 15 {
		t.Errorf("%d keys were found", seen)
	}
}
