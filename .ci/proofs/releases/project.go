package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// project is an engine or library with metrics.
type project struct {
	name     string
	packages []string // on PyPI
	// files matches the files of a wheel with names, and names one name in their text; its last group is the name without prefix.
	files, names *regexp.Regexp
	// prefixes stand before a name on a page, longest first.
	prefixes []string
}

// projects returns all that are compared. TensorRT-LLM has no wheel on PyPI, and llama.cpp none with its server.
func projects() []project {
	python := regexp.MustCompile(`\.py$`)
	return []project{
		{"vllm", []string{"vllm"}, python, regexp.MustCompile(`["']vllm:([a-z0-9_]+)["']`), []string{"vllm:"}},
		{"sglang", []string{"sglang"}, python, regexp.MustCompile(`["']sglang:([a-z0-9_]+)["']`), []string{"sglang:"}},
		{"lmcache", []string{"lmcache"}, python, regexp.MustCompile(`["'](?:lmcache:|lmcache_mp\.)([a-z0-9_.]+)["']`), []string{"lmcache:", "lmcache_mp_"}},
		{"dynamo", []string{"ai-dynamo-runtime"}, regexp.MustCompile(`prometheus_names\.py$`), regexp.MustCompile(`(?m)^    [A-Z0-9_]+ = "([a-z0-9_]+)"`),
			[]string{"dynamo_frontend_", "dynamo_component_router_", "dynamo_component_kvstats_", "dynamo_component_", "kvbm_"}},
		{"nixl", []string{"nixl-cu13"}, regexp.MustCompile(`libtelemetry[a-z_]*\.so$`), regexp.MustCompile(`\x00(agent_[a-z0-9_]+)\x00`), []string{""}},
		// Of master_total_capacity_bytes, which is on the recorded page, the compiler keeps pieces only.
		{"mooncake", []string{"mooncake-transfer-engine"}, regexp.MustCompile(`mooncake_master$`), regexp.MustCompile(`\x00((?:master|file_cache|mem_cache)_[a-z0-9_]+)\x00`), []string{""}},
	}
}

// owns reports whether a name is on pages of the project.
func (p project) owns(full string) bool {
	switch p.name {
	case "nixl":
		return strings.HasPrefix(full, "agent_")
	case "mooncake":
		return strings.HasPrefix(full, "master_")
	}
	for _, prefix := range p.prefixes {
		if strings.HasPrefix(full, prefix) {
			return true
		}
	}
	return false
}

// bare returns a name as sources write it: without the prefix, and without the endings that libraries of Prometheus add.
func (p project) bare(full string) string {
	for _, prefix := range p.prefixes {
		if rest, found := strings.CutPrefix(full, prefix); found {
			full = rest
			if prefix == "lmcache_mp_" {
				full = unit.ReplaceAllString(ending.ReplaceAllString(full, ""), "")
			}
			break
		}
	}
	return ending.ReplaceAllString(full, "")
}

// unit is the ending that OpenTelemetry adds to the names on the page of LMCache's server.
var unit = regexp.MustCompile(`_(tokens|chunks|requests)$`)

var ending = regexp.MustCompile(`(_total|_sum|_count|_bucket)$`)

// namesRead returns the string constants that are names of series: in the packages of the engines, and in the files of package
// metric that begin with foreign.
func namesRead(exporter string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(exporter, "engine", "*", "*.go"))
	if err != nil {
		return nil, err
	}
	foreign, err := filepath.Glob(filepath.Join(exporter, "metric", "foreign*.go"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, path := range append(files, foreign...) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil && series.MatchString(text) {
					all = append(all, text)
				}
			}
			return true
		})
	}
	return all, nil
}

// series matches a whole name of a series; prefixes and labels do not match.
var series = regexp.MustCompile(`^(vllm:|sglang:|lmcache:|lmcache_mp_|dynamo_(frontend|component)_|kvbm_|agent_|master_)[a-z0-9_]*[a-z0-9]$`)
