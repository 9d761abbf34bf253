//go:build proof

package docs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/sim"
)

// share reads an option that is a share of memory.
func (g given) share(without, name string) (float64, error) {
	share, err := strconv.ParseFloat(g.last(without, name), 64)
	if err != nil || share <= 0 || share >= 1 {
		return 0, fmt.Errorf("%s: a share, not %s", name, g.last(without, name))
	}
	return share, nil
}

// longest reads an option that is a number of tokens.
func (g given) longest(without, name string) (int, error) {
	tokens, err := strconv.Atoi(g.last(without, name))
	if err != nil || tokens <= 0 {
		return 0, fmt.Errorf("%s: tokens, not %s", name, g.last(without, name))
	}
	return tokens, nil
}

// address is where an engine listens; in the namespace all addresses are the loopback's.
func (g given) address(port string) string {
	host := strings.NewReplacer("localhost", "127.0.0.1", "0.0.0.0", "127.0.0.1").Replace(g.last("127.0.0.1", "--host"))
	return host + ":" + g.last(port, "--port")
}

// start runs an engine of the simulated machine until ctx ends.
func start(ctx context.Context, a asked) error {
	a.Scope = scope
	return post(ctx, "/serve", engineRequest{Container: os.Getenv(inContainer), asked: a}, func(line string) { fmt.Println(line) })
}

// vllm replaces vLLM's server, whose memory share is one of the whole pool.
func vllm(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "serve" {
		return fmt.Errorf("%q is not stood in for", args)
	}
	g, err := look("vllm-serve", args[1:], false)
	if err != nil {
		return err
	}
	if len(g.rest) != 1 {
		return fmt.Errorf("want one model, not %q", g.rest)
	}
	share, wrongShare := g.share("0.9", "--gpu-memory-utilization")
	longest, wrongLength := g.longest("16384", "--max-model-len")
	if err := errors.Join(wrongShare, wrongLength, present(g.rest[0]), reachable()); err != nil {
		return err
	}
	a := asked{
		Vendor: sim.VLLM, Model: g.last(filepath.Base(g.rest[0]), "--served-model-name"), Weights: g.rest[0],
		Share: share, OfPool: true, Longest: longest, Address: g.address("8000"),
	}
	if size := g.last("", "--kv-cache-memory-bytes"); size != "" {
		if a.KVBytes, err = strconv.ParseInt(size, 10, 64); err != nil {
			return fmt.Errorf("--kv-cache-memory-bytes: %w", err)
		}
	}
	if connector := g.last("", "--kv-transfer-config"); connector != "" {
		if err := a.offloads(connector); err != nil {
			return fmt.Errorf("--kv-transfer-config: %w", err)
		}
	}
	return start(ctx, a)
}

// kvTransfer is vLLM's KVTransferConfig, and what its OffloadingConnector reads.
type kvTransfer struct {
	Connector string `json:"kv_connector"`
	Role      string `json:"kv_role"`
	Extra     struct {
		Spec  string `json:"spec_name"`
		CPU   int64  `json:"cpu_bytes_to_use"`
		Tiers []struct {
			Type string `json:"type"`
			Root string `json:"root_dir"`
		} `json:"secondary_tiers"`
	} `json:"kv_connector_extra_config"`
}

// filesTier is what the tier on the drive holds here: vLLM's has no size of its own.
const filesTier = 64e9

// offloads gives an engine the tiers of its connector.
func (a *asked) offloads(config string) error {
	var t kvTransfer
	decoder := json.NewDecoder(strings.NewReader(config))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&t); err != nil {
		return err
	}
	switch {
	case t.Role != "kv_both":
		return fmt.Errorf("kv_role %s: want kv_both", t.Role)
	case t.Connector == "LMCacheConnectorV1":
		return a.lmcache()
	case t.Connector != "OffloadingConnector":
		return fmt.Errorf("kv_connector %s is not stood in for", t.Connector)
	case t.Extra.CPU <= 0:
		return errors.New("cpu_bytes_to_use: required")
	case len(t.Extra.Tiers) > 0 && t.Extra.Spec != "TieringOffloadingSpec":
		return errors.New("secondary_tiers need spec_name TieringOffloadingSpec")
	}
	a.Host = t.Extra.CPU
	for _, tier := range t.Extra.Tiers {
		if tier.Type != "fs" || tier.Root == "" {
			return fmt.Errorf("secondary tier %+v is not stood in for", tier)
		}
		a.Disk = filesTier
	}
	return nil
}

// lmcache reads LMCache's settings.
func (a *asked) lmcache() error {
	size := func(name string) (int64, error) {
		gigabytes, err := strconv.ParseFloat(os.Getenv(name), 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		return int64(gigabytes * 1e9), nil
	}
	var wrong [2]error
	a.Host, wrong[0] = size("LMCACHE_MAX_LOCAL_CPU_SIZE")
	a.Disk, wrong[1] = size("LMCACHE_MAX_LOCAL_DISK_SIZE")
	if !strings.HasPrefix(os.Getenv("LMCACHE_LOCAL_DISK"), "file:///") {
		return errors.New("LMCACHE_LOCAL_DISK: want file:///FOLDER")
	}
	return errors.Join(wrong[:]...)
}

// sglangServer replaces SGLang's. The simulated engine has no page of SGLang's.
func sglangServer(ctx context.Context, args []string) error {
	g, err := look("sglang", args, false)
	if err != nil {
		return err
	}
	weights := g.last("", "--model-path")
	share, wrongShare := g.share("0.9", "--mem-fraction-static")
	if err := errors.Join(wrongShare, present(weights), reachable()); err != nil {
		return err
	}
	return start(ctx, asked{
		Vendor: sim.OpenAI, Model: g.last(filepath.Base(weights), "--served-model-name"), Weights: weights,
		Share: share, OfPool: true, Longest: 16384, Address: g.address("30000"),
	})
}

// llamaServer replaces llama.cpp's server: its slots share the context.
func llamaServer(ctx context.Context, args []string) error {
	g, err := look("llama-server", args, false)
	if err != nil {
		return err
	}
	file := g.last("", "--model", "-m")
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("--model: %w", err)
	}
	context, wrongContext := g.longest("4096", "--ctx-size")
	slots, wrongSlots := g.longest("1", "--parallel")
	if err := errors.Join(wrongContext, wrongSlots, reachable()); err != nil {
		return err
	}
	return start(ctx, asked{
		Vendor: sim.OpenAI, Model: g.last(filepath.Base(file), "--alias"), Weights: file,
		Share: 0.2, Longest: context / slots, Address: g.address("8080"),
	})
}

// ollamaModel is the model that the stand-in for Ollama has.
const ollamaModel = "gpt-oss:20b"

// ollama replaces Ollama: its server, and the command that has the server download a model.
func ollama(ctx context.Context, args []string) error {
	const address = "127.0.0.1:11434"
	switch {
	case len(args) == 1 && args[0] == "serve":
		return start(ctx, asked{Vendor: sim.OpenAI, Model: ollamaModel, Weights: "/usr/share/ollama/.ollama/models/gpt-oss-20b", Share: 0.2, Longest: 8192, Address: address})
	case len(args) == 2 && args[0] == "pull" && args[1] == ollamaModel:
		if err := answered(address); err != nil {
			return fmt.Errorf("could not connect to a running Ollama instance: %w", err)
		}
		fmt.Println("success")
		return nil
	}
	return fmt.Errorf("%q is not stood in for", args)
}
