package collector

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/hostfs"
)

// Labels of a group in the targets file that have a meaning here. Prometheus, which can read the same file, drops
// labels that begin with two underscores, so that they reach no series. Other labels are for its jobs and are not used.
const (
	// TargetCollectorLabel is the collector of the targets of the group: one of the values below.
	TargetCollectorLabel = "__umascope_collector__"

	targetSchemeLabel = "__scheme__"       // http unless given
	targetPathLabel   = "__metrics_path__" // /metrics unless given
	targetParamPrefix = "__param_"         // __param_model: x sends ?model=x

	targetKVBM    = "kvbm"
	targetEngine  = "engine"
	targetKVBMLog = "kvbm_log" // its targets are paths of files
)

// sources are the sources of one collector: those of the options and those in the targets file now. A collector does
// not run twice at a time, so there is no lock.
type sources struct {
	options SourceOptions

	content []byte  // of the last parsed version of the targets file, nil before
	listed  Targets // by the last good version of the file
	good    bool    // there was a good version
	err     error   // the error of the present version, nil if it has none
}

func newSources(options SourceOptions) *sources { return &sources{options: options} }

// now returns the sources and the fault of the targets file. The last good version of a file stays in use until there
// is a better one: a half-written file must not stop a measurement.
func (s *sources) now() (Targets, error) {
	if s.options.TargetsFile == "" {
		return s.options.Targets, s.options.Targets.Check()
	}
	content, err := readTargetsFile(s.options.TargetsFile)
	switch {
	case err != nil:
		s.content, s.err = nil, err
	case s.content == nil || !bytes.Equal(content, s.content):
		s.content = content
		s.err = s.take(content)
	}
	return s.options.Targets.with(s.listed), s.trouble()
}

func (s *sources) trouble() error {
	switch {
	case s.err == nil:
		return nil
	case !s.good:
		return fmt.Errorf("targets file %s: %w", s.options.TargetsFile, s.err)
	}
	return fmt.Errorf("targets file %s: %w; its last good version holds", s.options.TargetsFile, s.err)
}

// take replaces the sources of the file if the new ones are good.
func (s *sources) take(content []byte) error {
	listed, err := parseTargets(content, filepath.Dir(s.options.TargetsFile))
	if err != nil {
		return err
	}
	if err := s.options.Targets.with(listed).Check(); err != nil {
		return err
	}
	s.listed, s.good = listed, true
	return nil
}

// readTargetsFile reads at most as much as of a kernel file, and only a regular file: a pipe in its place would block.
func readTargetsFile(path string) ([]byte, error) {
	directory := hostfs.Dir{Path: filepath.Dir(path)}
	content, err := directory.ReadFile(filepath.Base(path))
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		err = file.Err // the message already contains the path
	}
	return content, err
}

// LoadAccess reads a file with TLS settings and credentials for pages: the keys of a scrape job of Prometheus. Errors
// repeat nothing of the file.
func LoadAccess(path string) (*engine.Access, error) {
	content, err := readTargetsFile(path)
	if err != nil {
		return nil, err
	}
	var keys map[string]yaml.Node
	if err := yaml.Load(content, &keys); err != nil || len(keys) == 0 {
		return nil, errors.New("not a file with authorization, basic_auth or tls_config, as in a scrape job of Prometheus")
	}
	nodes := map[string]*yaml.Node{}
	for name, node := range keys {
		nodes[name] = &node
	}
	return engine.ParseAccess(nodes, filepath.Dir(path))
}

// targetGroup is an entry of the targets file.
type targetGroup struct {
	Targets []string          `yaml:"targets"`
	Labels  map[string]string `yaml:"labels"`
	// The others are TLS settings and credentials, as in a scrape job of Prometheus.
	Authorization   yaml.Node `yaml:"authorization"`
	BasicAuth       yaml.Node `yaml:"basic_auth"`
	TLS             yaml.Node `yaml:"tls_config"`
	BearerToken     yaml.Node `yaml:"bearer_token"`
	BearerTokenFile yaml.Node `yaml:"bearer_token_file"`
}

// access is nil if the group has neither TLS settings nor credentials. Relative names of files are below the directory.
func (g *targetGroup) access(directory string) (*engine.Access, error) {
	keys := map[string]*yaml.Node{}
	for name, node := range map[string]*yaml.Node{
		"authorization": &g.Authorization, "basic_auth": &g.BasicAuth, "tls_config": &g.TLS, "bearer_token": &g.BearerToken, "bearer_token_file": &g.BearerTokenFile,
	} {
		if node.Kind != 0 {
			keys[name] = node
		}
	}
	return engine.ParseAccess(keys, directory)
}

// parseTargets parses the list of Prometheus' file_sd, in JSON or YAML, of which JSON is a part:
//
//	[{"targets": ["127.0.0.1:6880"], "labels": {"__umascope_collector__": "kvbm"}}]
//
// An empty list is valid; an empty file has been truncated. Source of the format: the Prometheus documentation,
// configuration, file_sd_config. A group may also have the keys authorization, basic_auth and tls_config of a
// scrape_config, which Prometheus does not take from such a file. Relative names of files are below the directory.
func parseTargets(content []byte, directory string) (Targets, error) {
	var groups []targetGroup
	if err := yaml.Load(content, &groups, yaml.WithKnownFields()); err != nil {
		return Targets{}, fmt.Errorf("not a list of targets: %.200s", err)
	}
	var all Targets
	for i := range groups {
		if err := groups[i].addTo(&all, directory); err != nil {
			return Targets{}, fmt.Errorf("group %d: %w", i+1, err)
		}
	}
	return all, nil
}

func (g *targetGroup) addTo(all *Targets, directory string) error {
	kind := g.Labels[TargetCollectorLabel]
	access, err := g.access(directory)
	switch {
	case err != nil:
		return err
	case access != nil && kind == targetKVBMLog:
		return errors.New("logs are files: they need no credentials")
	}
	for i, target := range g.Targets {
		var err error
		switch kind {
		case targetKVBMLog:
			if !filepath.IsAbs(target) {
				err = errors.New("must be an absolute path")
			}
			all.KVBMLogs = append(all.KVBMLogs, filepath.Clean(target))
		case targetKVBM:
			all.KVBM, err = g.appendTo(all.KVBM, target, access)
		case targetEngine:
			all.Engines, err = g.appendTo(all.Engines, target, access)
		default:
			return fmt.Errorf("label %s must be %s, %s or %s", TargetCollectorLabel, targetKVBM, targetEngine, targetKVBMLog)
		}
		if err != nil {
			return fmt.Errorf("target %d: %w", i+1, err)
		}
	}
	return nil
}

func (g *targetGroup) appendTo(list []*engine.Endpoint, target string, access *engine.Access) ([]*engine.Endpoint, error) {
	if strings.ContainsAny(target, "/?#@ ") {
		return nil, errors.New("must be host:port; scheme and path are labels")
	}
	scheme := "http"
	if given := g.Labels[targetSchemeLabel]; given != "" {
		scheme = given
	}
	address := &url.URL{Scheme: scheme, Host: target, Path: g.Labels[targetPathLabel], RawQuery: g.parameters().Encode()}
	parsed, err := engine.ParseEndpoint(address.String())
	if err != nil {
		return nil, err
	}
	parsed.Access = access
	return append(list, parsed), nil
}

func (g *targetGroup) parameters() url.Values {
	values := url.Values{}
	for name, value := range g.Labels {
		if parameter, is := strings.CutPrefix(name, targetParamPrefix); is {
			values.Set(parameter, value)
		}
	}
	return values
}
