package server

import (
	"regexp"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// readByEngines reports whether an engine, CUDA or a library that both load reads a variable of that name.
func readByEngines(known spec.Engines, name string) bool {
	prefixes := []string{
		"MOONCAKE_", "NIXL_", "UCX_", "CUFILE_",
		"CUDA_", "NVIDIA_", "NCCL_", "GLOO_", "TORCH", "PYTORCH_", "TRITON_", "FLASHINFER_", "FLASH_ATTN", "HF_", "TRANSFORMERS_", "OMP_", "MKL_", "MALLOC_", "LD_",
		"PYTHONPATH", "PYTHONHASHSEED", "RAY_",
	}
	for _, e := range known {
		prefixes = append(prefixes, e.CommandLine.Prefixes...)
	}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// optionTable maps every name of an option to the option.
type optionTable map[string]spec.Option

func tableOf(engines spec.Engines) optionTable {
	t := optionTable{}
	for _, e := range engines {
		for _, o := range e.CommandLine.Options {
			for _, name := range o.Names {
				t[spelled(name)] = o
			}
		}
	}
	return t
}

// spelled returns the common spelling of a long name: engines accept - for _.
func spelled(name string) string {
	if strings.HasPrefix(name, "--") {
		return "--" + strings.ReplaceAll(name[2:], "_", "-")
	}
	return name
}

var (
	numberPattern = regexp.MustCompile(`^(?:auto|none|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?:[kKmMgGtT]i?[bB]?|[smh])?(?:,-?[0-9]+(?:\.[0-9]+)?)*)$`)
	wordPattern   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,31}$`)
	togglePattern = regexp.MustCompile(`^(?i:on|off|true|false|auto|0|1)$`)
)

// fits reports whether a value has the form of the option.
func fits(o spec.Option, value string) bool {
	switch o.Value {
	case spec.NumberValue:
		return len(value) <= 64 && numberPattern.MatchString(value)
	case spec.WordValue:
		return wordPattern.MatchString(value)
	case spec.ToggleValue:
		return togglePattern.MatchString(value)
	}
	return false
}
