package exporter

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine"
)

// defineSources adds the flags that name engines and KV block managers.
func (l *commandLine) defineSources(c *kingpin.CmdClause) {
	o := &l.options.Sources
	c.Flag("kvbm.url", "Page of metrics of a KV block manager or of NIXL, such as http://127.0.0.1:6880/metrics; may repeat. That nobody listens there is no failure.").PlaceHolder("URL").SetValue(repeated{"--kvbm.url", true, addEndpoint(o, &o.KVBM)})
	c.Flag("engine.url", "Page of metrics of an inference engine, such as http://127.0.0.1:8000/metrics; may repeat.").PlaceHolder("URL").SetValue(repeated{"--engine.url", true, addEndpoint(o, &o.Engines)})
	c.Flag("kvbm.log", "Log of an engine with KVBM, which counts hits and queries where the metrics have a ratio only; may repeat.").PlaceHolder("FILE").SetValue(repeated{"--kvbm.log", false, addLog(o)})
	c.Flag("kvbm.bytes-per-block", "Size of a KV block, for bytes moved beside blocks moved: of the source named (host:port/path), or of all others; may repeat.").PlaceHolder("[SOURCE=]BYTES").SetValue(repeated{"--kvbm.bytes-per-block", false, addBlockSize(o)})
	c.Flag("targets.file", "More URLs and logs in Prometheus' file_sd form, JSON or YAML; the label "+collector.TargetCollectorLabel+" of a group says what they are: kvbm, engine or kvbm_log. It is read anew in every collection.").PlaceHolder("FILE").StringVar(&o.TargetsFile)
	c.Flag("engine.iteration-stats", "Ask TensorRT-LLM for its JSON statistics too, which hands each of them to one reader only.").BoolVar(&o.IterationStats)
}

// repeated is a kingpin.Value of a repeatable flag; each text is added.
type repeated struct {
	name   string
	secret bool // the text may contain a password and must not be repeated
	add    func(text string) error
}

// Set implements kingpin.Value.
func (r repeated) Set(text string) error {
	err := r.add(text)
	switch {
	case err == nil:
		return nil
	case r.secret:
		return fmt.Errorf("%s: %w", r.name, err)
	}
	return fmt.Errorf("%s %s: %w", r.name, text, err)
}

// String implements kingpin.Value: there is no default to show.
func (r repeated) String() string { return "" }

// IsCumulative reports to kingpin that the flag may repeat.
func (r repeated) IsCumulative() bool { return true }

func addEndpoint(o *collector.SourceOptions, list *[]*engine.Endpoint) func(string) error {
	return func(text string) error {
		parsed, err := engine.ParseEndpoint(text)
		if err != nil {
			return err
		}
		*list = append(*list, parsed)
		return o.Targets.Check()
	}
}

// addLog accepts paths that do not exist yet: an engine makes its log when it starts.
func addLog(o *collector.SourceOptions) func(string) error {
	return func(text string) error {
		path, err := filepath.Abs(text)
		if err != nil || text == "" {
			return errors.New("must be a path")
		}
		o.KVBMLogs = append(o.KVBMLogs, path)
		return o.Targets.Check()
	}
}

func addBlockSize(o *collector.SourceOptions) func(string) error {
	return func(text string) error {
		at := strings.LastIndex(text, "=") // a path may hold one too
		source, number := text[:max(at, 0)], text[at+1:]
		bytes, err := strconv.ParseUint(number, 10, 64)
		if err != nil || bytes == 0 || at == 0 {
			return errors.New("must be a number of bytes, or SOURCE=BYTES")
		}
		if _, twice := o.BytesPerBlock[source]; twice {
			return errors.New("is given twice for the same source")
		}
		if o.BytesPerBlock == nil {
			o.BytesPerBlock = map[string]uint64{}
		}
		o.BytesPerBlock[source] = bytes
		return nil
	}
}
