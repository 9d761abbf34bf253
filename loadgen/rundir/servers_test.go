package rundir

import (
	"slices"
	"testing"
)

func TestWhatSeveralServersHaveInCommon(t *testing.T) {
	server := func(url, version string, done bool) Server {
		return Server{URL: url, Version: version, PrefixCacheReset: &PrefixCacheReset{Done: done}}
	}
	one := Manifest{Server: server("a", "1", true)}
	if one.ServerURLs() != nil || one.EngineVersion() != "1" || !*one.PrefixCacheReset() || one.Simulated() {
		t.Errorf("one server: %v, %s, %v", one.ServerURLs(), one.EngineVersion(), one.PrefixCacheReset())
	}
	if reset := (Manifest{}).PrefixCacheReset(); reset != nil {
		t.Error("a reset that was not asked for")
	}
	two := Manifest{Server: server("a", "1", true), Replicas: []Server{server("b", "1", true), server("c", "2", false)}}
	two.Replicas[1].Simulated = true
	if !slices.Equal(two.ServerURLs(), []string{"a", "b", "c"}) || two.EngineVersion() != "1, 2" || *two.PrefixCacheReset() || !two.Simulated() {
		t.Errorf("three servers: %v, %s, %v", two.ServerURLs(), two.EngineVersion(), *two.PrefixCacheReset())
	}
}
