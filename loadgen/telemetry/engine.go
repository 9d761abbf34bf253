package telemetry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// Engine is an inference engine that an exporter reads or has found.
type Engine struct {
	// URL is the server's, by the address of its page or its API. Exporters do not publish whether it speaks TLS.
	URL string
	// Name is a value of metric.LabelEngine. Models are those that it serves, as far as the page names them.
	Name   string
	Models []string
}

// String names the engine for messages.
func (e Engine) String() string {
	return fmt.Sprintf("%s (%s)", e.URL, strings.Join(append([]string{e.Name}, e.Models...), " "))
}

// Engines lists the engines that an exporter reads or has found, in order of their URLs; known are those with a page path of
// their own. The pages of a recording are not on
// this machine now, which is an error.
func Engines(ctx context.Context, exporter Source, known spec.Engines) ([]Engine, error) {
	found, err := look(ctx, exporter, metric.EngineInfo.Def())
	if err != nil {
		return nil, err
	}
	var engines []Engine
	for _, o := range found {
		switch {
		case o.name == metric.ExporterMode.Def().Name && o.value == 1 && isRecording(o.labels[string(metric.LabelMode)]):
			return nil, fmt.Errorf("%s: it shows a recording", publicURL(exporter.URL))
		case o.name == metric.EngineInfo.Def().Name:
			engines = addEngine(engines, o.labels, known)
		}
	}
	slices.SortFunc(engines, func(a, b Engine) int { return strings.Compare(a.URL, b.URL) })
	return engines, nil
}

func isRecording(mode string) bool {
	return mode == metric.ModeReplay || mode == metric.ModeConstructed
}

// addEngine adds an engine, or a model of one, by the labels of its series. The server of a page with a path of its own
// below a prefix is not known: another one may answer at the root.
func addEngine(engines []Engine, labels map[string]string, known spec.Engines) []Engine {
	of, _ := known.Find(labels[string(metric.LabelEngine)])
	root, clear := serverOf(labels[string(metric.LabelSource)], of)
	if !clear {
		return engines
	}
	url := "http://" + root
	at := slices.IndexFunc(engines, func(e Engine) bool { return e.URL == url })
	if at < 0 {
		engines, at = append(engines, Engine{URL: url, Name: labels[string(metric.LabelEngine)]}), len(engines)
	}
	if model := labels[string(metric.LabelModel)]; model != "" {
		engines[at].Models = append(engines[at].Models, model)
	}
	return engines
}

// serverOf returns the address of the server of a page, with the prefix under which a proxy serves it. False is a path
// from which the prefix cannot be told.
func serverOf(source string, engine spec.Engine) (string, bool) {
	for _, page := range []string{engine.PagePath(), spec.DefaultPath, spec.ModelsPath} {
		if above, is := strings.CutSuffix(source, page); is && page != "" {
			return above, true
		}
	}
	host, path, _ := strings.Cut(source, "/")
	return host, !strings.Contains(path, "/")
}
